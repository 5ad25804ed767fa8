/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules for names, and cleaning of paths, as pure text. What is on a disk under
 * such a name, and whether links lead out of a root, is the business of the
 * floors above.
 *
 * Invariant: a name or path without fault, joined to a directory, stays below
 * it and can be shown on a terminal as it is.
 */
#include "path.h"

#include "utf8.h"

#include <string.h>

bool kb_utf8_is_valid(const void *text, size_t len)
{
	const uint8_t *bytes = text;
	uint32_t code;

	for (size_t pos = 0; pos < len;) {
		size_t n = kb_utf8_next(bytes + pos, len - pos, &code);

		if (n == 0)
			return false;
		pos += n;
	}
	return true;
}

enum fault {
	FAULT_NONE,
	FAULT_EMPTY,
	FAULT_LONG,
	FAULT_DOTS,
	FAULT_MARK,
	FAULT_STAGING,
	FAULT_SLASH,
	FAULT_BACKSLASH,
	FAULT_CONTROL,
	FAULT_UTF8
};

/* What to say of a name, and of a path with such a component. */
static const struct {
	const char *name, *path;
} fault_texts[] = {
	[FAULT_NONE] = {NULL, NULL},
	[FAULT_EMPTY] = {"is empty", "has an empty component"},
	[FAULT_LONG] = {"is longer than 255 bytes",
			"has a component longer than 255 bytes"},
	[FAULT_DOTS] = {"is . or ..", "has a component . or .."},
	[FAULT_MARK] = {"is .kbundle, which is reserved",
			"has a component .kbundle, which is reserved"},
	[FAULT_STAGING] = {"begins with tmp., which is for unfinished entries",
			   "has a component that begins with tmp., which is "
			   "for unfinished entries"},
	[FAULT_SLASH] = {"has a slash", "has a slash"},
	[FAULT_BACKSLASH] = {"has a backslash", "has a backslash"},
	[FAULT_CONTROL] = {"has a control byte", "has a control byte"},
	[FAULT_UTF8] = {"is not valid UTF-8", "is not valid UTF-8"},
};

static bool is_text(const char *name, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(name, text, len) == 0;
}

static enum fault component_fault(const char *name, size_t len)
{
	if (len == 0)
		return FAULT_EMPTY;
	if (len > KB_NAME_MAX)
		return FAULT_LONG;
	if (is_text(name, len, ".") || is_text(name, len, ".."))
		return FAULT_DOTS;
	if (is_text(name, len, ".kbundle"))
		return FAULT_MARK;
	if (len >= 4 && memcmp(name, "tmp.", 4) == 0)
		return FAULT_STAGING;
	for (size_t pos = 0; pos < len;) {
		uint32_t code;
		size_t n = kb_utf8_next((const uint8_t *)name + pos, len - pos,
					&code);

		if (n == 0)
			return FAULT_UTF8;
		if (kb_utf8_is_control(code))
			return FAULT_CONTROL;
		if (code == '\\')
			return FAULT_BACKSLASH;
		if (code == '/')
			return FAULT_SLASH;
		pos += n;
	}
	return FAULT_NONE;
}

const char *kb_name_fault(const char *name)
{
	return fault_texts[component_fault(name, strlen(name))].name;
}

const char *kb_path_fault(const char *path)
{
	size_t n_components = 0;

	if (!*path)
		return "is empty";
	if (*path == '/')
		return "begins with a slash";
	if (strlen(path) > KB_MEMBER_PATH_MAX)
		return "is longer than 1024 bytes";
	for (;;) {
		size_t len = strcspn(path, "/");
		enum fault fault = component_fault(path, len);

		if (fault != FAULT_NONE)
			return fault_texts[fault].path;
		if (++n_components > KB_PATH_DEPTH_MAX)
			return "has more than 16 components";
		if (!path[len])
			return NULL;
		path += len + 1;
	}
}

static bool is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	       (c >= 'A' && c <= 'Z');
}

bool kb_root_name_is_valid(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";
	size_t len = strnlen(name, KB_ROOT_NAME_MAX + 1);

	return len > 0 && len <= KB_ROOT_NAME_MAX && is_alnum(name[0]) &&
	       strspn(name, allowed) == len &&
	       strncmp(name, "kbundle", strlen("kbundle")) != 0 &&
	       !kb_name_fault(name);
}

bool kb_token_is_valid(const char *token)
{
	size_t len = strnlen(token, KB_TOKEN_MAX + 1);

	if (len < KB_TOKEN_MIN || len > KB_TOKEN_MAX || token[0] != '/')
		return false;
	for (size_t i = 0; i < len; i++) {
		if (token[i] == '/') {
			if (!is_alnum(token[i + 1]))
				return false;
		} else if (!is_alnum(token[i]) && !strchr("._+-", token[i])) {
			return false;
		}
	}
	return true;
}

/* Appends the components of path to the clean absolute path text, of len bytes
 * without a trailing slash. Returns the new len. */
static size_t append_clean(char *text, size_t len, const char *path)
{
	while (*path) {
		size_t n = strcspn(path, "/");

		if (is_text(path, n, "..")) {
			while (len > 0 && text[--len] != '/')
				;
		} else if (n > 0 && !is_text(path, n, ".")) {
			text[len++] = '/';
			memcpy(text + len, path, n);
			len += n;
		}
		path += n;
		path += *path == '/';
	}
	return len;
}

char *kb_path_absolute(const char *cwd, const char *path)
{
	char *text = malloc(strlen(cwd) + strlen(path) + 3);
	size_t len = 0;

	if (!text)
		return NULL;
	if (path[0] != '/')
		len = append_clean(text, len, cwd);
	len = append_clean(text, len, path);
	if (len == 0)
		text[len++] = '/';
	text[len] = '\0';
	return text;
}

char *kb_path_join(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b);
	bool has_slash = a_len > 0 && a[a_len - 1] == '/';
	char *path = malloc(a_len + b_len + 2);
	size_t len = a_len;

	if (!path)
		return NULL;
	memcpy(path, a, a_len);
	if (a_len > 0 && b_len > 0 && !has_slash)
		path[len++] = '/';
	memcpy(path + len, b, b_len + 1);
	return path;
}

const char *kb_path_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}
