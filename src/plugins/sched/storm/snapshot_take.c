/*
 * snapshot_take.c - take a snapshot: copy gang partitions, their nodes and
 * cores, and the jobs that run there, under slurmctld's read locks.  Only this
 * file, checks.c, comments.c, time_limit.c and sched_storm.c depend on slurmctld's
 * internals.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "slurm/slurm.h"
#include "src/common/assoc_mgr.h"
#include "src/common/bitstring.h"
#include "src/common/job_resources.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurm/compat.h"
#include "src/slurm/layout.h"
#include "src/slurm/node_state.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "checks.h"
#include "snapshot.h"
#include "src/storm_common/hold_word.h"

#define NOWHERE SNAPSHOT_NO_ZONE

/* A snapshot that is being taken. */
struct making {
	const struct storm_gang_conf *conf;
	struct snapshot *s;
	uint32_t *number; /* in the domain, by slurmctld's node index */
	int nodes;	  /* of slurmctld */
	bool failed;
};

/* ---------------------------------------------------------------- zones --- */

static uint64_t snapshot_quantum(const struct storm_gang_conf *conf,
				 const char *name)
{
	const struct storm_conf_partition *p = storm_conf_partition(conf, name);

	return p && p->quantum ? p->quantum : conf->quantum;
}

static enum gang_policy snapshot_policy(const struct storm_gang_conf *conf,
					const char *name)
{
	const struct storm_conf_partition *p = storm_conf_partition(conf, name);

	return p && p->turns ? p->policy : GANG_POLICY_GANG;
}

/* Partitions that overlap and differ: gang is what all of them bear. */
static void snapshot_join_policy(struct snapshot_zone *z,
				 enum gang_policy other)
{
	if (z->policy != other)
		z->policy = GANG_POLICY_GANG;
}

/* The zone of some node of the bitmap, or NOWHERE if none has a zone yet. */
static uint32_t snapshot_zone_of(const struct making *m, const bitstr_t *nodes,
				 const uint32_t *zone)
{
	for (int i = 0; i < m->nodes && i < bit_size((bitstr_t *) nodes); i++)
		if (zone[i] != NOWHERE && bit_test((bitstr_t *) nodes, i))
			return zone[i];
	return NOWHERE;
}

/* Partitions that overlap are one zone: all zones with nodes of this partition
 * are merged. */
static void snapshot_add_partition(struct making *m, const part_record_t *part,
				   uint32_t *zone)
{
	bitstr_t *nodes = part->node_bitmap;
	uint32_t mine = snapshot_zone_of(m, nodes, zone);
	uint64_t quantum = snapshot_quantum(m->conf, part->name);
	enum gang_policy policy = snapshot_policy(m->conf, part->name);
	struct snapshot_zone *z;

	if (bit_ffs(nodes) < 0)
		return;
	if (mine == NOWHERE) {
		mine = m->s->nzones++;
		xrecalloc(m->s->zones, m->s->nzones, sizeof(*z));
		m->s->zones[mine].quantum = quantum;
		m->s->zones[mine].policy = policy;
	}
	z = &m->s->zones[mine];
	for (int i = 0; i < m->nodes && i < bit_size(nodes); i++) {
		uint32_t other = zone[i];

		if (!bit_test(nodes, i) || other == mine)
			continue;
		zone[i] = mine;
		if (other == NOWHERE)
			continue;
		for (int k = 0; k < m->nodes; k++)
			if (zone[k] == other)
				zone[k] = mine;
		if (m->s->zones[other].quantum < z->quantum)
			z->quantum = m->s->zones[other].quantum;
		snapshot_join_policy(z, m->s->zones[other].policy);
		xstrfmtcat(z->partitions, ",%s", m->s->zones[other].partitions);
	}
	snapshot_join_policy(z, policy);
	/* a zone has the shortest quantum of its partitions */
	if (quantum < z->quantum)
		z->quantum = quantum;
	xstrfmtcat(z->partitions, "%s%s", z->partitions ? "," : "", part->name);
}

/* Remove zones that were merged into others. */
static void snapshot_drop_empty_zones(struct making *m, uint32_t *zone)
{
	uint32_t kept = 0;

	for (uint32_t z = 0; z < m->s->nzones; z++) {
		bool used = false;

		for (int i = 0; i < m->nodes; i++) {
			if (zone[i] != z)
				continue;
			zone[i] = kept;
			used = true;
		}
		if (!used) {
			xfree(m->s->zones[z].partitions);
			continue;
		}
		m->s->zones[kept] = m->s->zones[z];
		kept++;
	}
	m->s->nzones = kept;
}

/* A node that has no jobs to share is in the domain for its signs of life.  One that
 * comes and goes would have the domain opened again each time. */
static bool snapshot_is_watched(const struct making *m, const node_record_t *n)
{
	return m->conf->cluster && !node_state_comes_and_goes(n);
}

/* Number the nodes and their columns, in slurmctld's order. */
static void snapshot_number_nodes(struct making *m, const uint32_t *zone)
{
	struct snapshot *s = m->s;

	s->nodes = xcalloc(m->nodes + 1, sizeof(*s->nodes));
	for (int i = 0; i < m->nodes; i++) {
		const node_record_t *n = node_record_table_ptr[i];
		struct snapshot_node *node = &s->nodes[s->nnodes];
		struct snapshot_zone *z;

		m->number[i] = NOWHERE;
		if (!n || (zone[i] == NOWHERE && !snapshot_is_watched(m, n)))
			continue;
		node->name = xstrdup(n->name);
		node->place = xstrdup(n->comm_name);
		node->port = n->port;
		node->zone = zone[i];
		m->number[i] = s->nnodes++;
		if (zone[i] == NOWHERE)
			continue;
		z = &s->zones[zone[i]];
		node->column = z->columns;
		node->cores = n->tot_cores ? n->tot_cores : 1;
		z->columns += node->cores;
		if (storm_idset_add(&z->nodes, m->number[i], m->number[i]))
			m->failed = true;
	}
}

/* A wrong source is told once. */
static bool snapshot_fits(bool fits)
{
	static bool told;

	if (!fits && !told) {
		error("storm: no job takes turns: slurmctld's records of jobs and partitions have other sizes than in the source that STORM was built with: build it with the source of exactly this Slurm");
		told = true;
	}
	return fits;
}

static void snapshot_take_zones(struct making *m)
{
	uint32_t *zone = xcalloc(m->nodes + 1, sizeof(*zone));
	list_itr_t *it = list_iterator_create(part_list);
	part_record_t *part;

	memset(zone, 0xff, m->nodes * sizeof(*zone));
	while ((part = list_next(it)))
		if (snapshot_fits(layout_fits_part(part)) &&
		    checks_is_gang(m->conf, part))
			snapshot_add_partition(m, part, zone);
	list_iterator_destroy(it);
	snapshot_drop_empty_zones(m, zone);
	snapshot_number_nodes(m, zone);
	xfree(zone);
}

/* ----------------------------------------------------------------- jobs --- */

static void snapshot_take_cores(struct making *m, struct snapshot_job *j,
				const job_resources_t *r,
				const struct snapshot_node *n,
				uint32_t first_bit)
{
	for (uint32_t c = 0; c < n->cores; c++) {
		/* a select plugin without cores allocates whole nodes */
		if (r->core_bitmap &&
		    (first_bit + c >= bit_size(r->core_bitmap) ||
		     !bit_test(r->core_bitmap, first_bit + c)))
			continue;
		if (storm_idset_add(&j->columns, n->column + c, n->column + c))
			m->failed = true;
	}
}

/*
 * The core bitmap has the cores of the job's own nodes, one node after the
 * other.  A node that has left the partition meanwhile is in another zone, or
 * in none.  The job takes no turns there.
 */
static void snapshot_take_columns(struct making *m, struct snapshot_job *j,
				  const job_resources_t *r, bitstr_t *part)
{
	uint32_t bit = 0;

	for (int i = 0; i < m->nodes && i < bit_size(r->node_bitmap); i++) {
		const struct snapshot_node *n;

		if (!bit_test(r->node_bitmap, i))
			continue;
		if (m->number[i] != NOWHERE &&
		    m->s->nodes[m->number[i]].zone != NOWHERE &&
		    i < bit_size(part) && bit_test(part, i)) {
			n = &m->s->nodes[m->number[i]];
			j->zone = n->zone;
			snapshot_take_cores(m, j, r, n, bit);
			if (storm_idset_add(&j->nodes, m->number[i],
					    m->number[i]))
				m->failed = true;
		}
		if (node_record_table_ptr[i])
			bit += node_record_table_ptr[i]->tot_cores;
	}
}

/*
 * Slurm resumes it now.  The SIGCONT under way to its nodes would undo the end
 * of a turn, and nothing on a node is told of it.  The stamp is of the wall
 * clock; one in the future is not a resume's.
 */
static bool snapshot_resumes(const job_record_t *job)
{
	time_t since = time(NULL) - job->suspend_time;

	return job->suspend_time && since >= 0 && since < SNAPSHOT_RESUME;
}

/* A job that Slurm has suspended has no turn.  One that is completing runs
 * until it has ended.  One whose nodes still boot has nothing to run. */
static bool snapshot_takes_turns(const struct making *m,
				 const job_record_t *job)
{
	return IS_JOB_RUNNING(job) && !IS_JOB_COMPLETING(job) &&
	       !IS_JOB_CONFIGURING(job) && !snapshot_resumes(job) &&
	       job->part_ptr && checks_is_gang(m->conf, job->part_ptr) &&
	       job->job_resrcs && job->job_resrcs->node_bitmap;
}

/* Without slurmdbd a job has no QOS. */
static uint32_t snapshot_weight(const struct making *m, const job_record_t *job)
{
	const slurmdb_qos_rec_t *qos = job->qos_ptr;
	static bool told;

	if (!m->conf->qoses || !qos)
		return 1;
	if (layout_fits_qos(qos))
		return storm_conf_weight(m->conf, qos->name);
	if (!told)
		error("storm: QosWeight has no effect: slurmctld's records of QOS have other sizes than in the source that STORM was built with: build it with the source of exactly this Slurm");
	told = true;
	return 1;
}

/* All components of a heterogeneous job are one gang, and what the first one has in
 * its Comment counts.  AdminComment is slurmctld's own proof that it was no user. */
static void snapshot_take_hold(struct snapshot_job *j, const job_record_t *job)
{
	const job_record_t *first = job;

	if (job->het_job_id && job->het_job_id != job->job_id)
		first = find_job_record(job->het_job_id);
	j->by_admin = first && hold_word_in(first->admin_comment);
	j->held = j->by_admin || (first && hold_word_in(first->comment));
}

static int snapshot_by_id(const void *a, const void *b)
{
	const struct snapshot_job *x = a, *y = b;

	return x->job_id < y->job_id ? -1 : x->job_id > y->job_id;
}

static void snapshot_take_jobs(struct making *m)
{
	list_itr_t *it = list_iterator_create(job_list);
	job_record_t *job;
	uint32_t room = 0;

	while ((job = list_next(it))) {
		struct snapshot_job *j;

		if (!snapshot_fits(layout_fits_job(job)) ||
		    !snapshot_takes_turns(m, job))
			continue;
		if (m->s->njobs == room) {
			room = room * 2 + 64;
			xrecalloc(m->s->jobs, room, sizeof(*j));
		}
		j = &m->s->jobs[m->s->njobs++];
		j->job_id = job->job_id;
		j->gang = job->het_job_id ? job->het_job_id : job->job_id;
		j->weight = snapshot_weight(m, job);
		snapshot_take_hold(j, job);
		snapshot_take_columns(m, j, job->job_resrcs,
				      job->part_ptr->node_bitmap);
		if (j->columns.count)
			continue;
		storm_idset_clear(&j->nodes);
		memset(j, 0, sizeof(*j));
		m->s->njobs--;
	}
	list_iterator_destroy(it);
	if (m->s->njobs)
		qsort(m->s->jobs, m->s->njobs, sizeof(*m->s->jobs),
		      snapshot_by_id);
}

bool snapshot_take(const struct storm_gang_conf *conf, struct snapshot *out)
{
	slurmctld_lock_t locks = { .conf = READ_LOCK,
				   .job = READ_LOCK,
				   .node = READ_LOCK,
				   .part = READ_LOCK };
	assoc_mgr_lock_t qos_locks = { .qos = READ_LOCK };
	struct making m = { .conf = conf, .s = out };

	memset(out, 0, sizeof(*out));
	lock_slurmctld(locks);
	assoc_mgr_lock(&qos_locks);
	m.nodes = node_record_count;
	m.number = xcalloc(m.nodes + 1, sizeof(*m.number));
	if (part_list && job_list) {
		snapshot_take_zones(&m);
		snapshot_take_jobs(&m);
	}
	assoc_mgr_unlock(&qos_locks);
	unlock_slurmctld(locks);
	xfree(m.number);
	if (m.failed)
		snapshot_clear(out);
	return !m.failed;
}
