/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/dep/uuid.h"

#include <criterion/criterion.h>
#include <string.h>

Test(uuid, is_a_lower_case_version_4)
{
	for (int n = 0; n < 64; n++) {
		char text[38];

		text[37] = '#';
		kb_uuid4(text);
		cr_assert_eq(strlen(text), 36);
		cr_assert_eq(text[37], '#');
		cr_assert_eq(strspn(text, "0123456789abcdef-"), 36);
		for (int i = 0; i < 36; i++)
			cr_assert_eq(text[i] == '-',
				     i == 8 || i == 13 || i == 18 || i == 23,
				     "%s", text);
		cr_assert_eq(text[14], '4', "%s", text);
		cr_assert_not_null(strchr("89ab", text[19]), "%s", text);
	}
}

Test(uuid, is_never_the_same_twice)
{
	static char seen[500][37];

	for (size_t i = 0; i < 500; i++) {
		kb_uuid4(seen[i]);
		for (size_t k = 0; k < i; k++)
			cr_assert_str_neq(seen[i], seen[k]);
	}
}
