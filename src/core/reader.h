/* SPDX-License-Identifier: Apache-2.0 */
/* An open bundle, entry by entry; behind kbundle_reader_*(). */
#ifndef KB_READER_H
#define KB_READER_H

#include "../base/cleanup.h"
#include "../sys/ctx.h"

#include <kbundle/kbundle.h>

/* As kbundle_reader_open(), with options copied (API floor). */
int kb_reader_open(const struct kbundle_env *env,
		   const struct kbundle_reader_options *options,
		   struct kbundle_reader **ret,
		   struct kbundle_error *err) KB_MUST_CHECK;
void kb_reader_close(struct kbundle_reader *reader);
KB_DEFINE_AUTO(struct kbundle_reader *, kb_reader_close);
const char *kb_reader_id(const struct kbundle_reader *reader);
uint64_t kb_reader_n_entries(const struct kbundle_reader *reader);
size_t kb_reader_n_roots(const struct kbundle_reader *reader);
const struct kbundle_bundle_root *
kb_reader_root(const struct kbundle_reader *reader, size_t i);
int kb_reader_next(struct kbundle_reader *reader,
		   const struct kbundle_entry **ret,
		   struct kbundle_error *err) KB_MUST_CHECK;
const struct kbundle_file *kb_reader_file(const struct kbundle_reader *reader,
					  size_t i);
int kb_reader_cat(struct kbundle_reader *reader, const char *member,
		  const char *root_path, int output_fd,
		  struct kbundle_error *err) KB_MUST_CHECK;

#endif
