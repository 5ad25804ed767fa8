/* SPDX-License-Identifier: Apache-2.0 */
/* Archives are made by programs that are not ours: Python, tar and bsdtar. */
#include "../../src/dep/archive.h"

#include "../../src/sys/io.h"
#include "../lib/harness.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_BYTES (KB_TEST_PATH_MAX + 64)
#define NO_LIMIT                                                               \
	{                                                                      \
		UINT64_MAX, UINT64_MAX, UINT64_MAX, 0                          \
	}

/* <dir>/in is packed, <dir>/out receives; all below one temporary folder. */
struct place {
	char dir[KB_TEST_PATH_MAX], in[PATH_BYTES], out[PATH_BYTES];
	char archive[PATH_BYTES];
};

static void make_place(struct place *place)
{
	kb_test_tmpdir(place->dir);
	kb_test_mkdir(place->dir, "in");
	kb_test_mkdir(place->dir, "out");
	snprintf(place->in, sizeof(place->in), "%s/in", place->dir);
	snprintf(place->out, sizeof(place->out), "%s/out", place->dir);
	snprintf(place->archive, sizeof(place->archive), "%s/archive",
		 place->dir);
}

static void remove_place(struct place *place)
{
	kb_test_remove(place->dir);
}
KB_DEFINE_AUTO_STRUCT(struct place, remove_place);

static void run(char *const argv[])
{
	int status = -1;

	cr_assert(kb_test_run(argv, NULL, NULL, &status), "%s", argv[0]);
	cr_assert_eq(status, 0, "%s", argv[0]);
}

/* Runs Python with `t` an open tar of this mode, or `z` a zip, at the place. */
static void python(const struct place *place, const char *how, const char *what)
{
	char script[8192];

	snprintf(script, sizeof(script),
		 "import io, os, sys, tarfile, zipfile\n"
		 "os.chdir(sys.argv[1])\n"
		 "def member(name, data=b'x', **more):\n"
		 "    m = tarfile.TarInfo(name)\n"
		 "    m.size = len(data)\n"
		 "    for k, v in more.items(): setattr(m, k, v)\n"
		 "    t.addfile(m, io.BytesIO(data))\n"
		 "with %s as t:\n"
		 "    z = t\n"
		 "    %s\n",
		 how, what);
	run((char *[]){"python3", "-c", script, (char *)place->dir, NULL});
}

#define TAR "tarfile.open('archive', 'w', format=tarfile.GNU_FORMAT)"

static int extract_with(const struct place *place, const struct kb_fs *fs,
			const struct kb_archive_limits *limits, bool cancelled,
			uint64_t *ret_left, struct kbundle_error *err)
{
	KB_AUTO(kb_ctx_release) struct kb_ctx ctx;
	KB_AUTO_FD int fd = -1, out = -1;

	cr_assert_eq(kb_ctx_init(&ctx, NULL, fs, NULL), 0);
	ctx.cancelled = cancelled;
	fd = open(place->archive, O_RDONLY | O_CLOEXEC);
	out = open(place->out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cr_assert(fd >= 0 && out >= 0);
	return kb_archive_extract(&ctx, fd, out, limits, "caches.tar", ret_left,
				  err);
}

static uint64_t must_extract(const struct place *place)
{
	const struct kb_archive_limits limits = NO_LIMIT;
	struct kbundle_error err = {0};
	uint64_t left = 99;

	cr_assert_eq(extract_with(place, NULL, &limits, false, &left, &err), 0,
		     "%s", err.message);
	return left;
}

static void must_refuse(const struct place *place,
			const struct kb_archive_limits *limits, int code,
			const char *phrase)
{
	const struct kb_archive_limits none = NO_LIMIT;
	struct kbundle_error err = {0};
	uint64_t left;

	cr_assert_eq(extract_with(place, NULL, limits ? limits : &none, false,
				  &left, &err),
		     code, "%s: %s", phrase, err.message);
	cr_assert_eq(err.code, code);
	cr_assert_not_null(strstr(err.message, phrase), "%s, not %s",
			   err.message, phrase);
}

/* What a cache looks like, and names that a locale could spoil. */
static void make_tree(const struct place *place)
{
	static char large[200000];

	for (size_t i = 0; i < sizeof(large); i++)
		large[i] = (char)(i * i >> 5);
	kb_test_write_text(place->in, "KEY1/__grp__add.json", "{}");
	kb_test_write(place->in, "KEY1/add.cubin", large, sizeof(large));
	kb_test_write_text(place->in, "-abc_/a b\t'\"c.json", "[1]");
	kb_test_write_text(place->in, "caf\xc3\xa9/\xe6\x97\xa5.json", "utf8");
	kb_test_write_text(place->in, "empty", "");
	kb_test_mkdir(place->in, "bare");
}

static void must_be_equal(const struct place *place)
{
	char why[512] = "";

	cr_assert(kb_test_tree_equal(place->in, place->out, why), "%s", why);
}

Test(archive, every_compression_gives_the_tree)
{
	static const char *const compressions[] = {
		"--no-mac-metadata", /* none */
		"--gzip",
		"--bzip2",
		"--compress",
		"--xz",
		"--lzma",
		"--lz4",
		"--zstd"};

	for (size_t i = 0; i < sizeof(compressions) / sizeof(compressions[0]);
	     i++) {
		KB_AUTO(remove_place) struct place place;

		make_place(&place);
		make_tree(&place);
		setenv("LC_ALL", "C.UTF-8", 1); /* for bsdtar alone */
		run((char *[]){"bsdtar", "-C", place.in,
			       (char *)compressions[i], "-cf", place.archive,
			       ".", NULL});
		setenv("LC_ALL", "C", 1);
		cr_assert_eq(must_extract(&place), 0, "%s", compressions[i]);
		must_be_equal(&place);
	}
}

Test(archive, every_tar_dialect_gives_the_tree)
{
	static const char *const dialects[] = {"ustar", "pax", "gnutar"};

	for (size_t i = 0; i < 3; i++) {
		KB_AUTO(remove_place) struct place place;

		make_place(&place);
		make_tree(&place);
		setenv("LC_ALL", "C.UTF-8", 1); /* for bsdtar alone */
		run((char *[]){"bsdtar", "-C", place.in, "--format",
			       (char *)dialects[i], "-cf", place.archive,
			       "KEY1", "./-abc_", "caf\xc3\xa9", "empty",
			       "bare", NULL});
		setenv("LC_ALL", "C", 1);
		cr_assert_eq(must_extract(&place), 0);
		must_be_equal(&place);
	}
}

Test(archive, a_zip_gives_the_tree)
{
	static const char *const methods[] = {"zipfile.ZIP_STORED",
					      "zipfile.ZIP_DEFLATED"};

	for (size_t i = 0; i < 2; i++) {
		KB_AUTO(remove_place) struct place place;
		char how[128];

		make_place(&place);
		make_tree(&place);
		snprintf(how, sizeof(how),
			 "zipfile.ZipFile('archive', 'w', %s)", methods[i]);
		python(&place, how,
		       "os.chdir('in')\n"
		       "    for top, dirs, files in os.walk('.'):\n"
		       "        for f in dirs + files:\n"
		       "            z.write(os.path.join(top, f))");
		cr_assert_eq(must_extract(&place), 0);
		must_be_equal(&place);
	}
}

Test(archive, names_do_not_depend_on_the_locale_and_it_comes_back)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	KB_AUTO(remove_place) struct place place;

	make_place(&place);
	make_tree(&place);
	run((char *[]){"tar", "--format=pax", "-C", place.in, "-czf",
		       place.archive, ".", NULL});
	setlocale(LC_ALL, "C");
	uselocale(c);
	cr_assert_eq(must_extract(&place), 0);
	cr_assert_eq(uselocale((locale_t)0), c);
	uselocale(LC_GLOBAL_LOCALE);
	freelocale(c);
	must_be_equal(&place);
}

Test(archive, a_name_that_is_not_utf8_keeps_its_bytes)
{
	KB_AUTO(remove_place) struct place place;

	make_place(&place);
	kb_test_write_text(place.in, "d/\xff\xfe.bin", "raw");
	run((char *[]){"tar", "-C", place.in, "-cf", place.archive, "d", NULL});
	cr_assert_eq(must_extract(&place), 0);
	must_be_equal(&place);
}

Test(archive, modes_and_owners_are_ours)
{
	KB_AUTO(remove_place) struct place place;
	struct stat st;
	char path[PATH_BYTES + 8];

	make_place(&place);
	python(&place, TAR,
	       "member('d', b'', type=tarfile.DIRTYPE, mode=0o777)\n"
	       "    member('d/f', mode=0o6777, uid=1234, mtime=1)");
	cr_assert_eq(must_extract(&place), 0);
	cr_assert_eq(kb_test_mode(place.out, "d"), 0700);
	cr_assert_eq(kb_test_mode(place.out, "d/f"), 0600);
	snprintf(path, sizeof(path), "%s/d/f", place.out);
	cr_assert_eq(stat(path, &st), 0);
	cr_assert_eq(st.st_uid, geteuid());
	cr_assert_neq(st.st_mtime, 1);
}

Test(archive, links_and_devices_are_counted_and_left)
{
	KB_AUTO(remove_place) struct place place;

	make_place(&place);
	python(&place, TAR,
	       "member('real')\n"
	       "    member('s', b'', type=tarfile.SYMTYPE, linkname='real')\n"
	       "    member('h', b'', type=tarfile.LNKTYPE, linkname='real')\n"
	       "    member('c', b'', type=tarfile.CHRTYPE, devmajor=1)\n"
	       "    member('b', b'', type=tarfile.BLKTYPE, devmajor=1)\n"
	       "    member('p', b'', type=tarfile.FIFOTYPE)");
	cr_assert_eq(must_extract(&place), 5);
	cr_assert_eq(kb_test_count_files(place.out), 1);
	cr_assert_not(kb_test_exists(place.out, "s"));
	cr_assert_not(kb_test_exists(place.out, "h"));
	cr_assert_not(kb_test_exists(place.out, "p"));
}

Test(archive, a_link_is_no_way_out)
{
	KB_AUTO(remove_place) struct place place;

	make_place(&place);
	python(&place, TAR,
	       "member('d', b'', type=tarfile.SYMTYPE, linkname='../in')\n"
	       "    member('d/f')");
	cr_assert_eq(must_extract(&place), 1);
	cr_assert_not(kb_test_exists(place.in, "f"));
	cr_assert(kb_test_exists(place.out, "d/f"));
}

/* What another process plants in the directory meanwhile is not followed. */
Test(archive, a_planted_link_is_not_followed)
{
	KB_AUTO(remove_place) struct place place;
	char path[PATH_BYTES + 8];

	make_place(&place);
	python(&place, TAR, "member('d/f')");
	snprintf(path, sizeof(path), "%s/d", place.out);
	cr_assert_eq(symlink("../in", path), 0);
	must_refuse(&place, NULL, KBUNDLE_E_FORMAT, "is there twice");
	cr_assert_not(kb_test_exists(place.in, "f"));
}

Test(archive, names_that_lead_out_are_refused)
{
	static const struct {
		const char *name, *phrase;
	} cases[] = {
		{"'../x'", "\"../x\" has \"..\""},
		{"'a/../../x'", "has \"..\""},
		{"'a/..'", "has \"..\""},
		{"'..'", "has \"..\""},
		{"'a/../b'", "has \"..\""},
		{"'./../x'", "has \"..\""},
		{"'/etc/x'", "absolute"},
		{"'//x'", "absolute"},
		{"'n' * 256", "too long"},
		{"'a/' + 'n' * 256 + '/b'", "too long"},
		{"'/'.join(['n' * 200] * 21)", "too long"},
		{"'/'.join('n' * 65)", "too deep"},
		{"'./.'", "has no name"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		KB_AUTO(remove_place) struct place place;
		char what[512];

		make_place(&place);
		snprintf(what, sizeof(what), "member('first')\n    member(%s)",
			 cases[i].name);
		python(&place, TAR, what);
		must_refuse(&place, NULL, KBUNDLE_E_FORMAT, cases[i].phrase);
		cr_assert_eq(kb_test_count_files(place.dir), 2, "%s",
			     cases[i].name); /* archive and out/first */
	}
}

Test(archive, names_at_the_limits_are_taken)
{
	KB_AUTO(remove_place) struct place place;

	make_place(&place);
	python(&place, TAR,
	       "member('n' * 255)\n"
	       "    member('/'.join('n' * 64))\n"
	       "    member('./a//b/./c')\n"
	       "    member('..a/...')");
	cr_assert_eq(must_extract(&place), 0);
	cr_assert_eq(kb_test_count_files(place.out), 4);
	cr_assert(kb_test_exists(place.out, "a/b/c"));
	cr_assert(kb_test_exists(place.out, "..a/..."));
}

Test(archive, a_file_twice_is_refused)
{
	static const char *const cases[] = {
		"member('a')\n    member('a')",
		"member('a/b')\n    member('./a//b')",
		"member('a')\n    member('a/b')",
		"member('a/b')\n    member('a')",
		"member('a')\n    member('a', b'', type=tarfile.DIRTYPE)",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		KB_AUTO(remove_place) struct place place;

		make_place(&place);
		python(&place, TAR, cases[i]);
		must_refuse(&place, NULL, KBUNDLE_E_FORMAT, "is there twice");
	}
}

Test(archive, a_directory_twice_is_fine)
{
	KB_AUTO(remove_place) struct place place;

	make_place(&place);
	python(&place, TAR,
	       "member('a/b')\n"
	       "    member('a', b'', type=tarfile.DIRTYPE)\n"
	       "    member('a/', b'', type=tarfile.DIRTYPE)\n"
	       "    member('a/c')");
	cr_assert_eq(must_extract(&place), 0);
	cr_assert_eq(kb_test_count_files(place.out), 2);
}

Test(archive, limits_hold_to_the_byte)
{
	KB_AUTO(remove_place) struct place place;
	struct kb_archive_limits limits = {30, 20, 2, 0};
	uint64_t left;

	make_place(&place);
	python(&place, TAR,
	       "member('a', b'1' * 20)\n    member('b', b'1' * 10)");
	cr_assert_eq(extract_with(&place, NULL, &limits, false, &left, NULL),
		     0);
	kb_test_remove(place.out);
	kb_test_mkdir(place.dir, "out");
	limits = (struct kb_archive_limits){29, 20, 2, 0};
	must_refuse(&place, &limits, KBUNDLE_E_LIMIT, "more than 29 bytes");
	kb_test_remove(place.out);
	kb_test_mkdir(place.dir, "out");
	limits = (struct kb_archive_limits){30, 19, 2, 0};
	must_refuse(&place, &limits, KBUNDLE_E_LIMIT, "a is larger than 19");
	kb_test_remove(place.out);
	kb_test_mkdir(place.dir, "out");
	limits = (struct kb_archive_limits){30, 20, 1, 0};
	must_refuse(&place, &limits, KBUNDLE_E_LIMIT, "more than 1 members");
}

/* 1 GiB of holes in a few hundred bytes: stopped by the limit, not the disk. */
Test(archive, holes_count_as_bytes)
{
	KB_AUTO(remove_place) struct place place;
	struct kb_archive_limits limits = {1 << 20, 1 << 20, 10, 0};
	char path[PATH_BYTES + 8];

	make_place(&place);
	kb_test_write_text(place.in, "hole", "");
	snprintf(path, sizeof(path), "%s/hole", place.in);
	cr_assert_eq(truncate(path, 1 << 30), 0);
	run((char *[]){"tar", "-S", "-C", place.in, "-cf", place.archive,
		       "hole", NULL});
	must_refuse(&place, &limits, KBUNDLE_E_LIMIT, "is larger than");

	cr_assert_eq(truncate(path, 300000), 0);
	run((char *[]){"tar", "-S", "-C", place.in, "-cf", place.archive,
		       "hole", NULL});
	kb_test_remove(place.out);
	kb_test_mkdir(place.dir, "out");
	cr_assert_eq(must_extract(&place), 0);
	must_be_equal(&place);
}

Test(archive, what_is_no_archive_is_refused)
{
	KB_AUTO(remove_place) struct place place;
	static char noise[4096];

	make_place(&place);
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)(i * 2654435761U >> 13);
	kb_test_write_text(place.dir, "archive", "hello, I am no archive\n");
	must_refuse(&place, NULL, KBUNDLE_E_FORMAT, "caches.tar: ");
	kb_test_write_text(place.dir, "archive", "");
	must_refuse(&place, NULL, KBUNDLE_E_FORMAT, "caches.tar: ");
	kb_test_write(place.dir, "archive", noise, sizeof(noise));
	must_refuse(&place, NULL, KBUNDLE_E_FORMAT, "caches.tar: ");

	/* libarchive knows more formats than caches come in. */
	kb_test_write_text(place.in, "f", "x");
	run((char *[]){"bsdtar", "--format", "newc", "-C", place.in, "-cf",
		       place.archive, "f", NULL});
	must_refuse(&place, NULL, KBUNDLE_E_FORMAT, "caches.tar: ");
	cr_assert_eq(kb_test_count_files(place.out), 0);
}

static void refuse_truncations(const struct place *place, size_t keep)
{
	KB_AUTO_FREE char *whole = NULL;
	size_t len;

	whole = kb_test_read(place->dir, "archive", &len);
	cr_assert_not_null(whole);
	for (size_t cut = 0; cut + keep <= len; cut += 1 + len / 37) {
		kb_test_write(place->dir, "archive", whole, cut);
		must_refuse(place, NULL, KBUNDLE_E_FORMAT, "caches.tar: ");
		kb_test_remove(place->out);
		kb_test_mkdir(place->dir, "out");
	}
}

Test(archive, what_is_cut_short_is_refused)
{
	static const char *const compressions[] = {"--gzip", "--bzip2", "--xz",
						   "--zstd"};

	for (size_t i = 0; i < 4; i++) {
		KB_AUTO(remove_place) struct place place;

		make_place(&place);
		make_tree(&place);
		run((char *[]){"bsdtar", "-C", place.in,
			       (char *)compressions[i], "-cf", place.archive,
			       "KEY1/add.cubin", NULL});
		refuse_truncations(&place, 20);
	}
}

Test(archive, a_tar_cut_in_a_member_is_refused_with_its_name)
{
	KB_AUTO(remove_place) struct place place;

	make_place(&place);
	make_tree(&place);
	run((char *[]){"tar", "-C", place.in, "-cf", place.archive,
		       "KEY1/add.cubin", NULL});
	cr_assert_eq(truncate(place.archive, 100000), 0);
	must_refuse(&place, NULL, KBUNDLE_E_FORMAT,
		    "member \"KEY1/add.cubin\": ");
}

Test(archive, a_zip_with_a_wrong_checksum_is_refused)
{
	KB_AUTO(remove_place) struct place place;
	KB_AUTO_FREE char *zip = NULL;
	char *content;
	size_t len;

	make_place(&place);
	python(&place, "zipfile.ZipFile('archive', 'w')",
	       "z.writestr('f', b'the content')");
	zip = kb_test_read(place.dir, "archive", &len);
	content = memmem(zip, len, "the content", 11);
	cr_assert_not_null(content);
	content[4] = 'C';
	kb_test_write(place.dir, "archive", zip, len);
	must_refuse(&place, NULL, KBUNDLE_E_FORMAT, "member \"f\": ");
}

Test(archive, a_damaged_byte_never_crashes)
{
	KB_AUTO(remove_place) struct place place;
	KB_AUTO_FREE char *whole = NULL;
	const struct kb_archive_limits limits = {1 << 20, 1 << 20, 100, 0};
	size_t len;

	make_place(&place);
	kb_test_write_text(place.in, "KEY/a.json", "{}");
	kb_test_write_text(place.in, "KEY/b.json", "{}");
	run((char *[]){"tar", "--format=pax", "-C", place.in, "-cf",
		       place.archive, "KEY", NULL});
	whole = kb_test_read(place.dir, "archive", &len);
	cr_assert_not_null(whole);
	for (size_t i = 0; i < 3072 && i < len; i += 5) {
		struct kbundle_error err = {0};
		uint64_t left;
		int r;

		whole[i] ^= 0x55;
		kb_test_write(place.dir, "archive", whole, len);
		whole[i] ^= 0x55;
		r = extract_with(&place, NULL, &limits, false, &left, &err);
		cr_assert(r == 0 || r == KBUNDLE_E_FORMAT ||
				  r == KBUNDLE_E_LIMIT,
			  "%s", err.message);
		kb_test_remove(place.out);
		kb_test_mkdir(place.dir, "out");
	}
}

/* ---- a disk that fails ---- */

static off_t no_seek(int fd KB_UNUSED, off_t offset KB_UNUSED,
		     int whence KB_UNUSED)
{
	errno = ESPIPE;
	return -1;
}

Test(archive, a_pipe_will_do)
{
	struct kb_fs fs = kb_fs_real;
	const struct kb_archive_limits limits = NO_LIMIT;

	fs.lseek = no_seek;
	for (int zip = 0; zip < 2; zip++) {
		KB_AUTO(remove_place) struct place place;
		uint64_t left;

		make_place(&place);
		kb_test_write_text(place.in, "d/f", "content");
		if (zip)
			python(&place, "zipfile.ZipFile('archive', 'w')",
			       "z.write('in/d/f', 'd/f')");
		else
			run((char *[]){"tar", "-C", place.in, "-czf",
				       place.archive, "d", NULL});
		cr_assert_eq(
			extract_with(&place, &fs, &limits, false, &left, NULL),
			0);
		must_be_equal(&place);
	}
}

static ssize_t full_disk(int fd KB_UNUSED, const void *data KB_UNUSED,
			 size_t len KB_UNUSED)
{
	errno = ENOSPC;
	return -1;
}

static ssize_t bad_disk(int fd KB_UNUSED, void *data KB_UNUSED,
			size_t len KB_UNUSED)
{
	errno = EIO;
	return -1;
}

static int no_directories(int dirfd KB_UNUSED, const char *path KB_UNUSED,
			  mode_t mode KB_UNUSED)
{
	errno = ENOSPC;
	return -1;
}

Test(archive, a_disk_that_fails_is_named)
{
	KB_AUTO(remove_place) struct place place;
	struct kb_fs full = kb_fs_real, bad = kb_fs_real, flat = kb_fs_real;
	const struct kb_archive_limits limits = NO_LIMIT;
	struct kbundle_error err = {0};
	uint64_t left;

	make_place(&place);
	python(&place, TAR, "member('d/f')");
	bad.read = bad_disk;
	cr_assert_eq(extract_with(&place, &bad, &limits, false, &left, &err),
		     KBUNDLE_E_IO);
	cr_assert_eq(err.sys_errno, EIO);
	cr_assert_not_null(strstr(err.message, "caches.tar"), "%s",
			   err.message);
	flat.mkdirat = no_directories;
	cr_assert_eq(extract_with(&place, &flat, &limits, false, &left, &err),
		     KBUNDLE_E_IO);
	cr_assert_eq(err.sys_errno, ENOSPC);
	full.write = full_disk;
	cr_assert_eq(extract_with(&place, &full, &limits, false, &left, &err),
		     KBUNDLE_E_IO);
	cr_assert_eq(err.sys_errno, ENOSPC);
	cr_assert_not_null(strstr(err.message, "d/f"), "%s", err.message);
}

Test(archive, a_cancelled_call_stops)
{
	KB_AUTO(remove_place) struct place place;
	const struct kb_archive_limits limits = NO_LIMIT;
	struct kbundle_error err = {0};
	uint64_t left;

	make_place(&place);
	python(&place, TAR, "member('a')\n    member('b')");
	cr_assert_eq(extract_with(&place, NULL, &limits, true, &left, &err),
		     KBUNDLE_E_CANCELLED);
	cr_assert_not(kb_test_exists(place.out, "b"));
}
