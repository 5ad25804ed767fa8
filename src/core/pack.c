/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pack: scan, then load entries side by side, then lay them in order into the
 * bundle. Inspect is the same way without the last station.
 */
#include "pack.h"

#include "../base/error.h"
#include "bundle_writer.h"
#include "collect.h"
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

static int report_roots(struct kbundle_report *report,
			const struct kb_source_roots *roots,
			struct kbundle_error *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < roots->n; i++)
		r = kb_report_root(report, roots->items[i].name,
				   roots->items[i].format->name,
				   roots->items[i].path, err);
	return r;
}

static struct kb_root *header_roots(const struct kb_source_roots *roots)
{
	struct kb_root *items = calloc(roots->n ? roots->n : 1, sizeof(*items));

	for (size_t i = 0; items && i < roots->n; i++) {
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

/* Loads and writes. The roots are those of the plan. */
static int write_plan(struct kb_ctx *ctx,
		      const struct kbundle_pack_options *options,
		      const struct kb_load_config *config,
		      const struct kb_plan *plan, struct kb_pool *pool,
		      struct kbundle_report *report, struct kbundle_error *err)
{
	KB_AUTO_FREE struct kb_root *roots = header_roots(config->roots);
	KB_AUTO(kb_bundle_writer_release) struct kb_bundle_writer writer = {0};
	struct pack_sink sink = {{pack_entry}, &writer};
	const struct kb_bundle_writer_options to = {
		.pool = pool,
		.level = options->level ? options->level : 2,
		.frame_bytes = options->frame_bytes ? options->frame_bytes
						    : KB_FRAME_DEFAULT,
		.spool_dir = config->spool_dir,
		.output = options->output,
		.output_fd = options->output_fd,
	};
	int r;

	if (!roots)
		return kb_fail_nomem(err);
	r = kb_bundle_writer_init(&writer, ctx, &to, roots, config->roots->n,
				  err);
	if (r == 0)
		r = kb_collect(config, plan, pool, "pack", report, &sink.sink,
			       err);
	if (r == 0 && !writer.header.entries)
		return nothing(report, config->roots, err);
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
	KB_AUTO(kb_source_roots_release) struct kb_source_roots roots = {0};
	KB_AUTO(kb_plan_release) struct kb_plan plan = {0};
	KB_AUTO(kb_pool_free) struct kb_pool *pool = NULL;
	KB_AUTO_FREE char *dir = spool_dir(options);
	struct kbundle_selection selection;
	struct kbundle_limits limits;
	struct kb_load_config config = {
		.ctx = ctx,
		.roots = &roots,
		.selection = &selection,
		.spool_dir = dir,
		.host_code = options->host_code,
	};
	int r = dir ? kb_limits_init(&limits, options->limits, err)
		    : kb_fail_nomem(err);

	if (r == 0)
		r = kb_selection_init(&selection, options->selection, err);
	if (r == 0)
		r = kb_source_roots_open(ctx, options->roots, options->n_roots,
					 options->token_prefix, dir, &limits,
					 &roots, err);
	if (r == 0)
		r = report_roots(report, &roots, err);
	if (r == 0)
		r = kb_scan(ctx, &roots, options->host_code, &selection, report,
			    &plan, err);
	if (r < 0)
		return r;
	if (!plan.n)
		return nothing(report, &roots, err);
	kb_plan_drop_empty_roots(&plan, &roots);
	r = kb_pool_new(kb_worker_count(ctx), &pool, err);
	return r < 0 ? r
		     : write_plan(ctx, options, &config, &plan, pool, report,
				  err);
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
	struct kbundle_entry seen = {
		.root = to->roots->items[entry->root].name,
		.path = entry->path,
		.format = entry->format,
		.kind = entry->kind,
		.name = entry->name,
		.target = entry->target,
		.n_files = entry->n_files,
	};

	if (!to->options->entry)
		return 0;
	for (size_t i = 0; i < entry->n_files; i++)
		seen.bytes += entry->files[i].size;
	kb_buf_clear(&to->facts);
	if (kb_facts_format(&entry->facts, &to->facts) < 0)
		return kb_fail_nomem(err);
	seen.facts_json = to->facts.data;
	if (to->options->entry(to->options->entry_data, &seen))
		return kb_fail(err, KBUNDLE_E_CANCELLED, "cancelled");
	return 0;
}

int kb_inspect(struct kb_ctx *ctx,
	       const struct kbundle_inspect_options *options,
	       struct kbundle_report *report, struct kbundle_error *err)
{
	KB_AUTO(kb_source_roots_release) struct kb_source_roots roots = {0};
	KB_AUTO(kb_plan_release) struct kb_plan plan = {0};
	KB_AUTO(kb_pool_free) struct kb_pool *pool = NULL;
	struct inspect_sink sink = {{inspect_entry}, options, &roots, {0}};
	struct kbundle_selection selection;
	struct kbundle_limits limits;
	struct kb_load_config config = {
		.ctx = ctx,
		.roots = &roots,
		.selection = &selection,
		.spool_dir = kb_tmp_dir(),
		.host_code = options->host_code,
	};
	int r = kb_limits_init(&limits, options->limits, err);

	kb_buf_init(&sink.facts, KB_LINE_MAX);
	if (r == 0)
		r = kb_selection_init(&selection, NULL, err);
	if (r == 0)
		r = kb_source_roots_open(ctx, options->roots, options->n_roots,
					 NULL, config.spool_dir, &limits,
					 &roots, err);
	if (r == 0)
		r = report_roots(report, &roots, err);
	if (r == 0)
		r = kb_scan(ctx, &roots, options->host_code, &selection, report,
			    &plan, err);
	if (r == 0)
		r = kb_pool_new(kb_worker_count(ctx), &pool, err);
	if (r == 0)
		r = kb_collect(&config, &plan, pool, "inspect", report,
			       &sink.sink, err);
	kb_buf_release(&sink.facts);
	return r;
}
