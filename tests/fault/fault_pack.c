/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack on a disk that fails, and on a cache that changes under it. The output
 * is there complete or not at all; an entry is packed as it was at one moment,
 * or left out, never mixed.
 */
#include "../lib/core_run.h"
#include "../lib/fault_fs.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ"
#define CALLS_MAX 3000

struct scene {
	char dir[KB_TEST_PATH_MAX], cache[4096], out_dir[4200], bundle[4400];
};

static void set_up(struct scene *scene)
{
	kb_test_tmpdir(scene->dir);
	kb_test_small_cache(scene->dir, scene->cache);
	snprintf(scene->out_dir, sizeof(scene->out_dir), "%s/out", scene->dir);
	kb_test_mkdir(scene->dir, "out");
	snprintf(scene->bundle, sizeof(scene->bundle), "%s/b.kb",
		 scene->out_dir);
}

static void sweep(enum kb_fault_mode mode, int sys_errno, uint32_t ops)
{
	struct scene scene;
	struct kb_test_run_result run;
	char *want, *have;
	size_t want_len, have_len;
	uint64_t hits = 0;

	set_up(&scene);
	kb_test_pack(&run, NULL, 1, scene.cache, scene.bundle, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	kb_test_result_release(&run);
	want = kb_test_read(scene.bundle, "", &want_len);
	for (uint64_t at = 1; at < CALLS_MAX; at++) {
		struct kb_fault_plan plan = {
			.ops = ops,
			.at = at,
			.sys_errno = sys_errno,
			.mode = mode,
		};
		size_t fds = kb_test_count_fds();

		kb_test_remove(scene.bundle);
		kb_fault_start(&plan);
		kb_test_pack(&run, &kb_fault_fs, 1, scene.cache, scene.bundle,
			     NULL);
		cr_assert_eq(kb_test_count_fds(), fds, "call %llu leaks",
			     (unsigned long long)at);
		kb_test_result_release(&run);
		if (!kb_fault_was_hit())
			break;
		hits++;
		have = kb_test_read(scene.bundle, "", &have_len);
		/* An entry that could not be read is named (exit 5); all else
		 * is the whole bundle or none. */
		if (have && run.exit == 0)
			cr_assert(have_len == want_len &&
					  !memcmp(have, want, want_len),
				  "call %llu (%s): another bundle",
				  (unsigned long long)at, kb_fault_hit_name());
		cr_assert(run.r < 0 || have, "call %llu: said done, no bundle",
			  (unsigned long long)at);
		free(have);
	}
	cr_assert_gt(hits, 8, "only %llu calls", (unsigned long long)hits);
	free(want);
	kb_test_remove(scene.dir);
}

Test(pack_fault, one_call_fails)
{
	sweep(KB_FAULT_ONCE, EIO, KB_FAULT_ALL);
}

Test(pack_fault, no_space_from_one_call_on)
{
	sweep(KB_FAULT_FROM, ENOSPC,
	      KB_FAULT_BIT(write) | KB_FAULT_BIT(fsync) |
		      KB_FAULT_BIT(renameat));
}

Test(pack_fault, the_process_dies_at_any_call)
{
	sweep(KB_FAULT_FREEZE, EIO, KB_FAULT_ALL);
}

Test(pack_fault, no_space_leaves_nothing_beside_the_output)
{
	struct scene scene;
	struct kb_fault_plan plan = {
		.ops = KB_FAULT_BIT(fsync), .at = 1, .sys_errno = ENOSPC};
	struct kb_test_run_result run;

	set_up(&scene);
	kb_fault_start(&plan);
	kb_test_pack(&run, &kb_fault_fs, 1, scene.cache, scene.bundle, NULL);
	cr_assert_eq(run.r, KBUNDLE_E_IO);
	cr_assert(strstr(run.err.message, "space"), "%s", run.err.message);
	cr_assert_eq(kb_test_count_files(scene.out_dir), 0);
	kb_test_result_release(&run);
	kb_test_remove(scene.dir);
}

/* ---- a writer at work ---- */

struct writer {
	struct scene *scene;
	uint64_t at;	/* replace at this call; 0: at every one */
	unsigned round; /* of replacements so far */
};

/* A compile of the same key by another process: two files change together,
 * each by a rename, as Triton does it. */
static void replace_files(struct writer *writer)
{
	static const char *const names[] = {"add_kernel.ptx",
					    "add_kernel.ttir"};
	char text[64];

	snprintf(text, sizeof(text), "// version %u\n", ++writer->round);
	for (int i = 0; i < 2; i++) {
		char from[8800], to[8800];

		kb_test_write_text(writer->scene->cache, "new", text);
		snprintf(from, sizeof(from), "%s/new", writer->scene->cache);
		snprintf(to, sizeof(to), "%s/" KEY "/%s", writer->scene->cache,
			 names[i]);
		if (rename(from, to) < 0)
			abort();
	}
}

static void write_at(void *data, uint64_t number, enum kb_fault_op op, int fd,
		     const char *path)
{
	struct writer *writer = data;

	(void)op;
	(void)fd;
	(void)path;
	if (!writer->at || number == writer->at)
		replace_files(writer);
}

static char *unpacked_text(struct scene *scene, const char *name)
{
	char rel[512];

	snprintf(rel, sizeof(rel), "unpacked/" KEY "/%s", name);
	return kb_test_read(scene->dir, rel, NULL);
}

Test(pack_live, a_file_replaced_between_two_reads_is_never_mixed)
{
	struct scene scene;
	char unpacked[4200], pristine[4200];
	char *old_ptx, *old_ttir;
	unsigned old = 0, fresh = 0;
	uint64_t calls = 1;

	set_up(&scene);
	snprintf(unpacked, sizeof(unpacked), "%s/unpacked", scene.dir);
	snprintf(pristine, sizeof(pristine), "%s/pristine", scene.dir);
	kb_test_copy_tree(scene.cache, pristine);
	old_ptx = kb_test_read(scene.cache, KEY "/add_kernel.ptx", NULL);
	old_ttir = kb_test_read(scene.cache, KEY "/add_kernel.ttir", NULL);
	for (uint64_t at = 1; at <= calls; at++) {
		struct writer writer = {.scene = &scene, .at = at};
		struct kb_fault_plan plan = {.hook = write_at,
					     .hook_data = &writer};
		struct kb_test_run_result run;
		char *ptx, *ttir;
		bool is_old;

		kb_test_remove(scene.cache);
		kb_test_remove(unpacked);
		kb_test_copy_tree(pristine, scene.cache);
		kb_fault_start(&plan);
		kb_test_pack(&run, &kb_fault_fs, 1, scene.cache, scene.bundle,
			     NULL);
		calls = kb_fault_calls();
		cr_assert_eq(run.r, 0, "call %llu: %s", (unsigned long long)at,
			     run.err.message);
		cr_assert_eq(run.exit, 0, "one change is retried");
		kb_test_result_release(&run);
		kb_test_unpack(&run, NULL, 1, scene.bundle, unpacked, NULL);
		cr_assert_eq(run.r, 0, "%s", run.err.message);
		kb_test_result_release(&run);
		ptx = unpacked_text(&scene, "add_kernel.ptx");
		ttir = unpacked_text(&scene, "add_kernel.ttir");
		cr_assert(ptx && ttir);
		is_old = !strcmp(ptx, old_ptx);
		cr_assert_eq(is_old, !strcmp(ttir, old_ttir),
			     "call %llu: mixed", (unsigned long long)at);
		old += is_old;
		fresh += !is_old;
		free(ptx);
		free(ttir);
	}
	/* The sweep saw changes before, during and after the reading. */
	cr_assert_gt(old, 5);
	cr_assert_gt(fresh, 5);
	free(old_ptx);
	free(old_ttir);
	kb_test_remove(scene.dir);
}

Test(pack_live, an_entry_that_never_rests_is_left_out_and_named)
{
	struct scene scene;
	struct writer writer = {.scene = &scene};
	struct kb_fault_plan plan = {.ops = KB_FAULT_BIT(read),
				     .hook = write_at,
				     .hook_data = &writer};
	struct kb_test_run_result run;
	bool found = false;

	set_up(&scene);
	kb_fault_start(&plan);
	kb_test_pack(&run, &kb_fault_fs, 1, scene.cache, scene.bundle, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	cr_assert_eq(run.exit, 5);
	cr_assert_eq(kbundle_report_count(run.report, KBUNDLE_COUNT_CHANGED),
		     1);
	cr_assert_eq(kbundle_report_count(run.report, KBUNDLE_COUNT_ENTRIES),
		     2);
	for (size_t i = 0; i < kbundle_report_n_notes(run.report); i++) {
		const struct kbundle_note *note =
			kbundle_report_note(run.report, i);

		found |= note->count == KBUNDLE_COUNT_CHANGED &&
			 !strcmp(note->path, KEY);
	}
	cr_assert(found);
	kb_test_result_release(&run);
	kb_test_remove(scene.dir);
}
