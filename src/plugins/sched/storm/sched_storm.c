/*
 * sched_storm.c - sched/storm: load Slurm's own scheduler inside this plugin,
 * and add gang scheduling of the partitions that share their cores (paper
 * section 2.1, the Machine Manager).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/plugin.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "checks.h"
#include "gang.h"
#include "sched_storm.h"
#include "src/storm_common/slurm_build.h"
#include "strober_watch.h"

const char plugin_name[] = "STORM gang scheduling over Slurm's scheduler";
const char plugin_type[] = "sched/storm";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

static plugin_handle_t base = PLUGIN_INVALID_HANDLE;
static int (*base_reconfig)(void);
static struct storm_conf conf;
static bool fresh; /* init() has just read storm.conf */

/* ----------------------------------------------------------------- name --- */

/*
 * slurmctld refuses heterogeneous jobs unless SchedulerType is exactly
 * sched/backfill.  That is the scheduler which runs, so slurmctld has this name
 * in memory after its start.  A reconfigure reads sched/storm from slurm.conf
 * again.  The name is then replaced again, or slurmctld would report that the
 * scheduler type cannot change.
 */
static bool renamed;

static void sched_storm_rename(const char *from, const char *to)
{
	if (xstrcmp(slurm_conf.schedtype, from))
		return;
	xfree(slurm_conf.schedtype);
	slurm_conf.schedtype = xstrdup(to);
}

static void sched_storm_pose(void)
{
	slurmctld_lock_t locks = { .conf = WRITE_LOCK };

	if (conf.gang.base != BASE_BACKFILL)
		return;
	lock_slurmctld(locks);
	sched_storm_rename(plugin_type, "sched/backfill");
	renamed = true;
	unlock_slurmctld(locks);
}

/* --------------------------------------------------------------- plugin --- */

static int sched_storm_load_base(void)
{
	const char *type = conf.gang.base == BASE_BUILTIN ? "sched/builtin" :
							    "sched/backfill";
	const char *names[] = { "sched_p_reconfig" };
	void *symbols[1] = { NULL };

	/* this calls its init(), which starts its thread */
	base = plugin_load_and_link(type, 1, names, symbols);
	if (base == PLUGIN_INVALID_HANDLE) {
		error("storm: cannot load %s (Base in storm.conf); check PluginDir in slurm.conf",
		      type);
		return SLURM_ERROR;
	}
	base_reconfig = symbols[0];
	return SLURM_SUCCESS;
}

/* This Slurm is not the one that this plugin was built for: Slurm's default
 * scheduler runs alone. */
static int sched_storm_stand_aside(void)
{
	error("storm: %s; until then sched/storm schedules as sched/backfill, and no jobs take turns",
	      slurm_build_refusal());
	return sched_storm_load_base();
}

/* With switch/storm that plugin logs what has no effect in storm.conf, and keeps
 * a copy of a good one. */
static enum storm_conf_state sched_storm_load(struct storm_conf *out,
					      char **why)
{
	const char *dir = slurm_conf.state_save_location;
	bool alone = xstrcmp(slurm_conf.switch_type, "switch/storm");
	enum storm_conf_state state;
	char *lines = NULL;

	state = storm_conf_load_kept(dir, out, alone ? &lines : NULL, why);
	storm_conf_keep(dir, lines);
	return state;
}

/*
 * slurmctld must run whatever storm.conf has.  Without a usable file ever since
 * it was installed, jobs share their cores without turns: the strober ends, which
 * users are told of, until "scontrol reconfigure" finds a good file.
 */
static void sched_storm_read_conf(void)
{
	char *why;

	switch (sched_storm_load(&conf, &why)) {
	case STORM_CONF_GOOD:
		break;
	case STORM_CONF_KEPT:
		error("storm: %s; slurmctld uses the settings that it had before: correct the line, then \"scontrol reconfigure\"",
		      why);
		break;
	case STORM_CONF_NONE:
		storm_conf_default(&conf);
		error("storm: NO GANG SCHEDULING: %s; slurmctld runs without it: correct the line, then \"scontrol reconfigure\"",
		      why);
	}
	xfree(why);
	fresh = true;
}

int init(void)
{
	const char *refusal;

	if (slurm_build_refusal())
		return sched_storm_stand_aside();
	refusal = checks_refusal();
	/* slurmctld ends without a scheduler in any case, but would not log the
	 * reason */
	if (refusal)
		fatal("storm: sched/storm cannot run: %s", refusal);
	sched_storm_read_conf();
	if (sched_storm_load_base())
		return SLURM_ERROR;
	strober_watch_log_all(conf.log == CONF_LOG_DEBUG);
	if (gang_start(&conf.gang, sched_storm_pose)) {
		plugin_unload(base);
		base = PLUGIN_INVALID_HANDLE;
		return SLURM_ERROR;
	}
	info("storm: gang scheduling runs %s", conf.gang.base == BASE_BUILTIN ?
						       "sched/builtin" :
						       "sched/backfill");
	return SLURM_SUCCESS;
}

void fini(void)
{
	gang_stop();
	if (renamed)
		sched_storm_rename("sched/backfill", plugin_type);
	renamed = false;
	if (base != PLUGIN_INVALID_HANDLE)
		plugin_unload(base);
	base = PLUGIN_INVALID_HANDLE;
	base_reconfig = NULL;
}

/* Has a key changed that the strober reads, when it starts? */
static bool sched_storm_is_strobers(const struct storm_conf *a,
				    const struct storm_conf *b)
{
	return memcmp(&a->set, &b->set, sizeof(a->set)) || a->log != b->log ||
	       a->health.period != b->health.period;
}

static void sched_storm_read_again(void)
{
	struct storm_conf new;
	bool strober;
	char *why;

	if (sched_storm_load(&new, &why) != STORM_CONF_GOOD) {
		error("storm: sched/storm keeps its settings: %s; correct the line, then \"scontrol reconfigure\"",
		      why);
		xfree(why);
		return;
	}
	/* another Base takes effect at the next start */
	new.gang.base = conf.gang.base;
	strober = sched_storm_is_strobers(&conf, &new);
	conf = new;
	strober_watch_log_all(conf.log == CONF_LOG_DEBUG);
	gang_reconfig(&conf.gang, strober);
}

/* slurmctld calls it under its write locks, and also once after init(). */
int sched_p_reconfig(void)
{
	if (slurm_build_refusal())
		return base_reconfig ? base_reconfig() : SLURM_SUCCESS;
	if (renamed)
		sched_storm_rename(plugin_type, "sched/backfill");
	if (fresh)
		gang_reconfig(&conf.gang, false);
	else
		sched_storm_read_again();
	fresh = false;
	return base_reconfig ? base_reconfig() : SLURM_SUCCESS;
}
