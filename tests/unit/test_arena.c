/* SPDX-License-Identifier: Apache-2.0 */
#include "../../src/base/arena.h"

#include <criterion/criterion.h>

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

Test(arena, results_are_aligned_apart_and_whole)
{
	KB_AUTO(kb_arena_release) struct kb_arena arena = KB_ARENA_INIT;
	unsigned char *results[300];

	for (size_t i = 0; i < 300; i++) {
		results[i] = kb_arena_alloc(&arena, 7 * i);
		cr_assert_not_null(results[i]);
		cr_assert_eq((uintptr_t)results[i] % alignof(max_align_t), 0);
		memset(results[i], (int)(i & 0xff), 7 * i);
	}
	for (size_t i = 0; i < 300; i++)
		for (size_t k = 0; k < 7 * i; k++)
			cr_assert_eq(results[i][k], i & 0xff);
}

Test(arena, arrays_are_zero_also_in_used_memory)
{
	KB_AUTO(kb_arena_release) struct kb_arena arena = KB_ARENA_INIT;

	for (int round = 0; round < 3; round++) {
		unsigned char *dirty;
		const unsigned *items;

		dirty = kb_arena_alloc(&arena, 3000);
		cr_assert_not_null(dirty);
		memset(dirty, 0xff, 3000);
		kb_arena_clear(&arena);
		items = kb_arena_array(&arena, 700, sizeof(*items));
		cr_assert_not_null(items);
		for (size_t i = 0; i < 700; i++)
			cr_assert_eq(items[i], 0);
	}
}

Test(arena, sizes_that_overflow_give_null)
{
	KB_AUTO(kb_arena_release) struct kb_arena arena = KB_ARENA_INIT;

	cr_assert_null(kb_arena_alloc(&arena, SIZE_MAX));
	cr_assert_null(kb_arena_alloc(&arena, SIZE_MAX - 16));
	cr_assert_null(kb_arena_array(&arena, SIZE_MAX / 2, 3));
	cr_assert_null(kb_arena_strndup(&arena, "", SIZE_MAX));
	cr_assert_not_null(kb_arena_alloc(&arena, 1));
}

Test(arena, copies_strings)
{
	KB_AUTO(kb_arena_release) struct kb_arena arena = KB_ARENA_INIT;
	const char source[] = "kernel";

	cr_assert_str_eq(kb_arena_strdup(&arena, source), "kernel");
	cr_assert_str_eq(kb_arena_strdup(&arena, ""), "");
	cr_assert_str_eq(kb_arena_strndup(&arena, source, 3), "ker");
}

/* Rounds of equal work come to lie in the memory of the first ones. */
Test(arena, clear_keeps_memory_for_the_next_round)
{
	KB_AUTO(kb_arena_release) struct kb_arena arena = KB_ARENA_INIT;
	const void *first = NULL;

	for (int round = 0; round < 10; round++) {
		const void *begin = kb_arena_alloc(&arena, 100);

		cr_assert_not_null(begin);
		for (int i = 0; i < 500; i++)
			cr_assert_not_null(kb_arena_alloc(&arena, 100));
		if (round == 3)
			first = begin;
		else if (round > 3)
			cr_assert_eq(begin, first);
		kb_arena_clear(&arena);
	}
}

/* What once needed two chunks fits into the one that is kept. */
Test(arena, clear_keeps_the_largest_chunk)
{
	KB_AUTO(kb_arena_release) struct kb_arena arena = KB_ARENA_INIT;

	for (int round = 0; round < 5; round++) {
		const char *large = kb_arena_alloc(&arena, 64000);
		const char *small = kb_arena_alloc(&arena, 16);

		cr_assert_not_null(large);
		cr_assert_not_null(small);
		if (round > 1)
			cr_assert_eq(small, large + 64000);
		kb_arena_clear(&arena);
	}
}

Test(arena, release_makes_it_usable_again)
{
	struct kb_arena arena = KB_ARENA_INIT;

	kb_arena_clear(&arena);
	kb_arena_release(&arena);
	cr_assert_not_null(kb_arena_alloc(&arena, 5));
	kb_arena_release(&arena);
	cr_assert_null(arena.chunks);
	cr_assert_not_null(kb_arena_alloc(&arena, (size_t)3 << 20));
	kb_arena_release(&arena);
}
