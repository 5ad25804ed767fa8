/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpack: survey the bundle and the places where its entries would go; stage
 * what is wanted and absent; flush; publish. Nothing is published before all
 * that was asked for has been read, verified, checked, staged and flushed,
 * unless the caller pinned the bundle and asked for it entry by entry.
 */
#include "unpack.h"

#include "../base/error.h"
#include "../base/path.h"
#include "../dep/uuid.h"
#include "../sys/io.h"
#include "collect.h"
#include "consume.h"
#include "destination.h"
#include "limits.h"
#include "report.h"
#include "select.h"
#include "source.h"
#include "survey.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FRESH_SECONDS 60 /* younger than this, its writer may be at work */

/* A staged entry that waits to be published. There may be a million: texts that
 * equal those of the entry before are shared with it. */
struct staged {
	const char *path, *format, *kind, *name, *commit_file;
	uint64_t number;
	uint64_t bytes;
	uint32_t files;
	uint32_t root;
	bool is_file;
};

struct unpacking {
	struct kb_survey_visitor visitor; /* first member: cast back */
	struct kb_ctx *ctx;
	const struct kbundle_unpack_options *options;
	struct kbundle_report *report;
	struct kbundle_selection selection;
	struct kb_survey survey;
	struct kb_destinations destinations;
	struct kb_expansion expansion;
	uint64_t *wanted; /* entries per root */
	uint64_t wanted_all, selected;
	uint64_t expanded_bytes; /* of what is wanted */
	uint64_t whole;		 /* staged entries that cannot be slim */
	struct kb_stage **stages;
	struct staged *staged;
	size_t n_staged, cap_staged;
	struct kb_arena arena;
};

/* The consumer's callback finds its way back. */
struct unpack_consumer {
	struct kb_consumer consumer;
	struct unpacking *to;
};

static const char *root_name(const struct unpacking *to, uint32_t root)
{
	return to->survey.header.roots[root].name;
}

static int note(struct unpacking *to, int count, uint32_t root,
		const char *path, const char *file, const char *reason,
		struct kbundle_error *err)
{
	return kb_report_note(to->report, count, root_name(to, root), path,
			      file, reason, err);
}

/* ---- survey ---- */

static int visit_header(struct kb_survey_visitor *visitor,
			const struct kb_survey *survey,
			struct kbundle_error *err)
{
	struct unpacking *to = (struct unpacking *)visitor;
	const struct kbundle_unpack_options *options = to->options;
	const struct kb_header *header = &survey->header;
	const char *paths[KB_ROOTS_MAX];
	int r;

	to->wanted = calloc(header->n_roots, sizeof(*to->wanted));
	to->stages = calloc(header->n_roots, sizeof(*to->stages));
	if (!to->wanted || !to->stages)
		return kb_fail_nomem(err);
	r = kb_destinations_open(&to->destinations, to->ctx, header,
				 options->roots, options->n_roots, options->as,
				 err);
	for (size_t i = 0; r == 0 && i < header->n_roots; i++) {
		paths[i] = to->destinations.items[i].written;
		r = kb_report_root(to->report, header->roots[i].name,
				   header->roots[i].format,
				   to->destinations.items[i].path, err);
	}
	return r < 0 ? r
		     : kb_expansion_init(&to->expansion, paths, header->n_roots,
					 err);
}

static int check_expanded(struct unpacking *to, const struct kb_entry *entry,
			  struct kbundle_error *err)
{
	const struct kbundle_limits *limits = &to->survey.limits;

	for (size_t i = 0; i < entry->n_files; i++) {
		uint64_t bytes =
			kb_expanded_bytes(&to->expansion, &entry->files[i]);

		to->expanded_bytes += bytes;
		if (bytes > limits->file_bytes ||
		    to->expanded_bytes > limits->total_bytes)
			return kb_fail(err, KBUNDLE_E_LIMIT,
				       "its files have more bytes, with paths "
				       "expanded, than --limit-file or "
				       "--limit-total allow");
	}
	return 0;
}

/* Files that nobody could open by their paths are of no use to anybody. */
static int check_lengths(const struct unpacking *to,
			 const struct kb_entry *entry,
			 struct kbundle_error *err)
{
	const char *root = to->destinations.items[entry->root].written;
	size_t len = strlen(root) + strlen(entry->path) + 2;

	for (size_t i = 0; i < entry->n_files; i++)
		if (len + strlen(entry->files[i].name) >= PATH_MAX)
			return kb_fail(
				err, KBUNDLE_E_INVALID,
				"the root's path has %zu bytes, so that "
				"paths below it would have more than %d; "
				"choose a shorter one",
				strlen(root), PATH_MAX - 1);
	return 0;
}

/* What is in the place already decides whether an entry is wanted. */
static int visit_place(struct unpacking *to, const struct kb_entry *entry,
		       uint8_t *ret_state, struct kbundle_error *err)
{
	struct kb_place_look look;
	int r = kb_place_look(to->ctx,
			      &to->destinations.items[entry->root].live, entry,
			      kb_entry_is_file(entry), &look, err);

	if (r < 0)
		return r;
	if (look.place == KB_PLACE_PRESENT) {
		to->report->counts[KBUNDLE_COUNT_PRESENT]++;
		return 0;
	}
	if (look.place == KB_PLACE_OCCUPIED)
		return note(to, KBUNDLE_COUNT_OCCUPIED, entry->root,
			    entry->path, NULL, look.reason, err);
	/* Without a commit file: whether its writer is at work is for the
	 * file system's clock to say, once there is a staging directory. */
	*ret_state = KB_STATE_WANT;
	to->wanted[entry->root]++;
	to->wanted_all++;
	r = check_lengths(to, entry, err);
	return r < 0 ? r : check_expanded(to, entry, err);
}

static int visit_entry(struct kb_survey_visitor *visitor,
		       const struct kb_survey *survey, uint64_t index,
		       const struct kb_entry *entry, uint8_t *ret_state,
		       struct kbundle_error *err)
{
	struct unpacking *to = (struct unpacking *)visitor;
	bool unsupported;
	int r;

	(void)index;
	*ret_state = KB_STATE_SKIP;
	if (!kb_selection_takes(&to->selection, entry->target, entry->name,
				entry->path)) {
		to->report->counts[KBUNDLE_COUNT_UNSELECTED]++;
		return 0;
	}
	to->selected++;
	r = kb_survey_note_unsupported(survey, entry, to->report, &unsupported,
				       err);
	if (r < 0 || unsupported)
		return r;
	if (!to->options->host_code && !strcmp(entry->kind, "host-extension"))
		return note(to, KBUNDLE_COUNT_POLICY, entry->root, entry->path,
			    NULL,
			    "host extension (.so): left out by default, "
			    "--host-code takes it",
			    err);
	return visit_place(to, entry, ret_state, err);
}

/* ---- publish ---- */

/* Somebody else's entry, or their staging of one, stood in our place. */
static int note_taken(struct unpacking *to, const struct staged *staged,
		      struct kbundle_error *err)
{
	struct kb_stage *stage = to->stages[staged->root];
	struct kb_live_root live = to->destinations.items[staged->root].live;
	struct kb_file commit_file = {.name = staged->commit_file};
	const struct kb_entry entry = {
		.root = staged->root,
		.path = staged->path,
		.format = staged->format,
		.kind = staged->kind,
		.name = staged->name,
		.files = &commit_file,
		.n_files = 1,
	};
	struct kb_place_look look;
	struct timespec now;
	int r;

	live.fd = kb_stage_root_fd(stage);
	r = kb_place_look(to->ctx, &live, &entry, staged->is_file, &look, err);
	if (r == 0)
		r = kb_stage_now(stage, &now, err);
	if (r < 0)
		return r;
	if (look.place == KB_PLACE_ABSENT)
		return note(to, KBUNDLE_COUNT_OCCUPIED, staged->root,
			    staged->path, NULL,
			    "something stood there and went away; unpack again",
			    err);
	if (look.place == KB_PLACE_OCCUPIED)
		return note(to, KBUNDLE_COUNT_OCCUPIED, staged->root,
			    staged->path, NULL, look.reason, err);
	if (look.place == KB_PLACE_UNMARKED &&
	    now.tv_sec - look.mtime.tv_sec >= FRESH_SECONDS)
		return note(to, KBUNDLE_COUNT_OCCUPIED, staged->root,
			    staged->path, NULL,
			    "an incomplete entry stands there and nobody has "
			    "worked on it for a minute; remove it and unpack "
			    "again",
			    err);
	to->report->counts[KBUNDLE_COUNT_PRESENT]++;
	return 0;
}

static int publish(struct unpacking *to, const struct staged *staged,
		   struct kbundle_error *err)
{
	enum kb_publish result;
	struct kb_shown shown;
	int r = kb_stage_publish(to->stages[staged->root], staged->number,
				 !staged->is_file, staged->path, &result, err);

	if (r < 0) {
		kb_wrap(err, "entry %s", kb_show(&shown, staged->path));
		return r;
	}
	switch (result) {
	case KB_PUBLISH_DONE:
		to->report->counts[KBUNDLE_COUNT_ENTRIES]++;
		to->report->counts[KBUNDLE_COUNT_FILES] += staged->files;
		to->report->counts[KBUNDLE_COUNT_BYTES] += staged->bytes;
		return 0;
	case KB_PUBLISH_TAKEN:
		return note_taken(to, staged, err);
	default:
		return note(to, KBUNDLE_COUNT_OCCUPIED, staged->root,
			    staged->path, NULL,
			    "a file, a symbolic link or a mount point stands "
			    "there",
			    err);
	}
}

static int publish_all(struct unpacking *to, struct kbundle_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < to->n_staged; i++)
		r = publish(to, &to->staged[i], err);
	return r;
}

/* ---- stage ---- */

static int open_stages(struct unpacking *to, struct kbundle_error *err)
{
	for (size_t i = 0; i < to->destinations.n; i++) {
		struct kb_destination *item = &to->destinations.items[i];
		int r;

		if (!to->wanted[i])
			continue;
		r = kb_stage_open(to->ctx, item->path, kb_uuid4, &item->stage,
				  err);
		if (r < 0)
			return r;
		to->stages[i] = item->stage;
	}
	return 0;
}

/* A later look at the place needs no other file. */
static const char *commit_file(const struct kb_entry *entry)
{
	const struct kb_format *format = kb_format_find(entry->format);
	const char *name = format ? format->commit_file(entry) : NULL;

	return name ? name : "";
}

/* A copy of text, or the copy that the entry before has. */
static const char *share(struct kb_arena *arena, const char *text,
			 const char *before)
{
	if (before && strcmp(text, before) == 0)
		return before;
	return kb_arena_strdup(arena, text);
}

static int remember(struct unpacking *to, const struct kb_consumed *done,
		    struct staged *ret, struct kbundle_error *err)
{
	const struct kb_entry *entry = done->entry;
	const struct staged none = {0};
	const struct staged *last = to->n_staged ? ret - 1 : &none;

	memset(ret, 0, sizeof(*ret));
	ret->root = entry->root;
	ret->is_file = kb_entry_is_file(entry);
	ret->number = done->index;
	ret->files = (uint32_t)done->sink->files;
	ret->bytes = done->sink->bytes;
	ret->path = kb_arena_strdup(&to->arena, entry->path);
	ret->format = share(&to->arena, entry->format, last->format);
	ret->kind = share(&to->arena, entry->kind, last->kind);
	ret->name = share(&to->arena, entry->name, last->name);
	ret->commit_file =
		share(&to->arena, commit_file(entry), last->commit_file);
	return ret->path && ret->format && ret->kind && ret->name &&
			       ret->commit_file
		       ? 0
		       : kb_fail_nomem(err);
}

static int consumed(struct kb_consumer *consumer,
		    const struct kb_consumed *done, struct kbundle_error *err)
{
	struct unpacking *to = ((struct unpack_consumer *)consumer)->to;
	struct staged *staged;
	int r;

	if (!done->wanted)
		return 0;
	to->whole += done->entry->facts.whole;
	if (done->sink->is_damaged) {
		kb_stage_drop(to->stages[done->entry->root], done->index);
		return note(to, KBUNDLE_COUNT_DAMAGED, done->entry->root,
			    done->entry->path, done->sink->damaged_file,
			    done->sink->reason, err);
	}
	if (kb_grow(&to->staged, &to->cap_staged, to->n_staged + 1,
		    sizeof(*to->staged)) < 0)
		return kb_fail_nomem(err);
	/* None waits: none is remembered. */
	if (to->options->publish == KBUNDLE_PUBLISH_ENTRY)
		kb_arena_clear(&to->arena);
	staged = &to->staged[to->n_staged];
	r = remember(to, done, staged, err);
	if (r == 0 && to->options->publish == KBUNDLE_PUBLISH_ENTRY)
		return publish(to, staged, err);
	to->n_staged += r == 0;
	return r;
}

static int flush(struct unpacking *to, struct kbundle_error *err)
{
	uint64_t start = kb_now_ns();
	int r = 0;

	if (to->options->sync != KBUNDLE_SYNC_DEFAULT)
		return 0;
	for (size_t i = 0; r == 0 && i < to->destinations.n; i++)
		if (to->stages[i])
			r = kb_stage_sync_all(to->stages[i], err);
	if (r == 0)
		kb_log(to->ctx, KBUNDLE_LOG_DEBUG, "flushed in %.3f s",
		       (double)(kb_now_ns() - start) / 1e9);
	return r;
}

static int finish_stages(struct unpacking *to, struct kbundle_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < to->destinations.n; i++)
		if (to->stages[i])
			r = kb_stage_finish(
				to->stages[i],
				to->options->sync != KBUNDLE_SYNC_NONE, err);
	return r;
}

static int stage_and_publish(struct unpacking *to, struct kbundle_error *err)
{
	KB_AUTO(kb_pool_free) struct kb_pool *pool = NULL;
	const struct kb_sink_config config = {
		.ctx = to->ctx,
		.header = &to->survey.header,
		.tokens = to->survey.tokens,
		.expansion = &to->expansion,
		.stages = to->stages,
		.slim = to->selection.slim,
		.skip_binaries = to->options->validate == KBUNDLE_VALIDATE_NONE,
		.sync_files = to->options->sync == KBUNDLE_SYNC_FILE,
	};
	struct unpack_consumer run = {
		.consumer = {.survey = &to->survey,
			     .config = &config,
			     .phase = "unpack",
			     /* a stream is verified whole */
			     .everything = to->survey.source->is_stream,
			     .entry = consumed},
		.to = to,
	};
	int r = open_stages(to, err);

	if (r == 0)
		r = kb_pool_new(kb_worker_count(to->ctx), &pool, err);
	run.consumer.pool = pool;
	if (r == 0)
		r = kb_consume(&run.consumer, err);
	if (r == 0)
		r = flush(to, err);
	if (r == 0 && to->selection.slim)
		kb_selection_notice_whole(to->ctx, to->whole);
	if (r == 0)
		r = publish_all(to, err);
	return r < 0 ? r : finish_stages(to, err);
}

static void unpacking_release(struct unpacking *to)
{
	kb_destinations_release(&to->destinations);
	kb_expansion_release(&to->expansion);
	kb_survey_release(&to->survey);
	kb_arena_release(&to->arena);
	free(to->wanted);
	free(to->stages);
	free(to->staged);
}
KB_DEFINE_AUTO_STRUCT(struct unpacking, unpacking_release);

static int check_options(const struct kbundle_unpack_options *options,
			 struct kbundle_error *err)
{
	uint8_t id[32];

	if (options->publish == KBUNDLE_PUBLISH_ENTRY && !options->expect)
		return kb_fail(err, KBUNDLE_E_INVALID,
			       "publishing entry by entry needs a bundle that "
			       "was pinned (--expect sha256:…)");
	return options->expect ? kb_id_parse(options->expect, id, err) : 0;
}

int kb_unpack(struct kb_ctx *ctx, const struct kbundle_unpack_options *options,
	      struct kbundle_report *report, struct kbundle_error *err)
{
	KB_AUTO(kb_source_release) struct kb_source source = {0};
	KB_AUTO(unpacking_release)
	struct unpacking to = {
		.visitor = {.header = visit_header, .entry = visit_entry},
		.ctx = ctx,
		.options = options,
		.report = report,
	};
	struct kb_shown shown;
	int r = check_options(options, err);

	if (r == 0)
		r = kb_selection_init(&to.selection, options->selection, err);
	if (r < 0)
		return r;
	r = kb_source_open(&source, ctx, options->input, options->input_fd,
			   err);
	if (r == 0)
		r = kb_survey(&to.survey, &source, options->limits,
			      options->expect, &to.visitor, err);
	if (r == 0) {
		kb_report_set_id(report, to.survey.id);
		report->counts[KBUNDLE_COUNT_BUNDLE_BYTES] = source.bytes;
		if (to.wanted_all || source.is_stream)
			r = stage_and_publish(&to, err);
	}
	if (r < 0) {
		kb_wrap(err, "bundle %s", kb_show(&shown, source.name));
		if (!report->counts[KBUNDLE_COUNT_ENTRIES])
			kb_advise(err, "nothing was published");
		return r;
	}
	if (!to.selected) {
		report->empty = true;
		return kb_fail(err, KBUNDLE_E_EMPTY,
			       "bundle %s: none of its %llu entries was asked "
			       "for",
			       kb_show(&shown, source.name),
			       (unsigned long long)to.survey.header.entries);
	}
	return 0;
}
