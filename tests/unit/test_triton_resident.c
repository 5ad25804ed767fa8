/* SPDX-License-Identifier: Apache-2.0 */
#include "triton_entry.h"

#include "src/sys/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY KEY_3_9
#define GROUP "__grp__k.json"

static struct kb_ctx ctx;
static struct kb_fs fs;
static char root[KB_TEST_PATH_MAX], reason[256];
static struct kb_file files[2];
static struct kb_entry entry;

static void set_up(void)
{
	kb_test_tmpdir(root);
	kb_test_mkdir(root, KEY);
	fs = kb_fs_real;
	cr_assert_eq(kb_ctx_init(&ctx, NULL, &fs, NULL), 0);
	memset(&entry, 0, sizeof(entry));
	memset(files, 0, sizeof(files));
	files[0].name = GROUP;
	files[1].name = "k.json";
	entry.path = KEY;
	entry.kind = "kernel";
	entry.name = "k";
	entry.files = files;
	entry.n_files = 2;
}

static void tear_down(void)
{
	kb_ctx_release(&ctx);
	kb_test_remove(root);
}

TestSuite(triton_resident, .init = set_up, .fini = tear_down);

static enum kb_resident look(const char *spelling)
{
	KB_AUTO_FD int root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	KB_AUTO_FD int dir_fd =
		openat(root_fd, KEY, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *spellings[] = {"/first/spelling", spelling};
	enum kb_resident found = KB_RESIDENT_OCCUPIED;
	struct kbundle_error err;

	cr_assert_geq(dir_fd, 0);
	memset(reason, 0, sizeof(reason));
	cr_assert_eq(kb_format_triton.resident(&ctx, root_fd, dir_fd, &entry,
					       spellings, 2, &found, reason,
					       &err),
		     0);
	return found;
}

static void expect(enum kb_resident want, const char *phrase)
{
	enum kb_resident found = look("/second/spelling/");

	cr_assert_eq(found, want, "%d: %s", found, reason);
	cr_assert_not_null(strstr(reason, phrase), "%s", reason);
}

static void write_at(const char *file, const char *text)
{
	char path[KB_TEST_PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", KEY, file);
	kb_test_write_text(root, path, text);
}

/* A group of two children below this spelling of a root. */
static void write_group(const char *spelled)
{
	char text[3 * KB_TEST_PATH_MAX];

	snprintf(text, sizeof(text),
		 "{\"child_paths\": {\"k.cubin\": \"%s/" KEY "/k.cubin\", "
		 "\"k.json\": \"%s/" KEY "/k.json\"}}",
		 spelled, spelled);
	write_at(GROUP, text);
	write_at("k.json", "{}");
	write_at("k.cubin", "ELF");
}

Test(triton_resident, an_entry_whose_paths_lead_here_is_present)
{
	write_group(root);
	expect(KB_RESIDENT_PRESENT, "");
}

Test(triton_resident, spellings_are_compared_by_text)
{
	write_group("/second/spelling");
	expect(KB_RESIDENT_PRESENT, "");
	write_group("/second/spelling///");
	expect(KB_RESIDENT_PRESENT, "");
	write_group("\\/second\\u002fspelling");
	expect(KB_RESIDENT_PRESENT, "");
	write_group("/second/spellin");
	expect(KB_RESIDENT_OCCUPIED, "do not lead here but to /second/spellin");
}

Test(triton_resident, other_spellings_are_looked_up)
{
	char link[KB_TEST_PATH_MAX + 16];

	snprintf(link, sizeof(link), "%s.link", root);
	cr_assert_eq(symlink(root, link), 0);
	write_group(link);
	expect(KB_RESIDENT_PRESENT, "");
	cr_assert_eq(unlink(link), 0);
	expect(KB_RESIDENT_OCCUPIED, "do not lead here");
}

Test(triton_resident, another_directory_of_the_same_disk_is_not_here)
{
	char other[KB_TEST_PATH_MAX];

	kb_test_tmpdir(other);
	write_group(other);
	expect(KB_RESIDENT_OCCUPIED, "do not lead here but to /");
	kb_test_remove(other);
}

Test(triton_resident, every_child_counts)
{
	char text[2 * KB_TEST_PATH_MAX];

	write_group(root);
	snprintf(text, sizeof(text),
		 "{\"child_paths\": {\"k.json\": \"%s/" KEY "/k.json\", "
		 "\"k.cubin\": \"/elsewhere/" KEY "/k.cubin\"}}",
		 root);
	write_at(GROUP, text);
	expect(KB_RESIDENT_OCCUPIED, "do not lead here but to /elsewhere");
}

Test(triton_resident, relative_paths_lead_anywhere)
{
	write_group("./cache");
	expect(KB_RESIDENT_OCCUPIED, "relative");
	/* Even where they lead here right now. */
	cr_assert_eq(chdir(root), 0);
	write_group(".");
	expect(KB_RESIDENT_OCCUPIED, "relative");
}

Test(triton_resident, without_a_commit_file_nothing_is_marked)
{
	expect(KB_RESIDENT_UNMARKED, "");
	write_at("k.cubin", "x");
	write_at("k.json", "{}");
	expect(KB_RESIDENT_UNMARKED, "");
}

Test(triton_resident, damage_is_occupied)
{
	write_group(root);
	write_at(GROUP, "");
	expect(KB_RESIDENT_OCCUPIED, "its group file: has zero bytes");
	write_at(GROUP, "{\"child_paths\": ");
	expect(KB_RESIDENT_OCCUPIED, "its group file: cannot be parsed");
	write_at(GROUP, "{\"child_paths\": {\"k.json\": \"/k.json\"}}");
	expect(KB_RESIDENT_OCCUPIED, "outside the entry");
	write_at(GROUP, "{\"child_paths\": [\"k.cubin\"]}");
	expect(KB_RESIDENT_OCCUPIED, "does not list the metadata");
}

/* Triton compiles again without it, or raises: to call that present would be to
 * promise a hit. */
Test(triton_resident, the_binary_must_be_there)
{
	char path[KB_TEST_PATH_MAX + 80];

	write_group(root);
	write_at("k.cubin", "");
	expect(KB_RESIDENT_OCCUPIED, "k.cubin has zero bytes");
	snprintf(path, sizeof(path), "%s/%s/k.cubin", root, KEY);
	cr_assert_eq(unlink(path), 0);
	expect(KB_RESIDENT_OCCUPIED, "binary is missing");
}

Test(triton_resident, metadata_must_be_there)
{
	char path[KB_TEST_PATH_MAX + 80];

	write_group(root);
	write_at("k.json", "");
	expect(KB_RESIDENT_OCCUPIED, "k.json has zero bytes");
	snprintf(path, sizeof(path), "%s/%s/k.json", root, KEY);
	cr_assert_eq(unlink(path), 0);
	expect(KB_RESIDENT_OCCUPIED, "metadata is missing");
	cr_assert_eq(symlink("/etc/passwd", path), 0);
	expect(KB_RESIDENT_OCCUPIED, "k.json is no regular file");
}

Test(triton_resident, a_huge_group_is_not_read)
{
	size_t len = (size_t)2 << 20;
	char *text = malloc(len + 1);

	memset(text, ' ', len);
	text[len] = '\0';
	write_at(GROUP, text);
	free(text);
	expect(KB_RESIDENT_OCCUPIED, "larger than the limit");
}

Test(triton_resident, a_group_that_is_no_file)
{
	char path[KB_TEST_PATH_MAX + 80];

	snprintf(path, sizeof(path), "%s/%s/%s", root, KEY, GROUP);
	cr_assert_eq(mkdir(path, 0700), 0);
	expect(KB_RESIDENT_OCCUPIED, GROUP);
}

Test(triton_resident, lists_lead_nowhere_else)
{
	write_at(GROUP, "{\"child_paths\": [\"k.cubin\", \"k.json\"]}");
	write_at("k.json", "{}");
	write_at("k.cubin", "ELF");
	expect(KB_RESIDENT_PRESENT, "");
}

Test(triton_resident, tuning_results)
{
	entry.kind = "autotune";
	entry.n_files = 1;
	files[0].name = "k.autotune.json";
	expect(KB_RESIDENT_UNMARKED, "");
	write_at("k.autotune.json", "");
	expect(KB_RESIDENT_OCCUPIED, "zero bytes");
	write_at("k.autotune.json", "{}");
	expect(KB_RESIDENT_PRESENT, "");
}

Test(triton_resident, host_extensions)
{
	entry.kind = "host-extension";
	entry.n_files = 1;
	files[0].name = "cuda_utils.so";
	expect(KB_RESIDENT_UNMARKED, "");
	write_at("cuda_utils.so", "x");
	expect(KB_RESIDENT_PRESENT, "");
}

static int denied_fstatat(int dirfd, const char *path, struct stat *st,
			  int flags)
{
	(void)dirfd, (void)path, (void)st, (void)flags;
	errno = EACCES;
	return -1;
}

Test(triton_resident, what_cannot_be_looked_at_is_occupied)
{
	entry.kind = "autotune";
	entry.n_files = 1;
	files[0].name = "k.autotune.json";
	fs.fstatat = denied_fstatat;
	expect(KB_RESIDENT_OCCUPIED, "cannot be looked at: Permission denied");
}

static unsigned stats;

static int counting_fstatat(int dirfd, const char *path, struct stat *st,
			    int flags)
{
	stats++;
	return kb_fs_real.fstatat(dirfd, path, st, flags);
}

Test(triton_resident, the_look_is_cheap)
{
	write_group(root);
	fs.fstatat = counting_fstatat;
	cr_assert_eq(look(root), KB_RESIDENT_PRESENT);
	cr_assert_eq(stats, 2, "the metadata and the binary only");
	stats = 0;
	cr_assert_eq(look("/x"), KB_RESIDENT_PRESENT);
	cr_assert_eq(stats, 3, "and the root once for all children");
}

Test(triton_resident, long_reasons_are_cut)
{
	char spelled[2000];

	memset(spelled, 'x', sizeof(spelled));
	spelled[0] = '/';
	spelled[sizeof(spelled) - 1] = '\0';
	write_group(spelled);
	expect(KB_RESIDENT_OCCUPIED, "do not lead here");
	cr_assert_lt(strlen(reason), sizeof(reason));
}
