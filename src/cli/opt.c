/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsing and help from the tables of options. getopt_long() cuts the command
 * line up; what a value must look like, and every message, is decided here.
 * Whether the options of a verb make sense together is the verb's matter.
 *
 * Invariant: what the help shows is what is parsed, for both walk one table.
 */
#include "opt.h"

#include "../base/buf.h"
#include "../base/error.h"
#include "../base/parse.h"

#include <getopt.h>
#include <string.h>

#define HELP_COLUMN 28
#define LONG_ONLY 256 /* getopt values from here on: options without letter */

/* The groups of a verb as one array, and what getopt_long() wants. */
struct parser {
	const struct kb_opt *opts[KB_OPT_MAX];
	struct option longs[KB_OPT_MAX + 1];
	char letters[2 * KB_OPT_MAX + 16];
	size_t n;
	const struct kb_opt *level;
};

void kb_strings_release(struct kb_strings *strings)
{
	free(strings->items);
	*strings = (struct kb_strings){NULL, 0, 0};
}

static void parser_init(struct parser *parser, const struct kb_opt_spec *spec)
{
	char *letter = parser->letters;

	memset(parser, 0, sizeof(*parser));
	*letter++ = ':'; /* a missing argument is told from an unknown option */
	for (const struct kb_opt_group *g = spec->groups; g->title; g++) {
		for (const struct kb_opt *opt = g->opts; opt->name; opt++) {
			size_t i = parser->n++;

			parser->opts[i] = opt;
			parser->longs[i] = (struct option){
				.name = opt->name,
				.has_arg = opt->argument ? required_argument
							 : no_argument,
				.val = opt->letter ? opt->letter
						   : LONG_ONLY + (int)i,
			};
			if (opt->letter) {
				*letter++ = opt->letter;
				if (opt->argument)
					*letter++ = ':';
			}
			if (opt->type == KB_OPT_LEVEL)
				parser->level = opt;
		}
	}
	if (parser->level)
		memcpy(letter, "0123456789", sizeof("0123456789"));
}

static const struct kb_opt *parser_find(const struct parser *parser, int value)
{
	for (size_t i = 0; i < parser->n; i++) {
		if (parser->longs[i].val == value)
			return parser->opts[i];
	}
	return NULL;
}

static int store_string(struct kb_strings *strings, const char *text,
			struct kbundle_error *err)
{
	int r = kb_grow(&strings->items, &strings->cap, strings->n + 1,
			sizeof(*strings->items));

	if (r < 0)
		return kb_fail_nomem(err);
	strings->items[strings->n++] = text;
	return 0;
}

static int store_number(const struct kb_opt *opt, const char *text,
			uint64_t *target, struct kbundle_error *err)
{
	bool is_bytes = opt->type == KB_OPT_BYTES;
	bool ok = is_bytes ? kb_parse_bytes(text, target)
			   : kb_parse_u64(text, opt->max, target);
	struct kb_shown shown;

	if (ok && *target >= opt->min && *target <= opt->max)
		return 0;
	if (opt->max == UINT64_MAX)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "--%s: '%s' is not a %s above 0", opt->name,
			       kb_show(&shown, text),
			       is_bytes ? "size" : "number");
	return kb_fail(err, KBUNDLE_E_INVALID,
		       "--%s: '%s' is not a %s from %llu to %llu", opt->name,
		       kb_show(&shown, text), is_bytes ? "size" : "number",
		       (unsigned long long)opt->min,
		       (unsigned long long)opt->max);
}

static int find_choice(const struct kb_opt *opt, const char *text, size_t len,
		       int *ret_value, struct kbundle_error *err)
{
	struct kb_shown shown;
	char names[128] = "";

	for (const struct kb_opt_choice *c = opt->choices; c->name; c++) {
		size_t used = strlen(names);

		if (strlen(c->name) == len && !memcmp(c->name, text, len)) {
			*ret_value = c->value;
			return 0;
		}
		snprintf(names + used, sizeof(names) - used, "%s%s",
			 used ? ", " : "", c->name);
	}
	return kb_fail(err, KBUNDLE_E_INVALID, "--%s: '%s' is none of %s",
		       opt->name, kb_show_n(&shown, text, len), names);
}

static int store_set(const struct kb_opt *opt, const char *text, int *target,
		     struct kbundle_error *err)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		int value;
		int r = find_choice(opt, text, len, &value, err);

		if (r < 0)
			return r;
		*target |= value;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

static int store(const struct kb_opt *opt, const char *text, void *values,
		 struct kbundle_error *err)
{
	void *target = (char *)values + opt->offset;

	switch (opt->type) {
	case KB_OPT_FLAG:
		*(bool *)target = true;
		return 0;
	case KB_OPT_TEXT:
		*(const char **)target = text;
		return 0;
	case KB_OPT_LIST:
		return store_string(target, text, err);
	case KB_OPT_NUMBER:
	case KB_OPT_LEVEL:
	case KB_OPT_BYTES:
		return store_number(opt, text, target, err);
	case KB_OPT_CHOICE:
		return find_choice(opt, text, strlen(text), target, err);
	case KB_OPT_SET:
		return store_set(opt, text, target, err);
	}
	return kb_fail(err, KBUNDLE_E_INTERNAL, "--%s: no such type",
		       opt->name);
}

/* getopt said '?' or ':'; argument is the word that it was looking at. */
static int refuse(const struct parser *parser, int value, const char *argument,
		  struct kbundle_error *err)
{
	const struct kb_opt *opt = parser_find(parser, optopt);
	struct kb_shown shown;

	if (value == ':' && opt)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "option --%s needs a value (%s)", opt->name,
			       opt->argument);
	if (opt)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "option --%s takes no value", opt->name);
	if (optopt)
		return kb_fail(err, KBUNDLE_E_INVALID, "unknown option -%s",
			       kb_show_n(&shown, &(char){(char)optopt}, 1));
	return kb_fail(err, KBUNDLE_E_INVALID, "unknown or ambiguous option %s",
		       kb_show_n(&shown, argument, strcspn(argument, "=")));
}

/* Collects -19, which getopt gives as -1 and then -9 of the same word. */
struct level_digits {
	char text[8];
	const char *rest; /* of the word that the last digit stood in */
};

/* getopt moves operands about while it cuts words up, so a word is known by
 * what follows the digit in it, and not by its index. */
static void add_digit(struct level_digits *digits, char digit, char **argv)
{
	size_t used = strlen(digits->text);
	const char *at;

	if (digits->rest && *digits->rest == digit) {
		at = digits->rest;
	} else {
		const char *word = argv[optind];

		used = 0;
		at = word && word[0] == '-' && word[1] != '-'
			     ? strchr(word + 1, digit)
			     : NULL;
	}
	digits->rest = at && at[1] ? at + 1 : NULL;
	if (used < sizeof(digits->text) - 1) {
		digits->text[used] = digit;
		digits->text[used + 1] = '\0';
	}
}

int kb_opt_parse(const struct kb_opt_spec *spec, int argc, char **argv,
		 void *values, char ***ret_operands, size_t *ret_n,
		 struct kbundle_error *err)
{
	struct parser parser;
	struct level_digits digits = {"", NULL};

	parser_init(&parser, spec);
	optind = 0;
	opterr = 0;
	for (;;) {
		int value = getopt_long(argc, argv, parser.letters,
					parser.longs, NULL);
		const struct kb_opt *opt;
		const char *text = optarg;
		int r;

		if (value == -1)
			break;
		if (value == '?' || value == ':')
			return refuse(&parser, value, argv[optind - 1], err);
		if (value >= '0' && value <= '9') {
			add_digit(&digits, (char)value, argv);
			opt = parser.level;
			text = digits.text;
			if (digits.rest && *digits.rest >= '0' &&
			    *digits.rest <= '9')
				continue; /* more of them follow */
		} else {
			digits.rest = NULL;
			opt = parser_find(&parser, value);
		}
		r = store(opt, text, values, err);
		if (r < 0)
			return r;
	}
	*ret_operands = argv + optind;
	*ret_n = (size_t)(argc - optind);
	return 0;
}

void kb_opt_print_usage(const struct kb_opt_spec *spec, FILE *stream)
{
	fprintf(stream, "Usage: kbundle %s [OPTION]... %s\n", spec->name,
		spec->synopsis);
}

static void print_opt(const struct kb_opt *opt, FILE *stream)
{
	char tag[80], letter[16] = "    ";
	const char *help = opt->help;
	int column;

	if (opt->type == KB_OPT_LEVEL)
		snprintf(letter, sizeof(letter), "-%llu..-%llu, ",
			 (unsigned long long)opt->min,
			 (unsigned long long)opt->max);
	else if (opt->letter)
		snprintf(letter, sizeof(letter), "-%c, ", opt->letter);
	snprintf(tag, sizeof(tag), "  %s--%s%s%s", letter, opt->name,
		 opt->argument ? "=" : "", opt->argument ? opt->argument : "");
	column = fprintf(stream, "%s", tag);
	if (column > HELP_COLUMN - 2) {
		fputc('\n', stream);
		column = 0;
	}
	for (;;) {
		size_t len = strcspn(help, "\n");

		fprintf(stream, "%*s%.*s\n", HELP_COLUMN - column, "", (int)len,
			help);
		if (!help[len])
			return;
		help += len + 1;
		column = 0;
	}
}

void kb_opt_print_help(const struct kb_opt_spec *spec, FILE *stream)
{
	kb_opt_print_usage(spec, stream);
	fprintf(stream, "\n%s\n", spec->summary);
	for (const struct kb_opt_group *g = spec->groups; g->title; g++) {
		fprintf(stream, "\n%s:\n", g->title);
		for (const struct kb_opt *opt = g->opts; opt->name; opt++)
			print_opt(opt, stream);
	}
}
