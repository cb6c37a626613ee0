/*
 * sched_storm.c - sched/storm: Slurm's own scheduler, run inside this plugin,
 * and beside it gang scheduling of the partitions that share their cores
 * (paper section 2.1, the Machine Manager).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/plugin.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmctld/slurmctld_plugstack.h"

#include "gang.h"
#include "sched_storm.h"

const char plugin_name[] = "STORM gang scheduling over Slurm's scheduler";
const char plugin_type[] = "sched/storm";
const uint32_t plugin_version = SLURM_VERSION_NUMBER;

/* What a switch costs for each task of a node, stopped and continued: see
 * storm.conf(5), Quantum. */
#define SWITCH_COST (7 * STORM_US)
#define SWITCH_SHARE 10		/* of a quantum, at most one part in so many */

static plugin_handle_t base = PLUGIN_INVALID_HANDLE;
static int (*base_reconfig)(void);
static slurm_nonstop_ops_t before;	/* whose hooks ours stand before */
static bool hooked;
static struct storm_conf conf;

/* ---------------------------------------------------------------- checks --- */

/* What makes gang scheduling impossible: NULL, or why and what to do. */
static const char *_refusal(void)
{
	if (slurm_conf.preempt_mode & PREEMPT_MODE_GANG)
		return "PreemptMode has GANG: Slurm's own gang scheduler would suspend jobs that sched/storm runs; remove GANG from PreemptMode in slurm.conf";
	return NULL;
}

static bool _is_gang(const part_record_t *part)
{
	const struct storm_conf_partition *p =
		storm_conf_partition(&conf.gang, part->name);

	return (part->max_share & SHARED_FORCE) &&
		(part->max_share & ~SHARED_FORCE) > 1 && !(p && p->local);
}

static void _warn_memory(const part_record_t *part)
{
	uint16_t cr = slurm_conf.select_type_param | part->cr_type;

	if (!(cr & CR_MEMORY))
		error("storm: partition %s shares its cores, but SelectTypeParameters has no memory: nothing keeps jobs from asking for more than there is; use CR_Core_Memory, CR_CPU_Memory or CR_Socket_Memory",
		      part->name);
	else if (!part->def_mem_per_cpu && !slurm_conf.def_mem_per_cpu)
		error("storm: partition %s shares its cores, but without DefMemPerCPU or DefMemPerNode a job that asks for no memory gets all of a node's, and nothing shares with it; set DefMemPerCPU to RealMemory / CPUs / %u or less",
		      part->name, part->max_share & ~SHARED_FORCE);
}

static void _warn_quantum(const part_record_t *part)
{
	const struct storm_conf_partition *p =
		storm_conf_partition(&conf.gang, part->name);
	uint64_t quantum = p && p->quantum ? p->quantum : conf.gang.quantum;
	uint64_t cost = part->max_core_cnt * SWITCH_COST;

	if (cost * SWITCH_SHARE > quantum)
		error("storm: partition %s: a switch of %u tasks takes a node some %lu us, of a quantum of %lu us; set Quantum or PartitionQuantum in storm.conf to %lu us or more",
		      part->name, part->max_core_cnt,
		      (unsigned long) (cost / STORM_US),
		      (unsigned long) (quantum / STORM_US),
		      (unsigned long) (cost * SWITCH_SHARE / STORM_US));
}

static void _warn(void)
{
	ListIterator it;
	part_record_t *part;

	if (!part_list)
		return;
	it = list_iterator_create(part_list);
	while ((part = list_next(it))) {
		if (!_is_gang(part))
			continue;
		_warn_memory(part);
		_warn_quantum(part);
	}
	list_iterator_destroy(it);
}

/* ----------------------------------------------------------------- hooks --- */

/* Under slurmctld's locks: they post, and nothing else. */
static void _job_begin(job_record_t *job)
{
	if (before.job_begin)
		before.job_begin(job);
	gang_post();
}

static void _job_fini(job_record_t *job)
{
	if (before.job_fini)
		before.job_fini(job);
	gang_post();
}

static void _hook(void)
{
	before = nonstop_ops;
	nonstop_ops.job_begin = _job_begin;
	nonstop_ops.job_fini = _job_fini;
	hooked = true;
}

/* Who has hooked in after us keeps his place; ours are then left, and dead with
 * the process: slurmctld unloads us when it ends. */
static void _unhook(void)
{
	if (!hooked)
		return;
	if (nonstop_ops.job_begin == _job_begin)
		nonstop_ops.job_begin = before.job_begin;
	if (nonstop_ops.job_fini == _job_fini)
		nonstop_ops.job_fini = before.job_fini;
	hooked = false;
}

/* ------------------------------------------------------------------ name --- */

/*
 * slurmctld refuses heterogeneous jobs unless SchedulerType is, to the letter,
 * sched/backfill.  It is backfill that runs, so that is the name that slurmctld
 * has in memory from its start on.  On reconfigure, which comes with the file's
 * name, it must find the old one again, or it says that the type cannot change.
 */
static bool renamed;

static void _rename(const char *from, const char *to)
{
	if (xstrcmp(slurm_conf.schedtype, from))
		return;
	xfree(slurm_conf.schedtype);
	slurm_conf.schedtype = xstrdup(to);
}

void sched_storm_pose(void)
{
	slurmctld_lock_t locks = { .conf = WRITE_LOCK };

	if (conf.gang.base != BASE_BACKFILL)
		return;
	lock_slurmctld(locks);
	_rename(plugin_type, "sched/backfill");
	renamed = true;
	unlock_slurmctld(locks);
}

/* ---------------------------------------------------------------- plugin --- */

static int _load_base(void)
{
	const char *type = conf.gang.base == BASE_BUILTIN ? "sched/builtin" :
							    "sched/backfill";
	const char *names[] = { "sched_p_reconfig" };
	void *symbols[1] = { NULL };

	/* runs its init(), and with that its thread */
	base = plugin_load_and_link(type, 1, names, symbols);
	if (base == PLUGIN_INVALID_HANDLE) {
		error("storm: cannot load %s (Base in storm.conf)", type);
		return SLURM_ERROR;
	}
	base_reconfig = symbols[0];
	return SLURM_SUCCESS;
}

int init(void)
{
	const char *refusal = _refusal();
	char *why = NULL;

	/* slurmctld ends without a scheduler in any case, but with a message
	 * that does not say why */
	if (refusal)
		fatal("storm: sched/storm cannot run: %s", refusal);
	if (storm_conf_load(&conf, &why))
		fatal("storm: sched/storm cannot run: %s", why);
	if (_load_base())
		return SLURM_ERROR;
	if (gang_start(&conf.gang)) {
		plugin_unload(base);
		base = PLUGIN_INVALID_HANDLE;
		return SLURM_ERROR;
	}
	_hook();
	info("storm: gang scheduling runs %s",
	     conf.gang.base == BASE_BUILTIN ? "sched/builtin" :
					      "sched/backfill");
	return SLURM_SUCCESS;
}

void fini(void)
{
	_unhook();
	gang_stop();
	if (renamed)
		_rename("sched/backfill", plugin_type);
	renamed = false;
	if (base != PLUGIN_INVALID_HANDLE)
		plugin_unload(base);
	base = PLUGIN_INVALID_HANDLE;
	base_reconfig = NULL;
}

/* Under slurmctld's write locks; it comes after init(), too, when partitions and
 * jobs are complete. */
int sched_p_reconfig(void)
{
	struct storm_conf new;
	char *why = NULL;

	if (renamed)
		_rename(plugin_type, "sched/backfill");
	if (storm_conf_load(&new, &why)) {
		error("storm: sched/storm goes on as it was: %s", why);
		xfree(why);
	} else {
		new.gang.base = conf.gang.base;	/* until the next start */
		conf = new;
		_warn();
		gang_reconfig(&conf.gang);
	}
	return base_reconfig ? base_reconfig() : SLURM_SUCCESS;
}
