/*
 * gang.c - the thread that turns slurmctld's jobs into maps: see gang.h.
 *
 * No release of Slurm has hooks for all that matters: starts, ends, suspends,
 * resizes, changes of nodes.  So the thread looks again when slurmctld's time
 * stamps have changed.  It waits LOOK_MIN between two looks, or longer so that
 * looking takes at most one part in LOOK_PART of the time.
 *
 * The stamps are seconds of the wall clock, which may be set at any time.  So
 * they are only compared for equality; all waits are on the monotonic clock.  A
 * second change within the same second leaves the stamp as it is.  So the
 * thread goes on looking for STAMP after each change, and every LOOK_SURE.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/slurmctld.h"

#include "checks.h"
#include "failed.h"
#include "gang.h"
#include "plan.h"
#include "shares.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "strober_watch.h"

/* The shortest and the longest wait between two looks.  Without gang partitions
 * it is the longest. */
#define LOOK_MIN (20 * STORM_MS)
#define LOOK_MAX (100 * STORM_MS)
#define LOOK_PART 20 /* a look holds locks: it takes 1/20 of the time */
#define LOOK_SURE (2 * STORM_SEC) /* whatever the stamps say */
/* A stamp's unit, or until a resumed job takes turns; and the wall clock's
 * tick. */
#define STAMP (SNAPSHOT_RESUME * STORM_SEC + 100 * STORM_MS)
#define COMMENT (2 * STORM_SEC) /* how often comments are written */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t thread;
	bool running, stop, posted, new_conf, check;
	bool failed; /* there is news of nodes that have failed */
	struct storm_gang_conf conf; /* for the next scan */
} inbox = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The thread's own. */
struct gang {
	struct storm_gang_conf conf;
	void (*up)(void);
	struct plan plan;
	bool told;	/* the strober has nodes and map */
	uint64_t took;	/* ns that the last look took */
	uint64_t begun; /* when the last look began */
	/* slurmctld's stamps, and when one was first seen changed */
	time_t jobs_stamp, parts_stamp;
	uint64_t stamped;
	uint64_t version;
	uint64_t digest; /* of the last map as version 0 */
	bool unpackable; /* the failure to pack was logged */
	bool sent;	 /* the last map is the plan's */
	struct shares shares;
	struct failed failed;
	uint64_t comment_at;
};

/* ------------------------------------------------------------ into maps --- */

static void gang_add_text(char **buf, size_t *len, const char *text)
{
	size_t n = strlen(text) + 1;

	xrealloc(*buf, *len + n);
	memcpy(*buf + *len, text, n);
	*len += n;
}

static char *gang_node_names(const struct snapshot *s, size_t *len)
{
	char *buf = NULL, port[8];

	*len = 0;
	for (uint32_t i = 0; i < s->nnodes; i++) {
		const struct snapshot_node *n = &s->nodes[i];

		gang_add_text(&buf, len, n->name);
		gang_add_text(&buf, len, n->place ? n->place : "");
		snprintf(port, sizeof(port), "%u", n->port);
		gang_add_text(&buf, len, port);
		gang_add_text(&buf, len,
			      n->zone == SNAPSHOT_NO_ZONE ? "" :
							    STROBER_SHARES);
	}
	return buf ? buf : xmalloc(1);
}

/* The packed map, xmalloc()ed; NULL: it cannot be packed, which is logged
 * once. */
static void *gang_pack(struct gang *g, const struct gang_map *m, size_t *len)
{
	void *packed, *copy;
	int err = gang_map_pack(m, &packed, len);

	if (err) {
		if (!g->unpackable)
			error("storm: no gang scheduling: cannot pack the map of %u jobs on %u nodes: %s",
			      m->njobs, m->nodes, storm_strerror(err));
		g->unpackable = true;
		return NULL;
	}
	g->unpackable = false;
	copy = xmalloc(*len);
	memcpy(copy, packed, *len);
	free(packed);
	return copy;
}

/* Send the map if it differs from the last one, or if the nodes do. */
static void gang_send_map(struct gang *g, bool new_nodes)
{
	struct gang_map m;
	size_t len, names_len = 0;
	char *names = NULL;
	uint64_t digest;
	void *buf;

	g->sent = false;
	if (!plan_map(&g->plan, &m))
		return;
	buf = gang_pack(g, &m, &len);
	g->sent = buf;
	digest = buf ? gang_map_digest(buf, len) : 0;
	if (buf && (new_nodes || digest != g->digest)) {
		xfree(buf);
		m.version = ++g->version;
		buf = gang_pack(g, &m, &len);
		if (new_nodes)
			names = gang_node_names(&g->plan.now, &names_len);
		debug("storm: map %lu: %u zones, %u jobs take turns",
		      (unsigned long) m.version, m.nzones, m.njobs);
		g->digest = digest;
		strober_watch_tell(names, names_len, buf, len);
		buf = NULL;
	}
	xfree(buf);
	gang_map_clear(&m);
}

/* ------------------------------------------------------- what users see --- */

/* True: other nodes are out of gang scheduling than before. */
static bool gang_outside(struct gang *g)
{
	const struct snapshot *now = &g->plan.now;
	struct strober_outside *out;
	bool mute, changed;
	uint32_t n, share = 0;

	n = strober_watch_outside(&out, g->shares.nnodes, &mute);
	for (uint32_t i = 0; i < n; i++)
		if (out[i].node < now->nnodes &&
		    now->nodes[out[i].node].zone != SNAPSHOT_NO_ZONE)
			out[share++] = out[i];
	changed = shares_outside(&g->shares, out, share, mute && share);
	xfree(out);
	return changed;
}

/* True: other jobs are held than before, or are proven to stand. */
static bool gang_held(struct gang *g)
{
	bool *loose = xcalloc(g->plan.now.nnodes + 1, sizeof(*loose));
	struct shares_proof proof = { .loose = loose };
	bool changed;

	strober_watch_held(&proof.force, &proof.proof, loose,
			   g->plan.now.nnodes);
	/* a map that was not sent proves nothing */
	changed = shares_held(&g->shares, &g->plan,
			      g->sent ? g->version : UINT64_MAX, &proof);
	xfree(loose);
	return changed;
}

static void gang_failed_words(struct gang *g)
{
	for (uint32_t i = 0; i < g->failed.nnodes; i++) {
		const struct failed_node *n = &g->failed.node[i];
		const struct node_share wrong = {
			.failed = n->word,
			.health = health_word(n->health),
			.heard = n->v.heard / 1000000,
			.before = n->v.never && !n->v.known,
		};

		shares_failed(&g->shares, i, &wrong);
	}
}

/* At most every COMMENT, and at once when a node leaves or returns, or what is known of
 * a held job changes. */
static void gang_comment(struct gang *g)
{
	struct strober_given *given = NULL;
	uint64_t now = storm_now(), *missed;
	bool changed;
	uint32_t n;

	changed = failed_look(&g->failed, &g->plan.now, &g->conf);
	changed |= gang_outside(g);
	changed |= gang_held(g);
	if (!changed && now < g->comment_at)
		return;
	g->comment_at = now + COMMENT;
	n = strober_watch_given(&given);
	shares_update(&g->shares, &g->plan, given, n);
	gang_held(g); /* with the jobs that are new */
	gang_failed_words(g);
	missed = xcalloc(g->plan.now.nnodes + 1, sizeof(*missed));
	if (strober_watch_missed(missed, g->plan.now.nnodes))
		shares_missed(&g->shares, &g->plan, missed, g->plan.now.nnodes);
	shares_write(&g->shares, &g->plan, &g->conf);
	shares_forget(&g->shares);
	xfree(missed);
	xfree(given);
}

/* ----------------------------------------------------------- the thread --- */

static void gang_log_zones(const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nzones; i++)
		info("storm: gang scheduling in partition %s: %lu nodes, quantum %g ms, policy %s",
		     s->zones[i].partitions,
		     (unsigned long) storm_idset_size(&s->zones[i].nodes),
		     s->zones[i].quantum / 1e6,
		     gang_policy_name(s->zones[i].policy));
	if (!s->nzones)
		info("storm: no partition has OverSubscribe=FORCE:M, M > 1: nothing is gang scheduled");
}

static void gang_scan(struct gang *g, bool new_conf)
{
	struct snapshot s;
	bool nodes, layout, anew, seen;

	g->begun = storm_now();
	seen = snapshot_take(&g->conf, &s);
	g->took = storm_now() - g->begun;
	if (!seen) {
		error("storm: out of memory: cannot read slurmctld's jobs");
		return;
	}
	nodes = !g->told || !snapshot_same_nodes(&g->plan.now, &s);
	layout = !g->told || !snapshot_same_layout(&g->plan.now, &s);
	if (layout || !snapshot_same_quanta(&g->plan.now, &s))
		gang_log_zones(&s);
	anew = layout || new_conf;
	if (!plan_update(&g->plan, &s, anew,
			 g->conf.packing == PACKING_BUDDY ? MATRIX_BUDDY :
							    MATRIX_FIRST_FIT)) {
		error("storm: out of memory: cannot compute the matrix of jobs");
		g->told = false;
		return;
	}
	/* until there is a node the strober needs nothing */
	if (g->plan.now.nnodes || g->told)
		gang_send_map(g, nodes);
	if (nodes) {
		failed_new_nodes(&g->failed, &g->plan.now);
		shares_new_nodes(&g->shares);
	}
	g->told = true;
}

/* Check the configuration once after each time that it was read. */
static void gang_check_conf(const struct gang *g)
{
	bool check;

	slurm_mutex_lock(&inbox.lock);
	check = inbox.check;
	inbox.check = false;
	slurm_mutex_unlock(&inbox.lock);
	if (check)
		checks_warn(&g->conf);
}

static uint64_t gang_next_look(const struct gang *g)
{
	uint64_t wait = g->took * LOOK_PART;

	if (!g->plan.now.nzones || wait > LOOK_MAX)
		return LOOK_MAX;
	return wait < LOOK_MIN ? LOOK_MIN : wait;
}

/* True: jobs or partitions may have changed since the last look.  Reads the
 * stamps without slurmctld's locks: a change that is missed now is seen at the
 * next look. */
static bool gang_changed(struct gang *g)
{
	time_t jobs = last_job_update, parts = last_part_update;

	if (jobs != g->jobs_stamp || parts != g->parts_stamp)
		g->stamped = storm_now();
	g->jobs_stamp = jobs;
	g->parts_stamp = parts;
	return g->begun < g->stamped + STAMP ||
	       storm_now() >= g->begun + LOOK_SURE;
}

/* Wait for a post, or until it is time to look.  True: the jobs are to be
 * scanned.  *new_conf: the settings have changed. */
static bool gang_wait(struct gang *g, bool *new_conf)
{
	uint64_t at = storm_now() + gang_next_look(g);
	const struct timespec until = { .tv_sec = at / STORM_SEC,
					.tv_nsec = at % STORM_SEC };
	bool scan;

	slurm_mutex_lock(&inbox.lock);
	while (!inbox.posted && !inbox.stop && !inbox.failed)
		if (pthread_cond_clockwait(&inbox.cond, &inbox.lock,
					   CLOCK_MONOTONIC, &until))
			break;
	scan = gang_changed(g) || inbox.posted || inbox.new_conf;
	*new_conf = inbox.new_conf;
	if (inbox.new_conf)
		g->conf = inbox.conf;
	inbox.posted = inbox.new_conf = inbox.failed = false;
	slurm_mutex_unlock(&inbox.lock);
	return scan;
}

static void *gang_thread(void *arg)
{
	struct gang *g = arg;
	bool new_conf = false;

	g->up();
	/* One that no earlier slurmctld has used: agents tell maps apart by it.
	 * They do not compare which is higher. */
	g->version = (uint64_t) time(NULL) << 24;
	while (!__atomic_load_n(&inbox.stop, __ATOMIC_ACQUIRE)) {
		gang_check_conf(g);
		gang_scan(g, new_conf);
		do {
			if (g->told)
				gang_comment(g);
		} while (!gang_wait(g, &new_conf) &&
			 !__atomic_load_n(&inbox.stop, __ATOMIC_ACQUIRE));
	}
	plan_clear(&g->plan);
	shares_clear(&g->shares);
	failed_clear(&g->failed);
	xfree(g);
	return NULL;
}

/* The strober's watcher calls it. */
static void gang_hear_of_failed(void)
{
	slurm_mutex_lock(&inbox.lock);
	inbox.failed = true;
	slurm_cond_signal(&inbox.cond);
	slurm_mutex_unlock(&inbox.lock);
}

int gang_start(const struct storm_gang_conf *conf, void (*up)(void))
{
	struct gang *g = xmalloc(sizeof(*g));
	int rc;

	g->conf = inbox.conf = *conf;
	g->up = up;
	inbox.stop = inbox.posted = inbox.new_conf = inbox.check = false;
	slurm_cond_init(&inbox.cond, NULL);
	strober_watch_on_failed(gang_hear_of_failed);
	if (strober_watch_start()) {
		xfree(g);
		return SLURM_ERROR;
	}
	strober_watch_lead(conf->lead);
	rc = pthread_create(&inbox.thread, NULL, gang_thread, g);
	if (rc) {
		error("storm: cannot start the gang scheduling thread: %s",
		      strerror(rc));
		strober_watch_stop();
		xfree(g);
		return SLURM_ERROR;
	}
	inbox.running = true;
	return SLURM_SUCCESS;
}

void gang_stop(void)
{
	if (!inbox.running)
		return;
	slurm_mutex_lock(&inbox.lock);
	__atomic_store_n(&inbox.stop, true, __ATOMIC_RELEASE);
	slurm_cond_signal(&inbox.cond);
	slurm_mutex_unlock(&inbox.lock);
	pthread_join(inbox.thread, NULL);
	inbox.running = false;
	strober_watch_stop();
}

void gang_reconfig(const struct storm_gang_conf *conf, bool strober)
{
	slurm_mutex_lock(&inbox.lock);
	inbox.new_conf = memcmp(&inbox.conf, conf, sizeof(*conf)) != 0 ||
			 inbox.new_conf;
	inbox.conf = *conf;
	inbox.posted = inbox.check = true;
	slurm_cond_signal(&inbox.cond);
	slurm_mutex_unlock(&inbox.lock);
	if (inbox.running)
		strober_watch_lead(conf->lead);
	strober_watch_retry(strober);
}
