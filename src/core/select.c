/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Selection by architecture, name and key: lists combine with "and", what is in
 * a list with "or". An entry without a target (autotune results) belongs to
 * every architecture.
 */
#include "select.h"

#include "../base/error.h"
#include "../base/target.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

int kb_selection_init(struct kbundle_selection *selection,
		      const struct kbundle_selection *user,
		      struct kbundle_error *err)
{
	int r = kb_options_copy(selection, sizeof(*selection), user,
				"selection", err);
	struct kb_shown shown;

	if (r < 0)
		return r;
	for (size_t i = 0; i < selection->n_archs; i++)
		if (!kb_target_selector_is_valid(selection->archs[i]))
			return kb_fail(err, KBUNDLE_E_INVALID,
				       "%s is no architecture; write for "
				       "example sm_90, sm_90a, cuda:sm_80, "
				       "gfx942",
				       kb_show(&shown, selection->archs[i]));
	return 0;
}

static bool takes_arch(const struct kbundle_selection *selection,
		       const char *target)
{
	if (!selection->n_archs || !target || !*target)
		return true;
	for (size_t i = 0; i < selection->n_archs; i++)
		if (kb_target_is_selected(target, selection->archs[i]))
			return true;
	return false;
}

static bool takes_name(const struct kbundle_selection *selection,
		       const char *name)
{
	if (!selection->n_names)
		return true;
	for (size_t i = 0; i < selection->n_names; i++)
		if (fnmatch(selection->names[i], name, 0) == 0)
			return true;
	return false;
}

static bool takes_key(const struct kbundle_selection *selection,
		      const char *path)
{
	if (!selection->n_keys)
		return true;
	for (size_t i = 0; i < selection->n_keys; i++)
		if (strcmp(selection->keys[i], path) == 0)
			return true;
	return false;
}

/* The selector without a suffix: "sm_90a" -> "sm_90", "gfx90a:xnack-" ->
 * "gfx90a". */
static void cut_suffix(char *selector)
{
	char *gfx = strstr(selector, "gfx");
	size_t len = strlen(selector);

	if (gfx) {
		gfx[strcspn(gfx, ":")] = '\0';
	} else if (len > 1 && strchr("af", selector[len - 1]) &&
		   strchr("0123456789", selector[len - 2])) {
		selector[len - 1] = '\0';
	}
}

static bool may_take_arch(const struct kbundle_selection *selection,
			  const char *base)
{
	if (!selection->n_archs || !base || !*base)
		return true;
	for (size_t i = 0; i < selection->n_archs; i++) {
		char selector[KB_TARGET_MAX];

		(void)snprintf(selector, sizeof(selector), "%s",
			       selection->archs[i]);
		cut_suffix(selector);
		if (kb_target_is_selected(base, selector))
			return true;
	}
	return false;
}

bool kb_selection_may_take(const struct kbundle_selection *selection,
			   const char *base, const char *name, const char *path)
{
	return may_take_arch(selection, base) &&
	       (!*name || takes_name(selection, name)) &&
	       takes_key(selection, path);
}

bool kb_selection_takes(const struct kbundle_selection *selection,
			const char *target, const char *name, const char *path)
{
	return takes_arch(selection, target) && takes_name(selection, name) &&
	       takes_key(selection, path);
}

void kb_selection_notice_whole(struct kb_ctx *ctx, uint64_t n)
{
	if (n)
		kb_log(ctx, KBUNDLE_LOG_NOTICE,
		       "%llu %s whole: what made %s needs every file for a hit "
		       "(Triton 2.1 and 2.2)",
		       (unsigned long long)n,
		       n == 1 ? "entry stays" : "entries stay",
		       n == 1 ? "it" : "them");
}
