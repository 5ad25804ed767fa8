/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What kind of entry a directory of a Triton cache is. The names of its files
 * alone tell, which lets scan, check, slim and resident agree: a group file
 * makes a kernel, a lone *.autotune.json a tuning result, nothing but .so files
 * a host extension. Everything else was never committed, or is too old.
 */
#include "triton_parts.h"

#include "../src/base/error.h"

#include <string.h>

#define GROUP_PREFIX "__grp__"
#define JSON_SUFFIX ".json"
#define AUTOTUNE_SUFFIX ".autotune.json"

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool kb_triton_is_group(const char *file)
{
	return starts_with(file, GROUP_PREFIX) &&
	       ends_with(file, JSON_SUFFIX) && !strchr(file, '/');
}

bool kb_triton_is_ignored(const char *name)
{
	/* What writers leave when they are killed, locks of 2.0, and NFS's
	 * name for a file that was deleted while open. */
	return starts_with(name, "tmp.") || ends_with(name, ".tmp") ||
	       strstr(name, ".tmp.pid_") || strcmp(name, "lock") == 0 ||
	       ends_with(name, ".lock") || strcmp(name, ".lockfile") == 0 ||
	       starts_with(name, ".nfs");
}

static void keep_first(const char **slot, const char *file)
{
	if (!*slot)
		*slot = file;
}

static void keep_two(const char **first, const char **second, const char *file)
{
	keep_first(*first ? second : first, file);
}

void kb_triton_shape_add(struct kb_triton_shape *shape, const char *file)
{
	if (kb_triton_is_group(file)) {
		keep_two(&shape->group, &shape->group_2, file);
	} else if (ends_with(file, AUTOTUNE_SUFFIX)) {
		keep_two(&shape->autotune, &shape->autotune_2, file);
	} else if (ends_with(file, ".so")) {
		keep_first(&shape->host, file);
	} else {
		if (ends_with(file, JSON_SUFFIX))
			keep_first(&shape->json, file);
		else if (ends_with(file, ".hsaco_path"))
			keep_first(&shape->hsaco_path, file);
		shape->n_others++;
	}
}

void kb_triton_shape_of(struct kb_triton_shape *shape,
			const struct kb_entry *entry)
{
	memset(shape, 0, sizeof(*shape));
	for (size_t i = 0; i < entry->n_files; i++)
		kb_triton_shape_add(shape, entry->files[i].name);
}

enum kb_triton_kind kb_triton_shape_kind(const struct kb_triton_shape *shape)
{
	if (shape->hsaco_path)
		return KB_TRITON_OLD_AMD;
	if (shape->group)
		return KB_TRITON_KERNEL;
	if (shape->autotune)
		return KB_TRITON_AUTOTUNE;
	if (shape->host && shape->n_others == 0)
		return KB_TRITON_HOST_EXTENSION;
	return KB_TRITON_LEFTOVER;
}

const char *kb_triton_kind_name(enum kb_triton_kind kind)
{
	if (kind == KB_TRITON_AUTOTUNE)
		return "autotune";
	if (kind == KB_TRITON_HOST_EXTENSION)
		return "host-extension";
	return "kernel";
}

const char *kb_triton_commit_file(const struct kb_triton_shape *shape)
{
	switch (kb_triton_shape_kind(shape)) {
	case KB_TRITON_KERNEL:
		return shape->group;
	case KB_TRITON_AUTOTUNE:
		return shape->autotune;
	case KB_TRITON_HOST_EXTENSION:
		return shape->host;
	default:
		return NULL;
	}
}

const char *kb_triton_stem(const struct kb_triton_shape *shape, size_t *ret_len)
{
	switch (kb_triton_shape_kind(shape)) {
	case KB_TRITON_KERNEL:
		*ret_len = strlen(shape->group) - strlen(GROUP_PREFIX) -
			   strlen(JSON_SUFFIX);
		return shape->group + strlen(GROUP_PREFIX);
	case KB_TRITON_AUTOTUNE:
		*ret_len = strlen(shape->autotune) - strlen(AUTOTUNE_SUFFIX);
		return shape->autotune;
	case KB_TRITON_HOST_EXTENSION:
		/* What follows the first dot is the ABI of the Python that it
		 * was built for, and ".so". */
		*ret_len = strcspn(shape->host, ".");
		return shape->host;
	default:
		*ret_len = 0;
		return "";
	}
}

int kb_triton_shape_check(const struct kb_triton_shape *shape, bool host_code,
			  bool has_ctime, struct kbundle_error *err)
{
	switch (kb_triton_shape_kind(shape)) {
	case KB_TRITON_KERNEL:
	case KB_TRITON_AUTOTUNE:
		return 0;
	case KB_TRITON_HOST_EXTENSION:
		if (host_code)
			return 0;
		return kb_fail(err, KBUNDLE_E_UNSUPPORTED,
			       "host extension (.so): left out by default, "
			       "--host-code takes it");
	case KB_TRITON_OLD_AMD:
		return kb_fail(err, KBUNDLE_E_UNSUPPORTED,
			       "written by Triton 2.x for AMD, which keeps the "
			       "binary at a path of the old machine");
	case KB_TRITON_LEFTOVER:
		break;
	}
	if (has_ctime)
		return kb_fail(
			err, KBUNDLE_E_UNSUPPORTED,
			"written by Triton 2.0, which hits only with the "
			"original change times of the files");
	if (shape->n_others == 0)
		return kb_fail(err, KBUNDLE_E_NOTFOUND,
			       "empty: the framework looked it up and compiled "
			       "nothing");
	return kb_fail(err, KBUNDLE_E_NOTFOUND,
		       "no group file: its writer never committed it");
}
