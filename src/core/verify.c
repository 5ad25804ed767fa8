/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Verify: the same way as unpack, without places and without writing; reads
 * everything always. With live caches, each entry is compared on the way.
 */
#include "verify.h"

#include "../base/error.h"
#include "collect.h"
#include "consume.h"
#include "live.h"
#include "report.h"
#include "source.h"
#include "survey.h"

struct verification {
	struct kb_survey_visitor visitor; /* first member: cast back */
	struct kbundle_report *report;
};

struct verify_consumer {
	struct kb_consumer consumer; /* first member: cast back */
	struct kbundle_report *report;
	struct kb_live *live; /* NULL: only the bundle */
};

static int visit_entry(struct kb_survey_visitor *visitor,
		       const struct kb_survey *survey, uint64_t index,
		       const struct kb_entry *entry, uint8_t *ret_state,
		       struct kbundle_error *err)
{
	bool unsupported;
	int r = kb_survey_note_unsupported(
		survey, entry, ((struct verification *)visitor)->report,
		&unsupported, err);

	(void)index;
	if (unsupported)
		*ret_state = KB_STATE_SKIP;
	return r;
}

/* Counts what is sound; what is not, or was not looked into, is a note. */
static int consumed(struct kb_consumer *consumer,
		    const struct kb_consumed *done, struct kbundle_error *err)
{
	struct verify_consumer *to = (struct verify_consumer *)consumer;
	const struct kb_header *header = &consumer->survey->header;

	if (!done->wanted)
		return 0;
	if (done->sink->is_damaged)
		return kb_report_note(to->report, KBUNDLE_COUNT_DAMAGED,
				      header->roots[done->entry->root].name,
				      done->entry->path,
				      done->sink->damaged_file,
				      done->sink->reason, err);
	to->report->counts[KBUNDLE_COUNT_ENTRIES]++;
	to->report->counts[KBUNDLE_COUNT_FILES] += done->sink->files;
	to->report->counts[KBUNDLE_COUNT_BYTES] += done->sink->bytes;
	return to->live ? kb_live_compare(to->live, done->entry, err) : 0;
}

static int read_all(struct kb_ctx *ctx,
		    const struct kbundle_verify_options *options,
		    const struct kb_survey *survey,
		    struct kbundle_report *report, struct kbundle_error *err)
{
	KB_AUTO(kb_pool_free) struct kb_pool *pool = NULL;
	KB_AUTO(kb_live_release) struct kb_live live = {0};
	const struct kb_sink_config config = {
		.ctx = ctx,
		.header = &survey->header,
		.tokens = survey->tokens,
		.skip_binaries = options->validate == KBUNDLE_VALIDATE_NONE,
	};
	struct verify_consumer run = {
		.consumer = {.survey = survey,
			     .config = &config,
			     .phase = "verify",
			     .everything = true,
			     .entry = consumed},
		.report = report,
		.live = options->n_roots ? &live : NULL,
	};
	int r = kb_pool_new(kb_worker_count(ctx), &pool, err);

	run.consumer.pool = pool;
	if (r == 0 && run.live)
		r = kb_live_init(&live, ctx, &survey->header, options->roots,
				 options->n_roots, pool, report, err);
	if (r == 0)
		r = kb_consume(&run.consumer, err);
	if (r == 0 && run.live)
		r = kb_live_finish(&live, err);
	return r;
}

int kb_verify(struct kb_ctx *ctx, const struct kbundle_verify_options *options,
	      struct kbundle_report *report, struct kbundle_error *err)
{
	KB_AUTO(kb_source_release) struct kb_source source = {0};
	KB_AUTO(kb_survey_release) struct kb_survey survey = {0};
	struct verification to = {
		.visitor = {.entry = visit_entry},
		.report = report,
	};
	struct kb_shown shown;
	int r = kb_source_open(&source, ctx, options->input, options->input_fd,
			       err);

	if (r == 0)
		r = kb_survey(&survey, &source, options->limits,
			      options->expect, &to.visitor, err);
	if (r == 0)
		r = read_all(ctx, options, &survey, report, err);
	if (r < 0) {
		kb_wrap(err, "bundle %s", kb_show(&shown, source.name));
		return r;
	}
	kb_report_set_id(report, survey.id);
	report->counts[KBUNDLE_COUNT_BUNDLE_BYTES] = source.bytes;
	return 0;
}
