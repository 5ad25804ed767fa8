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

/* ---- a bundle that changes while it is read ---- */

struct swapper {
	const char *bundle;
	const char *other;
	size_t other_len;
	uint64_t at;
};

/* Whoever can write the file puts another bundle in its place, in place. */
static void swap_at(void *data, uint64_t number, enum kb_fault_op op, int fd,
		    const char *path)
{
	struct swapper *swapper = data;

	(void)op;
	(void)fd;
	(void)path;
	if (number == swapper->at)
		kb_test_write(swapper->bundle, "", swapper->other,
			      swapper->other_len);
}

Test(unpack_fault, a_pinned_bundle_is_the_one_that_is_published)
{
	struct scene scene;
	struct kb_test_run_result run;
	struct swapper swapper = {.bundle = scene.bundle};
	char id[80], *whole, *other, *text;
	size_t whole_len, refused = 0;
	uint64_t calls = 1;

	set_up(&scene);
	kb_test_verify(&run, NULL, 1, scene.bundle, NULL);
	snprintf(id, sizeof(id), "%s", kbundle_report_id(run.report));
	kb_test_result_release(&run);
	whole = kb_test_read(scene.bundle, "", &whole_len);
	/* The same cache but for one letter in a file of the same size. */
	text = kb_test_read(scene.cache,
			    "6e1380bbb79e032d5d942237fcc22405/add_kernel.ttir",
			    NULL);
	text[0] ^= 1;
	kb_test_write_text(scene.cache,
			   "6e1380bbb79e032d5d942237fcc22405/add_kernel.ttir",
			   text);
	kb_test_pack(&run, NULL, 1, scene.cache, scene.bundle, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	kb_test_result_release(&run);
	other = kb_test_read(scene.bundle, "", &swapper.other_len);
	swapper.other = other;
	for (swapper.at = 1; swapper.at <= calls; swapper.at++) {
		const struct kbundle_unpack_options pinned = {
			.size = sizeof(pinned),
			.expect = id,
			.publish = KBUNDLE_PUBLISH_ENTRY,
		};
		const struct kb_fault_plan plan = {
			.ops = KB_FAULT_BIT(pread),
			.hook = swap_at,
			.hook_data = &swapper,
		};

		reset(&scene);
		kb_test_write(scene.bundle, "", whole, whole_len);
		kb_fault_start(&plan);
		kb_test_unpack(&run, &kb_fault_fs, 1, scene.bundle, scene.root,
			       &pinned);
		calls = kb_fault_calls() > calls ? kb_fault_calls() : calls;
		refused += run.r < 0;
		kb_test_result_release(&run);
		check_entries(&scene, swapper.at);
	}
	cr_assert_gt(refused, 2, "%zu of %llu", refused,
		     (unsigned long long)calls);
	free(whole);
	free(other);
	free(text);
	kb_test_remove(scene.dir);
}
