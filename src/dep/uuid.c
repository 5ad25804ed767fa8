/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that no other process makes up: random UUIDs, by libuuid. Never the
 * time-based kind, which would tell where and when a bundle was unpacked.
 */
#include "uuid.h"

#include <uuid/uuid.h>

void kb_uuid4(char ret[37])
{
	uuid_t uuid;

	uuid_generate_random(uuid);
	uuid_unparse_lower(uuid, ret);
}
