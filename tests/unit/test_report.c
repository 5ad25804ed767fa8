/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/core/report.h"

#include <criterion/criterion.h>

#include <string.h>

static struct kbundle_report *fresh(void)
{
	struct kbundle_report *report = NULL;

	cr_assert_eq(kb_report_new("pack", &report, NULL), 0);
	return report;
}

Test(report, classes_that_make_a_call_partial)
{
	static const int partial[] = {
		KBUNDLE_COUNT_DAMAGED,	KBUNDLE_COUNT_CHANGED,
		KBUNDLE_COUNT_OCCUPIED, KBUNDLE_COUNT_DRIFTED,
		KBUNDLE_COUNT_MISSING,	KBUNDLE_COUNT_UNSUPPORTED};

	for (int count = 0; count < KBUNDLE_COUNT_MAX; count++) {
		struct kbundle_report *report = fresh();
		int want = 0;

		for (size_t i = 0; i < sizeof(partial) / sizeof(int); i++)
			if (partial[i] == count)
				want = 5;
		cr_assert_eq(kb_report_note(report, count, "triton", "K", NULL,
					    "why", NULL),
			     0);
		cr_assert_eq(kbundle_report_count(report, count), 1);
		cr_assert_eq(kbundle_report_exit(report), want, "%s",
			     kbundle_count_name(count));
		kbundle_report_free(report);
	}
}

Test(report, json_is_whole_and_names_that_are_no_utf8_are_shown)
{
	struct kbundle_report *report = fresh();
	char *json = NULL;

	cr_assert_eq(
		kb_report_root(report, "triton", "triton", "/a \"b\"", NULL),
		0);
	cr_assert_eq(kb_report_note(report, KBUNDLE_COUNT_DAMAGED, "triton",
				    "K\xff", "f\n", "is\tcut", NULL),
		     0);
	cr_assert_eq(kbundle_report_to_json(report, &json, NULL), 0);
	cr_assert(strstr(json, "\"status\":\"partial\""), "%s", json);
	cr_assert(strstr(json, "\"path\":\"/a \\\"b\\\"\""), "%s", json);
	cr_assert(strstr(json, "\"path\":\"K\\\\xff\""), "%s", json);
	cr_assert(strstr(json, "\"damaged\":1"), "%s", json);
	cr_assert(strstr(json, "\"id\":null"), "%s", json);
	cr_assert_null(strchr(json, '\n'));
	cr_assert_str_eq(kbundle_report_root(report, 0)->path, "/a \"b\"");
	cr_assert_str_eq(kbundle_report_note(report, 0)->reason, "is\tcut");
	cr_assert_null(kbundle_report_note(report, 1));
	kbundle_free(json);
	kbundle_report_free(report);
}

Test(report, questions_beyond_the_end_are_answered)
{
	struct kbundle_report *report = fresh();

	cr_assert_eq(kbundle_report_n_notes(report), 0);
	cr_assert_eq(kbundle_report_n_roots(report), 0);
	cr_assert_null(kbundle_report_note(report, 0));
	cr_assert_null(kbundle_report_root(report, 0));
	cr_assert_eq(kbundle_report_count(report, -1), 0);
	cr_assert_eq(kbundle_report_count(report, KBUNDLE_COUNT_MAX), 0);
	cr_assert_null(kbundle_count_name(KBUNDLE_COUNT_MAX));
	cr_assert_eq(kbundle_report_exit(NULL), 0);
	kbundle_report_free(report);
	kbundle_report_free(NULL);
}
