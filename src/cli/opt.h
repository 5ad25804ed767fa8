/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One table says what options a verb has: it is parsed by (getopt_long does
 * the cutting up), and its help is printed from it. Values go where the table
 * says, as an offset into one struct of the caller.
 */
#ifndef KB_OPT_H
#define KB_OPT_H

#include "../base/cleanup.h"

#include <kbundle/kbundle.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define KB_OPT_MAX 40	    /* options of one verb */
#define KB_OPT_GROUPS_MAX 6 /* groups of one verb, with the empty last one */

/* Strings of an option that may be given again; they are borrowed. */
struct kb_strings {
	const char **items;
	size_t n, cap;
};
void kb_strings_release(struct kb_strings *strings);

enum kb_opt_type {		  /* and what lies at the offset */
		   KB_OPT_FLAG,	  /* bool */
		   KB_OPT_TEXT,	  /* const char * */
		   KB_OPT_LIST,	  /* struct kb_strings */
		   KB_OPT_NUMBER, /* uint64_t, min to max */
		   KB_OPT_LEVEL,  /* uint64_t, min to max; -<digits> sets it too
				   */
		   KB_OPT_BYTES,  /* uint64_t, min to max, with K, M, G, T */
		   KB_OPT_CHOICE, /* int: the value of one of choices */
		   KB_OPT_SET /* int: values of some choices, or-ed; comma list
			       */
};

struct kb_opt_choice {
	const char *name; /* NULL ends the list */
	int value;
};

struct kb_opt {
	char letter;	      /* 0: none */
	const char *name;     /* long name; NULL ends the table */
	const char *argument; /* its name in the help, NULL for a flag */
	const char *help;     /* lines of at most 50 columns */
	enum kb_opt_type type;
	size_t offset;
	uint64_t min, max;
	const struct kb_opt_choice *choices;
};

struct kb_opt_group {
	const char *title; /* NULL ends the groups */
	const struct kb_opt *opts;
};

struct kb_opt_spec {
	const char *name;     /* of the verb */
	const char *summary;  /* one line */
	const char *synopsis; /* what follows "kbundle <name> [OPTION]..." */
	size_t operands_min, operands_max;
	struct kb_opt_group groups[KB_OPT_GROUPS_MAX];
};

/* Parses argv (argv[0] is the verb), which is put in order so that operands
 * stand last. Does not judge the number of operands. Codes: INVALID, NOMEM. */
int kb_opt_parse(const struct kb_opt_spec *spec, int argc, char **argv,
		 void *values, char ***ret_operands, size_t *ret_n,
		 struct kbundle_error *err) KB_MUST_CHECK;

/* "Usage: kbundle <verb> …", one line. */
void kb_opt_print_usage(const struct kb_opt_spec *spec, FILE *stream);
/* Usage, summary and every option. */
void kb_opt_print_help(const struct kb_opt_spec *spec, FILE *stream);

#endif
