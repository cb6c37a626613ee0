/*
 * context_ctld.c - see context_ctld.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <sys/random.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "context_ctld.h"
#include "context_file.h"
#include "src/libstorm/base/clock.h"
#include "src/slurm/layout.h"
#include "src/storm_common/storm_conf.h"

/* slurmctld's; other programs that load the plugin have none. */
#pragma weak find_job_record

#define SWEEP (10 * STORM_SEC) /* least time between two, while no job ends */
#define COMPLAINT (60 * STORM_SEC)
#define TWICE (5 * STORM_SEC)
/* One in so many is for root and SlurmUser alone. */
#define RESERVE 64

static struct {
	pthread_mutex_t lock;
	struct context_table *table; /* NULL: we are not in charge */
	int fd;			     /* -1: nothing can be saved */
	uint64_t started, swept, complained;
	uint32_t refused; /* steps, since the last message */
	/* Copies from slurm.conf for signing.  slurm.conf may only be read with
	 * slurmctld's locks, because a reconfiguration frees it first. */
	char *cluster;
	uid_t node_uid;
	uid_t slurm_uid;
	uint32_t per_user;
	bool claimed; /* there are leases whose users are to be looked up */
} leases = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

/* slurmctld reads storm.conf twice when it starts: that is one message. */
static void context_ctld_say_refused(char *why)
{
	static char *said;
	static uint64_t said_at;
	uint64_t now = storm_now();

	if (!said || strcmp(said, why) || now > said_at + TWICE)
		error("storm: network contexts keep their settings: %s; correct the line, then \"scontrol reconfigure\"",
		      why);
	xfree(said);
	said = why;
	said_at = now;
}

/* False: storm.conf is refused (logged); *out has the last good file's values, or
 * the defaults. */
static bool context_ctld_conf(const char *state_dir,
			      struct storm_context_conf *out)
{
	enum storm_conf_state state;
	struct storm_conf conf;
	char *lines, *why;

	state = storm_conf_load_kept(state_dir, &conf, &lines, &why);
	if (state == STORM_CONF_NONE)
		storm_conf_default(&conf);
	if (state == STORM_CONF_GOOD)
		storm_conf_keep(state_dir, lines);
	else
		context_ctld_say_refused(why);
	*out = conf.context;
	return state == STORM_CONF_GOOD;
}

static void context_ctld_save(const struct context_lease *l)
{
	if (leases.fd >= 0 && context_file_put(leases.fd, l))
		error("storm: cannot save the lease of network context %u, which may be leased twice if slurmctld is killed now: %m",
		      l->id);
}

static void context_ctld_open(const char *state_dir)
{
	char *path = xstrdup_printf("%s/storm_contexts", state_dir);
	uint32_t damaged;

	leases.fd = context_file_open(path, leases.table, &damaged);
	if (leases.fd < 0)
		error("storm: %s: %m: a network context may be leased twice if slurmctld is killed",
		      path);
	if (damaged)
		error("storm: %s: %u records are damaged; slurmctld's saved steps have their leases",
		      path, damaged);
	context_table_loaded(leases.table);
	xfree(path);
}

static void context_ctld_stop_locked(void)
{
	context_table_destroy(leases.table);
	leases.table = NULL;
	if (leases.fd >= 0)
		close(leases.fd);
	leases.fd = -1;
	xfree(leases.cluster);
}

void context_ctld_start(const char *state_dir)
{
	struct storm_context_conf conf;

	context_ctld_conf(state_dir, &conf);
	pthread_mutex_lock(&leases.lock);
	context_ctld_stop_locked();
	leases.table = context_table_create(conf.count, conf.group);
	if (leases.table)
		context_ctld_open(state_dir);
	else
		error("storm: no memory for %u network contexts", conf.count);
	leases.cluster = xstrdup(slurm_conf.cluster_name);
	leases.node_uid = slurm_conf.slurmd_user_id;
	leases.slurm_uid = slurm_conf.slurm_user_id;
	leases.per_user = conf.per_user;
	leases.started = storm_now();
	leases.swept = leases.complained = 0;
	leases.refused = 0;
	pthread_mutex_unlock(&leases.lock);
}

void context_ctld_stop(void)
{
	pthread_mutex_lock(&leases.lock);
	context_ctld_stop_locked();
	pthread_mutex_unlock(&leases.lock);
}

/* -------------------------------------------------------- unclaimed leases --- */

/* Is it certain that no process of the job runs?  When a node registers,
 * slurmctld orders it to kill jobs that slurmctld does not know; other nodes
 * are DOWN. */
static bool context_ctld_job_gone(void *arg, uint32_t job)
{
	job_record_t *j = find_job_record ? find_job_record(job) : NULL;
	uint64_t patience = slurm_conf.slurmd_timeout ?
				    slurm_conf.slurmd_timeout * STORM_SEC :
				    300 * STORM_SEC;

	(void) arg;
	if (!j)
		return storm_now() - leases.started > patience;
	return !IS_JOB_RUNNING(j) && !IS_JOB_SUSPENDED(j) &&
	       !IS_JOB_COMPLETING(j);
}

static void context_ctld_swept(void *arg, const struct context_lease *l)
{
	(void) arg;
	context_ctld_save(l);
}

static void context_ctld_sweep(bool now)
{
	uint64_t t = storm_now();

	if (!context_table_figures(leases.table).unclaimed ||
	    (!now && leases.swept && t - leases.swept < SWEEP))
		return;
	leases.swept = t;
	context_table_sweep(leases.table, context_ctld_job_gone,
			    context_ctld_swept, NULL);
}

void context_ctld_job_ends(void)
{
	pthread_mutex_lock(&leases.lock);
	leases.swept = 0;
	pthread_mutex_unlock(&leases.lock);
}

/* ------------------------------------------------------------ none is left --- */

static bool context_ctld_user(void *arg, uint32_t job, uint32_t *uid)
{
	job_record_t *j = find_job_record ? find_job_record(job) : NULL;

	(void) arg;
	if (j)
		*uid = j->user_id;
	return j;
}

/* May the user take one more?  The last ones are for root and SlurmUser, who
 * have no quota. */
static enum context_left context_ctld_may_take(uid_t uid)
{
	struct context_figures f = context_table_figures(leases.table);

	if (!uid || uid == leases.slurm_uid)
		return CONTEXT_LEASED;
	/* slurmctld recovers a step before its job's user */
	if (leases.claimed)
		context_table_find_owners(leases.table, context_ctld_user,
					  NULL);
	leases.claimed = false;
	if (context_table_owned(leases.table, uid) >= leases.per_user)
		return CONTEXT_QUOTA;
	return f.leased >= f.count - f.count / RESERVE ? CONTEXT_USED_UP :
							 CONTEXT_LEASED;
}

/* Once a minute.  The step runs without a context. */
static void context_ctld_complain(const step_record_t *step,
				  enum context_left why)
{
	struct context_figures f = context_table_figures(leases.table);
	uint64_t now = storm_now();

	leases.refused++;
	if (leases.complained && now - leases.complained < COMPLAINT)
		return;
	if (why == CONTEXT_QUOTA)
		info("storm: %ps runs without a network context: uid %u has %u, as many as ContextsPerUser in storm.conf allows (%u steps without one since the last message)",
		     &step->step_id, step->job_ptr->user_id, leases.per_user,
		     leases.refused);
	else
		error("storm: %ps runs without a network context: %u of %u are leased (%u of them to steps that slurmctld no longer knows), and the rest is for SlurmUser (%u steps without one since the last message); raise ContextCount in storm.conf and run \"scontrol reconfigure\"",
		      &step->step_id, f.leased, f.count, f.unclaimed,
		      leases.refused);
	leases.complained = now;
	leases.refused = 0;
}

void context_ctld_reconfig(void)
{
	struct storm_context_conf conf;

	if (!context_ctld_conf(slurm_conf.state_save_location, &conf))
		return; /* it stays as it was */
	pthread_mutex_lock(&leases.lock);
	if (leases.table &&
	    context_table_resize(leases.table, conf.count, conf.group))
		error("storm: no memory for %u network contexts", conf.count);
	leases.per_user = conf.per_user;
	pthread_mutex_unlock(&leases.lock);
}

/* -------------------------------------------------------------- the steps --- */

/* The holder of the step's lease.  True: other parts of the step share it. */
static bool context_ctld_holder(const step_record_t *step,
				struct context_holder *h)
{
	const job_record_t *job = step->job_ptr;
	const slurm_step_id_t *id = &step->step_id;
	bool joint = true;

	*h = (struct context_holder) { id->job_id, id->step_id, 0 };
	if (job->het_job_id) {
		h->job = job->het_job_id;
		h->part = job->het_job_offset;
	} else if (id->step_het_comp != NO_VAL) {
		h->part = id->step_het_comp;
	} else {
		joint = false;
	}
	if (h->part < CONTEXT_PARTS)
		return joint;
	*h = (struct context_holder) { id->job_id, id->step_id, 0 };
	return false;
}

static void context_ctld_show(step_record_t *step, const struct context *x)
{
	char group[CONTEXT_GROUP_TEXT];

	context_group_text(x->group, &group);
	xstrfmtcat(step->network, "%sstorm:context=%u,group=%s",
		   step->network && step->network[0] ? "," : "", x->id, group);
}

/* A lease for the step; NULL: *why has the reason. */
static const struct context_lease *
context_ctld_take(const step_record_t *step, const struct context_holder *h,
		  bool joint, const uint8_t *key, enum context_left *why)
{
	const struct context_lease *l = NULL;
	uid_t uid = step->job_ptr->user_id;

	*why = CONTEXT_LEASED;
	if (joint) /* a part costs nothing */
		l = context_table_lease(leases.table, h, true, NULL);
	if (l)
		return l;
	context_ctld_sweep(false);
	*why = context_ctld_may_take(uid);
	if (*why == CONTEXT_USED_UP) {
		context_ctld_sweep(true);
		*why = context_ctld_may_take(uid);
	}
	if (*why != CONTEXT_LEASED)
		return NULL;
	l = context_table_lease(leases.table, h, false, key);
	if (l)
		context_table_owner(leases.table, l->id, uid);
	else
		*why = CONTEXT_USED_UP;
	return l;
}

static enum context_left context_ctld_lease_locked(step_record_t *step,
						   struct context *x)
{
	uint8_t key[CONTEXT_KEY_LEN];
	bool joint = context_ctld_holder(step, &x->holder);
	const struct context_lease *l;
	enum context_left why;

	if (getrandom(key, sizeof(key), 0) != sizeof(key)) {
		error("storm: no random key for a network context: %m");
		return CONTEXT_USED_UP;
	}
	l = context_ctld_take(step, &x->holder, joint, key, &why);
	if (!l) {
		context_ctld_complain(step, why);
		return why;
	}
	context_ctld_save(l);
	x->job = step->step_id.job_id;
	x->step = step->step_id.step_id;
	x->het = step->step_id.step_het_comp;
	x->uid = step->job_ptr->user_id;
	x->id = l->id;
	x->serial = l->serial;
	x->group = l->group;
	memcpy(x->key, l->key, CONTEXT_KEY_LEN);
	context_ctld_show(step, x);
	debug("storm: %ps has network context %u", &step->step_id, x->id);
	return CONTEXT_LEASED;
}

/* A wrong source is told once. */
static bool context_ctld_fits(const step_record_t *step)
{
	static bool told;

	if (layout_fits_step(step))
		return true;
	if (!told)
		error("storm: no step gets a network context: slurmctld's records of jobs and steps have other sizes than in the source that STORM was built with: build it with the source of exactly this Slurm");
	told = true;
	return false;
}

enum context_left context_ctld_lease(step_record_t *step, struct context *x)
{
	enum context_left left = CONTEXT_DISABLED;

	if (!context_ctld_fits(step))
		return left;
	pthread_mutex_lock(&leases.lock);
	if (leases.table && context_table_figures(leases.table).count)
		left = context_ctld_lease_locked(step, x);
	pthread_mutex_unlock(&leases.lock);
	return left;
}

void context_ctld_return(const struct context *x)
{
	const struct context_lease *l;

	pthread_mutex_lock(&leases.lock);
	l = leases.table ? context_table_return(leases.table, x->id, x->serial,
						&x->holder) :
			   NULL;
	if (l) {
		context_ctld_save(l);
		debug("storm: network context %u comes back from step %u.%u",
		      x->id, x->job, x->step);
	}
	pthread_mutex_unlock(&leases.lock);
}

void context_ctld_claim(const struct context *x)
{
	pthread_mutex_lock(&leases.lock);
	if (leases.table && !context_table_claim(leases.table, x->id, x->serial,
						 x->group, &x->holder))
		info("storm: step %u.%u ended before slurmctld restarted: its network context %u is now another step's",
		     x->job, x->step, x->id);
	leases.claimed = true;
	pthread_mutex_unlock(&leases.lock);
}

char *context_ctld_sign(const struct context *x)
{
	char *cluster, *cred;
	uid_t node_uid;

	pthread_mutex_lock(&leases.lock);
	cluster = xstrdup(leases.cluster);
	node_uid = leases.node_uid;
	pthread_mutex_unlock(&leases.lock);
	cred = cluster ? context_sign(x, cluster, node_uid) : NULL;
	xfree(cluster);
	return cred;
}
