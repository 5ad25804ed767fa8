/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/base/error.h"
#include "../../src/base/path.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <string.h>

#define ROOM (sizeof(((struct kbundle_error *)0)->message) - 1)

static void fill(char *text, size_t len, const char *with)
{
	size_t n = strlen(with);

	for (size_t i = 0; i < len; i++)
		text[i] = with[i % n];
	text[len] = '\0';
}

Test(error, fail_sets_everything_and_returns_the_code)
{
	struct kbundle_error err = {.sys_errno = 99};

	cr_assert_eq(kb_fail(&err, KBUNDLE_E_FORMAT, "%s: line %d", "m", 7),
		     KBUNDLE_E_FORMAT);
	cr_assert_eq(err.code, KBUNDLE_E_FORMAT);
	cr_assert_eq(err.sys_errno, 0);
	cr_assert_str_eq(err.message, "m: line 7");
}

Test(error, null_is_allowed_everywhere)
{
	cr_assert_eq(kb_fail(NULL, KBUNDLE_E_LIMIT, "x"), KBUNDLE_E_LIMIT);
	cr_assert_eq(kb_fail_errno(NULL, EIO, "x"), KBUNDLE_E_IO);
	cr_assert_eq(kb_fail_nomem(NULL), KBUNDLE_E_NOMEM);
	kb_wrap(NULL, "x");
}

Test(error, errno_decides_the_code_and_ends_the_message)
{
	static const struct {
		int sys_errno, code;
		const char *message;
	} cases[] = {
		{ENOENT, KBUNDLE_E_NOTFOUND, "f: No such file or directory"},
		{ENOMEM, KBUNDLE_E_NOMEM, "f: Cannot allocate memory"},
		{EEXIST, KBUNDLE_E_EXISTS, "f: File exists"},
		{ENOSPC, KBUNDLE_E_IO, "f: No space left on device"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kbundle_error err = {0};

		cr_assert_eq(kb_fail_errno(&err, cases[i].sys_errno, "%s", "f"),
			     cases[i].code);
		cr_assert_eq(err.code, cases[i].code);
		cr_assert_eq(err.sys_errno, cases[i].sys_errno);
		cr_assert_str_eq(err.message, cases[i].message);
	}
}

Test(error, errno_without_a_text_gives_its_number)
{
	struct kbundle_error err = {0};

	(void)kb_fail_errno(&err, 12345, "f");
	cr_assert(strstr(err.message, "12345"), "%s", err.message);
}

Test(error, wrap_puts_context_in_front_and_keeps_the_rest)
{
	struct kbundle_error err = {0};

	(void)kb_fail_errno(&err, ENOENT, "inner");
	kb_wrap(&err, "entry %s", "abc");
	kb_wrap(&err, "root");
	cr_assert_str_eq(err.message, "root: entry abc: inner: "
				      "No such file or directory");
	cr_assert_eq(err.code, KBUNDLE_E_NOTFOUND);
	cr_assert_eq(err.sys_errno, ENOENT);
}

Test(error, a_message_may_quote_the_message_that_it_replaces)
{
	struct kbundle_error err = {0};

	(void)kb_fail(&err, KBUNDLE_E_IO, "first");
	(void)kb_fail(&err, KBUNDLE_E_IO, "second after %s", err.message);
	cr_assert_str_eq(err.message, "second after first");
}

/* Whatever the lengths, the cause stands at the end, whole, and the message is
 * whole characters. */
Test(error, wrap_cuts_the_context_never_the_cause)
{
	char context[1500];
	struct kbundle_error err = {0};

	for (size_t cause = 0; cause <= ROOM; cause += cause < 990 ? 33 : 1) {
		char text[ROOM + 1];

		fill(text, cause, "c");
		fill(context, 1400, "\xe2\x82\xac"); /* a euro sign */
		(void)kb_fail(&err, KBUNDLE_E_IO, "%s", text);
		cr_assert_str_eq(err.message, text);
		kb_wrap(&err, "%s", context);
		cr_assert_leq(strlen(err.message), ROOM);
		cr_assert_str_eq(err.message + strlen(err.message) - cause,
				 text);
		cr_assert(kb_utf8_is_valid(err.message, strlen(err.message)));
		if (cause < ROOM - 10)
			cr_assert(strstr(err.message, "...: "), "cause of %zu",
				  cause);
	}
}

Test(error, long_fail_is_cut_at_a_character)
{
	char text[1500];
	struct kbundle_error err = {0};

	for (size_t shift = 0; shift < 4; shift++) {
		fill(text, shift, "x");
		fill(text + shift, 1400, "\xf0\x9f\x98\x80");
		(void)kb_fail(&err, KBUNDLE_E_IO, "%s", text);
		cr_assert(kb_utf8_is_valid(err.message, strlen(err.message)));
		cr_assert_geq(strlen(err.message), ROOM - 3);
		cr_assert_str_eq(err.message + strlen(err.message) - 3, "...");
	}
}

Test(error, long_errno_text_keeps_the_reason)
{
	char name[1500];
	struct kbundle_error err = {0};

	fill(name, 1400, "n");
	(void)kb_fail_errno(&err, ENOENT, "%s", name);
	cr_assert_eq(strlen(err.message), ROOM);
	cr_assert(strstr(err.message, "nnn...: No such file or directory"));
}

Test(error, show_escapes_what_does_not_belong_on_a_terminal)
{
	static const struct {
		const char *name, *shown;
	} cases[] = {
		{"plain name", "plain name"},
		{"", ""},
		{"a\nb\x1b[31m\x7f", "a\\x0ab\\x1b[31m\\x7f"},
		{"back\\slash", "back\\x5cslash"},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		 "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
		{"\xc2\x9b", "\\xc2\\x9b"},	     /* C1 */
		{"\xff\xc3", "\\xff\\xc3"},	     /* no UTF-8 */
		{"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
		{"\xe2\x82x", "\\xe2\\x82x"},	     /* cut short */
		{"\xc0\xaf", "\\xc0\\xaf"},	     /* overlong */
		{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct kb_shown shown;

		cr_assert_str_eq(kb_show(&shown, cases[i].name),
				 cases[i].shown);
	}
}

Test(error, show_n_takes_bytes_with_a_nul)
{
	struct kb_shown shown;

	cr_assert_str_eq(kb_show_n(&shown, "a\0b", 3), "a\\x00b");
	cr_assert_str_eq(kb_show_n(&shown, "abcdef", 3), "abc");
}

Test(error, show_cuts_long_names_in_the_middle)
{
	static const char *const fillings[] = {"x", "\n", "\xe2\x82\xac",
					       "\x80", "a\xf0\x9f\x98\x80"};
	char name[5000];
	struct kb_shown shown;

	for (size_t i = 0; i < sizeof(fillings) / sizeof(fillings[0]); i++)
		for (size_t len = 300; len < 420; len++) {
			memcpy(name, "begin", 5);
			fill(name + 5, len, fillings[i]);
			strncat(name, "end", sizeof(name) - len - 6);
			(void)kb_show(&shown, name);
			cr_assert_lt(strlen(shown.text), sizeof(shown.text));
			cr_assert(kb_utf8_is_valid(shown.text,
						   strlen(shown.text)));
			cr_assert_eq(strncmp(shown.text, "begin", 5), 0);
			cr_assert_str_eq(shown.text + strlen(shown.text) - 3,
					 "end");
			if (strlen(name) > 319)
				cr_assert(strstr(shown.text, "..."));
		}
}

/* Wherever the cut falls, no half of a character is left to be escaped. */
Test(error, show_cuts_between_characters)
{
	char name[500];
	struct kb_shown shown;

	for (size_t shift = 0; shift < 8; shift++)
		for (size_t len = 250; len < 280; len++) {
			fill(name, shift, "x");
			fill(name + shift, len / 4 * 4, "\n\xe2\x82\xac");
			fill(name + strlen(name), len % 4, "x");
			(void)kb_show(&shown, name);
			cr_assert(strstr(shown.text, "..."));
			cr_assert_null(strstr(shown.text, "\\x82"));
			cr_assert_null(strstr(shown.text, "\\xac"));
		}
}

Test(error, show_leaves_319_bytes_whole)
{
	char name[321];
	struct kb_shown shown;

	fill(name, 319, "x");
	cr_assert_str_eq(kb_show(&shown, name), name);
	fill(name, 320, "x");
	cr_assert_lt(strlen(kb_show(&shown, name)), 320);
}

Test(error, codes_have_names_texts_and_exits)
{
	cr_assert_str_eq(kbundle_code_name(KBUNDLE_E_FORMAT), "FORMAT");
	cr_assert_str_eq(kbundle_code_text(KBUNDLE_E_DIGEST),
			 "digest mismatch");
	cr_assert_eq(kbundle_code_exit(KBUNDLE_OK), 0);
	cr_assert_eq(kbundle_code_exit(KBUNDLE_E_INVALID), 2);
	cr_assert_eq(kbundle_code_exit(KBUNDLE_E_LIMIT), 3);
	cr_assert_eq(kbundle_code_exit(KBUNDLE_E_EMPTY), 4);
	cr_assert_eq(kbundle_code_exit(KBUNDLE_E_CANCELLED), 130);
	for (int code = -100; code < 100; code++) {
		if (code <= 0 && code >= KBUNDLE_E_INTERNAL)
			continue;
		cr_assert_str_eq(kbundle_code_name(code), "UNKNOWN");
		cr_assert_eq(kbundle_code_exit(code), 1);
		cr_assert(*kbundle_code_text(code));
	}
}
