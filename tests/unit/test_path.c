/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/base/path.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

Test(path, utf8_is_what_unicode_calls_it)
{
	static const char *const good[] = {
		"",
		"ascii\x7f",
		"\xc2\x80",
		"\xdf\xbf",
		"\xe0\xa0\x80",
		"\xed\x9f\xbf",
		"\xee\x80\x80",
		"\xef\xbb\xbf",
		"\xf0\x90\x80\x80",
		"\xf4\x8f\xbf\xbf",
	};
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc2",
		"\xc2\x41",
		"\xe0\x9f\xbf",
		"\xe0\xa0",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf0\x90\x80",
		"\xf5\x80\x80\x80",
		"\xff",
		"\xe2\x82\x41\x41",
		"x\xfe",
	};

	for (size_t i = 0; i < N(good); i++)
		cr_assert(kb_utf8_is_valid(good[i], strlen(good[i])), "%zu", i);
	for (size_t i = 0; i < N(bad); i++)
		cr_assert_not(kb_utf8_is_valid(bad[i], strlen(bad[i])), "%zu",
			      i);
	cr_assert(kb_utf8_is_valid("a\0b", 3));
}

/* Each code point, encoded by hand, is valid unless it is a surrogate. */
Test(path, utf8_of_every_code_point)
{
	for (unsigned code = 0x800; code < 0x10000; code++) {
		const char text[3] = {(char)(0xe0 | code >> 12),
				      (char)(0x80 | (code >> 6 & 0x3f)),
				      (char)(0x80 | (code & 0x3f))};

		cr_assert_eq(kb_utf8_is_valid(text, 3),
			     code < 0xd800 || code > 0xdfff, "U+%04X", code);
	}
}

Test(path, name_faults_say_why)
{
	static const struct {
		const char *name, *fault;
	} cases[] = {
		{"kernel.cubin", NULL},
		{"-AbC_", NULL},
		{".hidden", NULL},
		{"...", NULL},
		{".kbundle2", NULL},
		{"tmp", NULL},
		{"a.tmp.b", NULL},
		{"caf\xc3\xa9 \"x\"", NULL},
		{"\xc2\xa0", NULL},
		{"", "is empty"},
		{".", "is . or .."},
		{"..", "is . or .."},
		{".kbundle", "is .kbundle, which is reserved"},
		{"tmp.", "begins with tmp., which is for unfinished entries"},
		{"tmp.pid_1",
		 "begins with tmp., which is for unfinished entries"},
		{"a/b", "has a slash"},
		{"a\\b", "has a backslash"},
		{"a\nb", "has a control byte"},
		{"a\x7f", "has a control byte"},
		{"\xc2\x80", "has a control byte"},
		{"\xc2\x9f", "has a control byte"},
		{"\xff", "is not valid UTF-8"},
		{"\xed\xb2\x80", "is not valid UTF-8"},
	};

	for (size_t i = 0; i < N(cases); i++) {
		const char *fault = kb_name_fault(cases[i].name);

		if (cases[i].fault)
			cr_assert(fault && strcmp(fault, cases[i].fault) == 0,
				  "'%s': %s", cases[i].name, fault);
		else
			cr_assert_null(fault, "'%s': %s", cases[i].name, fault);
	}
}

Test(path, name_holds_255_bytes)
{
	char name[257];

	memset(name, 'n', 256);
	name[256] = '\0';
	cr_assert_str_eq(kb_name_fault(name), "is longer than 255 bytes");
	name[255] = '\0';
	cr_assert_null(kb_name_fault(name));
}

Test(path, path_faults_say_why)
{
	static const struct {
		const char *path, *fault;
	} cases[] = {
		{"a", NULL},
		{"a/b.c/d", NULL},
		{"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16", NULL},
		{"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17",
		 "has more than 16 components"},
		{"", "is empty"},
		{"/a", "begins with a slash"},
		{"/", "begins with a slash"},
		{"a/", "has an empty component"},
		{"a//b", "has an empty component"},
		{"a/../b", "has a component . or .."},
		{"./a", "has a component . or .."},
		{"..", "has a component . or .."},
		{"a/.kbundle", "has a component .kbundle, which is reserved"},
		{"a/tmp.x/b", "has a component that begins with tmp., which "
			      "is for unfinished entries"},
		{"a/b\\c", "has a backslash"},
		{"a/b\tc", "has a control byte"},
		{"a/\x80", "is not valid UTF-8"},
		/* A character is not completed across a slash. */
		{"a\xc3/\xa9", "is not valid UTF-8"},
	};

	for (size_t i = 0; i < N(cases); i++) {
		const char *fault = kb_path_fault(cases[i].path);

		if (cases[i].fault)
			cr_assert(fault && strcmp(fault, cases[i].fault) == 0,
				  "'%s': %s", cases[i].path, fault);
		else
			cr_assert_null(fault, "'%s': %s", cases[i].path, fault);
	}
}

Test(path, path_holds_1024_bytes)
{
	char path[1026];

	memset(path, 'p', sizeof(path));
	for (size_t i = 200; i < 1024; i += 200)
		path[i] = '/';
	path[1025] = '\0';
	cr_assert_str_eq(kb_path_fault(path), "is longer than 1024 bytes");
	path[1024] = '\0';
	cr_assert_null(kb_path_fault(path));
	memset(path, 'p', 256);
	cr_assert_str_eq(kb_path_fault(path),
			 "has a component longer than 255 bytes");
}

Test(path, root_names)
{
	static const char *const good[] = {
		"triton",   "triton-2",
		"a",	    "0",
		"a.b_c-d",  "kbundl",
		"akbundle", "abcdefghijklmnopqrstuvwxyz012345",
	};
	static const char *const bad[] = {
		"",	     "-a",	    ".a",
		"_a",	     "Triton",	    "a/b",
		"a b",	     "kbundle",	    "kbundle.jsonl",
		"kbundle-x", "caf\xc3\xa9", "abcdefghijklmnopqrstuvwxyz0123456",
	};

	for (size_t i = 0; i < N(good); i++)
		cr_assert(kb_root_name_is_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < N(bad); i++)
		cr_assert_not(kb_root_name_is_valid(bad[i]), "%s", bad[i]);
}

Test(path, tokens)
{
	static const char *const good[] = {
		"/opt/kbundle/triton",
		"/opt/kbu",
		"/abcdefg",
		"/A/0/b.c_d+e-f",
	};
	static const char *const bad[] = {
		"",
		"/abcdef",
		"opt/kbundle",
		"/opt//kbundle",
		"/opt/kbundle/",
		"/opt/.kbundle",
		"/opt/-bundle",
		"/opt/k bundle",
		"/opt/../etc",
		"/opt/k\"bundle",
		"/opt/caf\xc3\xa9",
		"//opt/kbundle",
		"/////////",
	};
	char token[202];

	for (size_t i = 0; i < N(good); i++)
		cr_assert(kb_token_is_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < N(bad); i++)
		cr_assert_not(kb_token_is_valid(bad[i]), "%s", bad[i]);

	memset(token, 't', sizeof(token));
	token[0] = '/';
	token[201] = '\0';
	cr_assert_not(kb_token_is_valid(token));
	token[200] = '\0';
	cr_assert(kb_token_is_valid(token));
}

Test(path, absolute_is_clean)
{
	static const struct {
		const char *cwd, *path, *result;
	} cases[] = {
		{"/home/u", "cache", "/home/u/cache"},
		{"/home/u", "./a//b/./c/", "/home/u/a/b/c"},
		{"/home/u", "../v/x", "/home/v/x"},
		{"/home/u", "../../../..", "/"},
		{"/home/u", "../../../../x", "/x"},
		{"/home/u", "", "/home/u"},
		{"/home/u", ".", "/home/u"},
		{"/home/u", "..", "/home"},
		{"/home/u/", "a", "/home/u/a"},
		{"/home//u/.", "a", "/home/u/a"},
		{"/", "a", "/a"},
		{"/", "", "/"},
		{"/home/u", "/", "/"},
		{"/home/u", "//a///b//", "/a/b"},
		{"/home/u", "/a/../../b", "/b"},
		{"/home/u", "/a/.../..b/c..", "/a/.../..b/c.."},
		{"/home/u", "a/b/../../c", "/home/u/c"},
		{"/x", "\xff \"\n", "/x/\xff \"\n"},
	};

	for (size_t i = 0; i < N(cases); i++) {
		char *path = kb_path_absolute(cases[i].cwd, cases[i].path);

		cr_assert_str_eq(path, cases[i].result);
		free(path);
	}
}

Test(path, join)
{
	static const struct {
		const char *a, *b, *result;
	} cases[] = {
		{"a", "b", "a/b"},  {"/a/b", "c/d", "/a/b/c/d"},
		{"a", "", "a"},	    {"", "b", "b"},
		{"/", "b", "/b"},   {"/", "", "/"},
		{"a/", "b", "a/b"}, {"", "", ""},
	};

	for (size_t i = 0; i < N(cases); i++) {
		char *path = kb_path_join(cases[i].a, cases[i].b);

		cr_assert_str_eq(path, cases[i].result);
		free(path);
	}
}

Test(path, basename)
{
	cr_assert_str_eq(kb_path_basename("/a/b/c"), "c");
	cr_assert_str_eq(kb_path_basename("c"), "c");
	cr_assert_str_eq(kb_path_basename("/c"), "c");
	cr_assert_str_eq(kb_path_basename(""), "");
}
