/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options that several verbs share, and what turns words of the command
 * line into the library's structs. Nothing here judges what the library judges
 * itself (names of architectures, ids, directories).
 */
#include "args.h"

#include "../base/error.h"
#include "../base/path.h"

#include <string.h>
#include <sys/stat.h>

static const struct kb_opt_choice accept_choices[] = {
	{"partial", KB_ACCEPT_PARTIAL},
	{"none", KB_ACCEPT_NONE},
	{NULL, 0},
};

const struct kb_opt_choice kb_choices_validate[] = {
	{"structure", KBUNDLE_VALIDATE_STRUCTURE},
	{"none", KBUNDLE_VALIDATE_NONE},
	{NULL, 0},
};

#define AT(member) .offset = offsetof(struct kb_args, member)

const struct kb_opt kb_opts_common[] = {
	{.name = "threads",
	 .argument = "N",
	 .help = "worker threads, 1 to 64 (default: one per\n"
		 "processor, at most 16)",
	 .type = KB_OPT_NUMBER,
	 .min = 1,
	 .max = 64,
	 AT(threads)},
	{.name = "accept",
	 .argument = "LIST",
	 .help = "exit with 0 where the result would be partial\n"
		 "(5) or none (4); a list of these words",
	 .type = KB_OPT_SET,
	 .choices = accept_choices,
	 AT(accept)},
	{.name = "json",
	 .help = "print one JSON document instead of text",
	 .type = KB_OPT_FLAG,
	 AT(json)},
	{.letter = 'q',
	 .name = "quiet",
	 .help = "no counts, notices or progress",
	 .type = KB_OPT_FLAG,
	 AT(quiet)},
	{.letter = 'v',
	 .name = "verbose",
	 .help = "say more: what was left over, what is done",
	 .type = KB_OPT_FLAG,
	 AT(verbose)},
	{.letter = 'h',
	 .name = "help",
	 .help = "print this help",
	 .type = KB_OPT_FLAG,
	 AT(help)},
	{.name = NULL},
};

const struct kb_opt kb_opts_selection[] = {
	{.name = "arch",
	 .argument = "ARCH",
	 .help = "entries for this architecture: sm_90, sm_90a,\n"
		 "gfx942, hip:gfx90a; may be given again",
	 .type = KB_OPT_LIST,
	 AT(archs)},
	{.name = "name",
	 .argument = "GLOB",
	 .help = "entries whose kernel's name matches this shell\n"
		 "pattern; may be given again",
	 .type = KB_OPT_LIST,
	 AT(names)},
	{.name = "key",
	 .argument = "KEY",
	 .help = "the entry with this path in its root; may be\n"
		 "given again",
	 .type = KB_OPT_LIST,
	 AT(keys)},
	{.name = NULL},
};

#define LIMIT(is_type) .type = is_type, .min = 1, .max = UINT64_MAX

const struct kb_opt kb_opts_limits[] = {
	{.name = "limit-total",
	 .argument = "BYTES",
	 .help = "all files, expanded (default 1T)",
	 LIMIT(KB_OPT_BYTES),
	 AT(limits.total_bytes)},
	{.name = "limit-file",
	 .argument = "BYTES",
	 .help = "one file, expanded (default 8 GiB less a byte)",
	 LIMIT(KB_OPT_BYTES),
	 AT(limits.file_bytes)},
	{.name = "limit-entries",
	 .argument = "N",
	 .help = "entries (default 1000000)",
	 LIMIT(KB_OPT_NUMBER),
	 AT(limits.entries)},
	{.name = "limit-files",
	 .argument = "N",
	 .help = "files (default 16000000)",
	 LIMIT(KB_OPT_NUMBER),
	 AT(limits.files)},
	{.name = "limit-manifest",
	 .argument = "BYTES",
	 .help = "the manifest (default 1G)",
	 LIMIT(KB_OPT_BYTES),
	 AT(limits.manifest_bytes)},
	{.name = "limit-ratio",
	 .argument = "N",
	 .help = "decompressed by compressed bytes, once there\n"
		 "are more than 64 MiB (default 4096)",
	 LIMIT(KB_OPT_NUMBER),
	 AT(limits.ratio)},
	{.name = NULL},
};

void kb_args_release(struct kb_args *args)
{
	kb_strings_release(&args->archs);
	kb_strings_release(&args->names);
	kb_strings_release(&args->keys);
}

const char *kb_args_input(const char *operand)
{
	return strcmp(operand, "-") ? operand : NULL;
}

struct kbundle_selection kb_args_selection(const struct kb_args *args)
{
	return (struct kbundle_selection){
		.size = sizeof(struct kbundle_selection),
		.archs = args->archs.items,
		.n_archs = args->archs.n,
		.names = args->names.items,
		.n_names = args->names.n,
		.keys = args->keys.items,
		.n_keys = args->keys.n,
		.slim = args->slim,
	};
}

/* Cuts "NAME=DIR" in two and returns DIR; NULL if it is a path as it stands. */
static char *cut_name(char *operand)
{
	char *equals = strchr(operand, '=');
	struct stat st;

	if (!equals || lstat(operand, &st) == 0)
		return NULL;
	*equals = '\0';
	if (kb_root_name_is_valid(operand))
		return equals + 1;
	*equals = '=';
	return NULL;
}

int kb_roots_parse(struct kb_roots *roots, char **operands, size_t n,
		   const char *format, struct kbundle_error *err)
{
	if (n == 0)
		return 0;
	roots->items = calloc(n, sizeof(*roots->items));
	if (!roots->items)
		return kb_fail_nomem(err);
	roots->n = n;
	for (size_t i = 0; i < n; i++) {
		char *path = cut_name(operands[i]);

		roots->items[i] = (struct kbundle_root){
			.name = path ? operands[i] : NULL,
			.format = format,
			.path = path ? path : operands[i],
		};
		if (!*roots->items[i].path)
			return kb_fail(err, KBUNDLE_E_INVALID,
				       "operand %zu names no directory", i + 1);
	}
	return 0;
}

void kb_roots_release(struct kb_roots *roots)
{
	free(roots->items);
	*roots = (struct kb_roots){NULL, 0};
}
