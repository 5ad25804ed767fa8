/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program: finds the verb, parses its command line, and runs it. What a
 * verb does is in cmd_<verb>.c, and there only over the public header.
 */
#include "cancel.h"
#include "verb.h"

#include "../base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2

static const struct kb_verb *const verbs[] = {
	&kb_verb_pack, &kb_verb_unpack,	 &kb_verb_list,
	&kb_verb_cat,  &kb_verb_inspect, &kb_verb_verify,
};
#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))

static void print_usage(FILE *stream)
{
	fputs("Usage: kbundle VERB [OPTION]... [OPERAND]...\n", stream);
}

static void print_help(void)
{
	print_usage(stdout);
	puts("\nPack caches of compiled GPU kernels into one bundle, and put\n"
	     "them back on another machine so that the framework there hits.\n"
	     "\nVerbs:");
	for (size_t i = 0; i < N_VERBS; i++)
		printf("  %-10s%s\n", verbs[i]->spec.name,
		       verbs[i]->spec.summary);
	puts("\nOptions:\n"
	     "  -h, --help    print this help\n"
	     "  --version     print the version\n"
	     "\n'kbundle VERB --help' tells more of a verb.");
}

static int finish_stdout(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "kbundle: standard output: %s\n", strerror(errno));
	return 1;
}

static int fail_usage(const struct kb_verb *verb, const char *message)
{
	if (verb) {
		const char *name = verb->spec.name;

		fprintf(stderr, "kbundle %s: %s\n", name, message);
		kb_opt_print_usage(&verb->spec, stderr);
		fprintf(stderr, "'kbundle %s --help' tells more.\n", name);
	} else {
		fprintf(stderr, "kbundle: %s\n", message);
		print_usage(stderr);
		fputs("'kbundle --help' tells more.\n", stderr);
	}
	return EXIT_USAGE;
}

static int fail(const struct kb_verb *verb, int code,
		const struct kbundle_error *err)
{
	if (code == KBUNDLE_E_INVALID)
		return fail_usage(verb, err->message);
	fprintf(stderr, "kbundle: %s\n", err->message);
	return kbundle_code_exit(code);
}

static int run_verb(const struct kb_verb *verb, int argc, char **argv)
{
	KB_AUTO(kb_args_release)
	struct kb_args args = {
		.limits.size = sizeof(struct kbundle_limits),
	};
	struct kbundle_error err = {0};
	int r;

	r = kb_opt_parse(&verb->spec, argc, argv, &args, &args.operands,
			 &args.n_operands, &err);
	if (r < 0)
		return fail(verb, r, &err);
	if (args.help) {
		kb_opt_print_help(&verb->spec, stdout);
		return finish_stdout();
	}
	if (args.n_operands < verb->spec.operands_min)
		return fail_usage(verb, "an operand is missing");
	if (args.n_operands > verb->spec.operands_max) {
		struct kb_shown shown;

		kb_fail(&err, KBUNDLE_E_INVALID, "surplus operand '%s'",
			kb_show(&shown,
				args.operands[verb->spec.operands_max]));
		return fail_usage(verb, err.message);
	}
	r = verb->run(&args, &err);
	return r < 0 ? fail(verb, r, &err) : r;
}

static const struct kb_verb *find_verb(const char *name)
{
	for (size_t i = 0; i < N_VERBS; i++) {
		if (!strcmp(verbs[i]->spec.name, name))
			return verbs[i];
	}
	return NULL;
}

/* A file that we open must never get the number of a standard stream that the
 * caller closed; using one of those must fail. */
static bool hold_standard_streams(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const struct kb_verb *verb;

	if (!hold_standard_streams())
		return 1;
	signal(SIGPIPE, SIG_IGN); /* a reader that left is an error, EPIPE */
	kb_cancel_install();
	if (argc < 2)
		return fail_usage(NULL, "no verb");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help();
		return finish_stdout();
	}
	if (!strcmp(argv[1], "--version")) {
		printf("kbundle %s (bundle format %d)\n", kbundle_version(),
		       KBUNDLE_FORMAT_VERSION);
		return finish_stdout();
	}
	verb = find_verb(argv[1]);
	if (!verb) {
		struct kb_shown shown;
		struct kbundle_error err = {0};

		kb_fail(&err, KBUNDLE_E_INVALID, "'%s' is no verb",
			kb_show(&shown, argv[1]));
		return fail_usage(NULL, err.message);
	}
	return run_verb(verb, argc - 1, argv + 1);
}
