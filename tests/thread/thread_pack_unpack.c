/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack, unpack and verify with many workers, for the thread sanitizer; and two
 * unpacks into one root at once, from two threads of one process. A plain
 * main(): Criterion does not start under that sanitizer.
 */
#include "../lib/core_run.h"
#include "../lib/harness.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKERS 8
#define ROUNDS 5

static void expect(bool ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "failed: %s: %s\n", what, why);
	exit(1);
}

struct unpacker {
	pthread_t thread;
	const char *bundle, *root;
	struct kb_test_run_result run;
};

static void *unpack(void *data)
{
	struct unpacker *to = data;

	kb_test_unpack(&to->run, NULL, WORKERS, to->bundle, to->root, NULL);
	return NULL;
}

/* Both succeed; together they published each entry once. */
static void race(const char *bundle, const char *root)
{
	struct unpacker racers[2] = {{.bundle = bundle, .root = root},
				     {.bundle = bundle, .root = root}};
	uint64_t published = 0, present = 0;

	for (int i = 0; i < 2; i++)
		expect(!pthread_create(&racers[i].thread, NULL, unpack,
				       &racers[i]),
		       "thread", "cannot start");
	for (int i = 0; i < 2; i++) {
		struct kb_test_run_result *run = &racers[i].run;

		pthread_join(racers[i].thread, NULL);
		expect(run->r == 0 && run->exit == 0, "race", run->err.message);
		published += kbundle_report_count(run->report,
						  KBUNDLE_COUNT_ENTRIES);
		present += kbundle_report_count(run->report,
						KBUNDLE_COUNT_PRESENT);
		kb_test_result_release(run);
	}
	expect(published == 3 && present == 3, "race", "lost or doubled");
	expect(!kb_test_count_names(root, "tmp."), "race", "staging left");
}

int main(void)
{
	char dir[KB_TEST_PATH_MAX], cache[4096], bundle[4200], root[4200];
	struct kb_test_run_result run;
	char why[512];

	kb_test_tmpdir(dir);
	kb_test_small_cache(dir, cache);
	snprintf(bundle, sizeof(bundle), "%s/b.kb", dir);
	snprintf(root, sizeof(root), "%s/root", dir);
	kb_test_pack(&run, NULL, WORKERS, cache, bundle, NULL);
	expect(run.r == 0, "pack", run.err.message);
	kb_test_result_release(&run);
	for (int i = 0; i < ROUNDS; i++) {
		kb_test_remove(root);
		race(bundle, root);
	}
	kb_test_verify(&run, NULL, WORKERS, bundle, root);
	expect(run.r == 0 && run.exit == 0, "verify", run.err.message);
	kb_test_result_release(&run);
	/* Group files name another root; all else is as it was. */
	kb_test_pack(&run, NULL, WORKERS, root, bundle, NULL);
	expect(run.r == 0 && run.exit == 0, "pack again", run.err.message);
	kb_test_result_release(&run);
	kb_test_unpack(&run, NULL, WORKERS, bundle, cache, NULL);
	expect(run.r == 0, "unpack", run.err.message);
	kb_test_result_release(&run);
	snprintf(why, sizeof(why), "%zu files", kb_test_count_files(root));
	expect(kb_test_count_files(root) == kb_test_count_files(cache), "files",
	       why);
	kb_test_remove(dir);
	return 0;
}
