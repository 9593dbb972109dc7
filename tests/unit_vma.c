/* SPDX-License-Identifier: MIT */
/*
 * unit_vma.c: the list of mappings, by the kernel's query and by its text.
 *
 * Texts are played to the parser in pieces of any size: the kernel hands out
 * whole lines as it pleases.
 */
#include "support_live.h"

#include "sys.h"
#include "uapi.h"
#include "vma.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <pthread.h>
#include <sys/mman.h>

#define MOST 512

struct list {
	struct wt_vma at[MOST];
	size_t n;
	int rc; /* of the last step */
};

static struct list walk(uintptr_t addr, bool writable)
{
	static struct list l;
	struct wt_vma_walk w;

	memset(&l, 0, sizeof(l));
	wt_vma_walk_init(&w, addr, writable);
	while (l.n < MOST && (l.rc = wt_vma_walk_next(&w, &l.at[l.n])) > 0)
		l.n++;
	wt_vma_walk_end(&w);
	return l;
}

static void assert_vma(const struct wt_vma *v, uintptr_t start, uintptr_t end,
		       unsigned prot, bool file)
{
	assert_int_equal(v->start, start);
	assert_int_equal(v->end, end);
	assert_int_equal(v->prot, prot);
	assert_int_equal(v->file, file);
}

/* ---- the hook: no query, and perhaps a text of ours ---- */

static const char *played; /* NULL: the real file */
static size_t piece;       /* bytes a read gives at most */
static long read_error;    /* after the text, instead of its end */
static long query_error;

static bool no_query(enum wt_sys id, const long args[6], long *result)
{
	size_t len, n;

	if (id == WT_SYS_IOCTL && args[1] == (long)WT_PROCMAP_QUERY) {
		*result = query_error;
		return true;
	}
	if (id != WT_SYS_PREAD || !played)
		return false;
	len = strlen(played);
	n = (size_t)args[3] < len ? len - (size_t)args[3] : 0;
	n = n < (size_t)args[2] ? n : (size_t)args[2];
	n = n < piece ? n : piece;
	memcpy((void *)args[1], played + len - (len - (size_t)args[3]), n);
	*result = n ? (long)n : read_error;
	return true;
}

/* Plays `with`, or the real file if it is NULL. */
static void play(const char *with, size_t bytes, long error)
{
	assert_int_equal(wt_vma_open(), 0);
	played = with;
	piece = bytes;
	read_error = error;
	query_error = -ENOTTY;
	at_the_door(no_query);
}

static void play_nothing(void)
{
	at_the_door(NULL);
	played = NULL;
	wt_vma_close();
}

/* ---- texts ---- */

static const char sample[] =
	"00400000-00401000 r--p 00000000 fe:00 1234                  /bin/x\n"
	"00401000-00500000 r-xp 00001000 fe:00 1234                  /bin/x\n"
	"7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
	"7f0000021000-7f0000022000 ---p 00000000 00:00 0 \n"
	"7f1000000000-7f1000001000 rw-s 00000000 00:01 5   /dev/zero "
	"(deleted)\n"
	"7f1000001000-7f1000002000 rwxs 00000000 00:00 0   /SYSV rw-p 0-1 \n"
	"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0            [stack]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

static void assert_text_parsed(void)
{
	struct list l = walk(0, false);

	assert_int_equal(l.rc, 0);
	assert_int_equal(l.n, 8);
	assert_vma(&l.at[0], 0x400000, 0x401000, PROT_READ, true);
	assert_vma(&l.at[1], 0x401000, 0x500000, PROT_READ | PROT_EXEC, true);
	assert_vma(&l.at[2], 0x7f0000000000, 0x7f0000021000,
		   PROT_READ | PROT_WRITE, false);
	assert_vma(&l.at[3], 0x7f0000021000, 0x7f0000022000, PROT_NONE, false);
	assert_vma(&l.at[4], 0x7f1000000000, 0x7f1000001000,
		   PROT_READ | PROT_WRITE, true);
	assert_vma(&l.at[5], 0x7f1000001000, 0x7f1000002000,
		   PROT_READ | PROT_WRITE | PROT_EXEC, true);
	assert_vma(&l.at[6], 0x7ffc00000000, 0x7ffc00021000,
		   PROT_READ | PROT_WRITE, false);
	assert_vma(&l.at[7], 0xffffffffff600000, 0xffffffffff601000, PROT_EXEC,
		   false);
	for (size_t i = 0; i < l.n; i++)
		assert_int_equal(l.at[i].page_size, 0);
}

static void a_text_is_parsed_in_pieces_of_any_size(void **state)
{
	(void)state;
	for (size_t bytes = 1; bytes < sizeof(sample) + 1; bytes++) {
		play(sample, bytes, 0);
		assert_text_parsed();
	}
	play_nothing();
}

static void a_text_is_walked_from_an_address_on(void **state)
{
	struct list l;

	(void)state;
	play(sample, 100, 0);
	l = walk(0x400fff, false);
	assert_int_equal(l.n, 8);
	l = walk(0x401000, false);
	assert_int_equal(l.n, 7);
	assert_int_equal(l.at[0].start, 0x401000);
	l = walk(0x7ffc00021000, false);
	assert_int_equal(l.n, 1);
	l = walk(UINTPTR_MAX, false);
	assert_int_equal(l.n, 0);
	assert_int_equal(l.rc, 0);
	play_nothing();
}

static void only_writable_mappings_are_walked_where_asked(void **state)
{
	struct list l;

	(void)state;
	play(sample, 64, 0);
	l = walk(0, true);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.at[0].start, 0x7f0000000000);
	assert_int_equal(l.at[1].start, 0x7f1000000000);
	assert_int_equal(l.at[3].start, 0x7ffc00000000);
	play_nothing();
}

static void a_line_longer_than_the_buffer_is_passed_over(void **state)
{
	static char long_line[3000];
	struct list l;
	int n;

	(void)state;
	n = snprintf(long_line, sizeof(long_line),
		     "1000-2000 rw-p 00000000 fe:00 7 /");
	memset(long_line + n, 'r', 2500);
	strcpy(long_line + n + 2500, "\n3000-4000 r--p 00000000 00:00 0 \n");
	play(long_line, 4096, 0);
	l = walk(0, false);
	assert_int_equal(l.n, 2);
	assert_vma(&l.at[0], 0x1000, 0x2000, PROT_READ | PROT_WRITE, true);
	assert_vma(&l.at[1], 0x3000, 0x4000, PROT_READ, false);
	play_nothing();
}

static void a_failed_read_is_an_error_and_not_the_end(void **state)
{
	struct list l;

	(void)state;
	play("1000-2000 rw-p 00000000 00:00 0 \n3000-40", 4096, -EIO);
	l = walk(0, false);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.rc, -EIO);
	play("", 4096, -EACCES);
	assert_int_equal(walk(0, false).rc, -EACCES);
	play_nothing();
}

static void any_refusal_of_the_query_leads_to_the_text(void **state)
{
	const long refusals[] = { -ENOTTY, -EPERM, -EINVAL, -ENOSYS, -EACCES };

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		play(sample, 4096, 0);
		query_error = refusals[i];
		assert_text_parsed();
	}
	play_nothing();
}

/* ---- the real thing ---- */

static const char *lacks_query(void)
{
	struct wt_vma_walk w;
	struct wt_vma v;
	bool text_used;

	wt_vma_open();
	wt_vma_walk_init(&w, 0, false);
	wt_vma_walk_next(&w, &v);
	text_used = w.text;
	wt_vma_walk_end(&w);
	wt_vma_close();
	return text_used ? "the kernel has no PROCMAP_QUERY" : NULL;
}

static void assert_same(const struct list *a, const struct list *b)
{
	assert_int_equal(a->rc, 0);
	assert_int_equal(b->rc, 0);
	for (size_t i = 0, j = 0; i < a->n; i++, j++) {
		/* The query does not know the page of old system calls. */
		if (a->at[i].start >> 63)
			continue;
		assert_true(j < b->n);
		assert_vma(&b->at[j], a->at[i].start, a->at[i].end,
			   a->at[i].prot, a->at[i].file);
	}
}

static void query_and_text_say_the_same(void **state)
{
	static struct list by_query, by_text;
	struct mem file = mem_map(MEM_FILE_PRIVATE, 3, true);
	struct mem memfd = mem_map(MEM_MEMFD, 3, true);
	struct mem shared = mem_map(MEM_SHARED_ANON, 3, true);

	(void)state;
	mprotect(shared.base, shared.page, PROT_READ);
	for (int writable = 0; writable < 2; writable++) {
		assert_int_equal(wt_vma_open(), 0);
		by_query = walk(0, writable);
		play(NULL, 0, 0);
		by_text = walk(0, writable);
		play_nothing();
		assert_true(by_query.n > 3);
		assert_same(&by_text, &by_query);
	}
	mem_unmap(&file);
	mem_unmap(&memfd);
	mem_unmap(&shared);
}

/* ---- several at once ---- */

struct crowd {
	struct mem
		m; /* its first half comes and goes, the second is looked at */
	bool stop;
	int wrong;
};

static void *change_mappings(void *arg)
{
	struct crowd *c = arg;
	size_t half = c->m.pages / 2;

	while (!__atomic_load_n(&c->stop, __ATOMIC_RELAXED)) {
		for (size_t i = 1; i < half; i += 2)
			mprotect(page_of(&c->m, i), c->m.page, PROT_READ);
		mprotect(c->m.base, half * c->m.page, PROT_READ | PROT_WRITE);
	}
	return NULL;
}

/* The second half: every second page can be read only. */
static bool sees_stripes(const struct crowd *c)
{
	uintptr_t at = (uintptr_t)page_of(&c->m, c->m.pages / 2 + 1);
	uintptr_t end = (uintptr_t)page_of(&c->m, c->m.pages - 1);
	struct wt_vma_walk w;
	struct wt_vma v;
	bool ok = true, writable = false;

	for (wt_vma_walk_init(&w, at, false); ok && at < end; at = v.end) {
		ok = wt_vma_walk_next(&w, &v) == 1 && v.start == at &&
		     v.end == at + c->m.page &&
		     !(v.prot & PROT_WRITE) == !writable;
		writable = !writable;
	}
	wt_vma_walk_end(&w);
	return ok;
}

static void *look_often(void *arg)
{
	struct crowd *c = arg;

	for (int i = 0; i < rounds(1000); i++)
		if (!sees_stripes(c))
			__atomic_fetch_add(&c->wrong, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void walks_at_once_do_not_meet(void **state)
{
	struct crowd c = { mem_map(MEM_ANON, 128, true), false, 0 };
	pthread_t changer, looker[2];

	(void)state;
	for (size_t i = 65; i < 128; i += 2)
		mprotect(page_of(&c.m, i), c.m.page, PROT_READ);
	play(NULL, 0, 0);
	pthread_create(&changer, NULL, change_mappings, &c);
	for (int i = 0; i < 2; i++)
		pthread_create(&looker[i], NULL, look_often, &c);
	for (int i = 0; i < 2; i++)
		pthread_join(looker[i], NULL);
	__atomic_store_n(&c.stop, true, __ATOMIC_RELAXED);
	pthread_join(changer, NULL);
	play_nothing();
	assert_int_equal(c.wrong, 0);
	mem_unmap(&c.m);
}

static void the_kinds_of_memory_are_told_apart(void **state)
{
	const bool is_file[MEM_KINDS] = { false, false, true, true,
					  true,  true,  true };

	(void)state;
	assert_int_equal(wt_vma_open(), 0);
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		struct wt_vma_walk w;
		struct wt_vma v;
		struct mem m;

		if (mem_kind_lacks(kind))
			continue;
		m = mem_map(kind, 2, true);
		wt_vma_walk_init(&w, (uintptr_t)m.base, false);
		assert_int_equal(wt_vma_walk_next(&w, &v), 1);
		assert_true(v.start <= (uintptr_t)m.base);
		assert_int_equal(v.prot, PROT_READ | PROT_WRITE);
		assert_int_equal(v.file, is_file[kind]);
		if (!w.text)
			assert_int_equal(v.page_size, m.page);
		wt_vma_walk_end(&w);
		mem_unmap(&m);
	}
	wt_vma_close();
}

static void the_size_of_pages_is_found_without_the_query(void **state)
{
	struct mem m;

	(void)state;
	for (int kind = 0; kind < MEM_KINDS; kind++) {
		if (mem_kind_lacks(kind))
			continue;
		m = mem_map(kind, kind == MEM_HUGETLB ? 1 : 8, true);
		assert_int_equal(wt_vma_page_size_at((uintptr_t)m.base),
				 m.page);
		mem_unmap(&m);
		m = mem_map(kind, 8, true);
		assert_int_equal(wt_vma_page_size_at((uintptr_t)m.base),
				 m.page);
		/* Nor has it done anything else. */
		assert_int_equal(wt_vma_mapped((uintptr_t)m.base,
					       (uintptr_t)m.base + 8 * m.page),
				 0);
		mem_unmap(&m);
	}
}

static bool refuse_mremap(enum wt_sys id, const long args[6], long *result)
{
	(void)args;
	*result = -EINVAL;
	return id == WT_SYS_MREMAP;
}

/* As a filter may do. */
static void pages_are_the_systems_where_all_is_refused(void **state)
{
	char *p = map_pages(8);

	(void)state;
	at_the_door(refuse_mremap);
	assert_int_equal(wt_vma_page_size_at((uintptr_t)p), page_size());
	at_the_door(NULL);
	unmap_pages(p, 8);
}

static void a_gap_is_not_mapped(void **state)
{
	size_t page = page_size();
	char *p = map_pages(5);

	(void)state;
	assert_int_equal(wt_vma_mapped((uintptr_t)p, (uintptr_t)p + 5 * page),
			 0);
	/* Protection is no gap. */
	mprotect(p, page, PROT_NONE);
	assert_int_equal(wt_vma_mapped((uintptr_t)p, (uintptr_t)p + 5 * page),
			 0);
	munmap(p + 3 * page, page);
	assert_int_equal(wt_vma_mapped((uintptr_t)p, (uintptr_t)p + 3 * page),
			 0);
	assert_int_equal(wt_vma_mapped((uintptr_t)p, (uintptr_t)p + 5 * page),
			 -ENOMEM);
	unmap_pages(p, 5);
}

static void without_a_descriptor_the_walk_fails(void **state)
{
	struct list l;

	(void)state;
	wt_vma_close();
	l = walk(0, false);
	assert_int_equal(l.n, 0);
	assert_int_equal(l.rc, -EBADF);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE(a_text_is_parsed_in_pieces_of_any_size),
		CASE(a_text_is_walked_from_an_address_on),
		CASE(only_writable_mappings_are_walked_where_asked),
		CASE(a_line_longer_than_the_buffer_is_passed_over),
		CASE(a_failed_read_is_an_error_and_not_the_end),
		CASE(any_refusal_of_the_query_leads_to_the_text),
		CASE_IF(query_and_text_say_the_same, lacks_query),
		CASE(walks_at_once_do_not_meet),
		CASE(the_kinds_of_memory_are_told_apart),
		CASE(the_size_of_pages_is_found_without_the_query),
		CASE(pages_are_the_systems_where_all_is_refused),
		CASE(a_gap_is_not_mapped),
		CASE(without_a_descriptor_the_walk_fails),
	};

	return RUN_CASES("vma", cases);
}
