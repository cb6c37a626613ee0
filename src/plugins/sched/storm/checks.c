/*
 * checks.c - check that slurm.conf suits gang scheduling: see checks.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "slurm/slurm.h"
#include "src/common/assoc_mgr.h"
#include "src/common/bitstring.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/node_conf.h"
#include "src/common/read_config.h"
#include "src/common/xstring.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"

#include "checks.h"
#include "src/libstorm/base/clock.h"
#include "src/slurm/compat.h"
#include "src/slurm/layout.h"

/* What a switch costs for each task of a node, to stop and continue it: see
 * Quantum in storm.conf(5). */
#define SWITCH_COST (7 * STORM_US)
#define SWITCH_SHARE 10 /* a switch may take a tenth of a quantum */

const char *checks_refusal(void)
{
	if (slurm_conf.preempt_mode & PREEMPT_MODE_GANG)
		return "PreemptMode has GANG: Slurm's own gang scheduler would suspend jobs that sched/storm runs; remove GANG from PreemptMode in slurm.conf";
	return NULL;
}

bool checks_is_gang(const struct storm_gang_conf *conf,
		    const part_record_t *part)
{
	const struct storm_conf_partition *p =
		storm_conf_partition(conf, part->name);

	return (part->max_share & SHARED_FORCE) &&
	       (part->max_share & ~SHARED_FORCE) > 1 && part->node_bitmap &&
	       !(p && p->local);
}

/* slurmctld's node i, or NULL if the partition does not have it. */
static const node_record_t *checks_node(const part_record_t *part, int i)
{
	return i < bit_size(part->node_bitmap) &&
			       bit_test(part->node_bitmap, i) ?
		       node_record_table_ptr[i] :
		       NULL;
}

/* The memory that each of `sharers` jobs may have if all of them use all of the
 * node's CPUs: in MB, per node or per CPU. */
static uint64_t checks_may_have(const node_record_t *n, uint64_t sharers,
				bool per_cpu)
{
	uint64_t mem = n->real_memory > n->mem_spec_limit ?
			       n->real_memory - n->mem_spec_limit :
			       0;

	return mem / (sharers * (per_cpu ? MAX(n->cpus_efctv, 1) : 1));
}

/* Check that jobs which request no memory fit together on each node. */
static void checks_default_memory(const part_record_t *part, uint64_t def)
{
	bool per_cpu = def & MEM_PER_CPU;
	uint32_t sharers = part->max_share & ~SHARED_FORCE;
	const node_record_t *least = NULL;
	uint64_t most = def & ~MEM_PER_CPU;
	const char *unit = per_cpu ? "CPU" : "Node";

	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *n = checks_node(part, i);

		if (!n || checks_may_have(n, sharers, per_cpu) >= most)
			continue;
		least = n;
		most = checks_may_have(n, sharers, per_cpu);
	}
	if (least && !most)
		error("storm: partition %s shares its cores, but its node %s has less than 1 MB for each job that shares it; set its RealMemory",
		      part->name, least->name);
	else if (least)
		error("storm: partition %s shares its cores, but with DefMemPer%s=%lu the memory of node %s is too small for %u jobs on all of its CPUs; set DefMemPer%s to %lu or less",
		      part->name, unit, (unsigned long) (def & ~MEM_PER_CPU),
		      least->name, sharers, unit, (unsigned long) most);
}

static void checks_memory(const part_record_t *part)
{
	uint16_t cr = slurm_conf.select_type_param | part->cr_type;
	uint64_t def = part->def_mem_per_cpu ? part->def_mem_per_cpu :
					       slurm_conf.def_mem_per_cpu;

	if (!(cr & SELECT_MEMORY))
		error("storm: partition %s shares its cores, but SelectTypeParameters does not allocate memory, so jobs can use more than a node has; use CR_Core_Memory, CR_CPU_Memory or CR_Socket_Memory",
		      part->name);
	else if (!def)
		error("storm: partition %s shares its cores, but without DefMemPerCPU or DefMemPerNode a job that requests no memory gets all of a node's memory and shares the node with no other job; set DefMemPerCPU to RealMemory / CPUs / %u or less",
		      part->name, part->max_share & ~SHARED_FORCE);
	else
		checks_default_memory(part, def);
}

static void checks_quantum(const struct storm_gang_conf *conf,
			   const part_record_t *part)
{
	const struct storm_conf_partition *p =
		storm_conf_partition(conf, part->name);
	uint64_t quantum = p && p->quantum ? p->quantum : conf->quantum;
	/* a task for each CPU, where a hyperthread is one */
	uint64_t cost = part->max_cpu_cnt * SWITCH_COST;

	if (cost * SWITCH_SHARE > quantum)
		error("storm: partition %s: switching %u tasks takes a node about %lu us of each quantum of %lu us; set Quantum in storm.conf, or on the line of Partition=%s there, to %lu us or more",
		      part->name, part->max_cpu_cnt,
		      (unsigned long) (cost / STORM_US),
		      (unsigned long) (quantum / STORM_US), part->name,
		      (unsigned long) (cost * SWITCH_SHARE / STORM_US));
}

/* Does a list like "gpu:tesla:2,nic:1" have an entry of that name? */
static bool checks_has_gres(const char *gres, const char *name)
{
	size_t len = strlen(name);

	for (const char *p = gres; p; p = strchr(p, ',')) {
		p += *p == ',';
		if (!strncasecmp(p, name, len) &&
		    (!p[len] || p[len] == ':' || p[len] == ',' ||
		     p[len] == '('))
			return true;
	}
	return false;
}

/* The name of a node of the partition with GPUs, or NULL. */
static const char *checks_with_gpus(const part_record_t *part)
{
	for (int i = 0; i < node_record_count; i++) {
		const node_record_t *n = checks_node(part, i);

		if (n && n->config_ptr &&
		    checks_has_gres(n->config_ptr->gres, "gpu"))
			return n->name;
	}
	return NULL;
}

/* Warn of GPUs and licenses: a job holds them between its turns. */
static void checks_held_resources(const struct storm_gang_conf *conf,
				  const part_record_t *part)
{
	const char *node = conf->allow_gpus ? NULL : checks_with_gpus(part);

	if (node)
		error("storm: partition %s shares its cores, and its node %s has GPUs: a job keeps its GPUs between its turns, and what it has started there continues, so no other job can use them; take such nodes out of the partition, or set GangAllow=gpus or Partition=%s Policy=local in storm.conf",
		      part->name, node, part->name);
	if (slurm_conf.licenses && slurm_conf.licenses[0] &&
	    !conf->allow_licenses)
		error("storm: partition %s shares its cores, and there are licenses (%s): a job keeps its licenses between its turns; set GangAllow=licenses or Partition=%s Policy=local in storm.conf",
		      part->name, slurm_conf.licenses, part->name);
}

/*
 * Without GANG slurmctld cannot suspend jobs.  It still accepts SUSPEND for a
 * partition, and then kills the jobs (slurm_job_preempt() in its preempt.c).
 */
static void checks_preemption(const part_record_t *part)
{
	if (part->preempt_mode != PREEMPT_MODE_SUSPEND ||
	    xstrcmp(slurm_conf.preempt_type, "preempt/partition_prio"))
		return;
	error("storm: partition %s has PreemptMode=SUSPEND, which needs Slurm's own gang scheduler: without GANG slurmctld kills preempted jobs; use REQUEUE, CANCEL or OFF",
	      part->name);
}

/* Without a hook a node learns by the gang map that a job is suspended, and then
 * continues its steps.  If Slurm has stopped them already, they run again. */
static void checks_suspend(void)
{
	static const char key[] = "suspend_grace_time=";
	const char *given = xstrcasestr(COMPAT_SUSPEND_PARAMS, key);

	if (!given || strtoul(given + strlen(key), NULL, 10))
		return;
	error("storm: PreemptParameters has suspend_grace_time=0: the node may continue a job that was suspended between its turns; set it to 1 or more");
}

static bool checks_is_qos(const char *name)
{
	assoc_mgr_lock_t locks = { .qos = READ_LOCK };
	const slurmdb_qos_rec_t *qos;
	list_itr_t *it;
	bool found = false;

	assoc_mgr_lock(&locks);
	if (assoc_mgr_qos_list) {
		it = list_iterator_create(assoc_mgr_qos_list);
		while (!found && (qos = list_next(it)))
			found = layout_fits_qos(qos) &&
				!xstrcasecmp(qos->name, name);
		list_iterator_destroy(it);
	}
	assoc_mgr_unlock(&locks);
	return found;
}

/* Only slurmdbd gives jobs a QOS. */
static void checks_weights(const struct storm_gang_conf *conf)
{
	const char *storage = slurm_conf.accounting_storage_type;
	bool any = storage && strstr(storage, "slurmdbd");

	for (uint32_t i = 0; any && i < conf->qoses; i++)
		if (!checks_is_qos(conf->qos[i].name))
			error("storm: QosWeight in storm.conf names QOS %s, which slurmdbd does not have; correct the name, or add it with sacctmgr",
			      conf->qos[i].name);
	if (conf->qoses && !any)
		error("storm: QosWeight in storm.conf has no effect, as without slurmdbd jobs have no QOS; set AccountingStorageType=accounting_storage/slurmdbd in slurm.conf");
}

static bool checks_is_partition(const char *name)
{
	const part_record_t *part;
	bool found = false;
	list_itr_t *it;

	it = list_iterator_create(part_list);
	while (!found && (part = list_next(it)))
		found = !xstrcmp(part->name, name);
	list_iterator_destroy(it);
	return found;
}

/* A name that slurmctld does not have is a misprint, or the partition is gone. */
static void checks_names(const struct storm_gang_conf *conf)
{
	for (uint32_t i = 0; i < conf->partitions; i++) {
		const struct storm_conf_partition *p = &conf->partition[i];

		if (!checks_is_partition(p->name))
			error("storm: %s: slurmctld has no partition %s, so what is set for it has no effect; correct the name (upper and lower case differ), or remove it",
			      p->place[0] ? p->place : "storm.conf", p->name);
	}
}

static void checks_partition(const struct storm_gang_conf *conf,
			     const part_record_t *part)
{
	checks_preemption(part);
	if (!checks_is_gang(conf, part))
		return;
	checks_memory(part);
	checks_quantum(conf, part);
	checks_held_resources(conf, part);
}

void checks_warn(const struct storm_gang_conf *conf)
{
	slurmctld_lock_t locks = { .conf = READ_LOCK,
				   .node = READ_LOCK,
				   .part = READ_LOCK };
	const char *refusal;
	list_itr_t *it;
	part_record_t *part;

	lock_slurmctld(locks);
	/* a reconfigure can start slurmctld's own gang scheduler */
	refusal = checks_refusal();
	if (refusal)
		error("storm: %s", refusal);
	checks_suspend();
	checks_weights(conf);
	if (part_list) {
		checks_names(conf);
		it = list_iterator_create(part_list);
		while ((part = list_next(it)))
			checks_partition(conf, part);
		list_iterator_destroy(it);
	}
	unlock_slurmctld(locks);
}
