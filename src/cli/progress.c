/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Draws the progress line: phase, how much of how much, rate, time left. It is
 * drawn at most six times a second and erased before other text, so that a
 * log never has a half of it.
 */
#include "progress.h"

#include "cancel.h"
#include "../base/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define DRAW_EVERY_MS 160
#define RATE_AFTER_MS 500 /* before that a rate is only noise */

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void kb_progress_init(struct kb_progress *progress, bool wanted)
{
	const char *term = getenv("TERM");

	memset(progress, 0, sizeof(*progress));
	progress->is_on = wanted && isatty(STDERR_FILENO) && term &&
			  strcmp(term, "dumb") != 0;
}

void kb_progress_erase(struct kb_progress *progress)
{
	if (!progress->is_shown)
		return;
	fputs("\r\033[K", stderr);
	fflush(stderr);
	progress->is_shown = false;
}

static size_t columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < 2)
		return 79;
	return size.ws_col - 1u;
}

/* "1.2 GB of 2.7 GB (45 %), 310 MB/s, 0:05 left" */
static void format_bytes(char *text, size_t size, uint64_t ms,
			 const struct kbundle_progress *now)
{
	char done[16], total[16], rate[16];
	size_t used = 0;
	uint64_t per_second;

	if (now->bytes_total)
		used = (size_t)snprintf(
			text, size, "%s of %s (%d %%)",
			kb_format_bytes(done, now->bytes_done),
			kb_format_bytes(total, now->bytes_total),
			(int)(100.0 * (double)now->bytes_done /
			      (double)now->bytes_total));
	else
		used = (size_t)snprintf(text, size, "%s",
					kb_format_bytes(done, now->bytes_done));
	if (ms < RATE_AFTER_MS || used >= size)
		return;
	per_second = (uint64_t)((double)now->bytes_done * 1000 / (double)ms);
	used += (size_t)snprintf(text + used, size - used, ", %s/s",
				 kb_format_bytes(rate, per_second));
	if (per_second && now->bytes_total >= now->bytes_done && used < size) {
		uint64_t left =
			(now->bytes_total - now->bytes_done) / per_second;

		snprintf(text + used, size - used, ", %llu:%02u left",
			 (unsigned long long)(left / 60),
			 (unsigned)(left % 60));
	}
}

static void format_entries(char *text, size_t size,
			   const struct kbundle_progress *now)
{
	if (now->entries_total)
		snprintf(text, size, "%llu of %llu entries",
			 (unsigned long long)now->entries_done,
			 (unsigned long long)now->entries_total);
	else
		snprintf(text, size, "%llu entries",
			 (unsigned long long)now->entries_done);
}

static void draw(struct kb_progress *progress,
		 const struct kbundle_progress *now, uint64_t ms)
{
	char text[160], line[200];
	int len;

	if (now->bytes_done || now->bytes_total)
		format_bytes(text, sizeof(text), ms, now);
	else
		format_entries(text, sizeof(text), now);
	len = snprintf(line, sizeof(line), "%s: %s", progress->phase, text);
	if ((size_t)len > columns())
		len = (int)columns();
	fprintf(stderr, "\r%.*s\033[K", len, line);
	fflush(stderr);
	progress->is_shown = true;
}

int kb_progress_update(void *data, const struct kbundle_progress *now)
{
	struct kb_progress *progress = data;
	const char *phase = now->phase ? now->phase : "";
	uint64_t ms;

	if (kb_cancel_signal())
		return 1;
	if (!progress->is_on)
		return 0;
	ms = now_ms();
	if (strncmp(progress->phase, phase, sizeof(progress->phase) - 1)) {
		snprintf(progress->phase, sizeof(progress->phase), "%s", phase);
		progress->began_ms = ms;
		progress->drawn_ms = 0;
	}
	if (ms - progress->drawn_ms < DRAW_EVERY_MS)
		return 0;
	progress->drawn_ms = ms;
	draw(progress, now, ms - progress->began_ms);
	return 0;
}
