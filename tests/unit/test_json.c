/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed cases; tests/prop/prop_json_python.py asks Python about random ones. */
#include "../../src/base/json.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))
#define KIB(x) ((size_t)(x) << 10)

/* Copies text to memory that ends with it, so that the sanitizer sees a byte
 * read too many. */
static char *exact(const void *text, size_t len)
{
	char *copy = malloc(len > 0 ? len : 1);

	cr_assert_not_null(copy);
	memcpy(copy, text, len);
	return copy;
}

static bool is_valid(const void *text, size_t len)
{
	KB_AUTO_FREE char *copy = exact(text, len);

	return kb_json_is_valid(copy, len);
}

/* Reads text, a string token, as file name bytes. */
static int decode(const char *text, struct kb_buf *ret, size_t *offsets,
		  struct kbundle_error *err)
{
	KB_AUTO_FREE char *copy = exact(text, strlen(text));
	struct kb_json json;
	struct kb_json_token token;

	kb_json_init(&json, copy, strlen(text));
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0, "%s", text);
	cr_assert_eq(token.type, KB_JSON_STRING);
	return kb_json_decode(&json, &token, ret, offsets, err);
}

Test(json, accepts_what_python_accepts)
{
	static const char *const good[] = {
		"{}",
		"[]",
		" \t\r\n[ \n] \t\r\n",
		"{\"a\":1,\"a\":2}",
		"{\"\":{\"\":[{},[],\"\"]}}",
		"\"\"",
		"\"\x7f\"",
		"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uABCD\"",
		"\"\\ud800\"",
		"\"\\udfff\\ud800\\u0041\"",
		"\"\\u0000\"",
		"\"\xef\xbb\xbf\"",
		"0",
		"-0",
		"-0.0e-0",
		"10",
		"1.5",
		"1E400",
		"1e+05",
		"0e0",
		"NaN",
		"Infinity",
		"-Infinity",
		"[NaN,-Infinity,true,false,null]",
	};

	for (size_t i = 0; i < N(good); i++)
		cr_assert(is_valid(good[i], strlen(good[i])), "%s", good[i]);
}

Test(json, refuses_what_python_refuses)
{
	static const char *const bad[] = {
		"",
		" ",
		"{",
		"}",
		"[",
		"]",
		"[}",
		"{]",
		"[]]",
		"[] x",
		"[] []",
		"1 2",
		"[1,]",
		"[,1]",
		"[1,,2]",
		"[1 2]",
		"[1:2]",
		"{\"a\":1,}",
		"{,}",
		"{\"a\"}",
		"{\"a\":}",
		"{\"a\" 1}",
		"{\"a\",1}",
		"{\"a\":1 \"b\":2}",
		"{\"a\"::1}",
		"{a:1}",
		"{1:1}",
		"{'a':1}",
		"'a'",
		"\"",
		"\"a",
		"\"a\\\"",
		"\"\\",
		"\"\\x\"",
		"\"\\'\"",
		"\"\\U0041\"",
		"\"\\u\"",
		"\"\\u12\"",
		"\"\\u123\"",
		"\"\\u123g\"",
		"\"\\u+123\"",
		"\"\\u 123\"",
		"\"\\u0x12\"",
		"\"\\ud83d\\u12\"",
		"\"\t\"",
		"\"\n\"",
		"\"\x1f\"",
		"\x1f[]",
		"\v1",
		"\f1",
		"\xc2\xa0[]",
		"\xef\xbb\xbf[]",
		"\"\xff\"",
		"\"\xc3\"",
		"\"\xc0\x80\"",
		"\"\xed\xa0\x80\"",
		"\"\xf4\x90\x80\x80\"",
		"\xc3\xa9",
		"01",
		"-01",
		"-",
		"--1",
		"+1",
		".5",
		"1.",
		"1.e5",
		"1e",
		"1e+",
		"1.5.5",
		"0x10",
		"1_000",
		"\xd9\xa1",
		"- 1",
		"nan",
		"NAN",
		"-NaN",
		"+Infinity",
		"Inf",
		"-Inf",
		"Infinit",
		"infinity",
		"True",
		"nul",
		"nulll",
		"truefalse",
		"[1]//x",
		"/**/1",
		"# x\n1",
	};

	for (size_t i = 0; i < N(bad); i++)
		cr_assert_not(is_valid(bad[i], strlen(bad[i])), "'%s'", bad[i]);
}

Test(json, a_nul_byte_is_no_end)
{
	cr_assert_not(is_valid("[]\0", 3));
	cr_assert_not(is_valid("\0[]", 3));
	cr_assert_not(is_valid("\"\0\"", 3));
	cr_assert_not(is_valid("\"\\\0\"", 4));
	cr_assert_not(is_valid("{\"a\"\0:1}", 8));
	cr_assert_not(is_valid("1\0", 2));
}

/* Every prefix of this document is invalid. */
Test(json, refuses_every_truncation)
{
	static const char text[] =
		"{\"k\\u00e9y\": [1.5e-3, -Infinity, true, null, {\"a\": "
		"\"\xf0\x9f\x98\x80\\ud83d\\ude00\\\\\"}, []], \"z\": {}}";

	cr_assert(is_valid(text, sizeof(text) - 1));
	for (size_t len = 0; len < sizeof(text) - 1; len++)
		cr_assert_not(is_valid(text, len), "%zu bytes", len);
}

Test(json, integers_of_4300_digits_and_no_more)
{
	char digits[4304];

	memset(digits, '7', sizeof(digits));
	digits[0] = '-';
	cr_assert(is_valid(digits + 1, 4300));
	cr_assert(is_valid(digits, 4301));
	cr_assert_not(is_valid(digits + 1, 4301));
	cr_assert_not(is_valid(digits, 4302));
	/* Of a float there may be more. */
	memcpy(digits + 4301, "e1", 2);
	cr_assert(is_valid(digits + 1, 4302));
	memcpy(digits + 4301, ".5", 2);
	cr_assert(is_valid(digits + 1, 4302));
}

Test(json, depth_is_limited)
{
	char text[2 * (KB_JSON_DEPTH_MAX + 1)];
	struct kb_json json;
	struct kb_json_token token = {.type = KB_JSON_NULL};
	struct kbundle_error err = {0};
	size_t half = N(text) / 2;

	for (size_t i = 0; i < half; i++) {
		text[i] = '[';
		text[half + i] = ']';
	}
	cr_assert(is_valid(text + 1, N(text) - 2));
	cr_assert_not(is_valid(text, N(text)));

	kb_json_init(&json, text, N(text));
	for (unsigned i = 0; i < KB_JSON_DEPTH_MAX; i++) {
		cr_assert_eq(kb_json_next(&json, &token, &err), 0);
		cr_assert_eq(token.depth, i);
	}
	cr_assert_eq(kb_json_next(&json, &token, &err), KBUNDLE_E_LIMIT);
	cr_assert_str_eq(err.message, "JSON, byte 128: nested more than 128 "
				      "deep");
}

/* Objects and arrays by turns: the kinds are kept apart at every depth. */
Test(json, brackets_match_at_every_depth)
{
	for (size_t wrong = 0; wrong <= KB_JSON_DEPTH_MAX; wrong++) {
		KB_AUTO(kb_buf_release) struct kb_buf text;

		kb_buf_init(&text, KIB(4));
		for (size_t i = 0; i < KB_JSON_DEPTH_MAX; i++)
			cr_assert_eq(kb_buf_puts(&text, i % 3 ? "{\"\":" : "["),
				     0);
		cr_assert_eq(kb_buf_putc(&text, '0'), 0);
		for (size_t i = KB_JSON_DEPTH_MAX; i-- > 0;)
			cr_assert_eq(
				kb_buf_putc(&text, (i % 3 != 0) == (i != wrong)
							   ? '}'
							   : ']'),
				0);
		cr_assert_eq(is_valid(text.data, text.len),
			     wrong == KB_JSON_DEPTH_MAX, "%zu", wrong);
	}
}

Test(json, tokens_are_byte_ranges)
{
	static const char text[] =
		" {\"a\" : [1, -2.5e3,\"x\\\"y\"] ,\n\"b\":{\"c\":NaN}} ";
	static const struct {
		enum kb_json_type type;
		unsigned depth;
		const char *text;
	} tokens[] = {
		{KB_JSON_OBJECT, 0, "{"},
		{KB_JSON_KEY, 1, "\"a\""},
		{KB_JSON_ARRAY, 1, "["},
		{KB_JSON_NUMBER, 2, "1"},
		{KB_JSON_NUMBER, 2, "-2.5e3"},
		{KB_JSON_STRING, 2, "\"x\\\"y\""},
		{KB_JSON_ARRAY_END, 1, "]"},
		{KB_JSON_KEY, 1, "\"b\""},
		{KB_JSON_OBJECT, 1, "{"},
		{KB_JSON_KEY, 2, "\"c\""},
		{KB_JSON_NUMBER, 2, "NaN"},
		{KB_JSON_OBJECT_END, 1, "}"},
		{KB_JSON_OBJECT_END, 0, "}"},
		{KB_JSON_END, 0, ""},
		{KB_JSON_END, 0, ""},
	};
	struct kb_json json;

	kb_json_init(&json, text, sizeof(text) - 1);
	for (size_t i = 0; i < N(tokens); i++) {
		struct kb_json_token token;

		cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
		cr_assert_eq(token.type, tokens[i].type, "%zu", i);
		cr_assert_eq(token.depth, tokens[i].depth, "%zu", i);
		cr_assert_eq(token.len, strlen(tokens[i].text), "%zu", i);
		cr_assert_eq(
			memcmp(text + token.offset, tokens[i].text, token.len),
			0, "%zu", i);
	}
}

Test(json, errors_name_the_byte_and_repeat)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{"", "JSON, byte 0: the text ends where value belongs"},
		{"[1,]", "JSON, byte 3: no value"},
		{"[1 2]", "JSON, byte 3: no comma or ]"},
		{"{\"a\" 2}", "JSON, byte 5: no colon"},
		{"{\"a\":2", "JSON, byte 6: the text ends where comma or } "
			     "belongs"},
		{"{2}", "JSON, byte 1: no member name in quotes"},
		{"[] x", "JSON, byte 3: more text after the value"},
		{"[\"ab\tc\"]", "JSON, byte 4: control byte in a string"},
		{"[\"ab\xff\"]", "JSON, byte 4: invalid UTF-8"},
		{"[\"ab\\q\"]", "JSON, byte 4: unknown escape in a string"},
		{"[\"\\u12\"]",
		 "JSON, byte 2: \\u without four hexadecimal digits"},
		{"[\"ab", "JSON, byte 4: the text ends inside a string"},
		{"[-x]", "JSON, byte 1: no value"},
	};

	for (size_t i = 0; i < N(cases); i++) {
		struct kbundle_error err = {0}, again = {0};
		struct kb_json_token token;
		struct kb_json json;
		int r;

		kb_json_init(&json, cases[i].text, strlen(cases[i].text));
		do {
			r = kb_json_next(&json, &token, &err);
		} while (r == 0 && token.type != KB_JSON_END);
		cr_assert_eq(r, KBUNDLE_E_FORMAT, "%s", cases[i].text);
		cr_assert_eq(err.code, KBUNDLE_E_FORMAT);
		cr_assert_str_eq(err.message, cases[i].message);
		cr_assert_eq(kb_json_next(&json, &token, &again), r);
		cr_assert_str_eq(again.message, err.message);
	}
}

Test(json, skip_leaves_the_scanner_after_the_value)
{
	static const char text[] =
		"{\"a\":{\"x\":[1,{}],\"y\":[]},\"b\":[[],[2]],\"c\":3}";
	struct kb_json json;
	struct kb_json_token token;

	kb_json_init(&json, text, sizeof(text) - 1);
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
	for (const char *key = "abc"; *key; key++) {
		cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
		cr_assert_eq(token.type, KB_JSON_KEY);
		cr_assert_eq(text[token.offset + 1], *key);
		/* By its key, or by the value's own token. */
		if (*key != 'b')
			cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
		cr_assert_eq(kb_json_skip(&json, &token, NULL), 0);
	}
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
	cr_assert_eq(token.type, KB_JSON_OBJECT_END);
	cr_assert_eq(token.depth, 0);

	kb_json_init(&json, text, sizeof(text) - 1);
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
	cr_assert_eq(kb_json_skip(&json, &token, NULL), 0);
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
	cr_assert_eq(token.type, KB_JSON_END);
}

Test(json, skip_finds_the_error_inside)
{
	struct kbundle_error err = {0};
	struct kb_json json;
	struct kb_json_token token;

	kb_json_init(&json, "[[1,2}]", 7);
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
	cr_assert_eq(kb_json_skip(&json, &token, &err), KBUNDLE_E_FORMAT);
	cr_assert_str_eq(err.message, "JSON, byte 5: no comma or ]");
}

Test(json, decode_gives_the_bytes_of_the_file_name)
{
	static const struct {
		const char *text, *bytes;
	} cases[] = {
		{"\"\"", ""},
		{"\"a\\/b\"", "a/b"},
		{"\"\\\"\\\\\\b\\f\\n\\r\\t\"", "\"\\\b\f\n\r\t"},
		{"\"caf\\u00e9 caf\xc3\xa9\"", "caf\xc3\xa9 caf\xc3\xa9"},
		{"\"\\u20AC\\u007f\"", "\xe2\x82\xac\x7f"},
		{"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
		{"\"\\uD83D\\uDE00x\"", "\xf0\x9f\x98\x80x"},
		{"\"\\udbff\\udfff\"", "\xf4\x8f\xbf\xbf"},
		{"\"\\udc80\\udcff\"", "\x80\xff"},
		{"\"\\udcc3\\udca9\"", "\xc3\xa9"},
		/* The second half of a pair, not an escaped byte. */
		{"\"\\ud83d\\udc80\"", "\xf0\x9f\x92\x80"},
		{"\"\\uffff\"", "\xef\xbf\xbf"},
	};

	for (size_t i = 0; i < N(cases); i++) {
		KB_AUTO(kb_buf_release) struct kb_buf bytes;
		struct kbundle_error err = {0};

		kb_buf_init(&bytes, 100);
		cr_assert_eq(kb_buf_puts(&bytes, ">"), 0);
		cr_assert_eq(decode(cases[i].text, &bytes, NULL, &err), 0, "%s",
			     err.message);
		cr_assert_str_eq(bytes.data + 1, cases[i].bytes);
		cr_assert_eq(bytes.len, 1 + strlen(cases[i].bytes));
	}
}

Test(json, decode_refuses_what_no_file_name_holds)
{
	static const struct {
		const char *text, *at;
	} cases[] = {
		{"\"ab\\u0000\"", "byte 3"},
		{"\"\\ud83d\"", "byte 1"},
		{"\"\\ud83dx\"", "byte 1"},
		{"\"\\ud83d\\n1234\"", "byte 1"},
		{"\"\\ud83d\\u0041\"", "byte 1"},
		{"\"\\ud83d\\ud83d\\ude00\"", "byte 1"},
		{"\"x\\ude00\\ud83d\"", "byte 2"},
		{"\"\\udc7f\"", "byte 1"},
		{"\"\\udd00\"", "byte 1"},
		{"\"\\udc00\"", "byte 1"},
	};

	for (size_t i = 0; i < N(cases); i++) {
		KB_AUTO(kb_buf_release) struct kb_buf bytes;
		struct kbundle_error err = {0};

		kb_buf_init(&bytes, 100);
		cr_assert_eq(kb_buf_puts(&bytes, "as before"), 0);
		cr_assert_eq(decode(cases[i].text, &bytes, NULL, &err),
			     KBUNDLE_E_FORMAT, "%s", cases[i].text);
		cr_assert_str_eq(bytes.data, "as before");
		cr_assert(strstr(err.message, cases[i].at), "%s: %s",
			  cases[i].text, err.message);
	}
}

Test(json, decode_respects_the_limit_of_the_buffer)
{
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	struct kbundle_error err = {0};

	kb_buf_init(&bytes, 3);
	cr_assert_eq(decode("\"\\u0061bc\"", &bytes, NULL, &err), 0);
	cr_assert_str_eq(bytes.data, "abc");
	kb_buf_clear(&bytes);
	cr_assert_eq(decode("\"abcd\"", &bytes, NULL, &err), KBUNDLE_E_LIMIT);
	cr_assert_eq(err.code, KBUNDLE_E_LIMIT);
	cr_assert_str_eq(bytes.data, "");
}

Test(json, decode_takes_only_strings)
{
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	struct kb_json json;
	struct kb_json_token token;

	kb_buf_init(&bytes, 100);
	kb_json_init(&json, "{\"k\":12}", 8);
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
	cr_assert_eq(kb_json_decode(&json, &token, &bytes, NULL, NULL),
		     KBUNDLE_E_FORMAT);
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
	cr_assert_eq(kb_json_decode(&json, &token, &bytes, NULL, NULL), 0);
	cr_assert_str_eq(bytes.data, "k");
	cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
	cr_assert_eq(kb_json_decode(&json, &token, &bytes, NULL, NULL),
		     KBUNDLE_E_FORMAT);
}

Test(json, decode_says_where_each_byte_came_from)
{
	static const char text[] =
		"\"a\\/\\u00e9\xc3\xa9\\ud83d\\ude00\\udc80z\"";
	/*         a  /  -- é ---  é     ----- pair -----  80  z  quote */
	static const size_t wanted[] = {1,  2,	4,  4,	10, 10, 12,
					12, 12, 12, 24, 30, 31};
	KB_AUTO(kb_buf_release) struct kb_buf bytes;
	size_t offsets[sizeof(text) - 1];

	memset(offsets, 0xff, sizeof(offsets));
	kb_buf_init(&bytes, 100);
	cr_assert_eq(kb_buf_puts(&bytes, "before"), 0);
	cr_assert_eq(decode(text, &bytes, offsets, NULL), 0);
	cr_assert_eq(bytes.len - strlen("before") + 1, N(wanted));
	cr_assert_arr_eq(offsets, wanted, sizeof(wanted));
	cr_assert_eq(offsets[N(wanted)], SIZE_MAX);
}

Test(json, offsets_fit_where_the_header_says)
{
	static const char *const texts[] = {"\"\"", "\"a\"", "\"\\n\"",
					    "\"\\udc80\"",
					    "\"\xf0\x9f\x98\x80\""};

	for (size_t i = 0; i < N(texts); i++) {
		size_t n = strlen(texts[i]);
		KB_AUTO_FREE size_t *offsets = malloc(n * sizeof(*offsets));
		KB_AUTO(kb_buf_release) struct kb_buf bytes;

		kb_buf_init(&bytes, 100);
		cr_assert_eq(decode(texts[i], &bytes, offsets, NULL), 0);
		cr_assert_eq(offsets[bytes.len], n - 1);
	}
}

Test(json, equals_compares_what_the_string_means)
{
	static const struct {
		const char *text, *other;
		bool is_equal;
	} cases[] = {
		{"\"\"", "", true},
		{"\"abc\"", "abc", true},
		{"\"a\\u0062c\"", "abc", true},
		{"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", true},
		{"\"abc\"", "ab", false},
		{"\"ab\"", "abc", false},
		{"\"\"", "a", false},
		{"\"a\"", "", false},
		{"\"Abc\"", "abc", false},
		{"\"\\u0000\"", "", false},
		{"\"ab\\u0000\"", "ab", false},
		{"\"\\ud83d\"", "", false},
		{"\"\xf0\x9f\x98\x80\"", "\xf0\x9f", false},
		{"12", "12", false},
		{"[]", "", false},
	};

	for (size_t i = 0; i < N(cases); i++) {
		struct kb_json json;
		struct kb_json_token token;

		kb_json_init(&json, cases[i].text, strlen(cases[i].text));
		cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
		cr_assert_eq(kb_json_equals(&json, &token, cases[i].other),
			     cases[i].is_equal, "%s", cases[i].text);
	}
}

Test(json, integers_are_exact_or_none)
{
	static const struct {
		const char *text;
		int64_t value;
	} good[] = {
		{"0", 0},
		{"-0", 0},
		{"90", 90},
		{"-17", -17},
		{"9007199254740991", 9007199254740991},
		{"-9007199254740991", -9007199254740991},
	};
	static const char *const none[] = {
		"9007199254740992",
		"-9007199254740992",
		"99999999999999999999999999",
		"1.0",
		"1e2",
		"-1E0",
		"NaN",
		"Infinity",
		"-Infinity",
		"\"1\"",
		"true",
		"null",
		"[]",
	};

	for (size_t i = 0; i < N(good); i++) {
		struct kb_json json;
		struct kb_json_token token;
		int64_t value = 77;

		kb_json_init(&json, good[i].text, strlen(good[i].text));
		cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
		cr_assert(kb_json_integer(&json, &token, &value), "%s",
			  good[i].text);
		cr_assert_eq(value, good[i].value);
	}
	for (size_t i = 0; i < N(none); i++) {
		struct kb_json json;
		struct kb_json_token token;
		int64_t value = 77;

		kb_json_init(&json, none[i], strlen(none[i]));
		cr_assert_eq(kb_json_next(&json, &token, NULL), 0);
		cr_assert_not(kb_json_integer(&json, &token, &value), "%s",
			      none[i]);
		cr_assert_eq(value, 77);
	}
}

Test(json, encode_writes_as_python_does)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = {
		{"", ""},
		{"/opt/plain ~", "/opt/plain ~"},
		{"\"\\\b\f\n\r\t", "\\\"\\\\\\b\\f\\n\\r\\t"},
		{"\x01\x1f\x7f", "\\u0001\\u001f\\u007f"},
		{"caf\xc3\xa9 \xe2\x82\xac", "caf\\u00e9 \\u20ac"},
		{"\xf0\x9f\x98\x80", "\\ud83d\\ude00"},
		{"\x80\xff", "\\udc80\\udcff"},
		{"\xe2\x82x", "\\udce2\\udc82x"},
		{"\xed\xb2\x80", "\\udced\\udcb2\\udc80"},
	};

	for (size_t i = 0; i < N(cases); i++) {
		KB_AUTO(kb_buf_release) struct kb_buf text;

		kb_buf_init(&text, 100);
		cr_assert_eq(kb_json_encode_python(&text, cases[i].bytes,
						   strlen(cases[i].bytes)),
			     0);
		cr_assert_str_eq(text.data, cases[i].text);
	}
}

Test(json, encode_takes_a_nul_byte)
{
	KB_AUTO(kb_buf_release) struct kb_buf text;

	kb_buf_init(&text, 100);
	cr_assert_eq(kb_json_encode_python(&text, "a\0b", 3), 0);
	cr_assert_str_eq(text.data, "a\\u0000b");
}

Test(json, canonical_strings_escape_only_what_they_must)
{
	static const struct {
		const char *bytes, *text;
	} cases[] = {
		{"", "\"\""},
		{"a/b\x7f\xc3\xa9", "\"a/b\x7f\xc3\xa9\""},
		{"\"\\", "\"\\\"\\\\\""},
		{"x\n\x01\x1f\x20y", "\"x\\u000a\\u0001\\u001f y\""},
	};

	for (size_t i = 0; i < N(cases); i++) {
		KB_AUTO(kb_buf_release) struct kb_buf text;

		kb_buf_init(&text, 100);
		cr_assert_eq(kb_json_put_string(&text, cases[i].bytes), 0);
		cr_assert_str_eq(text.data, cases[i].text);
	}
}

Test(json, writers_leave_the_buffer_when_it_is_full)
{
	for (size_t max = 6; max < 16; max++) {
		KB_AUTO(kb_buf_release) struct kb_buf text;

		kb_buf_init(&text, max);
		cr_assert_eq(kb_buf_puts(&text, "before"), 0);
		cr_assert_eq(kb_json_put_string(&text, "ab\n\"cd"),
			     KBUNDLE_E_LIMIT);
		cr_assert_str_eq(text.data, "before");
		cr_assert_eq(
			kb_json_encode_python(&text, "\xf0\x9f\x98\x80", 4),
			KBUNDLE_E_LIMIT);
		cr_assert_str_eq(text.data, "before");
	}
}
