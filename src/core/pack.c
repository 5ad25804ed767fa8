/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack: scan, then load entries side by side, then lay them in order into the
 * bundle. Inspect is the same way without the last station.
 */
#include "pack.h"

#include "../base/error.h"
#include "bundle_writer.h"
#include "collect.h"
#include "describe.h"
#include "limits.h"
#include "output.h"
#include "report.h"
#include "roots.h"
#include "scan.h"
#include "select.h"

#include <stdlib.h>
#include <string.h>

struct pack_sink {
	struct kb_collect_sink sink;
	struct kb_bundle_writer *writer;
};

static int pack_entry(struct kb_collect_sink *sink,
		      const struct kb_loaded *loaded, struct kbundle_error *err)
{
	return kb_bundle_writer_entry(((struct pack_sink *)sink)->writer,
				      loaded, err);
}

static struct kb_root *header_roots(const struct kb_source_roots *roots,
				    size_t n)
{
	struct kb_root *items = calloc(n, sizeof(*items));

	for (size_t i = 0; items && i < n; i++) {
		items[i].name = roots->items[i].name;
		items[i].format = roots->items[i].format->name;
		items[i].token = roots->items[i].token;
		items[i].extra = "";
	}
	return items;
}

static int nothing(struct kbundle_report *report,
		   const struct kb_source_roots *roots,
		   struct kbundle_error *err)
{
	struct kb_shown shown;
	const char *path = roots->n ? roots->items[0].path : "";

	report->empty = true;
	if (report->counts[KBUNDLE_COUNT_UNSELECTED])
		return kb_fail(err, KBUNDLE_E_EMPTY,
			       "none of the %llu entries in %s%s was asked for",
			       (unsigned long long)
				       report->counts[KBUNDLE_COUNT_UNSELECTED],
			       kb_show(&shown, path),
			       roots->n > 1 ? " and others" : "");
	return kb_fail(err, KBUNDLE_E_EMPTY,
		       "found no entry to pack in %s%s; `kbundle inspect` "
		       "says what is there",
		       kb_show(&shown, path),
		       roots->n > 1 ? " and others" : "");
}

/* Where spools lie: as asked for, beside the output, or in $TMPDIR. */
static char *spool_dir(const struct kbundle_pack_options *options)
{
	char *dir;

	if (options->spool_dir)
		return strdup(options->spool_dir);
	if (!options->output)
		return strdup(kb_tmp_dir());
	dir = kb_directory_of(options->output);
	/* /dev/null and the like: nothing can be made there. */
	if (dir && !strcmp(dir, "/dev")) {
		free(dir);
		return strdup(kb_tmp_dir());
	}
	return dir;
}

/* What pack and inspect have in common: from a user's roots to a plan. */
struct preparation {
	struct kb_source_roots roots;
	size_t used; /* roots that have entries; they come first */
	struct kb_plan plan;
	struct kb_pool *pool;
	struct kbundle_selection selection;
	struct kbundle_limits limits;
	struct kb_load_config config;
};

static void preparation_release(struct preparation *prepared)
{
	kb_pool_free(prepared->pool);
	kb_plan_release(&prepared->plan);
	kb_source_roots_release(&prepared->roots);
}
KB_DEFINE_AUTO_STRUCT(struct preparation, preparation_release);

static int prepare(struct preparation *to, struct kb_ctx *ctx,
		   const struct kbundle_root *roots, size_t n_roots,
		   const struct kbundle_selection *selection,
		   const struct kbundle_limits *limits, const char *spool,
		   bool host_code, const char *token_prefix,
		   struct kbundle_report *report, struct kbundle_error *err)
{
	int r = kb_limits_init(&to->limits, limits, err);

	to->config = (struct kb_load_config){
		.ctx = ctx,
		.roots = &to->roots,
		.selection = &to->selection,
		.spool_dir = spool,
		.host_code = host_code,
	};
	if (r == 0)
		r = kb_selection_init(&to->selection, selection, err);
	if (r == 0)
		r = kb_source_roots_open(ctx, roots, n_roots, spool,
					 &to->limits, &to->roots, err);
	if (r == 0)
		r = kb_scan(ctx, &to->roots, host_code, &to->selection,
			    &to->plan, err);
	if (r == 0)
		r = kb_plan_sort_roots(&to->plan, &to->roots, &to->used, err);
	if (r == 0)
		r = kb_source_roots_name(&to->roots, token_prefix, err);
	if (r == 0)
		r = kb_plan_report(&to->plan, &to->roots, report, err);
	return r < 0 ? r : kb_pool_new(kb_worker_count(ctx), &to->pool, err);
}

static int write_plan(struct preparation *from,
		      const struct kbundle_pack_options *options,
		      struct kbundle_report *report, struct kbundle_error *err)
{
	KB_AUTO_FREE struct kb_root *roots =
		header_roots(&from->roots, from->used);
	KB_AUTO(kb_bundle_writer_release) struct kb_bundle_writer writer = {0};
	struct pack_sink sink = {{pack_entry}, &writer};
	const struct kb_bundle_writer_options to = {
		.pool = from->pool,
		.level = options->level ? options->level : 2,
		.frame_bytes = options->frame_bytes ? options->frame_bytes
						    : KB_FRAME_DEFAULT,
		.spool_dir = from->config.spool_dir,
		.limits = &from->limits,
		.output = options->output,
		.output_fd = options->output_fd,
	};
	int r;

	if (!roots)
		return kb_fail_nomem(err);
	r = kb_bundle_writer_init(&writer, from->config.ctx, &to, roots,
				  from->used, err);
	from->config.header = &writer.header;
	if (r == 0)
		r = kb_collect(&from->config, &from->plan, from->pool, "pack",
			       report, &sink.sink, err);
	if (r == 0 && !writer.header.entries)
		return nothing(report, &from->roots, err);
	if (r == 0)
		r = kb_bundle_writer_finish(&writer, err);
	if (r < 0)
		return r;
	kb_report_set_id(report, writer.id);
	report->counts[KBUNDLE_COUNT_BUNDLE_BYTES] = writer.bundle_bytes;
	return 0;
}

int kb_pack(struct kb_ctx *ctx, const struct kbundle_pack_options *options,
	    struct kbundle_report *report, struct kbundle_error *err)
{
	KB_AUTO_FREE char *dir = spool_dir(options);
	KB_AUTO(preparation_release) struct preparation prepared = {0};
	int r;

	if (!dir)
		return kb_fail_nomem(err);
	r = prepare(&prepared, ctx, options->roots, options->n_roots,
		    options->selection, options->limits, dir,
		    options->host_code, options->token_prefix, report, err);
	if (r < 0)
		return r;
	if (!prepared.plan.n)
		return nothing(report, &prepared.roots, err);
	return write_plan(&prepared, options, report, err);
}

/* ---- inspect ---- */

struct inspect_sink {
	struct kb_collect_sink sink;
	const struct kbundle_inspect_options *options;
	const struct kb_source_roots *roots;
	struct kb_buf facts;
};

static int inspect_entry(struct kb_collect_sink *sink,
			 const struct kb_loaded *loaded,
			 struct kbundle_error *err)
{
	struct inspect_sink *to = (struct inspect_sink *)sink;
	const struct kb_entry *entry = &loaded->entry;
	struct kbundle_entry seen;
	int r;

	if (!to->options->entry)
		return 0;
	r = kb_entry_describe(entry, to->roots->items[entry->root].name,
			      &to->facts, &seen, err);
	if (r < 0)
		return r;
	if (to->options->entry(to->options->entry_data, &seen))
		return kb_fail(err, KBUNDLE_E_CANCELLED, "cancelled");
	return 0;
}

int kb_inspect(struct kb_ctx *ctx,
	       const struct kbundle_inspect_options *options,
	       struct kbundle_report *report, struct kbundle_error *err)
{
	KB_AUTO(preparation_release) struct preparation prepared = {0};
	struct inspect_sink sink = {
		{inspect_entry}, options, &prepared.roots, {0}};
	int r;

	kb_buf_init(&sink.facts, KB_LINE_MAX);
	r = prepare(&prepared, ctx, options->roots, options->n_roots, NULL,
		    options->limits, kb_tmp_dir(), options->host_code, NULL,
		    report, err);
	if (r == 0)
		r = kb_collect(&prepared.config, &prepared.plan, prepared.pool,
			       "inspect", report, &sink.sink, err);
	kb_buf_release(&sink.facts);
	return r;
}
