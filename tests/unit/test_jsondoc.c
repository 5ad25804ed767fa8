/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/dep/jsondoc.h"

#include <criterion/criterion.h>
#include <string.h>

/* Parses from memory that ends with the text, so that a checker sees a read
 * beyond it. */
static int parse(const char *text, size_t len, struct kb_jsondoc **ret,
		 struct kbundle_error *err)
{
	char *exact = malloc(len ? len : 1);
	int r;

	cr_assert_not_null(exact);
	memcpy(exact, text, len);
	r = kb_jsondoc_parse(exact, len, ret, err);
	free(exact);
	return r;
}

static struct kb_jsondoc *must_parse(const char *text)
{
	struct kb_jsondoc *doc = NULL;
	struct kbundle_error err = {0};

	cr_assert_eq(parse(text, strlen(text), &doc, &err), 0, "%s: %s", text,
		     err.message);
	return doc;
}

static void must_refuse(const char *text, size_t len, const char *where)
{
	struct kb_jsondoc *doc = NULL;
	struct kbundle_error err = {0};

	cr_assert_eq(parse(text, len, &doc, &err), KBUNDLE_E_FORMAT, "%.40s",
		     text);
	cr_assert_null(doc);
	cr_assert_eq(err.code, KBUNDLE_E_FORMAT);
	cr_assert_not_null(strstr(err.message, where), "%.40s: %s", text,
			   err.message);
}

Test(jsondoc, hands_out_members_in_order)
{
	KB_AUTO(kb_jsondoc_free)
	struct kb_jsondoc *doc = must_parse("{\"b\":[1,2,3],\"a\":\"x\","
					    "\"B\":true,\"n\":null}");
	const struct kb_jsonnode *root = kb_jsondoc_root(doc);
	const struct kb_jsonnode *node = kb_jsonnode_first(root);
	const char *const names[] = {"b", "a", "B", "n"};

	cr_assert(kb_jsonnode_is_object(root));
	cr_assert_not(kb_jsonnode_is_array(root));
	cr_assert_eq(kb_jsonnode_count(root), 4);
	for (size_t i = 0; i < 4; i++) {
		cr_assert_not_null(node);
		cr_assert_str_eq(kb_jsonnode_name(node), names[i]);
		node = kb_jsonnode_next(node);
	}
	cr_assert_null(node);
	node = kb_jsonnode_get(root, "b");
	cr_assert(kb_jsonnode_is_array(node));
	cr_assert_eq(kb_jsonnode_count(node), 3);
	cr_assert_null(kb_jsonnode_name(kb_jsonnode_first(node)));
}

Test(jsondoc, names_compare_with_case)
{
	bool flag = false;
	KB_AUTO(kb_jsondoc_free)
	struct kb_jsondoc *doc = must_parse("{\"Key\":true,\"key\":false}");
	const struct kb_jsonnode *root = kb_jsondoc_root(doc);

	cr_assert(kb_jsonnode_bool(kb_jsonnode_get(root, "Key"), &flag));
	cr_assert(flag);
	cr_assert(kb_jsonnode_bool(kb_jsonnode_get(root, "key"), &flag));
	cr_assert_not(flag);
	cr_assert_null(kb_jsonnode_get(root, "KEY"));
}

Test(jsondoc, integers_end_at_2_to_the_53)
{
	static const struct {
		const char *text;
		bool fits;
		uint64_t value;
	} cases[] = {
		{"0", true, 0},
		{"7", true, 7},
		{"9007199254740991", true, 9007199254740991U},
		{"9007199254740992", false, 0},
		{"18446744073709551616", false, 0},
		{"1e400", false, 0},
		{"-1", false, 0},
		{"1.5", false, 0},
		{"0.0000001", false, 0},
		{"\"7\"", false, 0},
		{"true", false, 0},
		{"null", false, 0},
		{"[7]", false, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		KB_AUTO(kb_jsondoc_free)
		struct kb_jsondoc *doc = must_parse(cases[i].text);
		uint64_t value = 99;

		cr_assert_eq(kb_jsonnode_uint(kb_jsondoc_root(doc), &value),
			     cases[i].fits, "%s", cases[i].text);
		cr_assert_eq(value, cases[i].fits ? cases[i].value : 99, "%s",
			     cases[i].text);
	}
}

Test(jsondoc, a_type_that_does_not_fit_gives_nothing)
{
	KB_AUTO(kb_jsondoc_free)
	struct kb_jsondoc *doc = must_parse("{\"s\":\"t\",\"n\":1,\"o\":{}}");
	const struct kb_jsonnode *root = kb_jsondoc_root(doc);
	const struct kb_jsonnode *text = kb_jsonnode_get(root, "s");
	bool flag = true;
	uint64_t number = 5;

	cr_assert_str_eq(kb_jsonnode_string(text), "t");
	cr_assert_null(kb_jsonnode_string(kb_jsonnode_get(root, "n")));
	cr_assert_null(kb_jsonnode_get(text, "s"));
	cr_assert_null(kb_jsonnode_first(text));
	cr_assert_eq(kb_jsonnode_count(text), 0);
	cr_assert_not(kb_jsonnode_bool(text, &flag));
	cr_assert(flag);
	cr_assert_null(kb_jsonnode_first(kb_jsonnode_get(root, "o")));

	/* NULL: what a missing member gives. */
	cr_assert_null(kb_jsonnode_get(NULL, "s"));
	cr_assert_null(kb_jsonnode_string(NULL));
	cr_assert_null(kb_jsonnode_next(NULL));
	cr_assert_null(kb_jsonnode_name(NULL));
	cr_assert_not(kb_jsonnode_is_object(NULL));
	cr_assert_not(kb_jsonnode_uint(NULL, &number));
	cr_assert_eq(number, 5);
}

Test(jsondoc, strings_are_decoded)
{
	KB_AUTO(kb_jsondoc_free)
	struct kb_jsondoc *doc = must_parse("[\"a\\u00e7\\n\\\"\\\\b\"]");
	const struct kb_jsonnode *root = kb_jsondoc_root(doc);

	cr_assert_str_eq(kb_jsonnode_string(kb_jsonnode_first(root)),
			 "a\xc3\xa7\n\"\\b");
}

Test(jsondoc, says_where_the_fault_is)
{
	must_refuse("{\"a\":1,}", 8, "byte 8");
	must_refuse("[1,2", 4, "byte");
	must_refuse("{} x", 4, "byte");
	must_refuse("[1\0]", 4, "byte 2");
	must_refuse("", 0, "byte 0");
	must_refuse("   ", 3, "byte");
	must_refuse("\"open", 5, "byte");
	must_refuse("{\"1\":1,", 7, "byte");
	must_refuse("[1,", 3, "byte");
}

Test(jsondoc, every_truncation_is_refused_and_read_inside)
{
	static const char text[] = "{\"key\":[{\"a\":\"b\\u00e7\"},true,null,"
				   "12],\"k\":{\"x\":[]}}";

	for (size_t len = 0; len < sizeof(text) - 1; len++)
		must_refuse(text, len, "byte");
}

Test(jsondoc, nesting_has_a_bound)
{
	KB_AUTO_FREE char *text = malloc(40000);
	KB_AUTO(kb_jsondoc_free) struct kb_jsondoc *doc = NULL;

	cr_assert_not_null(text);
	memset(text, '[', 20000);
	memset(text + 20000, ']', 20000);
	must_refuse(text, 40000, "byte");
	cr_assert_eq(parse(text + 19500, 1000, &doc, NULL), 0);
}
