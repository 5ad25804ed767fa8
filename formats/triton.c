/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format "triton": the table, the file names it asks for, and where a user
 * has his cache. Its parts are listed in triton_parts.h.
 */
#include "triton.h"

#include "../src/base/error.h"
#include "../src/base/path.h"
#include "triton_parts.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#define PASSWD_BYTES 16384

static bool reads(const char *file)
{
	size_t len = strlen(file);

	return (len >= 5 && strcmp(file + len - 5, ".json") == 0) ||
	       kb_triton_binary_kind(file);
}

static bool may_rewrite(const char *file, const char *codec)
{
	return kb_triton_is_group(file) && strcmp(codec, KB_CODEC_JSON) == 0;
}

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int absolute(const char *path, char **ret, struct kbundle_error *err)
{
	KB_AUTO_FREE char *cwd = NULL;

	if (*path != '/') {
		cwd = getcwd(NULL, 0);
		if (!cwd)
			return kb_fail_errno(err, errno,
					     "cannot tell the working "
					     "directory that the path of the "
					     "Triton cache begins at");
	}
	*ret = kb_path_absolute(cwd ? cwd : "/", path);
	return *ret ? 0 : kb_fail_nomem(err);
}

static int default_root(char **ret, struct kbundle_error *err)
{
	KB_AUTO_FREE char *buffer = malloc(PASSWD_BYTES);
	KB_AUTO_FREE char *path = NULL;
	struct passwd passwd, *found = NULL;
	const char *home;

	if (!buffer)
		return kb_fail_nomem(err);
	if (variable("TRITON_CACHE_DIR"))
		return absolute(variable("TRITON_CACHE_DIR"), ret, err);
	home = variable("TRITON_HOME");
	if (!home)
		home = variable("HOME");
	if (!home &&
	    getpwuid_r(getuid(), &passwd, buffer, PASSWD_BYTES, &found) == 0 &&
	    found)
		home = found->pw_dir;
	if (!home || !*home)
		return kb_fail(err, KBUNDLE_E_NOTFOUND,
			       "no home directory known for the Triton cache: "
			       "set TRITON_CACHE_DIR or HOME");
	path = kb_path_join(home, ".triton/cache");
	if (!path)
		return kb_fail_nomem(err);
	return absolute(path, ret, err);
}

const struct kb_format kb_format_triton = {
	.name = "triton",
	.description = "Triton's kernel cache (2.1 and later)",
	.default_root = default_root,
	.bid = kb_triton_bid,
	.scan = kb_triton_scan,
	.path_is_valid = kb_triton_key_is_valid,
	.is_ignored = kb_triton_is_ignored,
	.reads = reads,
	.may_rewrite = may_rewrite,
	.check = kb_triton_check,
	.slim_keeps = kb_triton_slim_keeps,
	.slim_file = kb_triton_slim_file,
	.slim = kb_triton_slim,
	.commit_file = kb_triton_commit_file_of,
	.resident = kb_triton_resident,
};
