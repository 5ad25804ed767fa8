/* SPDX-License-Identifier: Apache-2.0 */
/* The public reader: checks of arguments in front of core/reader.c. */
#include "../base/error.h"
#include "../core/reader.h"

#include <kbundle/kbundle.h>

int kbundle_reader_open(const struct kbundle_env *env, const char *input,
			int input_fd, const struct kbundle_limits *limits,
			struct kbundle_reader **ret_reader,
			struct kbundle_error *err)
{
	if (!ret_reader)
		return kb_fail(err, KBUNDLE_E_INVALID, "ret_reader is NULL");
	return kb_reader_open(env, input, input_fd, limits, ret_reader, err);
}

void kbundle_reader_close(struct kbundle_reader *reader)
{
	kb_reader_close(reader);
}

const char *kbundle_reader_id(const struct kbundle_reader *reader)
{
	return kb_reader_id(reader);
}

uint64_t kbundle_reader_entries(const struct kbundle_reader *reader)
{
	return kb_reader_entries(reader);
}

size_t kbundle_reader_roots(const struct kbundle_reader *reader)
{
	return kb_reader_roots(reader);
}

int kbundle_reader_root(const struct kbundle_reader *reader, size_t i,
			struct kbundle_root *ret_root)
{
	return kb_reader_root(reader, i, ret_root);
}

int kbundle_reader_next(struct kbundle_reader *reader,
			struct kbundle_entry *ret_entry,
			struct kbundle_error *err)
{
	return kb_reader_next(reader, ret_entry, err);
}

int kbundle_reader_file(const struct kbundle_reader *reader, size_t i,
			struct kbundle_file *ret_file)
{
	return kb_reader_file(reader, i, ret_file);
}

int kbundle_reader_cat(struct kbundle_reader *reader, const char *member,
		       const char *root_path, int output_fd,
		       struct kbundle_error *err)
{
	if (!member)
		return kb_fail(err, KBUNDLE_E_INVALID, "member is NULL");
	return kb_reader_cat(reader, member, root_path, output_fd, err);
}
