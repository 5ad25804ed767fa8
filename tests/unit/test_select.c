/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/core/select.h"

#include <criterion/criterion.h>

#include <string.h>

static bool takes_arch(const char *arch, const char *target)
{
	const struct kbundle_selection user = {
		.size = sizeof(user), .archs = &arch, .n_archs = 1};
	struct kbundle_selection selection;

	cr_assert_eq(kb_selection_init(&selection, &user, NULL), 0);
	return kb_selection_takes(&selection, target, "n", "k");
}

Test(select, nothing_asked_for_takes_everything)
{
	struct kbundle_selection selection;

	cr_assert_eq(kb_selection_init(&selection, NULL, NULL), 0);
	cr_assert(kb_selection_takes(&selection, "cuda:sm_90a", "n", "k"));
	cr_assert(kb_selection_takes(&selection, NULL, "n", "k"));
}

Test(select, architectures)
{
	cr_assert(takes_arch("sm_90", "cuda:sm_90a"));
	cr_assert(takes_arch("sm_90a", "cuda:sm_90a"));
	cr_assert_not(takes_arch("sm_90a", "cuda:sm_90"));
	cr_assert_not(takes_arch("sm_90", "cuda:sm_80"));
	cr_assert_not(takes_arch("sm_10", "cuda:sm_100"));
	cr_assert(takes_arch("gfx90a", "hip:gfx90a:xnack-"));
	cr_assert_not(takes_arch("sm_90", "hip:gfx90a"));
	/* autotune results belong to every architecture */
	cr_assert(takes_arch("sm_90", NULL));
}

Test(select, a_base_may_be_taken_where_the_suffix_is_not_known_yet)
{
	static const char *const archs[] = {"sm_90a", "gfx90a:xnack-"};
	const struct kbundle_selection user = {
		.size = sizeof(user), .archs = archs, .n_archs = 2};
	struct kbundle_selection selection;

	cr_assert_eq(kb_selection_init(&selection, &user, NULL), 0);
	cr_assert(kb_selection_may_take(&selection, "cuda:sm_90", "n", "k"));
	cr_assert(kb_selection_may_take(&selection, "hip:gfx90a", "n", "k"));
	cr_assert_not(
		kb_selection_may_take(&selection, "cuda:sm_80", "n", "k"));
	cr_assert_not(kb_selection_takes(&selection, "cuda:sm_90", "n", "k"));
}

Test(select, names_are_patterns_and_keys_are_exact_and_both_must_fit)
{
	static const char *const names[] = {"add*", "s?m"};
	static const char *const keys[] = {"K1", "K2"};
	const struct kbundle_selection user = {.size = sizeof(user),
					       .names = names,
					       .n_names = 2,
					       .keys = keys,
					       .n_keys = 2};
	struct kbundle_selection selection;

	cr_assert_eq(kb_selection_init(&selection, &user, NULL), 0);
	cr_assert(kb_selection_takes(&selection, NULL, "add_kernel", "K1"));
	cr_assert(kb_selection_takes(&selection, NULL, "sum", "K2"));
	cr_assert_not(kb_selection_takes(&selection, NULL, "sum", "K"));
	cr_assert_not(kb_selection_takes(&selection, NULL, "max", "K1"));
}

Test(select, what_is_no_architecture_is_refused_by_name)
{
	const char *arch = "pentium";
	const struct kbundle_selection user = {
		.size = sizeof(user), .archs = &arch, .n_archs = 1};
	struct kbundle_selection selection;
	struct kbundle_error err = {0};

	arch = "sm90 or so";
	cr_assert_eq(kb_selection_init(&selection, &user, &err),
		     KBUNDLE_E_INVALID);
	cr_assert(strstr(err.message, "sm90 or so"), "%s", err.message);
}
