/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifest lines: what is written is read back the same; every other form is
 * refused with the place of the fault. tests/real/hostile.sh does the same from
 * outside with whole bundles.
 */
#include "../../src/core/manifest.h"

#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define KEY "6e1380bbb79e032d5d942237fcc22405"

static const char header_line[] =
	"{\"kbundle\":1,\"requires\":[],\"roots\":[{\"name\":\"triton\","
	"\"format\":\"triton\",\"token\":\"/opt/kbundle/triton\"}],"
	"\"entries\":1,\"files\":2,\"bytes\":60}";

static const char entry_line[] =
	"{\"root\":0,\"path\":\"" KEY "\",\"format\":\"triton\",\"kind\":"
	"\"kernel\",\"name\":\"add\",\"target\":\"cuda:sm_90a\",\"files\":["
	"{\"name\":\"__grp__add.json\",\"size\":50,\"sha256\":\"" SHA
	"\",\"rewrites\":[[10,19,0,\"json\"]]},{\"name\":\"add.cubin\","
	"\"size\":10,\"sha256\":\"" SHA
	"\",\"mtime\":\"5.000000001\"}],\"facts\":{\"producer\":\"triton\","
	"\"version\":\"3.9.0\",\"symbol\":\"add\",\"warps\":4,\"warp_size\":32,"
	"\"shared\":0,\"whole\":true,\"binaries\":[{\"file\":\"add.cubin\","
	"\"kind\":\"cubin\",\"target\":\"cuda:sm_90a\",\"abi\":8,\"tool\":"
	"\"12.9\",\"debug\":true,\"kernels\":[{\"name\":\"add\",\"registers\":"
	"20,\"shared\":1024}]}]}}";

static struct kb_arena arena;
static struct kb_header header;

static void set_up(void)
{
	arena = (struct kb_arena)KB_ARENA_INIT;
	cr_assert_eq(kb_header_parse(header_line, strlen(header_line), &arena,
				     &header, NULL),
		     0);
}

static void tear_down(void)
{
	kb_arena_release(&arena);
}

TestSuite(manifest, .init = set_up, .fini = tear_down);

static int parse_entry(const char *line, struct kbundle_error *err)
{
	struct kb_entry entry;

	return kb_entry_parse(line, strlen(line), &header, &arena, &entry, err);
}

static int parse_header(const char *line, struct kbundle_error *err)
{
	struct kb_header again;

	return kb_header_parse(line, strlen(line), &arena, &again, err);
}

/* line with the first `from` replaced by `to`; malloc'ed. */
static char *with(const char *line, const char *from, const char *to)
{
	const char *at = strstr(line, from);
	size_t room = strlen(line) + strlen(to) + 1;
	char *out = malloc(room);

	cr_assert(at && out, "%s", from);
	snprintf(out, room, "%.*s%s%s", (int)(at - line), line, to,
		 at + strlen(from));
	return out;
}

static void refuse(int (*parse)(const char *, struct kbundle_error *),
		   const char *line, const char *from, const char *to,
		   const char *says)
{
	struct kbundle_error err = {0};
	char *bad = with(line, from, to);
	int r = parse(bad, &err);

	cr_assert(r == KBUNDLE_E_FORMAT || r == KBUNDLE_E_VERSION,
		  "%s -> %s: %d", from, to, r);
	cr_assert(strstr(err.message, says), "%s -> %s: %s", from, to,
		  err.message);
	free(bad);
}

Test(manifest, an_entry_is_read_and_written_back)
{
	struct kb_entry entry;
	struct kb_buf again;

	kb_buf_init(&again, 1 << 20);
	cr_assert_eq(kb_entry_parse(entry_line, strlen(entry_line), &header,
				    &arena, &entry, NULL),
		     0);
	cr_assert_str_eq(entry.name, "add");
	cr_assert_eq(entry.n_files, 2);
	cr_assert_eq(entry.files[0].rewrites[0].offset, 10);
	cr_assert(entry.files[1].has_mtime);
	cr_assert_eq(entry.files[1].mtime_ns, 1);
	cr_assert_eq(entry.facts.binaries[0].kernels[0].registers, 20);
	cr_assert_eq(kb_entry_format(&entry, &again, NULL), 0);
	cr_assert_eq(again.len, strlen(entry_line) + 1);
	cr_assert_eq(memcmp(again.data, entry_line, strlen(entry_line)), 0);
	kb_buf_release(&again);
}

Test(manifest, every_required_member_is_missed)
{
	static const char *const members[] = {
		"\"root\":0,",
		"\"path\":\"" KEY "\",",
		"\"format\":\"triton\",",
		"\"kind\":\"kernel\",",
		"\"name\":\"add\",",
		"\"name\":\"__grp__add.json\",",
		"\"size\":50,",
		"\"file\":\"add.cubin\",",
		"\"kind\":\"cubin\",",
		",\"rewrites\":[[10,19,0]]",
		",\"sha256\":\"" SHA "\"",
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (strstr(entry_line, members[i]))
			refuse(parse_entry, entry_line, members[i], "",
			       "is missing");
	refuse(parse_entry, entry_line, ",\"facts\":", ",\"fact\":", "unknown");
	refuse(parse_entry, entry_line, ",\"kernels\":[{\"name\":\"add\",",
	       ",\"kernels\":[{", "kernels[0].name is missing");
	refuse(parse_header, header_line, "\"kbundle\":1,", "",
	       "kbundle is missing");
	refuse(parse_header, header_line, "\"requires\":[],", "",
	       "requires is missing");
	refuse(parse_header, header_line, "\"name\":\"triton\",", "",
	       "roots[0].name is missing");
	refuse(parse_header, header_line, ",\"token\":\"/opt/kbundle/triton\"",
	       "", "roots[0].token is missing");
	refuse(parse_header, header_line, "\"entries\":1,", "",
	       "entries is missing");
	refuse(parse_header, header_line, "\"files\":2,", "",
	       "files is missing");
	refuse(parse_header, header_line, ",\"bytes\":60", "",
	       "bytes is missing");
}

Test(manifest, only_the_canonical_form_is_read)
{
	static const char *const forms[][2] = {
		{"{\"root\":0", "{ \"root\":0"},
		{"\"root\":0,\"path\":\"" KEY "\"",
		 "\"path\":\"" KEY "\",\"root\":0"},
		{"\"root\":0", "\"root\":0.0"},
		{"\"root\":0", "\"root\":-0"},
		{"\"root\":0", "\"root\":0,\"root\":0"},
		{"\"size\":50", "\"size\":5e1"},
		{"\"size\":50", "\"size\":050"},
		{"\"name\":\"add\"", "\"name\":\"\\u0061dd\""},
		{"}]}]}}", "}]}]}} "},
		{"}]}]}}", "}]}]}}x"},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		struct kbundle_error err = {0};
		char *bad = with(entry_line, forms[i][0], forms[i][1]);

		cr_assert_eq(parse_entry(bad, &err), KBUNDLE_E_FORMAT, "%s",
			     forms[i][1]);
		free(bad);
	}
}

Test(manifest, rules_on_one_line)
{
	static const char *const rules[][3] = {
		{"\"root\":0", "\"root\":1", "root"},
		{"\"path\":\"" KEY "\"", "\"path\":\"../x\"", "path"},
		{"\"path\":\"" KEY "\"", "\"path\":\"short\"", "shape"},
		{"\"name\":\"add\"", "\"name\":\"a/b\"", "name"},
		{"\"target\":\"cuda:sm_90a\"", "\"target\":\"cuda:90\"",
		 "target"},
		{"\"size\":10", "\"size\":8589934592", "8 GiB"},
		{"\"size\":10", "\"size\":9007199254740992", "2^53"},
		{"[10,19,0,", "[10,18,0,", "token"},
		{"[10,19,0,", "[10,19,1,", "root"},
		{"[10,19,0,", "[40,19,0,", "ends behind"},
		{"\"json\"]]", "\"pystr\"]]", "codec"},
		{"\"mtime\":\"5.", "\"mtime\":\"05.", "mtime"},
		{"add.cubin\",\"size\"", "__grp__add.json\",\"size\"", "order"},
		{"\"abi\":8", "\"abi\":0", "left out"},
		{"\"debug\":true", "\"debug\":false", "debug"},
		{"\"root\":0", "\"root\":0,\"colour\":\"red\"", "unknown"},
	};

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		refuse(parse_entry, entry_line, rules[i][0], rules[i][1],
		       rules[i][2]);
	refuse(parse_entry, entry_line, "__grp__add.json", "add.a.json",
	       "where its format has none");
}

Test(manifest, x_members_are_kept_and_held_to_their_rules)
{
	static const char *const good = ",\"x-a\":\"1\",\"x-b\":\"\\u0001\"}";
	char *line = with(entry_line, "}]}]}}", "}]}]}}");
	char *kept;

	line[strlen(line) - 1] = '\0';
	kept = malloc(strlen(line) + 64);
	snprintf(kept, strlen(line) + 64, "%s%s", line, good);
	cr_assert_eq(parse_entry(kept, NULL), 0);
	free(kept);
	free(line);
	refuse(parse_entry, entry_line, "}]}]}}",
	       "}]}]},\"x-b\":\"1\",\"x-a\":\"1\"}", "order");
	refuse(parse_entry, entry_line, "}]}]}}", "}]}]},\"x-a\":1}",
	       "not a string");
	refuse(parse_entry, entry_line, "}]}]}}", "}]}]},\"x-\":\"1\"}",
	       "unknown");
}

Test(manifest, a_newer_bundle_is_refused_by_what_is_new)
{
	struct kbundle_error err = {0};
	char *bad = with(header_line, "\"kbundle\":1", "\"kbundle\":2");

	cr_assert_eq(parse_header(bad, &err), KBUNDLE_E_VERSION);
	cr_assert(strstr(err.message, "version 2"), "%s", err.message);
	free(bad);
	bad = with(header_line, "\"requires\":[]",
		   "\"requires\":[\"lattice\"]");
	cr_assert_eq(parse_header(bad, &err), KBUNDLE_E_VERSION);
	cr_assert(strstr(err.message, "lattice"), "%s", err.message);
	free(bad);
}

/* ---- rules over lines ---- */

static int add(struct kb_manifest_rules *rules, const char *target,
	       const char *name, const char *path)
{
	struct kb_file file = {.name = "f", .size = 30};
	struct kb_entry entry = {.target = target,
				 .name = name,
				 .path = path,
				 .files = &file,
				 .n_files = 1};

	return kb_manifest_rules_add(rules, &entry, NULL);
}

Test(manifest, entries_stand_in_order_and_once)
{
	struct kb_manifest_rules rules;

	header.entries = header.files = 9;
	header.bytes = 9 * 30;
	cr_assert_eq(kb_manifest_rules_init(&rules, &header, NULL), 0);
	cr_assert_eq(add(&rules, NULL, "z", "a"), 0);
	cr_assert_eq(add(&rules, "cuda:sm_80", "b", "b"), 0);
	cr_assert_eq(add(&rules, "cuda:sm_90a", "b", "c"), 0);
	/* the suffix does not count: names go on in order */
	cr_assert_eq(add(&rules, "cuda:sm_90", "c", "d"), 0);
	cr_assert_lt(add(&rules, "cuda:sm_90a", "b", "e"), 0);
	cr_assert_lt(add(&rules, "cuda:sm_80", "z", "f"), 0);
	cr_assert_lt(add(&rules, "cuda:sm_90a", "d", "a"), 0, "a path twice");
	kb_manifest_rules_release(&rules);
}

Test(manifest, no_entry_lies_inside_another)
{
	struct kb_manifest_rules rules;

	header.entries = header.files = 9;
	header.bytes = 9 * 30;
	cr_assert_eq(kb_manifest_rules_init(&rules, &header, NULL), 0);
	cr_assert_eq(add(&rules, NULL, "a", "d/e"), 0);
	cr_assert_lt(add(&rules, NULL, "b", "d"), 0);
	cr_assert_lt(add(&rules, NULL, "c", "d/e/f"), 0);
	cr_assert_eq(add(&rules, NULL, "d", "d/f"), 0);
	cr_assert_eq(add(&rules, NULL, "e", "d/ee"), 0);
	kb_manifest_rules_release(&rules);
}

Test(manifest, sums_must_be_those_of_the_header)
{
	struct kb_manifest_rules rules;

	header.entries = header.files = 2;
	header.bytes = 60;
	cr_assert_eq(kb_manifest_rules_init(&rules, &header, NULL), 0);
	cr_assert_eq(add(&rules, NULL, "a", "a"), 0);
	cr_assert_lt(kb_manifest_rules_finish(&rules, NULL), 0);
	cr_assert_eq(add(&rules, NULL, "b", "b"), 0);
	cr_assert_eq(kb_manifest_rules_finish(&rules, NULL), 0);
	cr_assert_lt(add(&rules, NULL, "c", "c"), 0);
	kb_manifest_rules_release(&rules);
}
