/* SPDX-License-Identifier: Apache-2.0 */
#include "triton_entry.h"

#define KEY KEY_3_9

static struct kbundle_error why;

static int parse(struct kb_triton_group *group, const char *text)
{
	*group = (struct kb_triton_group)KB_TRITON_GROUP_INIT;
	memset(&why, 0, sizeof(why));
	return kb_triton_group_parse(text, strlen(text), KEY, group, &why);
}

static void expect_fault(const char *text, const char *phrase)
{
	struct kb_triton_group group;

	cr_assert_eq(parse(&group, text), KBUNDLE_E_FORMAT, "%s", text);
	cr_assert_not_null(strstr(why.message, phrase), "%s: %s", text,
			   why.message);
	kb_triton_group_release(&group);
}

/* One child "k.cubin" with this raw spelling of its path. */
static void expect_root(const char *raw, const char *root, const char *spelled)
{
	struct kb_triton_group group;
	char text[1024];

	snprintf(text, sizeof(text), "{\"child_paths\": {\"k.cubin\": \"%s\"}}",
		 raw);
	cr_assert_eq(parse(&group, text), 0, "%s: %s", raw, why.message);
	cr_assert(group.is_map);
	cr_assert_eq(group.n, 1);
	cr_assert_str_eq(group.children[0].name, "k.cubin");
	cr_assert_str_eq(group.children[0].root, root);
	cr_assert_eq(group.children[0].length, strlen(spelled));
	cr_assert_eq(memcmp(text + group.children[0].offset, spelled,
			    strlen(spelled)),
		     0, "%s", raw);
	kb_triton_group_release(&group);
}

static void expect_outside(const char *raw)
{
	char text[1024];

	snprintf(text, sizeof(text), "{\"child_paths\": {\"k.cubin\": \"%s\"}}",
		 raw);
	expect_fault(text, "outside the entry");
}

Test(triton_group, the_root_is_what_stands_before_the_key)
{
	expect_root("/c/" KEY "/k.cubin", "/c", "/c");
	expect_root("./c1/" KEY "/k.cubin", "./c1", "./c1");
	expect_root("../a b/" KEY "/k.cubin", "../a b", "../a b");
	expect_root("/a/../b/./" KEY "/k.cubin", "/a/../b/.", "/a/../b/.");
	expect_root("/" KEY "/k.cubin", "", "");
}

Test(triton_group, slashes_before_the_key_but_one_belong_to_the_root)
{
	expect_root("/c//" KEY "/k.cubin", "/c/", "/c/");
	expect_root("//c////" KEY "/k.cubin", "//c///", "//c///");
	expect_root("//" KEY "/k.cubin", "/", "/");
	expect_root("/c/" KEY "//k.cubin", "/c", "/c");
}

Test(triton_group, a_key_may_stand_in_the_root_too)
{
	expect_root("/" KEY "/" KEY "/k.cubin", "/" KEY, "/" KEY);
	expect_root("/x" KEY "/" KEY "/k.cubin", "/x" KEY, "/x" KEY);
}

Test(triton_group, escapes_are_decoded_but_their_bytes_kept)
{
	expect_root("\\/c\\/" KEY "\\/k.cubin", "/c", "\\/c");
	expect_root("\\u002fc\\u002F" KEY "/k.cubin", "/c", "\\u002fc");
	expect_root("/\\u00e7/" KEY "/k.cubin", "/\xc3\xa7", "/\\u00e7");
	expect_root("/\xc3\xa7/" KEY "/k.cubin", "/\xc3\xa7", "/\xc3\xa7");
	expect_root("/\\ud83d\\ude00\\//" KEY "/k.cubin", "/\xf0\x9f\x98\x80/",
		    "/\\ud83d\\ude00\\/");
	expect_root("/\\udcff/" KEY "/k.cubin", "/\xff", "/\\udcff");
	expect_root("/q\\\"\\\\/\\u0054" /* T */
		    "FKCDLJGII7PTXKMBZ4XSPBAEKIONJSAZC2Z6HQC35CZAMFMFNFQ"
		    "/\\u006b.cubin",
		    "/q\"\\", "/q\\\"\\\\");
}

Test(triton_group, other_shapes_are_outside)
{
	expect_outside("k.cubin");
	expect_outside(KEY "/k.cubin");
	expect_outside("/c/x" KEY "/k.cubin");
	expect_outside("/c/" KEY "x/k.cubin");
	expect_outside("/c/" KEY "/x/k.cubin");
	expect_outside("/c/" KEY "/./k.cubin");
	expect_outside("/c/" KEY "/../" KEY "/../k.cubin");
	expect_outside("/c/" KEY_AUTOTUNE "/k.cubin");
	expect_outside("/c/" KEY "/k.ptx");
	expect_outside("/c/" KEY "/xk.cubin");
	expect_outside("/c/" KEY "/");
	expect_outside("");
	expect_outside("/opt/[REPLACE]/k.cubin");
}

Test(triton_group, unsound_groups_are_told_apart)
{
	expect_fault("", "zero bytes");
	expect_fault("{", "cannot be parsed");
	expect_fault("{\"child_paths\": {\"k.cubin\"", "cannot be parsed");
	expect_fault("{\"child_paths\": [\"k\"]} x", "cannot be parsed");
	expect_fault("\xef\xbb\xbf{}", "cannot be parsed");
	expect_fault("[]", "no JSON object");
	expect_fault("null", "no JSON object");
	expect_fault("{}", "no child_paths");
	expect_fault("{\"Child_paths\": [\"k\"]}", "no child_paths");
	expect_fault("{\"x\": {\"child_paths\": [\"k\"]}}", "no child_paths");
	expect_fault("{\"child_paths\": null}", "null");
	expect_fault("{\"child_paths\": \"k\"}", "neither a map nor a list");
	expect_fault("{\"child_paths\": 1}", "neither a map nor a list");
	expect_fault("{\"child_paths\": {}}", "empty");
	expect_fault("{\"child_paths\": []}", "empty");
	expect_fault("{\"child_paths\": [\"k\"], \"child_paths\": [\"k\"]}",
		     "twice");
	expect_fault("{\"child_paths\": [1]}", "something else than a file");
	expect_fault("{\"child_paths\": [[\"k\"]]}",
		     "something else than a file");
	expect_fault("{\"child_paths\": {\"k\": null}}",
		     "something else than a path");
	expect_fault("{\"child_paths\": {\"k\": [\"/c\"]}}",
		     "something else than a path");
	expect_fault("{\"child_paths\": {\"k\": \"/c\\u0000/k\"}}",
		     "path of k");
	expect_fault("{\"child_paths\": [\"\\ud800\"]}", "name of a child");
}

Test(triton_group, names_are_plain)
{
	expect_fault("{\"child_paths\": [\"../k.json\"]}", "no plain file");
	expect_fault("{\"child_paths\": [\"a/k.json\"]}", "no plain file");
	expect_fault("{\"child_paths\": [\"/k.json\"]}", "no plain file");
	expect_fault("{\"child_paths\": [\"\"]}", "no plain file");
	expect_fault("{\"child_paths\": [\"..\"]}", "no plain file");
	expect_fault("{\"child_paths\": {\"a/k\": \"/c/" KEY "/a/k\"}}",
		     "no plain file");
	expect_fault("{\"child_paths\": {\"\": \"/c/" KEY "/\"}}",
		     "no plain file");
}

Test(triton_group, lists_have_names_and_no_paths)
{
	struct kb_triton_group group;

	cr_assert_eq(parse(&group, " {\"x\": [NaN, {}], \"child_paths\" :"
				   " [\"k.cubin\", \"\\u006b.json\"]}\n"),
		     0, "%s", why.message);
	cr_assert_not(group.is_map);
	cr_assert_eq(group.n, 2);
	cr_assert_str_eq(group.children[0].name, "k.cubin");
	cr_assert_str_eq(group.children[1].name, "k.json");
	cr_assert_null(group.children[1].root);
	kb_triton_group_release(&group);
}

Test(triton_group, an_error_needs_no_struct)
{
	struct kb_triton_group group = KB_TRITON_GROUP_INIT;

	cr_assert_eq(kb_triton_group_parse("{", 1, KEY, &group, NULL),
		     KBUNDLE_E_FORMAT);
	kb_triton_group_release(&group);
}

/* ---- random groups ---- */

static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (random_state >> 8) % below;
}

/* One character in one of the ways that JSON can spell it. */
static void spell(struct kb_buf *text, const char *utf8, unsigned code)
{
	int r = 0;

	if (draw(3) == 0)
		r = kb_buf_printf(text, draw(2) ? "\\u%04x" : "\\u%04X", code);
	else if (code == '"' || code == '\\' || (code == '/' && draw(2)))
		r = kb_buf_printf(text, "\\%s", utf8);
	else
		r = kb_buf_puts(text, utf8);
	cr_assert_eq(r, 0);
}

static void spell_all(struct kb_buf *text, const char *ascii)
{
	for (; *ascii; ascii++) {
		char one[2] = {*ascii, '\0'};

		spell(text, one, (unsigned char)*ascii);
	}
}

static void spell_root(struct kb_buf *text, struct kb_buf *root)
{
	static const struct {
		const char *utf8;
		unsigned code;
	} chars[] = {
		{"/", '/'},	    {"/", '/'},
		{"a", 'a'},	    {".", '.'},
		{" ", ' '},	    {"\"", '"'},
		{"\\", '\\'},	    {"T", 'T'},
		{"\xc3\xa7", 0xe7}, {"\xe6\x97\xa5", 0x65e5},
	};

	for (unsigned n = draw(12); n > 0; n--) {
		unsigned i = draw(sizeof(chars) / sizeof(*chars));

		spell(text, chars[i].utf8, chars[i].code);
		cr_assert_eq(kb_buf_puts(root, chars[i].utf8), 0);
	}
}

Test(triton_group, any_root_in_any_spelling_can_be_exchanged_and_put_back)
{
	for (unsigned round = 0; round < 3000; round++) {
		KB_AUTO(kb_buf_release) struct kb_buf text, spelled, root;
		struct kb_triton_group group;
		struct kb_triton_child *child;
		char changed[1024];

		random_state = round;
		kb_buf_init(&text, 4096);
		kb_buf_init(&spelled, 4096);
		kb_buf_init(&root, 4096);
		cr_assert_eq(kb_buf_puts(&text, "{\"child_paths\":{\"k\": \""),
			     0);
		spell_root(&spelled, &root);
		cr_assert_eq(kb_buf_append(&text, spelled.data, spelled.len),
			     0);
		spell_all(&text, "/" KEY "/k");
		cr_assert_eq(kb_buf_puts(&text, "\"}}"), 0);

		cr_assert_eq(parse(&group, text.data), 0, "%s: %s", text.data,
			     why.message);
		child = &group.children[0];
		cr_assert_str_eq(child->root, root.data);
		cr_assert_eq(child->length, spelled.len);
		cr_assert_eq(memcmp(text.data + child->offset, spelled.data,
				    spelled.len),
			     0);
		/* With a token in its place it is the same group, elsewhere. */
		snprintf(changed, sizeof(changed), "%.*s/opt/kbundle/triton%s",
			 (int)child->offset, text.data,
			 text.data + child->offset + child->length);
		kb_triton_group_release(&group);
		cr_assert_eq(parse(&group, changed), 0, "%s: %s", changed,
			     why.message);
		cr_assert_str_eq(group.children[0].root, "/opt/kbundle/triton");
		kb_triton_group_release(&group);
	}
}
