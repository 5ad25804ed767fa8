/* SPDX-License-Identifier: Apache-2.0 */
/* A verb of the program: its command line and what runs it. */
#ifndef KB_VERB_H
#define KB_VERB_H

#include "args.h"
#include "opt.h"

struct kb_verb {
	struct kb_opt_spec spec;
	/* Runs with parsed options and the right number of operands. Returns
	 * the exit code, or a negative code with err set where the command
	 * line asks for something that makes no sense (usage). */
	int (*run)(struct kb_args *args, struct kbundle_error *err);
};

extern const struct kb_verb kb_verb_pack;
extern const struct kb_verb kb_verb_unpack;
extern const struct kb_verb kb_verb_list;
extern const struct kb_verb kb_verb_cat;
extern const struct kb_verb kb_verb_inspect;
extern const struct kb_verb kb_verb_verify;

#endif
