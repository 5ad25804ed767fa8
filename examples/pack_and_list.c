/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs one cache directory into a bundle and lists what is in it.
 *
 *	pack_and_list ~/.triton/cache kernels.kbundle.tar.zst
 *
 * Built against an installed kbundle, by CMake or with
 *
 *	cc pack_and_list.c $(pkg-config --cflags --libs kbundle)
 */
#include <kbundle/kbundle.h>

#include <inttypes.h>
#include <stdio.h>

static int fail(const struct kbundle_error *err)
{
	fprintf(stderr, "pack_and_list: %s\n", err->message);
	return kbundle_code_exit(err->code);
}

static void print_note(const struct kbundle_note *note)
{
	fprintf(stderr, "%s: %s/%s: %s\n", kbundle_count_name(note->count),
		note->root, note->path, note->reason);
}

static int pack(const char *cache, const char *bundle,
		struct kbundle_error *err)
{
	struct kbundle_root root = {NULL, NULL, cache};
	struct kbundle_pack_options options = KBUNDLE_PACK_OPTIONS_INIT;
	kbundle_report *report = NULL;
	size_t i;
	int r, exit_code;

	options.roots = &root;
	options.n_roots = 1;
	options.output = bundle;

	r = kbundle_pack(NULL, &options, &report, err);
	if (r < 0) {
		kbundle_report_free(report);
		return fail(err);
	}
	for (i = 0; i < kbundle_report_n_notes(report); i++)
		print_note(kbundle_report_note(report, i));
	exit_code = kbundle_report_exit(report);
	kbundle_report_free(report);
	return exit_code;
}

static int list(const char *bundle, struct kbundle_error *err)
{
	struct kbundle_reader_options options = KBUNDLE_READER_OPTIONS_INIT;
	const struct kbundle_entry *entry;
	kbundle_reader *reader = NULL;
	int r;

	options.input = bundle;

	r = kbundle_reader_open(NULL, &options, &reader, err);
	if (r < 0)
		return fail(err);
	printf("%s\n", kbundle_reader_id(reader));
	while ((r = kbundle_reader_next(reader, &entry, err)) > 0)
		printf("%s/%s\t%s\t%s\t%" PRIu64 "\n", entry->root, entry->path,
		       entry->name, entry->target ? entry->target : "-",
		       entry->bytes);
	kbundle_reader_close(reader);
	return r < 0 ? fail(err) : 0;
}

int main(int argc, char **argv)
{
	struct kbundle_error err;
	int packed, listed;

	if (argc != 3) {
		fprintf(stderr, "usage: pack_and_list CACHE BUNDLE\n");
		return 2;
	}
	/* 5: some entries were damaged; the sound ones are in the bundle. */
	packed = pack(argv[1], argv[2], &err);
	if (packed != 0 && packed != 5)
		return packed;
	listed = list(argv[2], &err);
	return listed ? listed : packed;
}
