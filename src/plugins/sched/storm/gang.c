/*
 * gang.c - the thread that turns what slurmctld knows into maps: see gang.h.
 *
 * Starts are posted by a hook and looked at at once; everything else, ends that
 * no hook tells of, suspends, resizes, nodes that come and go, is seen by
 * looking every SCAN while slurmctld says that its jobs have changed.
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

#include "gang.h"
#include "matrix.h"
#include "strober_watch.h"
#include "src/common/gang_map.h"
#include "src/libstorm/clock.h"
#include "src/libstorm/idset.h"

#define SCAN 100		/* ms */
#define COMMENT (5 * STORM_SEC)	/* how often users hear of their shares */

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	pthread_t thread;
	bool running, stop, posted, new_conf;
	struct storm_gang_conf conf;	/* the next scan's */
} t = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* The thread's own. */
struct gang {
	struct storm_gang_conf conf;
	struct snapshot now;		/* what the matrices are of */
	struct matrix **matrix;		/* one for each zone */
	bool told;			/* the strober has had nodes and map */
	uint64_t version;
	uint64_t digest;		/* of the last map, but for its version */
	bool unpackable;		/* it was said that a map is too large */
	struct storm_idset commented;	/* jobs with a comment of ours */
	uint64_t comment_at;
};

/* -------------------------------------------------------- into matrices --- */

static void _matrices_free(struct gang *g)
{
	for (uint32_t i = 0; i < g->now.nzones; i++)
		matrix_destroy(g->matrix[i]);
	xfree(g->matrix);
}

static bool _matrices_make(struct gang *g, uint32_t zones,
			   const struct snapshot *s)
{
	enum matrix_packing packing = g->conf.packing == PACKING_BUDDY ?
		MATRIX_BUDDY : MATRIX_FIRST_FIT;
	bool good = true;

	g->matrix = xcalloc(zones + 1, sizeof(*g->matrix));
	for (uint32_t i = 0; i < zones; i++) {
		g->matrix[i] = matrix_create(s->zones[i].columns, packing);
		good &= g->matrix[i] != NULL;
	}
	return good;
}

/* A gang in a zone: the jobs of a heterogeneous one together. */
struct gang_columns {
	uint64_t gang;
	struct storm_idset columns;
};

static int _by_gang(const void *a, const void *b)
{
	const struct gang_columns *x = a, *y = b;

	return x->gang < y->gang ? -1 : x->gang > y->gang;
}

/* Those of one zone, ascending; the caller frees it. */
static struct gang_columns *_gangs(const struct snapshot *s, uint32_t zone,
				   uint32_t *count)
{
	struct gang_columns *all = xcalloc(s->njobs + 1, sizeof(*all));
	uint32_t n = 0, kept = 0;

	for (uint32_t i = 0; i < s->njobs; i++) {
		if (s->jobs[i].zone != zone)
			continue;
		all[n].gang = s->jobs[i].gang;
		storm_idset_union(&all[n++].columns, &s->jobs[i].columns);
	}
	qsort(all, n, sizeof(*all), _by_gang);
	for (uint32_t i = 0; i < n; i++) {
		if (kept && all[kept - 1].gang == all[i].gang) {
			storm_idset_union(&all[kept - 1].columns,
					  &all[i].columns);
			storm_idset_clear(&all[i].columns);
		} else if (kept != i) {
			all[kept++] = all[i];
			memset(&all[i], 0, sizeof(all[i]));
		} else {
			kept++;
		}
	}
	*count = kept;
	return all;
}

static void _gangs_free(struct gang_columns *all, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		storm_idset_clear(&all[i].columns);
	xfree(all);
}

static bool _same_set(const struct storm_idset *a, const struct storm_idset *b)
{
	return a->count == b->count &&
		(!a->count || !memcmp(a->r, b->r, a->count * sizeof(*a->r)));
}

/* Only what has changed: who stays keeps his row. */
static bool _update_zone(struct matrix *m, uint32_t zone,
			 const struct snapshot *was, const struct snapshot *now)
{
	uint32_t nold, nnew, i = 0, k = 0;
	struct gang_columns *old = _gangs(was, zone, &nold);
	struct gang_columns *new = _gangs(now, zone, &nnew);
	int err = 0;

	/* ends first: their rows are free for those that start */
	for (i = 0; i < nold; i++) {
		while (k < nnew && new[k].gang < old[i].gang)
			k++;
		if (k < nnew && new[k].gang == old[i].gang &&
		    _same_set(&new[k].columns, &old[i].columns))
			continue;
		matrix_remove(m, old[i].gang);
	}
	for (i = 0; i < nnew; i++) {
		int rc = matrix_add(m, new[i].gang, &new[i].columns);

		if (rc != STORM_EEXIST)
			err |= rc;
	}
	err |= matrix_settle(m);
	_gangs_free(old, nold);
	_gangs_free(new, nnew);
	return !err;
}

/* s becomes g->now.  False: no memory, and there are no matrices. */
static bool _update(struct gang *g, struct snapshot *s, bool anew)
{
	bool good = true;

	if (anew) {
		_matrices_free(g);
		snapshot_clear(&g->now);
		good = _matrices_make(g, s->nzones, s);
	}
	for (uint32_t i = 0; i < s->nzones && good; i++)
		good = _update_zone(g->matrix[i], i, &g->now, s);
	if (!anew)
		snapshot_clear(&g->now);
	g->now = *s;
	memset(s, 0, sizeof(*s));
	return good;
}

/* --------------------------------------------------------------- into maps --- */

static bool _zone_map(const struct gang *g, uint32_t i, struct gang_zone *z)
{
	const struct snapshot_zone *s = &g->now.zones[i];

	z->quantum = s->quantum;
	z->rows = matrix_shared(g->matrix[i]) ? matrix_cycle(g->matrix[i]) : 1;
	return !storm_idset_union(&z->nodes, &s->nodes);
}

/* Jobs that always run need not be in the map. */
static bool _job_map(const struct gang *g, const struct snapshot_job *s,
		     struct gang_map *m)
{
	const struct matrix *x = g->matrix[s->zone];
	const struct storm_idset *slots = matrix_slots(x, s->gang);
	struct gang_job *j = &m->jobs[m->njobs];

	if (!slots || matrix_round(x, s->gang) <= 1)
		return true;
	j->job_id = s->job_id;
	j->zone = s->zone;
	m->njobs++;
	return !storm_idset_union(&j->rows, slots) &&
		!storm_idset_union(&j->nodes, &s->nodes);
}

static bool _make_map(const struct gang *g, struct gang_map *m)
{
	bool good;

	memset(m, 0, sizeof(*m));
	m->nodes = g->now.nnodes;
	m->zones = calloc(g->now.nzones + 1, sizeof(*m->zones));
	m->jobs = calloc(g->now.njobs + 1, sizeof(*m->jobs));
	good = m->zones && m->jobs;
	for (uint32_t i = 0; i < g->now.nzones && good; i++) {
		m->nzones++;
		good = _zone_map(g, i, &m->zones[i]);
	}
	for (uint32_t i = 0; i < g->now.njobs && good; i++)
		good = _job_map(g, &g->now.jobs[i], m);
	if (!good)
		gang_map_clear(m);
	return good;
}

static char *_names(const struct snapshot *s, size_t *len)
{
	char *buf;

	*len = 0;
	for (uint32_t i = 0; i < s->nnodes; i++)
		*len += strlen(s->nodes[i].name) + 1;
	buf = xmalloc(*len + 1);
	*len = 0;
	for (uint32_t i = 0; i < s->nnodes; i++) {
		strcpy(buf + *len, s->nodes[i].name);
		*len += strlen(s->nodes[i].name) + 1;
	}
	return buf;
}

/* Packed into Slurm's memory; NULL: it cannot be. */
static void *_pack(struct gang *g, const struct gang_map *m, size_t *len)
{
	void *packed, *copy;
	int err = gang_map_pack(m, &packed, len);

	if (err) {
		if (!g->unpackable)
			error("storm: no gang scheduling: the map of %u jobs on %u nodes: %s",
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

/* The strober hears of what is new alone. */
static void _tell(struct gang *g, bool new_nodes)
{
	struct gang_map m;
	size_t len, names_len = 0;
	char *names = NULL;
	uint64_t digest;
	void *buf;

	if (!_make_map(g, &m))
		return;
	buf = _pack(g, &m, &len);
	digest = buf ? gang_map_digest(buf, len) : 0;
	if (buf && (new_nodes || digest != g->digest)) {
		xfree(buf);
		m.version = ++g->version;
		buf = _pack(g, &m, &len);
		if (new_nodes)
			names = _names(&g->now, &names_len);
		debug("storm: map %lu: %u zones, %u jobs take turns",
		      (unsigned long) m.version, m.nzones, m.njobs);
		g->digest = digest;
		strober_watch_tell(names, names_len, buf, len);
		buf = NULL;
	}
	xfree(buf);
	gang_map_clear(&m);
}

/* -------------------------------------------------------- what users hear --- */

static uint64_t _given(const struct strober_given *given, uint32_t n,
		       uint32_t job_id)
{
	uint32_t lo = 0, hi = n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (given[mid].job_id < job_id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && given[lo].job_id == job_id ? given[lo].ns : 0;
}

/* Those that take turns now, and those that did when we last wrote. */
static uint32_t _shares(struct gang *g, struct job_share *out)
{
	struct strober_given *given = NULL;
	struct strober_state st = { 0 };
	struct storm_idset now = { 0 };
	uint32_t n = 0;

	strober_watch_state(&st, &given);
	for (uint32_t i = 0; i < g->now.njobs; i++) {
		const struct snapshot_job *j = &g->now.jobs[i];
		const struct matrix *m = g->matrix[j->zone];
		const struct storm_idset *slots = matrix_slots(m, j->gang);
		bool turns = slots && matrix_round(m, j->gang) > 1;

		if (!turns && !storm_idset_has(&g->commented, j->job_id))
			continue;
		out[n].job_id = j->job_id;
		out[n].cycle = turns ? matrix_cycle(m) : 1;
		out[n].slots = turns ? storm_idset_size(slots) : 1;
		out[n].quantum = g->now.zones[j->zone].quantum;
		out[n++].given = _given(given, st.njobs, j->job_id);
		if (turns)
			storm_idset_add(&now, j->job_id, j->job_id);
	}
	storm_idset_clear(&g->commented);
	g->commented = now;
	xfree(given);
	return n;
}

static void _comment(struct gang *g)
{
	struct job_share *shares;
	uint64_t now = storm_now();
	uint32_t n;

	if (now < g->comment_at)
		return;
	g->comment_at = now + COMMENT;
	shares = xcalloc(g->now.njobs + 1, sizeof(*shares));
	n = _shares(g, shares);
	if (n)
		snapshot_comment(shares, n);
	xfree(shares);
}

/* -------------------------------------------------------------- the thread --- */

static void _say_zones(const struct snapshot *s)
{
	for (uint32_t i = 0; i < s->nzones; i++)
		info("storm: gang scheduling in partition %s: %lu nodes, quantum %g ms",
		     s->zones[i].partitions,
		     (unsigned long) storm_idset_size(&s->zones[i].nodes),
		     s->zones[i].quantum / 1e6);
	if (!s->nzones)
		info("storm: no partition has OverSubscribe=FORCE:M, M > 1: nothing is gang scheduled");
}

static void _scan(struct gang *g, bool new_conf)
{
	struct snapshot s;
	bool nodes, layout, anew;

	if (!snapshot_take(&g->conf, &s)) {
		error("storm: no memory to look at the jobs");
		return;
	}
	nodes = !g->told || !snapshot_same_nodes(&g->now, &s);
	layout = !g->told || !snapshot_same_layout(&g->now, &s);
	if (layout)
		_say_zones(&s);
	anew = layout || new_conf;
	if (!_update(g, &s, anew)) {
		error("storm: no memory for the matrix");
		g->told = false;
		return;
	}
	/* without a zone there never has to be a strober */
	if (g->now.nzones || g->told)
		_tell(g, nodes);
	g->told = true;
}

/* True: to scan.  *new_conf: with other options. */
static bool _wait(struct gang *g, time_t last, bool *new_conf)
{
	struct timespec until;
	bool scan;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += SCAN * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	slurm_mutex_lock(&t.lock);
	while (!t.posted && !t.stop)
		if (pthread_cond_timedwait(&t.cond, &t.lock, &until))
			break;
	/* read without its lock: a number, whose change is seen next time */
	scan = t.posted || t.new_conf || last_job_update >= last ||
		last_part_update >= last;
	*new_conf = t.new_conf;
	if (t.new_conf)
		g->conf = t.conf;
	t.posted = t.new_conf = false;
	slurm_mutex_unlock(&t.lock);
	return scan;
}

static void *_gang(void *arg)
{
	struct gang *g = arg;
	bool new_conf = false;
	time_t last = 0;

	sched_storm_pose();
	/* higher than that of any slurmctld before */
	g->version = (uint64_t) time(NULL) << 24;
	while (!__atomic_load_n(&t.stop, __ATOMIC_ACQUIRE)) {
		time_t now = time(NULL);

		if (slurmctld_config.shutdown_time)
			break;
		_scan(g, new_conf);
		last = now;
		do {
			if (g->told)
				_comment(g);
		} while (!_wait(g, last, &new_conf) &&
			 !__atomic_load_n(&t.stop, __ATOMIC_ACQUIRE));
	}
	_matrices_free(g);
	storm_idset_clear(&g->commented);
	snapshot_clear(&g->now);
	xfree(g);
	return NULL;
}

int gang_start(const struct storm_gang_conf *conf)
{
	struct gang *g = xmalloc(sizeof(*g));
	int rc;

	g->conf = t.conf = *conf;
	t.stop = t.posted = t.new_conf = false;
	slurm_cond_init(&t.cond, NULL);
	if (strober_watch_start()) {
		xfree(g);
		return SLURM_ERROR;
	}
	rc = pthread_create(&t.thread, NULL, _gang, g);
	if (rc) {
		error("storm: pthread_create: %s", strerror(rc));
		strober_watch_stop();
		xfree(g);
		return SLURM_ERROR;
	}
	t.running = true;
	return SLURM_SUCCESS;
}

void gang_stop(void)
{
	if (!t.running)
		return;
	slurm_mutex_lock(&t.lock);
	__atomic_store_n(&t.stop, true, __ATOMIC_RELEASE);
	slurm_cond_signal(&t.cond);
	slurm_mutex_unlock(&t.lock);
	pthread_join(t.thread, NULL);
	t.running = false;
	strober_watch_stop();
}

void gang_post(void)
{
	slurm_mutex_lock(&t.lock);
	t.posted = true;
	slurm_cond_signal(&t.cond);
	slurm_mutex_unlock(&t.lock);
}

void gang_reconfig(const struct storm_gang_conf *conf)
{
	slurm_mutex_lock(&t.lock);
	t.new_conf = memcmp(&t.conf, conf, sizeof(*conf)) != 0 || t.new_conf;
	t.conf = *conf;
	t.posted = true;
	slurm_cond_signal(&t.cond);
	slurm_mutex_unlock(&t.lock);
}
