/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpack on a disk that fails at every call in turn. Whatever fails: an entry
 * is there whole or not at all, what others published is as it was, no
 * descriptor leaks, and the next run on a sound disk completes the cache and
 * leaves no staging.
 */
#include "../lib/core_run.h"
#include "../lib/fault_fs.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOREIGN "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRST"
#define CALLS_MAX 3000

static const char *const keys[] = {
	"6e1380bbb79e032d5d942237fcc22405",
	"FH7LBAJMWB62GWWZKIGDLXQTIXUE6LSNFRJPD6DZAEQWJKVMCPYA",
	"TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ",
};

struct scene {
	char dir[KB_TEST_PATH_MAX], cache[4096], bundle[4200], root[4200],
		whole[4200];
};

static void set_up(struct scene *scene)
{
	struct kb_test_run_result run;

	kb_test_tmpdir(scene->dir);
	kb_test_small_cache(scene->dir, scene->cache);
	snprintf(scene->bundle, sizeof(scene->bundle), "%s/b.kb", scene->dir);
	snprintf(scene->root, sizeof(scene->root), "%s/root", scene->dir);
	snprintf(scene->whole, sizeof(scene->whole), "%s/whole", scene->dir);
	kb_test_pack(&run, NULL, 1, scene->cache, scene->bundle, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	kb_test_result_release(&run);
	/* What a complete cache at `root` looks like. */
	kb_test_unpack(&run, NULL, 1, scene->bundle, scene->root, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	kb_test_result_release(&run);
	kb_test_copy_tree(scene->root, scene->whole);
	kb_test_write_text(scene->whole, FOREIGN "/f.autotune.json", "{}");
}

static void reset(struct scene *scene)
{
	kb_test_remove(scene->root);
	kb_test_write_text(scene->root, FOREIGN "/f.autotune.json", "{}");
}

/* Every entry is absent or whole; the foreign one is as it was. */
static void check_entries(struct scene *scene, uint64_t at)
{
	char why[512];

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char there[8400], whole[8400];

		snprintf(there, sizeof(there), "%s/%s", scene->root, keys[i]);
		snprintf(whole, sizeof(whole), "%s/%s", scene->whole, keys[i]);
		if (kb_test_exists(there, ""))
			cr_assert(kb_test_tree_equal(there, whole, why),
				  "call %llu: %s", (unsigned long long)at, why);
	}
	char *text =
		kb_test_read(scene->root, FOREIGN "/f.autotune.json", NULL);

	cr_assert(text && !strcmp(text, "{}"), "call %llu: foreign entry",
		  (unsigned long long)at);
	free(text);
}

static void check_next_run(struct scene *scene, uint64_t at)
{
	struct kb_test_run_result run;
	char first[8400], why[512];

	/* A run that finds everything there writes nothing, and so does not
	 * look for abandoned staging either: give it something to do. */
	snprintf(first, sizeof(first), "%s/%s", scene->root, keys[0]);
	kb_test_remove(first);
	kb_test_unpack(&run, NULL, 1, scene->bundle, scene->root, NULL);
	cr_assert_eq(run.r, 0, "after call %llu: %s", (unsigned long long)at,
		     run.err.message);
	kb_test_result_release(&run);
	cr_assert(kb_test_tree_equal(scene->root, scene->whole, why),
		  "after call %llu (%s): %s", (unsigned long long)at,
		  kb_fault_hit_name(), why);
}

static void sweep(enum kb_fault_mode mode, int sys_errno, uint32_t ops)
{
	struct scene scene;
	uint64_t hits = 0;

	set_up(&scene);
	for (uint64_t at = 1; at < CALLS_MAX; at++) {
		struct kb_fault_plan plan = {
			.ops = ops,
			.at = at,
			.sys_errno = sys_errno,
			.mode = mode,
		};
		struct kb_test_run_result run;
		size_t fds = kb_test_count_fds();

		reset(&scene);
		kb_fault_start(&plan);
		kb_test_unpack(&run, &kb_fault_fs, 1, scene.bundle, scene.root,
			       NULL);
		kb_test_result_release(&run);
		cr_assert_eq(kb_test_count_fds(), fds, "call %llu leaks",
			     (unsigned long long)at);
		if (!kb_fault_was_hit())
			break;
		hits++;
		if (run.r < 0)
			cr_assert_gt(strlen(run.err.message), 10,
				     "call %llu (%s) fails without a reason",
				     (unsigned long long)at,
				     kb_fault_hit_name());
		check_entries(&scene, at);
		check_next_run(&scene, at);
	}
	cr_assert_gt(hits, 20, "only %llu calls", (unsigned long long)hits);
	kb_test_remove(scene.dir);
}

Test(unpack_fault, one_call_finds_no_space)
{
	sweep(KB_FAULT_ONCE, ENOSPC,
	      KB_FAULT_BIT(write) | KB_FAULT_BIT(mkdirat) |
		      KB_FAULT_BIT(openat) | KB_FAULT_BIT(close) |
		      KB_FAULT_BIT(fsync) | KB_FAULT_BIT(syncfs) |
		      KB_FAULT_BIT(renameat) | KB_FAULT_BIT(linkat));
}

Test(unpack_fault, one_call_fails)
{
	sweep(KB_FAULT_ONCE, EIO, KB_FAULT_ALL);
}

Test(unpack_fault, the_disk_fails_from_one_call_on)
{
	sweep(KB_FAULT_FROM, EIO,
	      KB_FAULT_BIT(write) | KB_FAULT_BIT(mkdirat) |
		      KB_FAULT_BIT(fsync) | KB_FAULT_BIT(syncfs) |
		      KB_FAULT_BIT(renameat) | KB_FAULT_BIT(pread));
}

Test(unpack_fault, the_process_dies_at_any_call)
{
	sweep(KB_FAULT_FREEZE, EIO, KB_FAULT_ALL);
}
