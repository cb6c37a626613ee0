/*
 * comments.c - write what users read with scontrol: a job's share in its
 * SystemComment (for slurmdbd also in its AdminComment), a node's in its Extra.
 * These fields may have text of others.  Ours is one word after it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/hostlist.h"
#include "src/common/node_conf.h"
#include "src/common/parse_time.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "shares.h"
#include "src/storm_common/hold_word.h"
#include "src/storm_common/no_gang.h"
#include "time_limit.h"

#define TAG "storm:"
#define OUT_MAX 200 /* characters of a list of nodes */

/* Our word in the text, which ends at a blank or with the text; NULL: none. */
static char *comments_is_ours(char *text)
{
	char *p = xstrstr(text, TAG);

	while (p && ((p != text && p[-1] != ' ') || hold_word_at(p)))
		p = strstr(p + 1, TAG);
	return p;
}

/* Replace our word in *where, or remove it if word is NULL.  True: *where has
 * changed. */
static bool comments_put(char **where, const char *word)
{
	char *old = comments_is_ours(*where), *end, *rest;

	if (!old && !word)
		return false;
	if (old && word && !strncmp(old, word, strlen(word)) &&
	    (!old[strlen(word)] || old[strlen(word)] == ' '))
		return false;
	if (old) {
		end = strchr(old, ' ');
		rest = xstrdup(end ? end + 1 : "");
		*old = '\0';
		xstrcat(*where, rest);
		xfree(rest);
		xstrtrim(*where);
	}
	if (word)
		xstrfmtcat(*where, "%s%s", *where && **where ? " " : "", word);
	if (*where && !**where)
		xfree(*where);
	return true;
}

static bool comments_is_out(const struct node_share *n)
{
	return n->out;
}

static bool comments_is_loose(const struct node_share *n)
{
	return n->loose || n->out;
}

/* Those of the job's nodes that are so (xfree), or NULL. */
static char *comments_nodes(const struct shares *all, const struct plan *p,
			    const struct share *s,
			    bool (*is)(const struct node_share *n))
{
	const struct snapshot_job *j = NULL;
	struct hostlist *hl = NULL;
	char *text;
	uint32_t i;

	for (i = 0; i < p->now.njobs && p->now.jobs[i].job_id < s->job_id; i++)
		;
	if (i == p->now.njobs || p->now.jobs[i].job_id != s->job_id)
		return NULL;
	j = &p->now.jobs[i];
	for (i = 0; i < j->nodes.count; i++)
		for (uint32_t n = j->nodes.r[i].first;
		     n <= j->nodes.r[i].last && n < all->nnodes; n++)
			if (is(&all->node[n])) {
				if (!hl)
					hl = hostlist_create(NULL);
				hostlist_push_host(hl, p->now.nodes[n].name);
			}
	if (!hl)
		return NULL;
	text = hostlist_ranged_string_xmalloc(hl);
	if (strlen(text) > OUT_MAX) {
		xfree(text);
		text = xstrdup_printf("%d-nodes", hostlist_count(hl));
	}
	hostlist_destroy(hl);
	return text;
}

/* A held job's, else nothing.  Until the first answer no node is named. */
static void comments_add_held(const struct shares *all, const struct plan *p,
			      const struct share *s, char **word)
{
	char *loose = NULL;

	if (!s->held)
		return;
	if (all->proof >= s->held && !all->mute)
		loose = comments_nodes(all, p, s, comments_is_loose);
	xstrfmtcat(*word, ",held=%u/%u%s%s", s->stands, s->nodes,
		   loose ? ",loose=" : "", loose ? loose : "");
	xfree(loose);
}

static char *comments_job_word(const struct share *s, const char *out)
{
	uint32_t a = s->slots, b = s->cycle;

	while (b) {
		uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return xstrdup_printf(
		TAG
		"turns=%u/%u,quantum=%gms,had=%.1fs,waited=%.1fs,slot=%u/%u,missed=%lu%s%s",
		s->slots / a, s->cycle / a, s->quantum / 1e6, s->had / 1e9,
		s->waited / 1e9, s->slot, s->round, (unsigned long) s->missed,
		out ? ",out=" : "", out ? out : "");
}

/* Continue the account that an earlier slurmctld has written. */
static void comments_read_back(struct share *s, char *text)
{
	char *had, *waited, *missed;

	text = comments_is_ours(text);
	had = xstrstr(text, ",had=");
	waited = xstrstr(text, ",waited=");
	missed = xstrstr(text, ",missed=");
	if (had)
		s->had_before += (uint64_t) (strtod(had + 5, NULL) * 1e9);
	if (waited)
		s->waited_before += (uint64_t) (strtod(waited + 8, NULL) * 1e9);
	if (missed)
		s->missed += strtoull(missed + 8, NULL, 10);
	s->had = s->had_before + s->counted;
	s->waited = s->waited_before + s->waited_counted - s->own;
	s->fresh = false;
}

/* slurmctld 22.05 sends slurmdbd only one of the job's comments: AdminComment.
 * */
static void comments_put_job(job_record_t *job, const char *word)
{
	comments_put(&job->system_comment, word);
	if (!xstrcmp(slurm_conf.accounting_storage_type,
		     "accounting_storage/slurmdbd"))
		comments_put(&job->admin_comment, word);
}

static void comments_release(char **comment)
{
	char *text;

	if (!hold_word_in(*comment))
		return;
	text = hold_word_put(*comment, false);
	if (!text)
		return;
	xfree(*comment);
	*comment = *text ? xstrdup(text) : NULL;
	free(text);
	last_job_update = time(NULL);
}

static void comments_write_job(const struct shares *all, const struct plan *p,
			       const struct storm_gang_conf *conf,
			       struct share *s)
{
	job_record_t *job = find_job_record(s->job_id);
	char *word, *out = NULL;

	/* a requeued job starts a new account, and is not held */
	if (!job || IS_JOB_PENDING(job)) {
		if (job) {
			comments_put_job(job, NULL);
			comments_release(&job->comment);
			comments_release(&job->admin_comment);
		}
		s->gone = true;
		return;
	}
	if (s->fresh)
		comments_read_back(s, job->system_comment);
	if (s->slots < s->cycle)
		out = comments_nodes(all, p, s, comments_is_out);
	word = comments_job_word(s, out);
	comments_add_held(all, p, s, &word);
	comments_put_job(job, word);
	time_limit_move(conf, job, s);
	xfree(word);
	xfree(out);
	s->gone = IS_JOB_FINISHED(job) && !IS_JOB_COMPLETING(job);
}

/* True: the node's Extra now has our word. */
static bool comments_write_node(const struct shares *all, const struct plan *p,
				uint32_t n)
{
	const struct node_share *s = &all->node[n];
	node_record_t *node = find_node_record(p->now.nodes[n].name);
	uint32_t zone = p->now.nodes[n].zone;
	char *word = NULL, since[32], lacks[NO_GANG_WORD];

	if (!node)
		return false;
	if (s->out) {
		time_t out = s->out;

		slurm_make_time_str(&out, since, sizeof(since));
		snprintf(lacks, sizeof(lacks), "%s",
			 s->unheard ? "not-heard" : "node-lost");
		if (s->lacks)
			no_gang_word((int) s->lacks, &lacks);
		xstrfmtcat(word, TAG "out=%s,since=%s",
			   all->mute ? "no-strober" :
			   s->deaf   ? "strobes-lost" :
				       lacks,
			   since);
	} else if (s->jobs && zone != SNAPSHOT_NO_ZONE)
		xstrfmtcat(word, TAG "jobs=%u,slots=%u,quantum=%gms,missed=%lu",
			   s->jobs, matrix_cycle(p->matrix[zone]),
			   p->now.zones[zone].quantum / 1e6,
			   (unsigned long) s->missed);
	if (s->failed) {
		time_t heard = s->heard;

		slurm_make_time_str(&heard, since, sizeof(since));
		xstrfmtcat(word, "%sfailed=%s,heard=%s%s", word ? "," : TAG,
			   s->failed, s->before ? "before-" : "", since);
	}
	if (s->health)
		xstrfmtcat(word, "%shealth=%s", word ? "," : TAG, s->health);
	if (comments_put(&node->extra, word))
		last_node_update = time(NULL);
	xfree(word);
	return s->jobs || s->out || s->failed || s->health;
}

/* Those that are not the plan's are not written again: take it from all. */
static void comments_clear_nodes(void)
{
	for (int i = 0; i < node_record_count; i++)
		if (node_record_table_ptr[i] &&
		    comments_put(&node_record_table_ptr[i]->extra, NULL))
			last_node_update = time(NULL);
}

void shares_write(struct shares *s, const struct plan *p,
		  const struct storm_gang_conf *conf)
{
	slurmctld_lock_t locks = { .job = WRITE_LOCK, .node = WRITE_LOCK };
	bool shown = false, any = s->njobs || s->shown || s->others;

	for (uint32_t i = 0; i < s->nnodes && !any; i++)
		any = s->node[i].out || s->node[i].failed || s->node[i].health;
	if (!any)
		return;
	lock_slurmctld(locks);
	for (uint32_t i = 0; i < s->njobs; i++)
		comments_write_job(s, p, conf, &s->job[i]);
	if (s->others)
		comments_clear_nodes();
	s->others = false;
	for (uint32_t i = 0; i < s->nnodes && i < p->now.nnodes; i++)
		shown |= comments_write_node(s, p, i);
	unlock_slurmctld(locks);
	s->shown = shown;
}
