/* SPDX-License-Identifier: Apache-2.0 */
#include "formats/format.h"
#include "formats/triton.h"
#include "src/sys/io.h"
#include "tests/lib/harness.h"

#include <criterion/criterion.h>

#include <fcntl.h>

static const struct kb_format *detect(const char *path)
{
	const struct kb_format *found = &kb_format_triton;
	struct kb_ctx ctx;
	struct kbundle_error err;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	cr_assert_geq(fd, 0, "%s", path);
	cr_assert_eq(kb_ctx_init(&ctx, NULL, NULL, &err), 0);
	cr_assert_eq(kb_format_detect(&ctx, fd, &found, &err), 0);
	kb_ctx_release(&ctx);
	kb_close(fd);
	return found;
}

Test(registry, every_format_is_found_by_its_name)
{
	size_t n = 0;

	for (; kb_formats[n]; n++)
		cr_assert_eq(kb_format_find(kb_formats[n]->name),
			     kb_formats[n]);
	cr_assert_geq(n, 1);
	cr_assert_eq(kb_format_find("triton"), &kb_format_triton);
}

Test(registry, names_are_exact)
{
	cr_assert_null(kb_format_find("Triton"));
	cr_assert_null(kb_format_find("trito"));
	cr_assert_null(kb_format_find(""));
}

Test(registry, tables_are_complete)
{
	for (size_t i = 0; kb_formats[i]; i++) {
		const struct kb_format *format = kb_formats[i];

		cr_assert(format->name && *format->name);
		cr_assert(format->description && *format->description);
		cr_assert(format->default_root && format->bid && format->scan);
		cr_assert(format->path_is_valid && format->is_ignored);
		cr_assert(format->reads && format->may_rewrite);
		cr_assert(format->check && format->resident);
		/* Slim comes whole or not at all. */
		cr_assert_eq(!format->slim, !format->slim_keeps);
		cr_assert_eq(!format->slim, !format->slim_file);
	}
}

Test(registry, detects_a_cache_by_its_content)
{
	cr_assert_eq(detect(KB_TEST_SOURCE_DIR "/tests/fixtures/triton"),
		     &kb_format_triton);
}

Test(registry, detects_nothing_in_other_trees)
{
	char dir[KB_TEST_PATH_MAX];

	kb_test_tmpdir(dir);
	cr_assert_null(detect(dir), "an empty directory");
	kb_test_write_text(dir, "README", "not a cache");
	kb_test_mkdir(dir, "src");
	cr_assert_null(detect(dir), "some other directory");
	kb_test_remove(dir);
}
