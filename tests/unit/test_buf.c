/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/base/buf.h"

#include <kbundle/kbundle.h>

#include <criterion/criterion.h>

#include <string.h>

Test(buf, is_an_empty_string_at_first_and_after_release)
{
	struct kb_buf buf;

	kb_buf_init(&buf, 10);
	cr_assert_str_eq(buf.data, "");
	cr_assert_eq(kb_buf_puts(&buf, "abc"), 0);
	kb_buf_release(&buf);
	cr_assert_str_eq(buf.data, "");
	cr_assert_eq(buf.len, 0);
	cr_assert_eq(buf.max, 10);
	kb_buf_release(&buf);
}

Test(buf, appends_in_every_way)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;

	kb_buf_init(&buf, 100);
	cr_assert_eq(kb_buf_append(&buf, "a\0b", 3), 0);
	cr_assert_eq(kb_buf_puts(&buf, "cd"), 0);
	cr_assert_eq(kb_buf_putc(&buf, 'e'), 0);
	cr_assert_eq(kb_buf_printf(&buf, "%d-%s", 42, "f"), 0);
	cr_assert_eq(kb_buf_append(&buf, NULL, 0), 0);
	cr_assert_eq(buf.len, 10);
	cr_assert_arr_eq(buf.data, "a\0bcde42-f", 11);
}

/* Filled byte by byte the memory ends at max + 1; the sanitizer watches. */
Test(buf, holds_exactly_max_and_no_more)
{
	for (size_t max = 0; max < 300; max++) {
		KB_AUTO(kb_buf_release) struct kb_buf buf;

		kb_buf_init(&buf, max);
		for (size_t i = 0; i < max; i++)
			cr_assert_eq(kb_buf_putc(&buf, 'x'), 0);
		cr_assert_eq(kb_buf_putc(&buf, 'y'), KBUNDLE_E_LIMIT);
		cr_assert_eq(kb_buf_printf(&buf, "%d", 1), KBUNDLE_E_LIMIT);
		cr_assert_eq(kb_buf_reserve(&buf, SIZE_MAX), KBUNDLE_E_LIMIT);
		cr_assert_eq(buf.len, max);
		cr_assert_eq(strlen(buf.data), max);
		cr_assert_leq(buf.cap, max + 1);
	}
}

Test(buf, failed_append_leaves_the_content)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;

	kb_buf_init(&buf, 5);
	cr_assert_eq(kb_buf_puts(&buf, "abc"), 0);
	cr_assert_eq(kb_buf_puts(&buf, "def"), KBUNDLE_E_LIMIT);
	cr_assert_eq(kb_buf_printf(&buf, "%s", "def"), KBUNDLE_E_LIMIT);
	cr_assert_str_eq(buf.data, "abc");
	cr_assert_eq(kb_buf_puts(&buf, "de"), 0);
	cr_assert_str_eq(buf.data, "abcde");
}

Test(buf, without_a_maximum_says_out_of_memory)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;

	kb_buf_init(&buf, SIZE_MAX);
	cr_assert_eq(kb_buf_puts(&buf, "abc"), 0);
	cr_assert_eq(kb_buf_reserve(&buf, SIZE_MAX - 3), KBUNDLE_E_NOMEM);
	cr_assert_str_eq(buf.data, "abc");
}

Test(buf, reserved_room_is_used_without_moving)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;
	const char *data;

	kb_buf_init(&buf, 1 << 20);
	cr_assert_eq(kb_buf_reserve(&buf, 5000), 0);
	cr_assert_str_eq(buf.data, "");
	data = buf.data;
	for (int i = 0; i < 5000; i++)
		cr_assert_eq(kb_buf_putc(&buf, 'x'), 0);
	cr_assert_eq(buf.data, data);
}

Test(buf, clear_and_truncate_keep_the_memory)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;
	size_t cap;

	kb_buf_init(&buf, 1000);
	kb_buf_truncate(&buf, 0);
	cr_assert_eq(kb_buf_puts(&buf, "abcdef"), 0);
	cap = buf.cap;
	kb_buf_truncate(&buf, 10);
	cr_assert_str_eq(buf.data, "abcdef");
	kb_buf_truncate(&buf, 4);
	cr_assert_str_eq(buf.data, "abcd");
	cr_assert_eq(buf.len, 4);
	kb_buf_clear(&buf);
	cr_assert_str_eq(buf.data, "");
	cr_assert_eq(buf.cap, cap);
}

Test(buf, take_gives_the_string_away)
{
	KB_AUTO(kb_buf_release) struct kb_buf buf;
	char *text;

	kb_buf_init(&buf, 1000);
	text = kb_buf_take(&buf);
	cr_assert_str_eq(text, "");
	free(text);
	cr_assert_eq(kb_buf_puts(&buf, "abc"), 0);
	text = kb_buf_take(&buf);
	cr_assert_str_eq(text, "abc");
	cr_assert_str_eq(buf.data, "");
	cr_assert_eq(buf.len, 0);
	free(text);
}

Test(buf, grow_makes_room_and_keeps_the_items)
{
	int *items = NULL;
	size_t cap = 0;

	for (size_t n = 0; n < 1000; n++) {
		cr_assert_eq(kb_grow(&items, &cap, n + 1, sizeof(*items)), 0);
		cr_assert_gt(cap, n);
		items[n] = (int)n;
	}
	for (size_t n = 0; n < 1000; n++)
		cr_assert_eq(items[n], (int)n);
	cr_assert_eq(kb_grow(&items, &cap, SIZE_MAX / 2, sizeof(*items)),
		     KBUNDLE_E_NOMEM);
	cr_assert_eq(items[999], 999);
	free(items);
}
