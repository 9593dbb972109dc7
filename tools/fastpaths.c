/* SPDX-License-Identifier: MIT */
/* fastpaths.c: the fast paths that are asked for, and what each means. */
#include "fastpaths.h"

const struct fast_path fast_paths[] = {
	{ "mprotect-upgrade",
	  "memory that mprotect makes writable takes no fault at its next "
	  "store",
	  ask_mprotect_upgrade },
	{ "uffd-upgrade", "nor does memory that userfaultfd un-protects",
	  ask_uffd_upgrade },
	{ "one-fault-empty",
	  "memory that was armed while empty takes one fault, not two",
	  ask_one_fault_empty },
	{ "huge-write", "a store to an armed huge page does not split it",
	  ask_huge_write },
	{ "fault-around",
	  "a store beside a written page un-arms the pages around it, too",
	  ask_fault_around },
	{ "short-scan", "PAGEMAP_SCAN has short loops for written pages",
	  ask_short_scan },
	{ "reports-none",
	  "PAGEMAP_SCAN reports a discarded page, whatever else is asked for",
	  ask_reports_none },
	{ "reports-hole", "PAGEMAP_SCAN reports memory that has no page table",
	  ask_reports_hole },
	{ "seal-by-mapping",
	  "mprotect looks for seals mapping by mapping, in its own walk",
	  ask_seal_by_mapping },
	{ NULL, NULL, NULL },
};
