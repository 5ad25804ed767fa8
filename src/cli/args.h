/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything that can stand on a command line of any verb, the groups of
 * options that several verbs share, and their way into the library's structs.
 * Strings are borrowed from argv.
 */
#ifndef KB_ARGS_H
#define KB_ARGS_H

#include "opt.h"

enum kb_accept { KB_ACCEPT_PARTIAL = 1, KB_ACCEPT_NONE = 2 };

struct kb_args {
	/* every verb */
	bool help, json, quiet, verbose;
	uint64_t threads;
	int accept; /* of enum kb_accept */

	/* selection and limits */
	struct kb_strings archs, names, keys;
	bool slim;
	struct kbundle_limits limits;

	/* roots */
	const char *format;
	bool host_code;

	/* pack */
	const char *output, *spool, *token;
	uint64_t level, frame_bytes;

	/* unpack and verify */
	const char *as, *expect;
	int sync, validate, publish;

	/* cat */
	const char *root;

	char **operands;
	size_t n_operands;
};
void kb_args_release(struct kb_args *args);
KB_DEFINE_AUTO_STRUCT(struct kb_args, kb_args_release);

extern const struct kb_opt kb_opts_common[];
extern const struct kb_opt kb_opts_selection[];
extern const struct kb_opt kb_opts_limits[];
extern const struct kb_opt_choice kb_choices_validate[];

/* The file behind a bundle operand: NULL for "-", which is standard input. */
const char *kb_args_input(const char *operand);

/* A view of the selection; it points into args. */
struct kbundle_selection kb_args_selection(const struct kb_args *args);

/* Roots from operands "[NAME=]DIR". A name is taken off only where no file of
 * the whole name is there. Cuts the operands in place. Codes: INVALID, NOMEM.
 */
struct kb_roots {
	struct kbundle_root *items;
	size_t n;
};
int kb_roots_parse(struct kb_roots *roots, char **operands, size_t n,
		   const char *format, struct kbundle_error *err) KB_MUST_CHECK;
void kb_roots_release(struct kb_roots *roots);
KB_DEFINE_AUTO_STRUCT(struct kb_roots, kb_roots_release);

#endif
