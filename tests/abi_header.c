/* SPDX-License-Identifier: MIT */
/*
 * Uses all of wtrack.h, as any language mode that abi_header.sh compiles it
 * in: C89, C99 and C++11, each strictly.
 */
#include <wtrack.h>

/* The published layout, which later versions may only append to. */
#define LAYOUT(name, condition) typedef char layout_##name[(condition) ? 1 : -1]
LAYOUT(options, sizeof(struct wtrack_options) >= 48);
LAYOUT(options_policy, offsetof(struct wtrack_options, policy) == 40);
LAYOUT(policy, sizeof(struct wtrack_policy) >= 32);
LAYOUT(policy_page_ns, offsetof(struct wtrack_policy, page_ns) == 24);
LAYOUT(run, sizeof(struct wtrack_run) == 24);
LAYOUT(run_flags, offsetof(struct wtrack_run, flags) == 16);
LAYOUT(cursor, sizeof(struct wtrack_cursor) == 32);
LAYOUT(cursor_share, offsetof(struct wtrack_cursor, share) == 16);
LAYOUT(range_info, sizeof(struct wtrack_range_info) >= 64);
LAYOUT(range_policy, offsetof(struct wtrack_range_info, policy) == 40);
LAYOUT(info_epoch, offsetof(struct wtrack_info, epoch) == 32);
LAYOUT(info_signal, offsetof(struct wtrack_info, door_signal) == 60);
LAYOUT(info_policy, offsetof(struct wtrack_info, policy) == 68);
LAYOUT(info, sizeof(struct wtrack_info) >= 96);
LAYOUT(stats, sizeof(struct wtrack_stats) >= 192);
LAYOUT(stats_presumed, offsetof(struct wtrack_stats, presumed) == 104);
LAYOUT(stats_policy, offsetof(struct wtrack_stats, policy_bytes) == 184);
LAYOUT(stats_memory, offsetof(struct wtrack_stats, memory_bytes) == 88);

LAYOUT(probe_backend, sizeof(struct wtrack_probe_backend) == 24);
LAYOUT(probe_mprotect, offsetof(struct wtrack_probe, mprotect) == 108);
LAYOUT(probe_backends, offsetof(struct wtrack_probe, backends) == 112);

int abi_header(struct wtrack_snapshot **s, struct wtrack_run *run);

int abi_header(struct wtrack_snapshot **s, struct wtrack_run *run)
{
	struct wtrack_options options = WTRACK_OPTIONS_INIT;
	struct wtrack_cursor cursor = WTRACK_CURSOR_INIT;
	struct wtrack_policy policy = WTRACK_POLICY_INIT(WTRACK_POLICY_COPY);
	struct wtrack_range_info range;
	struct wtrack_info info;
	struct wtrack_probe probe;
	struct wtrack_stats stats;
	struct wtrack *t = NULL;
	int rc;

	options.policy = &policy;
	rc = wtrack_open(&options, &t);

	if (rc < 0)
		return rc;
	range.size = sizeof(range);
	info.size = sizeof(info);
	probe.size = sizeof(probe);
	stats.size = sizeof(stats);
	rc |= wtrack_watch(t, run, sizeof(*run), WTRACK_WATCH_DIRTY);
	rc |= (int)wtrack_collect(t, &cursor, run, 1, WTRACK_GET);
	rc |= (int)wtrack_split(t, &cursor, &cursor, 1);
	rc |= wtrack_clear(t, run, 1);
	rc |= wtrack_set_policy(t, run, sizeof(*run), &policy);
	rc |= wtrack_advise(t, run, 1, WTRACK_ADVISE_WRITES);
	rc |= wtrack_mark(t, run, 1) | wtrack_prepare_write(t, run, 1);
	rc |= wtrack_query(t, run, &range) | wtrack_info(t, &info);
	rc |= wtrack_probe(&probe);
	rc |= wtrack_stats(t, &stats) | wtrack_snapshot(t, s);
	rc |= wtrack_snapshot_next(*s, run) | wtrack_snapshot_contains(*s, run);
	rc |= wtrack_snapshot_pages(*s) > wtrack_snapshot_epoch(*s);
	wtrack_snapshot_rewind(*s);
	wtrack_snapshot_free(*s);
	rc |= wtrack_unwatch(t, run, sizeof(*run));
	wtrack_close(t);
	return rc;
}
