/* SPDX-License-Identifier: MIT */
/*
 * dirtymap.c: the atomic page bitmap behind the signal backends.
 *
 * Ordering of a summary bit against its word, with S setting and C clearing:
 *  a) S sets the bit in the word, then the summary bit, both always.
 *  b) C clears the summary bit, then takes the whole word.
 * If S's word comes before C's take, C has it.  Otherwise S's summary bit comes
 * after C's clearing of it, and stays.  A word that is taken in part keeps its
 * summary bit.
 */
#include "dirtymap.h"
#include "sparse.h"
#include "sys.h"

/* 64 summary words of 64 bits, each bit for a word of 64 pages. */
#define WORDS     ((size_t)1 << (WT_SPARSE_SHIFT - 6))
#define SUMMARIES (WORDS / 64)

struct chunk {
	uint64_t summary[SUMMARIES];
	uint64_t degraded[SUMMARIES];
	uint64_t word[WORDS];
};

static struct wt_sparse map;

static uintptr_t page_of(uintptr_t addr)
{
	return addr >> wt_page_shift();
}

static struct chunk *chunk_at(uintptr_t page)
{
	return wt_sparse_at(&map, page);
}

int wt_dirty_reserve(uintptr_t start, uintptr_t end)
{
	return wt_sparse_reserve(&map, page_of(start), page_of(end),
				 sizeof(struct chunk));
}

uint64_t wt_dirty_bytes(void)
{
	return __atomic_load_n(&map.bytes, __ATOMIC_RELAXED);
}

/* A position in the map: the word that holds `page`, and bits from it on. */
struct place {
	struct chunk *chunk;
	size_t word;
	uint64_t mask;  /* the bits of [page, end) that lie in this word */
	uintptr_t next; /* the first page behind this word, at most `end` */
};

static struct place place_of(uintptr_t page, uintptr_t end)
{
	struct place p;
	uintptr_t limit = (page | 63) + 1;

	p.chunk = chunk_at(page);
	p.word = (page >> 6) & (WORDS - 1);
	p.mask = ~(uint64_t)0 << (page & 63);
	p.next = limit;
	if (end < limit) {
		p.mask &= ~(uint64_t)0 >> (limit - end);
		p.next = end;
	}
	return p;
}

void wt_dirty_set(uintptr_t start, uintptr_t end)
{
	uintptr_t page = page_of(start), last = page_of(end);

	while (page < last) {
		struct place p = place_of(page, last);

		__atomic_fetch_or(&p.chunk->word[p.word], p.mask,
				  __ATOMIC_SEQ_CST);
		__atomic_fetch_or(&p.chunk->summary[p.word / 64],
				  1ull << (p.word % 64), __ATOMIC_SEQ_CST);
		page = p.next;
	}
}

static bool is_degraded(const struct place *p)
{
	return __atomic_load_n(&p->chunk->degraded[p->word / 64],
			       __ATOMIC_SEQ_CST) >>
		       (p->word % 64) &
	       1;
}

void wt_dirty_clear(uintptr_t start, uintptr_t end)
{
	uintptr_t page = page_of(start), last = page_of(end);

	while (page < last) {
		struct place p = place_of(page, last);
		uint64_t *word = &p.chunk->word[p.word];

		if (p.mask == ~(uint64_t)0)
			__atomic_fetch_and(&p.chunk->summary[p.word / 64],
					   ~(1ull << (p.word % 64)),
					   __ATOMIC_SEQ_CST);
		if (!(__atomic_fetch_and(word, ~p.mask, __ATOMIC_SEQ_CST) &
		      ~p.mask) &&
		    is_degraded(&p))
			__atomic_fetch_and(&p.chunk->degraded[p.word / 64],
					   ~(1ull << (p.word % 64)),
					   __ATOMIC_SEQ_CST);
		page = p.next;
	}
}

static uint64_t load_bits(const struct place *p)
{
	return __atomic_load_n(&p->chunk->word[p->word], __ATOMIC_SEQ_CST);
}

bool wt_dirty_test(uintptr_t addr)
{
	struct place p = place_of(page_of(addr), page_of(addr) + 1);

	return p.chunk && (load_bits(&p) & p.mask);
}

/* The first page from `page` on whose word is not known to be empty. */
static uintptr_t skip_clean(uintptr_t page, uintptr_t last)
{
	while (page < last) {
		struct chunk *chunk = chunk_at(page);
		size_t word = (page >> 6) & (WORDS - 1);
		uint64_t s;

		s = __atomic_load_n(&chunk->summary[word / 64],
				    __ATOMIC_SEQ_CST);
		s &= ~0ull << (word % 64);
		if (s) {
			size_t skip = (size_t)__builtin_ctzll(s) - word % 64;

			return skip ? ((page | 63) + 1) + (skip - 1) * 64
				    : page;
		}
		page = (page | 4095) + 1; /* the pages of a summary word */
	}
	return last;
}

bool wt_dirty_next(uintptr_t start, uintptr_t end, uintptr_t *run_start,
		   uintptr_t *run_end)
{
	uintptr_t page = page_of(start), last = page_of(end);
	unsigned shift = wt_page_shift();

	while ((page = skip_clean(page, last)) < last) {
		struct place p = place_of(page, last);
		uint64_t bits = load_bits(&p) & p.mask;

		if (bits) {
			page = (page & ~(uintptr_t)63) +
			       (unsigned)__builtin_ctzll(bits);
			*run_start = page << shift;
			*run_end = wt_dirty_end(*run_start, end);
			return true;
		}
		page = p.next;
	}
	return false;
}

uintptr_t wt_dirty_end(uintptr_t start, uintptr_t end)
{
	uintptr_t page = page_of(start), last = page_of(end);

	while (page < last) {
		struct place p = place_of(page, last);
		uint64_t clean = ~load_bits(&p) & p.mask;

		if (clean)
			return ((page & ~(uintptr_t)63) +
				(unsigned)__builtin_ctzll(clean))
			       << wt_page_shift();
		page = p.next;
	}
	return end;
}

uintptr_t wt_dirty_before(uintptr_t start, uintptr_t addr)
{
	uintptr_t first = page_of(start), page = page_of(addr);

	while (page > first) {
		uintptr_t base = (page - 1) & ~(uintptr_t)63;
		struct place p = place_of(base < first ? first : base, page);
		uint64_t bits = load_bits(&p) & p.mask;

		if (bits)
			return (base + 64 - (unsigned)__builtin_clzll(bits))
			       << wt_page_shift();
		page = base < first ? first : base;
	}
	return start;
}

void wt_dirty_set_degraded(uintptr_t start, uintptr_t end)
{
	uintptr_t page = page_of(start), last = page_of(end);

	while (page < last) {
		struct place p = place_of(page, last);

		__atomic_fetch_or(&p.chunk->degraded[p.word / 64],
				  1ull << (p.word % 64), __ATOMIC_SEQ_CST);
		page = p.next;
	}
}

bool wt_dirty_degraded(uintptr_t start, uintptr_t end)
{
	uintptr_t page = page_of(start), last = page_of(end);

	while (page < last) {
		struct place p = place_of(page, last);

		if (is_degraded(&p))
			return true;
		page = p.next;
	}
	return false;
}
