/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KB_UUID_H
#define KB_UUID_H

/* A random (version 4) UUID as 36 lower-case characters and a NUL (libuuid). */
void kb_uuid4(char ret[37]);

#endif
