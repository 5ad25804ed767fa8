/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The way from cache to bundle and back: the same bytes for any number of
 * workers, frames cut where docs/format.md says, several in work at once, large
 * entries without much memory, and nothing left to chance by what is there.
 */
#include "../../src/core/report.h"
#include "../../src/core/source.h"
#include "../../src/dep/zstd.h"
#include "../lib/core_run.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct scene {
	char dir[KB_TEST_PATH_MAX], cache[4200], bundle[4200], root[4200];
};

static void set_up(struct scene *scene)
{
	kb_test_tmpdir(scene->dir);
	kb_test_small_cache(scene->dir, scene->cache);
	snprintf(scene->bundle, sizeof(scene->bundle), "%s/b.kb", scene->dir);
	snprintf(scene->root, sizeof(scene->root), "%s/root", scene->dir);
}

static void pack(struct scene *scene, unsigned threads,
		 const struct kbundle_pack_options *more)
{
	struct kb_test_run_result run;

	kb_test_pack(&run, NULL, threads, scene->cache, scene->bundle, more);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	cr_assert_eq(run.exit, 0);
	kb_test_result_release(&run);
}

static void unpack(struct scene *scene, const struct kb_fs *fs,
		   unsigned threads)
{
	struct kb_test_run_result run;

	kb_test_unpack(&run, fs, threads, scene->bundle, scene->root, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	cr_assert_eq(run.exit, 0);
	kb_test_result_release(&run);
}

/* An autotune entry of any size: JSON that compresses badly. */
static void add_large_entry(struct scene *scene, const char *key, size_t bytes)
{
	char rel[128];
	char *text = malloc(bytes + 1);
	uint32_t state = 12345;

	snprintf(rel, sizeof(rel), "%s/big.autotune.json", key);
	memcpy(text, "{\"key\":[\"", 9);
	for (size_t i = 9; i < bytes - 24; i++) {
		state = state * 1664525 + 1013904223;
		text[i] = (char)('a' + (state >> 24) % 26);
	}
	memcpy(text + bytes - 24, "\"],\"configs_timings\":[]}", 24);
	kb_test_write(scene->cache, rel, text, bytes);
	free(text);
}

#define KEY_A "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define KEY_B "BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"

Test(flow, bytes_do_not_depend_on_workers_time_or_order)
{
	struct scene scene;
	char *want = NULL, *have;
	size_t want_len = 0, len;

	set_up(&scene);
	add_large_entry(&scene, KEY_A, 3 << 20);
	add_large_entry(&scene, KEY_B, 20 << 20);
	for (unsigned threads = 1; threads <= 8; threads *= 2) {
		/* Another creation order gives another order on the disk. */
		char copy[4200];

		pack(&scene, threads, NULL);
		have = kb_test_read(scene.bundle, "", &len);
		if (!want) {
			want = have;
			want_len = len;
		} else {
			cr_assert(len == want_len && !memcmp(have, want, len),
				  "%u workers", threads);
			free(have);
		}
		snprintf(copy, sizeof(copy), "%s/cache%u", scene.dir, threads);
		kb_test_copy_tree(scene.cache, copy);
		snprintf(scene.cache, sizeof(scene.cache), "%s", copy);
	}
	free(want);
	kb_test_remove(scene.dir);
}

static void open_frames(struct scene *scene, struct kb_ctx *ctx,
			struct kb_source *source)
{
	cr_assert_eq(kb_ctx_init(ctx, NULL, NULL, NULL), 0);
	cr_assert_eq(kb_source_open(source, ctx, scene->bundle, -1, NULL), 0);
}

Test(flow, frames_end_at_targets_and_at_8_mib)
{
	struct scene scene;
	struct kb_source source;
	struct kb_ctx ctx;
	uint32_t content[16];

	set_up(&scene);
	add_large_entry(&scene, KEY_A, 20 << 20);
	pack(&scene, 2, NULL);
	open_frames(&scene, &ctx, &source);
	/* manifest; no target: 8, 8 MiB and the rest; sm_75; the end */
	cr_assert_eq(source.frames.n, 6, "%zu frames", source.frames.n);
	for (size_t i = 0; i < 6; i++)
		content[i] = source.frames.frames[i].content_bytes;
	cr_assert_eq(content[1], 8 << 20);
	cr_assert_eq(content[2], 8 << 20);
	cr_assert_lt(content[3], 8 << 20);
	cr_assert_eq(content[5], 1024);
	kb_source_release(&source);
	kb_ctx_release(&ctx);
	unpack(&scene, NULL, 3);
	cr_assert_eq(kb_test_count_files(scene.root),
		     kb_test_count_files(scene.cache));
	kb_test_remove(scene.dir);
}

Test(flow, a_smaller_frame_size_changes_frames_and_not_the_bundle)
{
	const struct kbundle_pack_options small = {
		.size = sizeof(small), .frame_bytes = 65536, .level = 9};
	struct scene scene;
	struct kb_test_run_result run;
	char id[80];
	struct kb_source source;
	struct kb_ctx ctx;

	set_up(&scene);
	add_large_entry(&scene, KEY_A, 1 << 20);
	kb_test_pack(&run, NULL, 2, scene.cache, scene.bundle, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	snprintf(id, sizeof(id), "%s", kbundle_report_id(run.report));
	kb_test_result_release(&run);
	kb_test_pack(&run, NULL, 2, scene.cache, scene.bundle, &small);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	cr_assert_str_eq(kbundle_report_id(run.report), id);
	kb_test_result_release(&run);
	open_frames(&scene, &ctx, &source);
	for (size_t i = 0; i < source.frames.n; i++)
		cr_assert_leq(source.frames.frames[i].content_bytes, 131072);
	cr_assert_gt(source.frames.n, 9);
	kb_source_release(&source);
	kb_ctx_release(&ctx);
	unpack(&scene, NULL, 2);
	kb_test_remove(scene.dir);
}

/* ---- two frames at once ---- */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t both;
	unsigned inside, most;
} meeting = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

/* Frames of a file are read by the worker that decompresses them: the first
 * one waits here until a second one has come, or for ten seconds. */
static ssize_t meet_in_pread(int fd, void *data, size_t len, off_t offset)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 10;
	pthread_mutex_lock(&meeting.lock);
	if (++meeting.inside > meeting.most)
		meeting.most = meeting.inside;
	pthread_cond_broadcast(&meeting.both);
	while (meeting.most < 2 && meeting.inside < 2 && gettid() != getpid() &&
	       pthread_cond_timedwait(&meeting.both, &meeting.lock, &until) ==
		       0)
		;
	meeting.inside--;
	pthread_mutex_unlock(&meeting.lock);
	return kb_fs_real.pread(fd, data, len, offset);
}

Test(flow, two_frames_are_in_work_at_once)
{
	struct kb_fs fs = kb_fs_real;
	struct scene scene;

	fs.pread = meet_in_pread;
	set_up(&scene);
	add_large_entry(&scene, KEY_A, 20 << 20);
	pack(&scene, 2, NULL);
	unpack(&scene, &fs, 2);
	cr_assert_geq(meeting.most, 2);
	kb_test_remove(scene.dir);
}

/* ---- what is there already ---- */

Test(flow, what_is_there_is_neither_read_nor_touched)
{
	struct scene scene;
	struct kb_test_run_result run;
	struct stat before, after;
	char group[8500];

	set_up(&scene);
	pack(&scene, 2, NULL);
	unpack(&scene, NULL, 2);
	snprintf(group, sizeof(group),
		 "%s/TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ/"
		 "__grp__add_kernel.json",
		 scene.root);
	cr_assert_eq(stat(group, &before), 0);
	kb_test_unpack(&run, NULL, 2, scene.bundle, scene.root, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	cr_assert_eq(kbundle_report_count(run.report, KBUNDLE_COUNT_PRESENT),
		     3);
	cr_assert_eq(kbundle_report_count(run.report, KBUNDLE_COUNT_ENTRIES),
		     0);
	kb_test_result_release(&run);
	cr_assert_eq(stat(group, &after), 0);
	cr_assert_eq(before.st_ino, after.st_ino);
	cr_assert_eq(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
	cr_assert_eq(kb_test_count_names(scene.root, "tmp."), 0);
	kb_test_remove(scene.dir);
}

Test(flow, an_empty_directory_of_a_missed_look_up_is_filled)
{
	struct scene scene;

	set_up(&scene);
	pack(&scene, 1, NULL);
	kb_test_mkdir(scene.root,
		      "TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ");
	unpack(&scene, NULL, 1);
	cr_assert_eq(kb_test_count_files(scene.root),
		     kb_test_count_files(scene.cache));
	kb_test_remove(scene.dir);
}

static uint64_t unpack_beside(struct scene *scene, int age_seconds, int count)
{
	static const char key[] = "6e1380bbb79e032d5d942237fcc22405";
	struct kb_test_run_result run;
	struct timespec times[2];
	char path[8500];
	uint64_t n;

	kb_test_remove(scene->root);
	kb_test_write_text(scene->root,
			   "6e1380bbb79e032d5d942237fcc22405/add_kernel.ttir",
			   "half an entry");
	snprintf(path, sizeof(path), "%s/%s", scene->root, key);
	clock_gettime(CLOCK_REALTIME, &times[0]);
	times[0].tv_sec -= age_seconds;
	times[1] = times[0];
	cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	kb_test_unpack(&run, NULL, 1, scene->bundle, scene->root, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	n = kbundle_report_count(run.report, count);
	cr_assert_eq(kbundle_report_count(run.report, KBUNDLE_COUNT_ENTRIES),
		     2);
	kb_test_result_release(&run);
	cr_assert_eq(kb_test_count_files(path), 1, "it was left alone");
	return n;
}

Test(flow, a_half_written_entry_is_another_writers_for_a_minute)
{
	struct scene scene;

	set_up(&scene);
	pack(&scene, 1, NULL);
	cr_assert_eq(unpack_beside(&scene, 5, KBUNDLE_COUNT_PRESENT), 1);
	cr_assert_eq(unpack_beside(&scene, 90, KBUNDLE_COUNT_OCCUPIED), 1);
	kb_test_remove(scene.dir);
}

/* A number that a manifest cannot hold must not cost the others their bundle.
 */
Test(flow, what_a_manifest_cannot_say_is_left_out_or_not_said)
{
	static const char meta[] =
		"TFKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ/"
		"add_kernel.json";
	struct scene scene;
	struct kb_test_run_result run;
	char *text, *at, big[4096];

	set_up(&scene);
	text = kb_test_read(scene.cache, meta, NULL);
	at = strstr(text, "\"num_warps\": 1");
	cr_assert(at);
	snprintf(big, sizeof(big), "%.*s\"num_warps\": 9007199254740992%s",
		 (int)(at - text), text, at + strlen("\"num_warps\": 1"));
	kb_test_write_text(scene.cache, meta, big);
	kb_test_pack(&run, NULL, 1, scene.cache, scene.bundle, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	cr_assert_geq(kbundle_report_count(run.report, KBUNDLE_COUNT_ENTRIES),
		      2);
	kb_test_result_release(&run);
	kb_test_verify(&run, NULL, 1, scene.bundle, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	kb_test_result_release(&run);
	free(text);
	kb_test_remove(scene.dir);
}
