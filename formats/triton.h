/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime cache of Triton 2.1 and later: one directory for each kernel. */
#ifndef KB_TRITON_H
#define KB_TRITON_H

#include "format.h"

extern const struct kb_format kb_format_triton;

#endif
