/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kbundle pack: caches, or an archive of one, into a bundle. The work is
 * kbundle_pack()'s; here is only what its command line means.
 */
#include "out.h"
#include "verb.h"

#include "../base/error.h"

#include <string.h>
#include <unistd.h>

#define AT(member) .offset = offsetof(struct kb_args, member)

static const struct kb_opt options[] = {
	{.letter = 'o',
	 .name = "output",
	 .argument = "FILE",
	 .help = "write the bundle to FILE; '-' is standard output",
	 .type = KB_OPT_TEXT,
	 AT(output)},
	{.name = "level",
	 .argument = "N",
	 .help = "zstd level (default 2): higher is smaller and\n"
		 "slower",
	 .type = KB_OPT_LEVEL,
	 .min = 1,
	 .max = 19,
	 AT(level)},
	{.name = "frame-size",
	 .argument = "BYTES",
	 .help = "size of a frame, 64K to 8M (default 4M)",
	 .type = KB_OPT_BYTES,
	 .min = 65536,
	 .max = 8388608,
	 AT(frame_bytes)},
	{.name = "token",
	 .argument = "PREFIX",
	 .help = "where the bundle works when it is only untarred\n"
		 "(default /opt/kbundle)",
	 .type = KB_OPT_TEXT,
	 AT(token)},
	{.name = "format",
	 .argument = "FORMAT",
	 .help = "format of the caches (default: found out)",
	 .type = KB_OPT_TEXT,
	 AT(format)},
	{.name = "host-code",
	 .help = "take host extensions (.so) too",
	 .type = KB_OPT_FLAG,
	 AT(host_code)},
	{.name = "spool",
	 .argument = "DIR",
	 .help = "directory of temporary files (default: that of\n"
		 "FILE; for '-' $TMPDIR or /tmp)",
	 .type = KB_OPT_TEXT,
	 AT(spool)},
	{.name = "slim",
	 .help = "keep only the files that a hit needs",
	 .type = KB_OPT_FLAG,
	 AT(slim)},
	{.name = NULL},
};

static int run(struct kb_args *args, struct kbundle_error *err)
{
	KB_AUTO(kb_roots_release) struct kb_roots roots = {NULL, 0};
	KB_AUTO(kbundle_report_free) kbundle_report *report = NULL;
	struct kbundle_selection selection = kb_args_selection(args);
	struct kbundle_env env;
	struct kb_out out;
	bool to_stdout;
	int r;

	if (!args->output)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "no output: give -o FILE, or -o - for "
			       "standard output");
	to_stdout = !strcmp(args->output, "-");
	if (to_stdout && isatty(STDOUT_FILENO))
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "standard output is a terminal: redirect it, "
			       "or give -o FILE");
	r = kb_roots_parse(&roots, args->operands, args->n_operands,
			   args->format, err);
	if (r < 0)
		return r;

	kb_out_init(&out, args, to_stdout);
	env = kb_out_env(&out, args);
	const struct kbundle_pack_options pack = {
		.size = sizeof(pack),
		.roots = roots.items,
		.n_roots = roots.n,
		.output = to_stdout ? NULL : args->output,
		.output_fd = to_stdout ? STDOUT_FILENO : -1,
		.spool_dir = args->spool,
		.level = (int)args->level,
		.frame_bytes = args->frame_bytes,
		.token_prefix = args->token,
		.host_code = args->host_code,
		.selection = &selection,
		.limits = &args->limits,
	};
	r = kbundle_pack(&env, &pack, &report, err);
	return kb_out_reported(&out, "packed", r, report, err);
}

const struct kb_verb kb_verb_pack = {
	.spec = {.name = "pack",
		 .summary =
			 "Pack caches, or archives of caches, into a bundle.",
		 .synopsis = "-o FILE|- [NAME=]DIR|ARCHIVE...",
		 .operands_min = 1,
		 .operands_max = SIZE_MAX,
		 .groups = {{"Options", options},
			    {"Selection", kb_opts_selection},
			    {"Limits", kb_opts_limits},
			    {"Common options", kb_opts_common},
			    {NULL, NULL}}},
	.run = run,
};
