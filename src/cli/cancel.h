/* SPDX-License-Identifier: Apache-2.0 */
/* SIGINT and SIGTERM ask the running call to roll back; a second one ends the
 * program at once. */
#ifndef KB_CANCEL_H
#define KB_CANCEL_H

void kb_cancel_install(void);
/* The signal that came, or 0. */
int kb_cancel_signal(void);

#endif
