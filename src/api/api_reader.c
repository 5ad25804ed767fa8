/* SPDX-License-Identifier: Apache-2.0 */
/* The public reader: checks of arguments in front of core/reader.c. */
#include "../base/error.h"
#include "../core/reader.h"

#include <kbundle/kbundle.h>

int kbundle_reader_open(const struct kbundle_env *env,
			const struct kbundle_reader_options *user_options,
			struct kbundle_reader **ret_reader,
			struct kbundle_error *err)
{
	struct kbundle_reader_options options;
	int r = kb_options_copy(&options, sizeof(options), user_options,
				"reader options", err);

	if (r < 0)
		return r;
	if (!ret_reader)
		return kb_fail(err, KBUNDLE_E_INVALID, "ret_reader is NULL");
	return kb_reader_open(env, &options, ret_reader, err);
}

void kbundle_reader_close(struct kbundle_reader *reader)
{
	kb_reader_close(reader);
}

const char *kbundle_reader_id(const struct kbundle_reader *reader)
{
	return kb_reader_id(reader);
}

uint64_t kbundle_reader_n_entries(const struct kbundle_reader *reader)
{
	return kb_reader_n_entries(reader);
}

size_t kbundle_reader_n_roots(const struct kbundle_reader *reader)
{
	return kb_reader_n_roots(reader);
}

const struct kbundle_bundle_root *
kbundle_reader_root(const struct kbundle_reader *reader, size_t i)
{
	return kb_reader_root(reader, i);
}

int kbundle_reader_next(struct kbundle_reader *reader,
			const struct kbundle_entry **ret_entry,
			struct kbundle_error *err)
{
	if (!ret_entry)
		return kb_fail(err, KBUNDLE_E_INVALID, "ret_entry is NULL");
	return kb_reader_next(reader, ret_entry, err);
}

const struct kbundle_file *
kbundle_reader_file(const struct kbundle_reader *reader, size_t i)
{
	return kb_reader_file(reader, i);
}

int kbundle_reader_cat(struct kbundle_reader *reader, const char *member,
		       const char *root_path, int output_fd,
		       struct kbundle_error *err)
{
	if (!member)
		return kb_fail(err, KBUNDLE_E_INVALID, "member is NULL");
	return kb_reader_cat(reader, member, root_path, output_fd, err);
}
