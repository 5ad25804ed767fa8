/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a bundle, through the public entry points: entry by entry as
 * `list` reads it, and whole as `verify` reads it. Whatever is refused is
 * refused with a code and a sentence.
 */
#include <kbundle/kbundle.h>

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int open_input(const uint8_t *data, size_t len)
{
	int fd = memfd_create("bundle", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, len) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET) < 0)
		abort();
	return fd;
}

static void walk(int fd, const struct kbundle_env *env,
		 const struct kbundle_limits *limits)
{
	const struct kbundle_reader_options options = {
		.size = sizeof(options),
		.input_fd = fd,
		.limits = limits,
	};
	struct kbundle_error err;
	kbundle_reader *reader = NULL;
	const struct kbundle_entry *entry;

	if (kbundle_reader_open(env, &options, &reader, &err) < 0)
		return;
	while (kbundle_reader_next(reader, &entry, &err) > 0)
		continue;
	kbundle_reader_close(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct kbundle_limits limits = {
		.size = sizeof(limits),
		.total_bytes = 64 << 20,
		.manifest_bytes = 1 << 20,
	};
	struct kbundle_env env = {.size = sizeof(env), .threads = 1};
	struct kbundle_verify_options options = {
		.size = sizeof(options),
		.input_fd = -1,
		.limits = &limits,
	};
	struct kbundle_error err = {0};
	kbundle_report *report = NULL;

	options.input_fd = open_input(data, len);
	walk(options.input_fd, &env, &limits);
	if (lseek(options.input_fd, 0, SEEK_SET) < 0)
		abort();
	if (kbundle_verify(&env, &options, &report, &err) < 0 &&
	    (err.code >= 0 || !err.message[0]))
		abort();
	kbundle_report_free(report);
	close(options.input_fd);
	return 0;
}
