/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The error record: filled in, given context, and names made fit for it.
 * What a failure means and whether to report it is the caller's.
 *
 * Invariant: the message is one NUL-terminated line of whole characters. Where
 * it does not fit, its front is cut, because the root cause stands at its end.
 */
#include "error.h"

#include "utf8.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES sizeof(((struct kbundle_error *)0)->message)
#define ELLIPSIS "..."
#define ELLIPSIS_LEN (sizeof(ELLIPSIS) - 1)

static const char hex_digits[] = "0123456789abcdef";

/* Shortens text to at most `room` bytes (with its NUL room + 1), at a border
 * between characters. */
static void cut(char *text, size_t room)
{
	size_t len = strlen(text);

	if (len <= room)
		return;
	len = room > ELLIPSIS_LEN ? room - ELLIPSIS_LEN : 0;
	while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
		len--;
	if (len == 0)
		text[0] = '\0';
	else
		memcpy(text + len, ELLIPSIS, ELLIPSIS_LEN + 1);
}

/* message = "<head>: <tail>", or the tail alone where no head fits. The tail
 * may be the message itself. */
static void compose(char *message, char *head, const char *tail)
{
	size_t tail_len = strnlen(tail, MESSAGE_BYTES - 1);
	size_t head_len;

	cut(head, MESSAGE_BYTES - 1 - tail_len > 2
			  ? MESSAGE_BYTES - 1 - tail_len - 2
			  : 0);
	head_len = strlen(head);
	if (head_len == 0) {
		memmove(message, tail, tail_len);
		message[tail_len] = '\0';
		return;
	}
	memmove(message + head_len + 2, tail, tail_len);
	memcpy(message, head, head_len);
	memcpy(message + head_len, ": ", 2);
	message[head_len + 2 + tail_len] = '\0';
}

/* One more byte than a message has, so that cut() sees that there was more. */
static void format(char text[MESSAGE_BYTES + 1], const char *fmt, va_list args)
	__attribute__((format(printf, 2, 0)));
static void format(char text[MESSAGE_BYTES + 1], const char *fmt, va_list args)
{
	if (vsnprintf(text, MESSAGE_BYTES + 1, fmt, args) < 0)
		text[0] = '\0';
}

int kb_fail(struct kbundle_error *err, int code, const char *fmt, ...)
{
	char text[MESSAGE_BYTES + 1];
	va_list args;

	if (!err)
		return code;
	va_start(args, fmt);
	format(text, fmt, args);
	va_end(args);
	cut(text, MESSAGE_BYTES - 1);

	err->code = code;
	err->sys_errno = 0;
	memcpy(err->message, text, strlen(text) + 1);
	return code;
}

static int code_of_errno(int sys_errno)
{
	switch (sys_errno) {
	case ENOENT:
		return KBUNDLE_E_NOTFOUND;
	case ENOMEM:
		return KBUNDLE_E_NOMEM;
	case EEXIST:
		return KBUNDLE_E_EXISTS;
	default:
		return KBUNDLE_E_IO;
	}
}

static const char *errno_text(int sys_errno, char *buffer, size_t bytes)
{
#ifdef __GLIBC__
	return strerror_r(sys_errno, buffer, bytes);
#else
	return strerror_r(sys_errno, buffer, bytes) == 0 ? buffer
							 : "unknown error";
#endif
}

int kb_fail_errno(struct kbundle_error *err, int sys_errno, const char *fmt,
		  ...)
{
	int code = code_of_errno(sys_errno);
	char text[MESSAGE_BYTES + 1], reason[128];
	va_list args;

	if (!err)
		return code;
	va_start(args, fmt);
	format(text, fmt, args);
	va_end(args);

	err->code = code;
	err->sys_errno = sys_errno;
	compose(err->message, text,
		errno_text(sys_errno, reason, sizeof(reason)));
	return code;
}

int kb_fail_nomem(struct kbundle_error *err)
{
	return kb_fail(err, KBUNDLE_E_NOMEM, "%s",
		       kbundle_code_text(KBUNDLE_E_NOMEM));
}

void kb_wrap(struct kbundle_error *err, const char *fmt, ...)
{
	char text[MESSAGE_BYTES + 1];
	va_list args;

	if (!err)
		return;
	va_start(args, fmt);
	format(text, fmt, args);
	va_end(args);
	compose(err->message, text, err->message);
}

/* Writes the first character of name as it is shown, at most 4 bytes, and
 * returns how many; *ret_taken: bytes of name that it stands for. */
static size_t show_character(char out[4], const uint8_t *name, size_t len,
			     size_t *ret_taken)
{
	uint32_t code = 0;
	size_t n = kb_utf8_next(name, len, &code);

	/* A control character of two bytes takes two rounds: its second byte
	 * is no character either. */
	if (n > 0 && !kb_utf8_is_control(code) && code != '\\') {
		memcpy(out, name, n);
		*ret_taken = n;
		return n;
	}
	out[0] = '\\';
	out[1] = 'x';
	out[2] = hex_digits[name[0] >> 4];
	out[3] = hex_digits[name[0] & 0xf];
	*ret_taken = 1;
	return 4;
}

/* Shows whole characters of name while they fit into room bytes. Returns the
 * bytes written, without a NUL. */
static size_t show_some(char *out, size_t room, const uint8_t *name, size_t len,
			size_t *ret_taken)
{
	size_t used = 0, pos = 0;

	while (pos < len) {
		char shown[4];
		size_t taken, n;

		n = show_character(shown, name + pos, len - pos, &taken);
		if (n > room - used)
			break;
		memcpy(out + used, shown, n);
		used += n;
		pos += taken;
	}
	*ret_taken = pos;
	return used;
}

const char *kb_show_n(struct kb_shown *shown, const void *name, size_t len)
{
	const size_t room = sizeof(shown->text) - 1;
	const size_t half = (room - ELLIPSIS_LEN) / 2;
	const uint8_t *bytes = name;
	size_t used, taken, start;

	used = show_some(shown->text, room, bytes, len, &taken);
	if (taken == len) {
		shown->text[used] = '\0';
		return shown->text;
	}

	used = show_some(shown->text, half, bytes, len, &taken);
	memcpy(shown->text + used, ELLIPSIS, ELLIPSIS_LEN);
	used += ELLIPSIS_LEN;

	/* The longest end that fits. It begins with a whole character: no byte
	 * is shown by less than one, and what is left of a split character
	 * never by less than the whole. */
	start = len - taken > half ? len - half : taken;
	for (;;) {
		size_t n = show_some(shown->text + used, half, bytes + start,
				     len - start, &taken);

		if (taken == len - start) {
			shown->text[used + n] = '\0';
			return shown->text;
		}
		start++;
	}
}

const char *kb_show(struct kb_shown *shown, const char *name)
{
	return kb_show_n(shown, name, strlen(name));
}

const char *kbundle_code_name(int code)
{
	switch (code) {
	case KBUNDLE_OK:
		return "OK";
#define X(name, value, exit_code, text)                                        \
	case value:                                                            \
		return #name;
		KBUNDLE_ERROR_CODES(X)
#undef X
	default:
		return "UNKNOWN";
	}
}

const char *kbundle_code_text(int code)
{
	switch (code) {
	case KBUNDLE_OK:
		return "done";
#define X(name, value, exit_code, text)                                        \
	case value:                                                            \
		return text;
		KBUNDLE_ERROR_CODES(X)
#undef X
	default:
		return "unknown error";
	}
}

int kbundle_code_exit(int code)
{
	switch (code) {
	case KBUNDLE_OK:
		return 0;
#define X(name, value, exit_code, text)                                        \
	case value:                                                            \
		return exit_code;
		KBUNDLE_ERROR_CODES(X)
#undef X
	default:
		return 1;
	}
}
