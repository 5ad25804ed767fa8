/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ownership by scope. An owner is initialised where it is declared and freed
 * when its scope ends; kb_take() is the only way ownership leaves a function.
 *
 *	KB_AUTO_FREE char *text = NULL;
 *	...
 *	*ret_text = kb_take(text);
 */
#ifndef KB_CLEANUP_H
#define KB_CLEANUP_H

#include <stdlib.h>

#define KB_MUST_CHECK __attribute__((warn_unused_result))
#define KB_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define KB_UNUSED __attribute__((unused))

/* Defines kb_auto_<func> for `KB_AUTO(func) struct x *p = NULL;`, where func
 * takes the pointer and accepts NULL. */
#define KB_DEFINE_AUTO(type, func)                                             \
	static inline void kb_auto_##func(type *p)                             \
	{                                                                      \
		func(*p);                                                      \
	}                                                                      \
	struct kb_semicolon
/* The same for a struct in the caller's storage: func takes its address. */
#define KB_DEFINE_AUTO_STRUCT(type, func)                                      \
	static inline void kb_auto_##func(type *p)                             \
	{                                                                      \
		func(p);                                                       \
	}                                                                      \
	struct kb_semicolon
#define KB_AUTO(func) __attribute__((cleanup(kb_auto_##func)))

static inline void kb_auto_free(void *p)
{
	free(*(void **)p);
}
#define KB_AUTO_FREE __attribute__((cleanup(kb_auto_free)))

/* Moves an owned pointer out and leaves NULL behind. */
#define kb_take(p)                                                             \
	__extension__({                                                        \
		__typeof__(p) kb_taken = (p);                                  \
		(p) = NULL;                                                    \
		kb_taken;                                                      \
	})

#endif
