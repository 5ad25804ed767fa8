/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The only state of the program outside a stack: which signal came. The
 * progress callback looks at it and cancels the call, which rolls back.
 */
#include "cancel.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t caught;

static void catch_signal(int number)
{
	caught = number;
}

static void install(int number)
{
	struct sigaction old;
	struct sigaction action = {.sa_handler = catch_signal,
				   .sa_flags = (int)SA_RESETHAND};

	/* a shell lets background jobs ignore SIGINT: leave it so */
	if (sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_IGN)
		return;
	sigemptyset(&action.sa_mask);
	sigaction(number, &action, NULL);
}

void kb_cancel_install(void)
{
	install(SIGINT);
	install(SIGTERM);
	install(SIGHUP);
}

int kb_cancel_signal(void)
{
	return caught;
}
