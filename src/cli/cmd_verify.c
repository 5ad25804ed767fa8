/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kbundle verify: is the bundle sound, and do live caches still hold exactly
 * its entries? Nothing is written. The work is kbundle_verify()'s.
 */
#include "out.h"
#include "verb.h"

#include <unistd.h>

#define AT(member) .offset = offsetof(struct kb_args, member)

static const struct kb_opt options[] = {
	{.name = "expect",
	 .argument = "ID",
	 .help = "accept only the bundle with this id, sha256:HEX",
	 .type = KB_OPT_TEXT,
	 AT(expect)},
	{.name = "validate",
	 .argument = "MODE",
	 .help = "look into binaries: structure (default), none",
	 .type = KB_OPT_CHOICE,
	 .choices = kb_choices_validate,
	 AT(validate)},
	{.name = NULL},
};

static int run(struct kb_args *args, struct kbundle_error *err)
{
	KB_AUTO(kb_roots_release) struct kb_roots roots = {NULL, 0};
	KB_AUTO(kbundle_report_free) kbundle_report *report = NULL;
	struct kbundle_env env;
	struct kb_out out;
	int r;

	r = kb_roots_parse(&roots, args->operands + 1, args->n_operands - 1,
			   NULL, err);
	if (r < 0)
		return r;
	kb_out_init(&out, args, false);
	env = kb_out_env(&out, args);
	const struct kbundle_verify_options verify = {
		.size = sizeof(verify),
		.input = kb_args_input(args->operands[0]),
		.input_fd = STDIN_FILENO,
		.roots = roots.items,
		.n_roots = roots.n,
		.expect = args->expect,
		.validate = args->validate,
		.limits = &args->limits,
	};
	r = kbundle_verify(&env, &verify, &report, err);
	return kb_out_reported(&out, "verified", r, report, err);
}

const struct kb_verb kb_verb_verify = {
	.spec = {.name = "verify",
		 .summary = "Check a bundle, or compare caches with it.",
		 .synopsis = "BUNDLE|- [[NAME=]DIR]...",
		 .operands_min = 1,
		 .operands_max = SIZE_MAX,
		 .groups = {{"Options", options},
			    {"Limits", kb_opts_limits},
			    {"Common options", kb_opts_common},
			    {NULL, NULL}}},
	.run = run,
};
