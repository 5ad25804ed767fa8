/* SPDX-License-Identifier: Apache-2.0 */
/* A bump allocator, freed or cleared as one. Results are aligned for any
 * scalar type; NULL when memory is out. */
#ifndef KB_ARENA_H
#define KB_ARENA_H

#include "cleanup.h"

#include <stddef.h>

struct kb_arena_chunk;
struct kb_arena {
	struct kb_arena_chunk *chunks;
};
#define KB_ARENA_INIT                                                          \
	{                                                                      \
		NULL                                                           \
	}

void *kb_arena_alloc(struct kb_arena *arena, size_t bytes) KB_MUST_CHECK;
/* Zeroed array; NULL also on overflow. */
void *kb_arena_array(struct kb_arena *arena, size_t n,
		     size_t item_bytes) KB_MUST_CHECK;
char *kb_arena_strdup(struct kb_arena *arena, const char *text) KB_MUST_CHECK;
char *kb_arena_strndup(struct kb_arena *arena, const char *text,
		       size_t len) KB_MUST_CHECK;
void kb_arena_clear(struct kb_arena *arena); /* keeps one chunk for reuse */
void kb_arena_release(struct kb_arena *arena);

KB_DEFINE_AUTO_STRUCT(struct kb_arena, kb_arena_release);

#endif
