/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Targets as text: their form, their base and suffix, and what a user's
 * selector means. Which target runs on which device is not known here.
 *
 * Invariant: text is canonical, so that two targets are equal when their bytes
 * are.
 */
#include "target.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LOWER "abcdefghijklmnopqrstuvwxyz"
#define UPPER "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Length of a canonical text without its suffix. */
static size_t base_len(const char *text)
{
	size_t len = strlen(text);

	if (begins_with(text, "cuda:") &&
	    (text[len - 1] == 'a' || text[len - 1] == 'f'))
		return len - 1;
	if (begins_with(text, "hip:"))
		return strlen("hip:") + strcspn(text + strlen("hip:"), ":");
	return len;
}

static bool is_cuda_arch(const char *arch)
{
	size_t n;

	if (!begins_with(arch, "sm_"))
		return false;
	arch += strlen("sm_");
	n = strspn(arch, DIGITS);
	if (n < 2 || n > 3)
		return false;
	arch += n;
	return !arch[0] || ((arch[0] == 'a' || arch[0] == 'f') && !arch[1]);
}

static const char *skip_feature(const char *text, const char *name)
{
	size_t n = strlen(name);

	if (begins_with(text, name) && (text[n] == '+' || text[n] == '-'))
		return text + n + 1;
	return text;
}

static bool is_hip_arch(const char *arch)
{
	size_t n;

	if (!begins_with(arch, "gfx"))
		return false;
	arch += strlen("gfx");
	n = strspn(arch, DIGITS "abcdef");
	arch = skip_feature(arch + n, ":sramecc");
	arch = skip_feature(arch, ":xnack");
	return n > 0 && !*arch;
}

static bool is_other_arch(const char *arch)
{
	return arch[0] && strspn(arch, LOWER UPPER DIGITS) > 0 &&
	       !arch[strspn(arch, LOWER UPPER DIGITS "._+-")];
}

static bool is_target(const char *text)
{
	size_t n = strspn(text, LOWER DIGITS);
	const char *arch = text + n + 1;

	if (n == 0 || strspn(text, DIGITS) > 0 || text[n] != ':')
		return false;
	if (begins_with(text, "cuda:"))
		return is_cuda_arch(arch);
	if (begins_with(text, "hip:"))
		return is_hip_arch(arch);
	return is_other_arch(arch);
}

bool kb_target_parse(struct kb_target *target, const char *text)
{
	size_t len = strnlen(text, KB_TARGET_MAX);

	if (len == KB_TARGET_MAX || !is_target(text))
		return false;
	memcpy(target->text, text, len + 1);
	target->base_len = base_len(text);
	return true;
}

void kb_target_cuda(struct kb_target *target, unsigned sm, char suffix)
{
	char text[KB_TARGET_MAX];

	(void)snprintf(text, sizeof(text), "cuda:sm_%u%.1s", sm,
		       (char[]){suffix, '\0'});
	if (!kb_target_parse(target, text))
		*target = (struct kb_target){"", 0};
}

int kb_target_base_compare(const char *a, const char *b)
{
	size_t a_len = a ? base_len(a) : 0, b_len = b ? base_len(b) : 0;
	size_t n = a_len < b_len ? a_len : b_len;
	int order = n > 0 ? memcmp(a, b, n) : 0;

	if (order != 0)
		return order;
	return (a_len > b_len) - (a_len < b_len);
}

/* The target that a selector spells, with the backend filled in. */
static bool parse_selector(struct kb_target *target, const char *selector)
{
	const char *before = "";
	char text[KB_TARGET_MAX];
	int n;

	if (strspn(selector, DIGITS) > 0)
		before = "cuda:sm_";
	else if (begins_with(selector, "sm_"))
		before = "cuda:";
	else if (begins_with(selector, "gfx"))
		before = "hip:";
	n = snprintf(text, sizeof(text), "%s%s", before, selector);
	return n >= 0 && (size_t)n < sizeof(text) &&
	       kb_target_parse(target, text);
}

bool kb_target_is_selected(const char *target, const char *selector)
{
	struct kb_target wanted;

	if (!target || !*target || !parse_selector(&wanted, selector))
		return false;
	if (wanted.text[wanted.base_len])
		return strcmp(target, wanted.text) == 0;
	return kb_target_base_compare(target, wanted.text) == 0;
}

bool kb_target_selector_is_valid(const char *selector)
{
	struct kb_target target;

	return parse_selector(&target, selector);
}
