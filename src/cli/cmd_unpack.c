/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kbundle unpack: a bundle into caches. The work is kbundle_unpack()'s; here is
 * only what its command line means, and saying where each root went.
 */
#include "out.h"
#include "verb.h"

#include "../base/error.h"

#include <string.h>
#include <unistd.h>

#define AT(member) .offset = offsetof(struct kb_args, member)

static const struct kb_opt_choice sync_choices[] = {
	{"default", KBUNDLE_SYNC_DEFAULT},
	{"file", KBUNDLE_SYNC_FILE},
	{"none", KBUNDLE_SYNC_NONE},
	{NULL, 0},
};

static const struct kb_opt_choice publish_choices[] = {
	{"all", KBUNDLE_PUBLISH_DEFAULT},
	{"entry", KBUNDLE_PUBLISH_ENTRY},
	{NULL, 0},
};

static const struct kb_opt options[] = {
	{.name = "as",
	 .argument = "PATH",
	 .help = "write PATH into the cache as its own place (it\n"
		 "will be mounted there); one root only",
	 .type = KB_OPT_TEXT,
	 AT(as)},
	{.name = "expect",
	 .argument = "ID",
	 .help = "accept only the bundle with this id, sha256:HEX",
	 .type = KB_OPT_TEXT,
	 AT(expect)},
	{.name = "sync",
	 .argument = "MODE",
	 .help = "flush before publishing: default (the file\n"
		 "system once), file (each file), none",
	 .type = KB_OPT_CHOICE,
	 .choices = sync_choices,
	 AT(sync)},
	{.name = "host-code",
	 .help = "take host extensions (.so) too: code that runs in\n"
		 "the process of the framework",
	 .type = KB_OPT_FLAG,
	 AT(host_code)},
	{.name = "validate",
	 .argument = "MODE",
	 .help = "look into binaries: structure (default), none",
	 .type = KB_OPT_CHOICE,
	 .choices = kb_choices_validate,
	 AT(validate)},
	{.name = "publish",
	 .argument = "WHEN",
	 .help = "all (default): when everything was verified;\n"
		 "entry: each when it is ready; needs --expect",
	 .type = KB_OPT_CHOICE,
	 .choices = publish_choices,
	 AT(publish)},
	{.name = "slim",
	 .help = "write only the files that a hit needs",
	 .type = KB_OPT_FLAG,
	 AT(slim)},
	{.name = NULL},
};

/* Did an operand say where this root goes? */
static bool is_given(const struct kb_roots *roots, const char *name)
{
	for (size_t i = 0; i < roots->n; i++) {
		if (!roots->items[i].name ||
		    !strcmp(roots->items[i].name, name))
			return true;
	}
	return false;
}

static void print_roots(const struct kb_out *out, const struct kb_roots *given,
			const kbundle_report *report)
{
	size_t n = kbundle_report_n_roots(report);

	if (!out->results || out->quiet)
		return;
	for (size_t i = 0; i < n; i++) {
		const struct kbundle_root *root =
			kbundle_report_root(report, i);
		struct kb_shown path;

		fprintf(out->results, "%s: %s%s\n", root->name,
			kb_show(&path, root->path),
			is_given(given, root->name)
				? ""
				: " (default place of its format)");
	}
}

static int run(struct kb_args *args, struct kbundle_error *err)
{
	KB_AUTO(kb_roots_release) struct kb_roots roots = {NULL, 0};
	KB_AUTO(kbundle_report_free) kbundle_report *report = NULL;
	struct kbundle_selection selection = kb_args_selection(args);
	struct kbundle_env env;
	struct kb_out out;
	int r;

	r = kb_roots_parse(&roots, args->operands + 1, args->n_operands - 1,
			   NULL, err);
	if (r < 0)
		return r;
	kb_out_init(&out, args, false);
	env = kb_out_env(&out, args);
	const struct kbundle_unpack_options unpack = {
		.size = sizeof(unpack),
		.input = kb_args_input(args->operands[0]),
		.input_fd = STDIN_FILENO,
		.roots = roots.items,
		.n_roots = roots.n,
		.as = args->as,
		.expect = args->expect,
		.sync = args->sync,
		.validate = args->validate,
		.host_code = args->host_code,
		.publish = args->publish,
		.selection = &selection,
		.limits = &args->limits,
	};
	r = kbundle_unpack(&env, &unpack, &report, err);
	kb_progress_erase(&out.progress);
	if (r == 0)
		print_roots(&out, &roots, report);
	return kb_out_reported(&out, "unpacked", r, report, err);
}

const struct kb_verb kb_verb_unpack = {
	.spec = {.name = "unpack",
		 .summary = "Put the entries of a bundle into caches.",
		 .synopsis = "BUNDLE|- [[NAME=]DIR]...",
		 .operands_min = 1,
		 .operands_max = SIZE_MAX,
		 .groups = {{"Options", options},
			    {"Selection", kb_opts_selection},
			    {"Limits", kb_opts_limits},
			    {"Common options", kb_opts_common},
			    {NULL, NULL}}},
	.run = run,
};
