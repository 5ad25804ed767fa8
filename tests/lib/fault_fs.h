/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A syscall table that counts its calls and makes chosen ones fail: copy a
 * plan into kb_fault_start(), hand kb_fault_fs to kb_ctx_init(), and sweep the
 * number of the call that fails until the work ends without a hit.
 *
 * Calls may come from any thread; start and the questions from one. Syncs
 * (fsync, syncfs) are counted and can fail, but do nothing, for speed.
 */
#ifndef KB_TEST_FAULT_FS_H
#define KB_TEST_FAULT_FS_H

#include "../../src/sys/fs.h"

#include <stdbool.h>
#include <stdint.h>

/* The members of struct kb_fs, in its order. */
#define KB_FAULT_OPS(X)                                                        \
	X(openat)                                                              \
	X(close)                                                               \
	X(read)                                                                \
	X(pread)                                                               \
	X(write)                                                               \
	X(fstat)                                                               \
	X(fstatat)                                                             \
	X(fstatfs)                                                             \
	X(getdents)                                                            \
	X(mkdirat)                                                             \
	X(renameat)                                                            \
	X(renameat2)                                                           \
	X(linkat)                                                              \
	X(unlinkat)                                                            \
	X(futimens)                                                            \
	X(fsync)                                                               \
	X(syncfs)                                                              \
	X(flock)                                                               \
	X(lseek)

enum kb_fault_op {
#define X(name) KB_FAULT_##name,
	KB_FAULT_OPS(X)
#undef X
		KB_FAULT_N_OPS
};

#define KB_FAULT_BIT(name) (UINT32_C(1) << KB_FAULT_##name)
#define KB_FAULT_ALL ((UINT32_C(1) << KB_FAULT_N_OPS) - 1)

enum kb_fault_mode {
	KB_FAULT_ONCE,	/* that one call fails */
	KB_FAULT_FROM,	/* it and every later call that the mask names */
	KB_FAULT_FREEZE /* it and every later call of any kind, with EIO: as far
			 * as the disk can tell, the process was killed there */
};

struct kb_fault_plan {
	uint32_t ops; /* calls that count; 0: KB_FAULT_ALL */
	uint64_t at;  /* number of the call that fails, from 1; 0: none */
	int sys_errno;
	enum kb_fault_mode mode;
	/* Called before each counted call, also before one that fails, with its
	 * number. It may do anything but use this table: be another process,
	 * or change a file between two reads. path is NULL where the call has
	 * none. */
	void (*hook)(void *data, uint64_t number, enum kb_fault_op op, int fd,
		     const char *path);
	void *hook_data;
};

extern const struct kb_fs kb_fault_fs;

/* Starts counting anew. NULL: nothing fails. */
void kb_fault_start(const struct kb_fault_plan *plan);
uint64_t kb_fault_calls(void); /* counted since */
bool kb_fault_was_hit(void);
/* Name of the operation that failed first, "" before that. */
const char *kb_fault_hit_name(void);

#endif
