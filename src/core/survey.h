/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First walk over a bundle: its manifest is read and checked whole, limits are
 * enforced, and each entry gets a state that says what the second walk is to do
 * with it. Costs 25 bytes an entry and the fingerprints of their paths.
 */
#ifndef KB_SURVEY_H
#define KB_SURVEY_H

#include "../base/arena.h"
#include "manifest.h"
#include "report.h"
#include "source.h"

#include <kbundle/kbundle.h>

#include <stddef.h>
#include <stdint.h>

enum kb_entry_state {
	KB_STATE_SKIP = 0, /* not wanted; verified only where all is read */
	KB_STATE_WANT	   /* wanted */
};

struct kb_survey {
	struct kb_source *source;
	struct kbundle_limits limits;
	struct kb_header header;
	const char **tokens; /* of the header's roots */
	struct kb_arena arena;
	uint8_t id[32];
	size_t manifest_frames;
	uint64_t payload_bytes;
	uint8_t *states;     /* enum kb_entry_state */
	uint64_t *tar_bytes; /* of each entry */
	/* Fingerprint of each line, under a secret: the second walk must see
	 * the same lines, and knows before it acts on one. */
	struct {
		uint64_t value[2];
	} * prints;
	uint64_t secret[2];
};

struct kb_survey_visitor {
	/* Sees each entry once (borrowed); sets its state. NULL: all WANT. */
	int (*entry)(struct kb_survey_visitor *visitor,
		     const struct kb_survey *survey, uint64_t index,
		     const struct kb_entry *entry, uint8_t *ret_state,
		     struct kbundle_error *err);
	/* After the header, before the first entry; may be NULL. */
	int (*header)(struct kb_survey_visitor *visitor,
		      const struct kb_survey *survey,
		      struct kbundle_error *err);
};

/* expect: NULL, or "sha256:<hex>" that the id must equal (DIGEST). Codes:
 * FORMAT, VERSION, LIMIT, DIGEST, IO, NOMEM, and the visitor's. */
int kb_survey(struct kb_survey *survey, struct kb_source *source,
	      const struct kbundle_limits *limits, const char *expect,
	      struct kb_survey_visitor *visitor,
	      struct kbundle_error *err) KB_MUST_CHECK;
void kb_survey_release(struct kb_survey *survey);
KB_DEFINE_AUTO_STRUCT(struct kb_survey, kb_survey_release);

/* An entry that requires what this library does not know: notes it and sets
 * *ret_unsupported; the visitor leaves it out. Codes: NOMEM. */
int kb_survey_note_unsupported(const struct kb_survey *survey,
			       const struct kb_entry *entry,
			       struct kbundle_report *report,
			       bool *ret_unsupported,
			       struct kbundle_error *err) KB_MUST_CHECK;

/* "sha256:<hex>" -> bytes. Codes: INVALID. */
int kb_id_parse(const char *text, uint8_t ret[32],
		struct kbundle_error *err) KB_MUST_CHECK;

/* Sums of content against stored bytes of the frames so far (docs/format.md 6);
 * asked after each frame, in order, by every reader and by the writer. Codes:
 * LIMIT. */
int kb_ratio_check(const struct kbundle_limits *limits, uint64_t content,
		   uint64_t stored, struct kbundle_error *err) KB_MUST_CHECK;

int kb_ratio_check_frames(const struct kbundle_limits *limits,
			  const struct kb_seektable *frames,
			  struct kbundle_error *err) KB_MUST_CHECK;

#endif
