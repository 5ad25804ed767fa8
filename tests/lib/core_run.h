/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the verbs of the core in one line, over any syscall table. */
#ifndef KB_TEST_CORE_RUN_H
#define KB_TEST_CORE_RUN_H

#include "../../src/sys/fs.h"

#include <kbundle/kbundle.h>

#include <stddef.h>

struct kb_test_run_result {
	int r; /* of the call */
	struct kbundle_error err;
	int exit;		       /* of the report, where r is 0 */
	struct kbundle_report *report; /* kbundle_report_free() */
};

/* Packs <cache> into the file <bundle>; spools lie beside it. */
void kb_test_pack(struct kb_test_run_result *ret, const struct kb_fs *fs,
		  unsigned threads, const char *cache, const char *bundle,
		  const struct kbundle_pack_options *more);
/* Unpacks the file <bundle> into <root>. more NULL: defaults. */
void kb_test_unpack(struct kb_test_run_result *ret, const struct kb_fs *fs,
		    unsigned threads, const char *bundle, const char *root,
		    const struct kbundle_unpack_options *more);
void kb_test_verify(struct kb_test_run_result *ret, const struct kb_fs *fs,
		    unsigned threads, const char *bundle, const char *root);
void kb_test_result_release(struct kb_test_run_result *result);

/* The small cache of tests/fixtures/triton, copied below dir (so that it may
 * be changed): <dir>/cache. */
void kb_test_small_cache(const char *dir, char cache[4096]);

/* Open descriptors of this process. */
size_t kb_test_count_fds(void);

#endif
