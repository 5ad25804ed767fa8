/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Helpers of all tests, over plain libc. What cannot fail in a sane test (a
 * temporary directory, a file written into it) aborts with a message when it
 * does, so that no test needs to check it.
 */
#ifndef KB_TEST_HARNESS_H
#define KB_TEST_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define KB_TEST_PATH_MAX 4096

/* A fresh directory (mode 0700) below $TMPDIR, else /tmp. */
void kb_test_tmpdir(char path[KB_TEST_PATH_MAX]);
/* Removes path and everything in it, following no symlink. Absent is fine. */
void kb_test_remove(const char *path);

/* Creates or replaces <dir>/<rel>, and the directories that rel names. */
void kb_test_write(const char *dir, const char *rel, const void *data,
		   size_t len);
/* The same with a string. */
void kb_test_write_text(const char *dir, const char *rel, const char *text);
/* Makes the directory <dir>/<rel> with its parents; existing is fine. */
void kb_test_mkdir(const char *dir, const char *rel);
/* The file's bytes, malloc'ed and followed by a NUL; NULL: there is none. rel
 * "": dir itself is the file. ret_len may be NULL. */
char *kb_test_read(const char *dir, const char *rel, size_t *ret_len);
/* Is there anything (a dangling symlink counts) at <dir>/<rel>? */
bool kb_test_exists(const char *dir, const char *rel);
/* Permission bits (07777) of <dir>/<rel>. */
unsigned kb_test_mode(const char *dir, const char *rel);

/* Names, types, symlink texts and file contents are equal; modes and times are
 * not looked at. why: the first difference. */
bool kb_test_tree_equal(const char *a, const char *b, char why[512]);
/* Copies files, directories and symlinks with modes and times; `to` is made. */
void kb_test_copy_tree(const char *from, const char *to);
/* Regular files at any depth; 0 where path is absent. */
size_t kb_test_count_files(const char *path);
/* Names directly in path that begin with prefix; 0 where path is absent. */
size_t kb_test_count_names(const char *path, const char *prefix);

/* Path of a real cache. The folder of all of them is $KBUNDLE_FIXTURES, else
 * what the build says. false: it is not there, and a line on stderr says that
 * something is skipped: leave with cr_skip_test() or exit code 77. */
bool kb_test_fixture(char path[KB_TEST_PATH_MAX], const char *name);

/* Runs argv (found on PATH) with an empty stdin and collects its stdout, which
 * is malloc'ed and followed by a NUL; stderr is that of the test. *ret_status
 * is the exit code, or 128 and the signal. Returns false where argv[0] could
 * not be started. Outputs may be NULL. */
bool kb_test_run(char *const argv[], char **ret_out, size_t *ret_len,
		 int *ret_status);

#endif
