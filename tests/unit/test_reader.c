/* SPDX-License-Identifier: Apache-2.0 */
/* The reader through the public calls: what is borrowed, and for how long. */
#include "../lib/core_run.h"
#include "../lib/harness.h"

#include <kbundle/kbundle.h>

#include <criterion/criterion.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define KEY_75 "6e1380bbb79e032d5d942237fcc22405"
#define MEMBER "triton/" KEY_75 "/add_kernel.ptx"

struct scene {
	char dir[KB_TEST_PATH_MAX], cache[4200], bundle[4200];
	struct kbundle_reader_options options;
	struct kbundle_error err;
};

static void set_up(struct scene *scene)
{
	const struct kbundle_reader_options standard =
		KBUNDLE_READER_OPTIONS_INIT;
	struct kb_test_run_result run;

	kb_test_tmpdir(scene->dir);
	kb_test_small_cache(scene->dir, scene->cache);
	snprintf(scene->bundle, sizeof(scene->bundle), "%s/b.kb", scene->dir);
	kb_test_pack(&run, NULL, 1, scene->cache, scene->bundle, NULL);
	cr_assert_eq(run.r, 0, "%s", run.err.message);
	kb_test_result_release(&run);
	scene->options = standard;
	scene->options.input = scene->bundle;
}

static kbundle_reader *open_bundle(struct scene *scene)
{
	kbundle_reader *reader = NULL;

	cr_assert_eq(kbundle_reader_open(NULL, &scene->options, &reader,
					 &scene->err),
		     0, "%s", scene->err.message);
	return reader;
}

Test(reader, what_is_beyond_the_end_is_null)
{
	const struct kbundle_entry *entry = NULL;
	struct scene scene;
	kbundle_reader *reader;
	size_t entries = 0;
	int r;

	set_up(&scene);
	reader = open_bundle(&scene);
	cr_assert_eq(kbundle_reader_n_roots(reader), 1);
	cr_assert_str_eq(kbundle_reader_root(reader, 0)->name, "triton");
	cr_assert_str_eq(kbundle_reader_root(reader, 0)->token,
			 "/opt/kbundle/triton");
	cr_assert_null(kbundle_reader_root(reader, 1));
	cr_assert_null(kbundle_reader_file(reader, 0), "before the first");
	while ((r = kbundle_reader_next(reader, &entry, &scene.err)) > 0) {
		cr_assert_not_null(kbundle_reader_file(reader, 0));
		cr_assert_null(kbundle_reader_file(reader, entry->n_files));
		entries++;
	}
	cr_assert_eq(r, 0, "%s", scene.err.message);
	cr_assert_null(entry);
	cr_assert_null(kbundle_reader_file(reader, 0), "behind the last");
	cr_assert_eq(entries, 3);
	cr_assert_eq(kbundle_reader_n_entries(reader), 3);
	kbundle_reader_close(reader);
	kbundle_reader_close(NULL);
	kb_test_remove(scene.dir);
}

Test(reader, options_need_to_live_for_the_open_only)
{
	char key[] = KEY_75;
	const char *keys[] = {key};
	struct kbundle_selection selection = KBUNDLE_SELECTION_INIT;
	const struct kbundle_entry *entry;
	struct scene scene;
	kbundle_reader *reader;

	set_up(&scene);
	selection.keys = keys;
	selection.n_keys = 1;
	scene.options.selection = &selection;
	reader = open_bundle(&scene);
	memset(key, 'x', sizeof(key) - 1);
	memset(&selection, 0, sizeof(selection));
	memset(keys, 0, sizeof(keys));
	cr_assert_eq(kbundle_reader_next(reader, &entry, NULL), 1);
	cr_assert_str_eq(entry->path, KEY_75);
	cr_assert_eq(kbundle_reader_next(reader, &entry, NULL), 0);
	cr_assert_eq(kbundle_reader_n_entries(reader), 3);
	kbundle_reader_close(reader);
	kb_test_remove(scene.dir);
}

Test(reader, a_listing_starts_again_after_its_end_and_after_cat)
{
	char paths[2][128];
	const struct kbundle_entry *entry;
	struct scene scene;
	kbundle_reader *reader;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	set_up(&scene);
	reader = open_bundle(&scene);
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(kbundle_reader_next(reader, &entry, NULL), 1);
		snprintf(paths[round], sizeof(paths[round]), "%s", entry->path);
		cr_assert_eq(kbundle_reader_cat(reader, MEMBER, NULL, null,
						&scene.err),
			     0, "%s", scene.err.message);
		cr_assert_null(kbundle_reader_file(reader, 0));
	}
	cr_assert_str_eq(paths[0], paths[1]);
	while (kbundle_reader_next(reader, &entry, NULL) > 0)
		continue;
	cr_assert_eq(kbundle_reader_next(reader, &entry, NULL), 1);
	cr_assert_str_eq(entry->path, paths[0]);
	close(null);
	kbundle_reader_close(reader);
	kb_test_remove(scene.dir);
}

Test(reader, another_bundle_than_the_expected_one_is_refused)
{
	char id[80], other[80];
	struct scene scene;
	kbundle_reader *reader;

	set_up(&scene);
	reader = open_bundle(&scene);
	snprintf(id, sizeof(id), "%s", kbundle_reader_id(reader));
	kbundle_reader_close(reader);
	scene.options.expect = id;
	kbundle_reader_close(open_bundle(&scene));

	snprintf(other, sizeof(other), "%s", id);
	other[70] = other[70] == '0' ? '1' : '0';
	scene.options.expect = other;
	reader = NULL;
	cr_assert_eq(
		kbundle_reader_open(NULL, &scene.options, &reader, &scene.err),
		KBUNDLE_E_DIGEST);
	cr_assert(strstr(scene.err.message, id), "%s", scene.err.message);
	cr_assert_null(reader);
	kb_test_remove(scene.dir);
}
