/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bump allocator. Chunks double up to GROW_CHUNK_MAX, and clearing keeps
 * the largest: a caller that clears once a line soon runs without malloc.
 *
 * Invariant: the chunk in front is the one that is filled; used <= bytes in
 * every chunk, and used is a multiple of the strictest alignment.
 */
#include "arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <string.h>

#define ALIGN alignof(max_align_t)
#define FIRST_CHUNK_BYTES ((size_t)4096)
#define GROW_CHUNK_MAX ((size_t)1 << 20)

struct kb_arena_chunk {
	struct kb_arena_chunk *next;
	size_t bytes, used;
	alignas(max_align_t) unsigned char data[];
};

static struct kb_arena_chunk *add_chunk(struct kb_arena *arena, size_t bytes)
{
	struct kb_arena_chunk *chunk;
	size_t size = FIRST_CHUNK_BYTES;

	if (arena->chunks)
		size = arena->chunks->bytes < GROW_CHUNK_MAX / 2
			       ? 2 * arena->chunks->bytes
			       : GROW_CHUNK_MAX;
	if (size < bytes)
		size = bytes;
	if (size > SIZE_MAX - sizeof(*chunk))
		return NULL;
	chunk = malloc(sizeof(*chunk) + size);
	if (!chunk)
		return NULL;
	chunk->bytes = size;
	chunk->used = 0;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	return chunk;
}

void *kb_arena_alloc(struct kb_arena *arena, size_t bytes)
{
	struct kb_arena_chunk *chunk = arena->chunks;
	void *result;

	if (bytes > SIZE_MAX - ALIGN)
		return NULL;
	bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
	if (!chunk || bytes > chunk->bytes - chunk->used) {
		chunk = add_chunk(arena, bytes);
		if (!chunk)
			return NULL;
	}
	result = chunk->data + chunk->used;
	chunk->used += bytes;
	return result;
}

void *kb_arena_array(struct kb_arena *arena, size_t n, size_t item_bytes)
{
	size_t bytes;
	void *items;

	if (__builtin_mul_overflow(n, item_bytes, &bytes))
		return NULL;
	items = kb_arena_alloc(arena, bytes);
	if (items)
		memset(items, 0, bytes);
	return items;
}

char *kb_arena_strdup(struct kb_arena *arena, const char *text)
{
	return kb_arena_strndup(arena, text, strlen(text));
}

char *kb_arena_strndup(struct kb_arena *arena, const char *text, size_t len)
{
	char *copy = len < SIZE_MAX ? kb_arena_alloc(arena, len + 1) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return copy;
}

void kb_arena_clear(struct kb_arena *arena)
{
	struct kb_arena_chunk *kept = NULL, *chunk = arena->chunks;

	while (chunk) {
		struct kb_arena_chunk *next = chunk->next;

		if (!kept || chunk->bytes > kept->bytes) {
			free(kept);
			kept = chunk;
		} else {
			free(chunk);
		}
		chunk = next;
	}
	if (kept) {
		kept->used = 0;
		kept->next = NULL;
	}
	arena->chunks = kept;
}

void kb_arena_release(struct kb_arena *arena)
{
	while (arena->chunks) {
		struct kb_arena_chunk *next = arena->chunks->next;

		free(arena->chunks);
		arena->chunks = next;
	}
}
