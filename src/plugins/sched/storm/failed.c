/*
 * failed.c - see failed.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>
#include <time.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurm/layout.h"
#include "src/slurm/node_state.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "failed.h"
#include "failed_keep.h"
#include "src/libstorm/base/clock.h"
#include "strober_watch.h"

/* How often it is looked without news: while something is wrong, as ActAfter passes; and
 * if not, whether a node that an earlier slurmctld has drained is good. */
#define LOOK_WRONG (250 * STORM_MS)
#define LOOK_GOOD (10 * STORM_SEC)

#define USEC 1000000
#define TIME_TEXT 32

void failed_clear(struct failed *f)
{
	xfree(f->node);
	xfree(f->list);
	failed_steps_fence(NULL, &f->given);
	memset(f, 0, sizeof(*f));
}

void failed_new_nodes(struct failed *f, const struct snapshot *s)
{
	xfree(f->node);
	f->nnodes = s->nnodes;
	f->node = xcalloc(s->nnodes + 1, sizeof(*f->node));
	f->many = false;
	f->look_at = 0;
}

/* ------------------------------------------------------------------- words --- */

/* "12:03:04", or with milliseconds "12:03:04.120". */
static void failed_time(int64_t us, bool exact, char (*out)[TIME_TEXT])
{
	time_t s = us / USEC;
	struct tm tm;
	size_t n;

	n = strftime(*out, sizeof(*out), "%H:%M:%S", localtime_r(&s, &tm));
	if (exact)
		snprintf(*out + n, sizeof(*out) - n, ".%03d",
			 (int) (us % USEC / 1000));
}

/* The caller frees it with xfree(). */
static char *failed_text(const char *name, const struct failed_node *n,
			 bool back, bool many)
{
	char since[TIME_TEXT];

	if (back)
		return xstrdup_printf(
			"storm: node %s: it gives signs of life again", name);
	failed_time(n->v.heard, true, &since);
	if (n->v.state == STROBER_SUSPECT)
		return xstrdup_printf(
			"storm: node %s: no sign of life since %s%s", name,
			since, failed_outcome(&n->v, &n->m, many));
	if (n->v.cause == STROBER_DEAF)
		return xstrdup_printf("storm: node %s: %s%s", name,
				      failed_cause(&n->v),
				      failed_outcome(&n->v, &n->m, many));
	return xstrdup_printf("storm: node %s: %s, no sign of life since %s%s",
			      name, failed_cause(&n->v), since,
			      failed_outcome(&n->v, &n->m, many));
}

static char *failed_reason(const struct failed_node *n)
{
	char since[TIME_TEXT];

	failed_time(n->v.heard, false, &since);
	if (n->v.cause == STROBER_SLURMD_GONE)
		return xstrdup_printf(FAILED_NO_SLURMD "%s, the host answers",
				      since);
	return xstrdup_printf(FAILED_NO_HEARTBEAT "%s, %s", since,
			      failed_cause(&n->v));
}

static bool failed_has_reason(const node_record_t *n)
{
	return failed_is_our_reason(n->reason, n->reason_uid,
				    slurm_conf.slurm_user_id);
}

static bool failed_is_ours(const node_record_t *n)
{
	return (IS_NODE_DRAIN(n) || IS_NODE_DOWN(n)) && failed_has_reason(n);
}

/* -------------------------------------------------------------------- views --- */

/* us */
static int64_t failed_wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t) ts.tv_sec * USEC + ts.tv_nsec / 1000;
}

/* x: what the strober says of the node; NULL: it is good. */
static void failed_set_view(struct failed_node *n, const node_record_t *node,
			    const struct strober_failed *x)
{
	struct failed_view *v = &n->v;
	int64_t wall = failed_wall();

	failed_take_word(v, x, storm_now(), wall);
	if (!node)
		return;
	v->excused = node_state_is_away(node);
	v->taken = IS_NODE_DRAIN(node);
	v->ours = failed_is_ours(node);
	v->talks = failed_talks(v, node->last_response, wall);
}

/* --------------------------------------------------------------------- acts --- */

static void failed_update(const char *name, uint32_t state, char *reason)
{
	update_node_msg_t msg;
	int rc;

	slurm_init_update_node_msg(&msg);
	msg.node_names = (char *) name;
	msg.node_state = state;
	msg.reason = reason;
	rc = update_node(&msg, slurm_conf.slurm_user_id);
	if (rc)
		error("storm: cannot change the state of node %s: %s", name,
		      slurm_strerror(rc));
}

/* Locked for writing. */
static void failed_do(struct failed *f, const char *name, uint32_t i,
		      unsigned int acts)
{
	struct failed_node *n = &f->node[i];
	node_record_t *node = find_node_record((char *) name);
	char *reason;

	if (!node)
		return;
	if (acts & FAILED_END)
		failed_steps_end(node, &f->given);
	if (acts & (FAILED_TAKE_DRAIN | FAILED_TAKE_DOWN)) {
		reason = failed_reason(n);
		if (acts & FAILED_TAKE_DOWN)
			info("storm: setting down node %s: %s", name, reason);
		else
			info("storm: draining node %s: %s", name, reason);
		failed_update(name,
			      acts & FAILED_TAKE_DOWN ? NODE_STATE_DOWN :
							NODE_STATE_DRAIN,
			      n->v.taken && !n->v.ours ? NULL : reason);
		xfree(reason);
	}
	if (acts & FAILED_RESUME && failed_is_ours(node)) {
		info("storm: node %s is back: resuming it", name);
		failed_update(name, NODE_RESUME, NULL);
		/* slurmctld keeps it while jobs have the node, from 23.11 on */
		if (!failed_is_ours(node) && failed_has_reason(node))
			xfree(node->reason);
	}
}

/* Locked for reading. */
static void failed_say(const struct failed *f, const char *name, uint32_t i,
		       bool back)
{
	char *text = failed_text(name, &f->node[i], back, f->many);
	const node_record_t *node = find_node_record((char *) name);

	info("%s", text);
	if (node)
		failed_steps_tell(node, text);
	xfree(text);
}

/* -------------------------------------------------------------------- looks --- */

static void failed_log_many(struct failed *f, bool many, uint32_t count,
			    uint32_t limit)
{
	if (many && !f->many && count <= limit)
		error("storm: all nodes are silent at once that could be heard (%u): this host's network has failed, and not the nodes; until fewer are, none is drained, and no step is given up",
		      count);
	else if (many && !f->many)
		error("storm: %u of %u nodes are silent at once, more than MaxFailedNodes (%u): a switch has failed, or this host's network, and not the nodes; until fewer are, none is drained, and no step is given up",
		      count, f->nnodes, limit);
	if (!many && f->many && count)
		info("storm: %u nodes are still silent, no more than MaxFailedNodes (%u): these count as failed now",
		     count, limit);
	else if (!many && f->many)
		info("storm: no node that was silent at once with others is so now");
	f->many = many;
}

/* A silent node has no news of its health. */
static bool failed_health_is_news(const struct failed_node *n)
{
	return !n->v.state && n->health != n->logged;
}

/* The nodes that have another health than the log says, and this one.  xfree() it;
 * NULL: none. */
static char *failed_health_nodes(const struct failed *f,
				 const struct snapshot *s,
				 enum health_cause cause)
{
	struct hostlist *hl = NULL;
	char *names;

	for (uint32_t i = 0; i < s->nnodes; i++) {
		const struct failed_node *n = &f->node[i];

		if (n->health != cause || !failed_health_is_news(n))
			continue;
		if (!hl)
			hl = hostlist_create(NULL);
		hostlist_push_host(hl, s->nodes[i].name);
	}
	if (!hl)
		return NULL;
	names = hostlist_ranged_string_xmalloc(hl);
	hostlist_destroy(hl);
	return names;
}

/* A file system may hang for thousands: a line has all nodes of one cause. */
static void failed_log_health(struct failed *f, const struct snapshot *s)
{
	for (int cause = HEALTH_WELL; cause < HEALTH_CAUSES; cause++) {
		char *names =
			failed_health_nodes(f, s, (enum health_cause) cause);

		if (names && cause == HEALTH_WELL)
			info("storm: well again: %s", names);
		else if (names)
			info("storm: not well: %s: %s; slurmd's log there says more",
			     names, health_text((enum health_cause) cause));
		xfree(names);
	}
	for (uint32_t i = 0; i < s->nnodes; i++)
		if (failed_health_is_news(&f->node[i]))
			f->node[i].logged = f->node[i].health;
}

/* What the strober says of a node, or NULL. */
struct failed_word {
	const struct strober_failed *failed;
	enum health_cause health;
};

/* A node says itself that it is not well: that is shown, and nothing is done. */
static struct failed_word failed_word_of(const struct failed *f, uint32_t node,
					 int *at)
{
	const struct strober_failed *x = &f->list[*at];
	struct failed_word w = { 0 };

	if (*at >= f->count || x->node != node)
		return w;
	(*at)++;
	if (x->state == STROBER_UNWELL)
		w.health = health_cause_of(x->cause);
	else
		w.failed = x;
	return w;
}

/* Locked for reading.  Set the views; true: a word has changed. */
static bool failed_views(struct failed *f, const struct snapshot *s,
			 const struct storm_gang_conf *conf,
			 struct failed_rule *rule)
{
	uint32_t limit = failed_limit(conf, s->nnodes), count = 0, answer = 0;
	bool changed = false, health = false;
	int at = 0;

	for (uint32_t i = 0; i < s->nnodes; i++) {
		struct failed_word w = failed_word_of(f, i, &at);

		failed_set_view(&f->node[i], find_node_record(s->nodes[i].name),
				w.failed);
		changed |= w.health != f->node[i].health;
		f->node[i].health = w.health;
		health |= failed_health_is_news(&f->node[i]);
		count += failed_counts(&f->node[i].v);
		answer += failed_may_fail(&f->node[i].v) &&
			  !failed_is_silent(&f->node[i].v);
	}
	if (health)
		failed_log_health(f, s);
	/* when a switch is back its nodes return one after the other */
	if (count > limit || (count && !answer))
		f->many_at = storm_now();
	rule->many = f->many_at && storm_now() < f->many_at + rule->act_after;
	failed_log_many(f, rule->many, count, limit);
	for (uint32_t i = 0; i < s->nnodes; i++) {
		const char *word = failed_word(rule, &f->node[i].v);

		changed |= word != f->node[i].word;
		f->node[i].word = word;
	}
	return changed;
}

/* Locked for reading.  Say what is to be said; true: something is to be done. */
static bool failed_decide(struct failed *f, const struct snapshot *s,
			  const struct failed_rule *rule, unsigned int *acts)
{
	bool strong = false;

	for (uint32_t i = 0; i < s->nnodes; i++) {
		struct failed_node *n = &f->node[i];

		acts[i] = failed_acts(rule, &n->v, &n->m);
		if (acts[i] & (FAILED_SAY | FAILED_SAY_BACK))
			failed_say(f, s->nodes[i].name, i,
				   acts[i] & FAILED_SAY_BACK);
		if (!n->v.state && !n->v.excused && f->given.count)
			failed_steps_fence(find_node_record(s->nodes[i].name),
					   &f->given);
		acts[i] &= ~(unsigned int) (FAILED_SAY | FAILED_SAY_BACK);
		strong |= acts[i];
	}
	return strong;
}

static void failed_act_all(struct failed *f, const struct snapshot *s,
			   const unsigned int *acts)
{
	/* as slurmctld's own for update_node() */
	slurmctld_lock_t locks = { .conf = READ_LOCK,
				   .job = WRITE_LOCK,
				   .node = WRITE_LOCK,
				   .part = WRITE_LOCK,
				   .fed = READ_LOCK };

	lock_slurmctld(locks);
	for (uint32_t i = 0; i < s->nnodes; i++)
		if (acts[i])
			failed_do(f, s->nodes[i].name, i, acts[i]);
	unlock_slurmctld(locks);
}

/* A wrong source is told once. */
static bool failed_fits(void)
{
	static bool told;

	for (int i = 0; i < node_record_count; i++) {
		if (!node_record_table_ptr[i])
			continue;
		if (layout_fits_node(node_record_table_ptr[i]))
			return true;
		if (!told)
			error("storm: nothing is done about nodes that fail: slurmctld's records of nodes have other sizes than in the source that STORM was built with: build it with the source of exactly this Slurm");
		told = true;
		return false;
	}
	return false;
}

/* Take the strober's word.  Is it news, or is it time? */
static bool failed_is_due(struct failed *f, const struct snapshot *s)
{
	struct strober_failed *list;
	int n = strober_watch_failed(&list, s->nnodes);
	uint64_t now = storm_now();
	bool same = n == f->count &&
		    (n <= 0 || !memcmp(list, f->list, n * sizeof(*list)));

	xfree(f->list);
	f->list = list;
	f->count = n;
	if (n < 0 || f->nnodes != s->nnodes || (same && now < f->look_at))
		return false;
	f->look_at = now + LOOK_GOOD;
	for (int i = 0; i < n; i++)
		if (f->list[i].state != STROBER_UNWELL)
			f->look_at = now + LOOK_WRONG;
	return true;
}

bool failed_look(struct failed *f, const struct snapshot *s,
		 const struct storm_gang_conf *conf)
{
	slurmctld_lock_t locks = { .conf = READ_LOCK,
				   .job = READ_LOCK,
				   .node = READ_LOCK };
	struct failed_rule rule = { .policy = conf->failed,
				    .act_after = conf->act_after };
	bool changed = false, strong = false;
	unsigned int *acts;

	if (!failed_is_due(f, s))
		return false;
	if (!f->loaded)
		failed_keep_load(&f->given);
	f->loaded = true;
	f->given.changed = false;
	acts = xcalloc(s->nnodes + 1, sizeof(*acts));
	lock_slurmctld(locks);
	if (job_list && failed_fits()) {
		changed = failed_views(f, s, conf, &rule);
		strong = failed_decide(f, s, &rule, acts);
	}
	unlock_slurmctld(locks);
	if (strong)
		failed_act_all(f, s, acts);
	if (f->given.changed)
		failed_keep_save(&f->given);
	xfree(acts);
	return changed;
}
