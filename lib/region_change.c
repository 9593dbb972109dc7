/* SPDX-License-Identifier: MIT */
/*
 * region_change.c: adds and removes ranges by publishing new versions.
 *
 * A change copies the leaves it touches and the root (16 bytes a leaf), which
 * at 100 000 ranges is less than the two system calls that go with it.
 */
#include "region_nodes.h"
#include "sys.h"

#include <string.h>

static void store_range(struct wt_leaf *leaf, size_t i,
			const struct wt_range *r)
{
	STORE(leaf->start[i], r->start);
	STORE(leaf->at[i].end, r->end);
	STORE(leaf->at[i].attr, r->attr);
	STORE(leaf->at[i].fresh, r->fresh);
}

static struct wt_range range_at(const struct wt_leaf *leaf, size_t i)
{
	struct wt_range r = { leaf->start[i], leaf->at[i].end, leaf->at[i].attr,
			      leaf->at[i].fresh };

	return r;
}

static int root_alloc(struct wt_table *t, size_t cap, struct wt_root **out)
{
	size_t page = wt_page_size();
	size_t bytes =
		sizeof(struct wt_root) + cap * sizeof(struct wt_root_entry);
	void *p;
	int rc;

	bytes = (bytes + page - 1) & ~(page - 1);
	rc = wt_map(bytes, &p, t->account);
	if (rc)
		return rc;
	*out = p;
	(*out)->bytes = bytes;
	(*out)->cap =
		(bytes - sizeof(struct wt_root)) / sizeof(struct wt_root_entry);
	return 0;
}

int wt_table_init(struct wt_table *t, uint64_t *account)
{
	int rc;

	memset(t, 0, sizeof(*t));
	t->account = account;
	wt_pool_init(&t->leaves, sizeof(struct wt_leaf), account);
	wt_pool_init(&t->cells, 2 * sizeof(uintptr_t), account);
	rc = root_alloc(t, 1, &t->root);
	if (!rc)
		rc = root_alloc(t, 1, &t->spare);
	if (rc)
		wt_table_destroy(t);
	return rc;
}

void wt_table_destroy(struct wt_table *t)
{
	wt_pool_destroy(&t->leaves);
	wt_pool_destroy(&t->cells);
	if (t->root)
		wt_unmap(t->root, t->root->bytes, t->account);
	if (t->spare)
		wt_unmap(t->spare, t->spare->bytes, t->account);
	t->root = NULL;
	t->spare = NULL;
}

/*
 * Grows both roots.  The old ones may still be read, so they stay mapped as
 * slabs of the leaves' pool do: linked in front of the pool's slabs, whose
 * header (next, bytes) fits over the root's own, which readers no longer use
 * once the version has moved.
 */
static void root_retire(struct wt_table *t, struct wt_root *old)
{
	struct slab_head {
		void *next;
		size_t bytes;
	} *slab = (void *)old;
	size_t bytes = old->bytes;

	_Static_assert(sizeof(*slab) <= sizeof(struct wt_root),
		       "a root can pose as a slab");
	STORE(slab->next, (void *)t->leaves.slabs);
	STORE(slab->bytes, bytes);
	t->leaves.slabs = (void *)slab;
}

static void publish(struct wt_table *t, struct wt_root *root)
{
	struct wt_root *old = t->root;

	STORE(t->root, root);                                 /* (a) */
	__atomic_fetch_add(&t->version, 1, __ATOMIC_ACQ_REL); /* (b) */
	t->spare = old;
}

static int roots_grow(struct wt_table *t, size_t cap)
{
	struct wt_root *a, *b, *old, *old_spare = t->spare;
	int rc;

	if (t->root->cap >= cap && t->spare->cap >= cap)
		return 0;
	rc = root_alloc(t, cap + cap / 2, &a);
	if (rc)
		return rc;
	rc = root_alloc(t, cap + cap / 2, &b);
	if (rc) {
		wt_unmap(a, a->bytes, t->account);
		return rc;
	}
	memcpy(a->at, t->root->at, t->root->n * sizeof(a->at[0]));
	a->n = t->root->n;
	publish(t, a);
	old = t->spare;
	t->spare = b;
	root_retire(t, old);
	root_retire(t, old_spare);
	return 0;
}

/* One change makes at most 3 leaves and cells for two halves of a range. */
int wt_table_reserve(struct wt_table *t, size_t n)
{
	int rc = wt_pool_reserve(&t->leaves, n + 3);

	if (!rc)
		rc = wt_pool_reserve(&t->cells, n + 1);
	if (!rc)
		rc = roots_grow(t, t->root->n + n + 3);
	return rc;
}

static uintptr_t *cell_take(struct wt_table *t, uintptr_t value)
{
	uintptr_t *cell = wt_pool_take(&t->cells);

	STORE(*cell, value);
	return cell;
}

/* What a change puts in the place of the leaves [first, last]. */
struct splice {
	const struct wt_range *add; /* until it is put in */
	bool replaces;              /* there is one, which may overlap */
	struct wt_range at[2 * WT_LEAF_RANGES + 3];
	size_t n;
	uintptr_t *dead[2 * WT_LEAF_RANGES + 3]; /* cells no longer used */
	size_t n_dead;
};

static void keep(struct splice *s, const struct wt_range *r, uintptr_t start,
		 uintptr_t end, uintptr_t *fresh)
{
	struct wt_range part = { start, end, r->attr, fresh };

	s->at[s->n++] = part;
}

static void put_in(struct splice *s)
{
	if (s->add)
		s->at[s->n++] = *s->add;
	s->add = NULL;
}

/* Puts what is left of `r`, which overlaps [lo, hi), into the splice. */
static void cut(struct wt_table *t, struct splice *s, const struct wt_range *r,
		uintptr_t lo, uintptr_t hi)
{
	bool left = r->start<lo, right = r->end> hi;
	uintptr_t *fresh = r->fresh, at = wt_fresh_get(fresh);

	if (left)
		keep(s, r, r->start, lo, fresh);
	if (right)
		put_in(s);
	/*
	 * The upper half is cleared apart from the lower: a cell of its own.
	 * So it is if what it had is replaced, with readers of the old.
	 */
	if (!left && (!right || s->replaces))
		s->dead[s->n_dead++] = fresh;
	if (right && (left || s->replaces))
		fresh = cell_take(t, at > hi ? at : hi);
	else if (right && at < hi)
		STORE(*fresh, hi);
	if (right)
		keep(s, r, hi, r->end, fresh);
}

static void gather(struct wt_table *t, struct splice *s,
		   const struct wt_leaf *leaf, uintptr_t lo, uintptr_t hi)
{
	for (size_t i = 0; i < leaf->n; i++) {
		struct wt_range r = range_at(leaf, i);

		if (r.start >= hi)
			put_in(s);
		if (r.end <= lo || r.start >= hi)
			s->at[s->n++] = r;
		else
			cut(t, s, &r, lo, hi);
	}
	put_in(s);
}

static bool alike(const struct wt_range *a, const struct wt_range *b)
{
	return a->end == b->start && a->attr == b->attr &&
	       wt_fresh_get(a->fresh) == WT_NOT_FRESH &&
	       wt_fresh_get(b->fresh) == WT_NOT_FRESH;
}

/* One range out of those that can be: collectors have less to join. */
static void join(struct splice *s)
{
	size_t to = 0;

	for (size_t i = 1; i < s->n; i++) {
		if (alike(&s->at[to], &s->at[i])) {
			s->at[to].end = s->at[i].end;
			s->dead[s->n_dead++] = s->at[i].fresh;
		} else {
			s->at[++to] = s->at[i];
		}
	}
	s->n = s->n ? to + 1 : 0;
}

/* Cuts the gathered ranges into leaves and appends them to the new root. */
static void emit(struct wt_table *t, const struct splice *s,
		 struct wt_root *root, bool at_end)
{
	/* Appending in order, the usual case, leaves full leaves behind. */
	size_t per = s->n <= WT_LEAF_RANGES ? s->n
		     : at_end               ? WT_LEAF_RANGES
					    : (s->n + 1) / 2;

	if (per > WT_LEAF_RANGES)
		per = (s->n + 2) / 3;
	for (size_t i = 0; i < s->n; i += per) {
		size_t n = s->n - i < per ? s->n - i : per;
		struct wt_leaf *leaf = wt_pool_take(&t->leaves);

		for (size_t j = 0; j < n; j++)
			store_range(leaf, j, &s->at[i + j]);
		STORE(leaf->n, (uint64_t)n);
		STORE(root->at[root->n].start, s->at[i].start);
		STORE(root->at[root->n].leaf, leaf);
		STORE(root->n, root->n + 1);
	}
}

static void copy_entries(struct wt_root *to, const struct wt_root *from,
			 size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		STORE(to->at[to->n].start, from->at[i].start);
		STORE(to->at[to->n].leaf, from->at[i].leaf);
		STORE(to->n, to->n + 1);
	}
}

static void recycle_leaf(struct wt_table *t, struct wt_leaf *leaf, bool cells)
{
	for (size_t i = 0; cells && i < leaf->n; i++)
		wt_pool_give(&t->cells, leaf->at[i].fresh);
	wt_pool_give(&t->leaves, leaf);
}

/*
 * The one way in which the table changes: take [lo, hi) out, put `add` in.
 * Leaves strictly between the first and the last touched one vanish whole.
 */
static void change(struct wt_table *t, uintptr_t lo, uintptr_t hi,
		   const struct wt_range *add)
{
	struct wt_root *old = t->root, *root = t->spare;
	size_t first = old->n ? wt_root_index(old, old->n, lo) : 0;
	/* A leaf that starts at `hi` may hold the neighbour to join. */
	size_t last =
		old->n ? wt_root_index(old, old->n, add ? hi : hi - 1) : 0;
	uint64_t before = 0;
	struct splice s;

	s.add = add;
	s.replaces = add != NULL;
	s.n = 0;
	s.n_dead = 0;
	STORE(root->n, (size_t)0);
	copy_entries(root, old, 0, first);
	if (!old->n)
		put_in(&s);
	if (old->n)
		gather(t, &s, old->at[first].leaf, lo, hi);
	if (last > first)
		gather(t, &s, old->at[last].leaf, lo, hi);
	if (add)
		join(&s);
	emit(t, &s, root, last + 1 >= old->n);
	copy_entries(root, old, last + 1, old->n);
	for (size_t i = first; old->n && i <= last; i++)
		before += old->at[i].leaf->n;
	STORE(t->ranges, t->ranges + s.n - before);
	publish(t, root);
	/* Only now may memory that readers know be written. */
	for (size_t i = first; old->n && i <= last; i++)
		recycle_leaf(t, old->at[i].leaf, i > first && i < last);
	for (size_t i = 0; i < s.n_dead; i++)
		wt_pool_give(&t->cells, s.dead[i]);
}

void wt_table_replace(struct wt_table *t, const struct wt_range *r,
		      uintptr_t fresh)
{
	struct wt_range add = *r;

	add.fresh = cell_take(t, fresh);
	change(t, r->start, r->end, &add);
}

void wt_table_insert(struct wt_table *t, const struct wt_range *r,
		     uintptr_t fresh)
{
	wt_table_replace(t, r, fresh);
	STORE(t->bytes, t->bytes + (r->end - r->start));
}

void wt_table_remove(struct wt_table *t, uintptr_t start, uintptr_t end)
{
	change(t, start, end, NULL);
	STORE(t->bytes, t->bytes - (end - start));
}
