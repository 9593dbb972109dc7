/* SPDX-License-Identifier: MIT */
/*
 * model_random.c: random operations, held against a shadow of each page, under
 * each policy.  shadow.h says what must hold.
 *
 * A failure prints the seed; WTRACK_MODEL_SEED and WTRACK_MODEL_STEPS set it
 * and the length.
 */
#include "shadow.h"
#include "support_costs.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	void (*run)(struct model *s);
	size_t weight;
	bool policy; /* with another policy than exact only */
} ops[] = {
	{ "store", op_store, 20, false },
	{ "load", op_load, 4, false },
	{ "kernel write", op_kernel_write, 4, false },
	{ "discard", op_discard, 2, false },
	{ "mprotect", op_protect, 2, false },
	{ "madvise", op_huge, 1, false },
	{ "replace", op_replace, 2, false },
	{ "watch", op_watch, 8, false },
	{ "unwatch", op_unwatch, 4, false },
	{ "mark", op_mark, 3, false },
	{ "look", op_look, 10, false },
	{ "collect", op_collect, 12, false },
	{ "collect all", op_collect_all, 4, false },
	{ "snapshot", op_snapshot, 2, false },
	{ "clear", op_clear, 8, false },
	{ "advise writes", op_advise_writes, 2, false },
	{ "advise arm", op_advise_arm, 2, false },
	{ "advise normal", op_advise_normal, 2, false },
	{ "fork", op_fork, 1, false },
	{ "store hot", op_store_hot, 10, true },
	{ "move hot", op_move_hot, 2, true },
	{ "epochs", op_epochs, 8, true },
	{ "set policy", op_set_policy, 3, true },
};

#define N_OPS (sizeof(ops) / sizeof(ops[0]))

static size_t weight_of(const struct model *s, size_t i)
{
	return s->other || !ops[i].policy ? ops[i].weight : 0;
}

static void step(struct model *s)
{
	size_t total = 0, pick, i;

	for (i = 0; i < N_OPS; i++)
		total += weight_of(s, i);
	pick = roll(&s->dice, total);
	for (i = 0; pick >= weight_of(s, i); i++)
		pick -= weight_of(s, i);
	s->last = ops[i].name;
	ops[i].run(s);
}

/* NULL where the backend has not this grain. */
static struct wtrack *open_with(const char *backend, size_t grain,
				const struct wtrack_policy *policy)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack *t = NULL;
	int rc;

	options.backend = backend;
	options.grain = grain * page_size();
	options.policy = policy;
	rc = wtrack_open(&options, &t);
	if (rc != -EOPNOTSUPP || grain == 1)
		assert_int_equal(rc, 0);
	return t;
}

static void play(struct model *s, const char *backend, unsigned long seed)
{
	/* The more there is to play, the less of each. */
	unsigned long most = s->other || s->grain > 1 ? 700 : 1500;
	unsigned long steps = env_number("WTRACK_MODEL_STEPS", most);

	s->t = open_with(backend, s->grain, s->other);
	if (!s->t)
		return;
	s->policy = s->other;
	/* The same for the same seed, on any machine. */
	pretend_costs(s->t, (enum ways)(1 + seed % (N_WAYS - 1)));
	s->m = mem_map(s->kind, PAGES_N, true);
	s->dice.state = seed;
	s->caps = caps_of(s->t);
	if (!watches_kind(s->t, s->kind))
		steps = 0;
	printf("# %s on %s, seed %lu\n", mem_kind_name(s->kind), backend, seed);
	for (unsigned long i = 0; i < steps; i++)
		step(s);
	wtrack_close(s->t);
	/* What the backend took away is given back. */
	for (size_t i = 0; i < PAGES_N; i++)
		store(&s->m, i);
	mem_unmap(&s->m);
}

static void play_all(const char *backend, size_t grain,
		     const struct wtrack_policy *policy)
{
	static const enum mem_kind kinds[] = { MEM_ANON, MEM_MEMFD,
					       MEM_FILE_PRIVATE,
					       MEM_FILE_SHARED, MEM_THP };
	unsigned long seed = env_number("WTRACK_MODEL_SEED", 20261);

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (unsigned long more = 0; more < 3; more++) {
			struct model s;

			memset(&s, 0, sizeof(s));
			s.kind = kinds[i];
			s.grain = grain;
			s.other = policy;
			play(&s, backend, seed + more);
		}
}

static void random_operations_agree_with_their_shadow(void **state)
{
	play_all(*state, 1, NULL);
}

static void they_agree_when_pages_are_presumed_soon(void **state)
{
	play_all(*state, 1, &rescan_soon);
}

static void they_agree_when_pages_are_presumed_late(void **state)
{
	play_all(*state, 1, &copy_soon);
}

static void they_agree_in_blocks_of_pages(void **state)
{
	play_all(*state, 4, NULL);
	play_all(*state, 4, &rescan_soon);
}

int main(void)
{
	static const struct test_case cases[] = {
		CASE_EACH(random_operations_agree_with_their_shadow),
		CASE_EACH(they_agree_when_pages_are_presumed_soon),
		CASE_EACH(they_agree_when_pages_are_presumed_late),
		CASE_EACH(they_agree_in_blocks_of_pages),
	};

	return RUN_CASES("model_random", cases);
}
