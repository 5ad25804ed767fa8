/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes into the JSON scanner: tokens lie inside the text and move forward,
 * and every string that is decoded fits its offsets.
 */
#include "../../src/base/json.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void decode(const struct kb_json *json,
		   const struct kb_json_token *token)
{
	struct kb_buf text;
	size_t *offsets = calloc(token->len + 1, sizeof(*offsets));

	kb_buf_init(&text, token->len + 1);
	if (offsets && kb_json_decode(json, token, &text, offsets, NULL) == 0) {
		if (text.len > token->len ||
		    offsets[text.len] != token->offset + token->len - 1)
			abort();
	}
	kb_buf_release(&text);
	free(offsets);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct kb_json json;
	struct kb_json_token token;
	size_t last = 0;

	kb_json_init(&json, data, len);
	while (kb_json_next(&json, &token, NULL) == 0) {
		if (token.type == KB_JSON_END)
			return 0;
		if (token.offset < last || token.offset > len ||
		    token.len > len - token.offset)
			abort();
		last = token.offset;
		if (token.type == KB_JSON_STRING || token.type == KB_JSON_KEY)
			decode(&json, &token);
	}
	if (kb_json_is_valid(data, len))
		abort();
	return 0;
}
