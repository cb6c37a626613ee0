/*
 * task_env.c - the environment of a task (task.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "places.h"
#include "src/libstorm/base/minmax.h"
#include "task.h"

/* Names of the client's step, or of none, that would be wrong in a task. */
static const char *const task_not_given[] = {
	"SLURM_PROCID",
	"SLURM_LOCALID",
	"SLURM_NODEID",
	"SLURM_NTASKS",
	"SLURM_NPROCS",
	"SLURM_NNODES",
	"SLURM_GTIDS",
	"SLURM_TASK_PID",
	"SLURM_STEP_ID",
	"SLURM_STEPID",
	"SLURM_STEP_NODELIST",
	"SLURM_STEP_NUM_NODES",
	"SLURM_STEP_NUM_TASKS",
	"SLURM_STEP_TASKS_PER_NODE",
	"SLURMD_NODENAME",
	"SLURM_TASKS_PER_NODE",
	"SLURM_CPU_BIND",
	"SLURM_CPU_BIND_LIST",
	"SLURM_CPU_BIND_TYPE",
	"SLURM_CPU_BIND_VERBOSE",
	"SLURM_UMASK",
	"SLURM_DISTRIBUTION",
	"SLURM_STEP_LAUNCHER_PORT",
	"STORM_RUN",
};

/* Begins of names by which a client in a step of srun's reaches that step. */
static const char *const task_no_begins[] = {
	"PMI_",
	"PMIX_",
	"SLURM_PMI",
	"SLURM_PTY_",
	"SLURM_SRUN_COMM_",
	"SLURM_LAUNCH_NODE_IPADDR",
	"STORM_CONTEXT",
};

/* GPUs are chosen by them. */
static const char *const task_gpu_names[] = { TASK_GPU_NAMES };

/* slurmstepd makes them for its node, and the keeper lets none of others through: those
 * that a launcher has are right in its tasks. */
static const char *const task_of_node[] = {
	"SLURM_CPUS_ON_NODE",
	"SLURM_GPUS_ON_NODE",
	"SLURM_JOB_GPUS",
	"SLURM_SHARDS_ON_NODE",
	"SLURM_STEP_GPUS",
	"SLURM_TOPOLOGY_ADDR",
	"SLURM_TOPOLOGY_ADDR_PATTERN",
	TASK_GPU_NAMES,
};

#define TASK_COUNT(names) (sizeof(names) / sizeof(char *))

/* The one of these names that the variable has, or NULL. */
static const char *task_name(const char *variable, const char *const *names,
			     size_t count)
{
	size_t n = strcspn(variable, "=");

	for (size_t i = 0; i < count; i++)
		if (!strncmp(variable, names[i], n) && !names[i][n])
			return names[i];
	return NULL;
}

/* Is this variable of the client's right in a task?  slurm_gpus: Slurm has given GPUs to
 * the client. */
static bool task_keeps(const char *variable, bool slurm_gpus)
{
	const char *gpu =
		task_name(variable, task_gpu_names, TASK_COUNT(task_gpu_names));

	if (gpu) /* the user's own, unless Slurm has a say */
		return !slurm_gpus && !getenv(gpu);
	for (size_t i = 0; i < TASK_COUNT(task_no_begins); i++)
		if (!strncmp(variable, task_no_begins[i],
			     strlen(task_no_begins[i])))
			return false;
	return !task_name(variable, task_of_node, TASK_COUNT(task_of_node)) &&
	       !task_name(variable, task_not_given, TASK_COUNT(task_not_given));
}

/* Variables behind each other; the first pass measures. */
struct task_vars {
	char **env;
	uint32_t count;
	char *text;
	size_t len, room;
};

__attribute__((format(printf, 2, 3))) static void task_var(struct task_vars *v,
							   const char *fmt, ...)
{
	bool fits = v->len < v->room;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(fits ? v->text + v->len : NULL,
		      fits ? v->room - v->len : 0, fmt, ap);
	va_end(ap);
	if (v->env)
		v->env[v->count] = v->text + v->len;
	v->count++;
	v->len += (size_t) (n > 0 ? n : 0) + 1;
}

/* The ranks of this node, as "0,1,2": more than the first thousand nobody reads. */
static void task_ranks(char *out, size_t size, uint32_t first, uint32_t n)
{
	size_t len = 0;

	for (uint32_t k = 0; k < n && len + 12 < size; k++)
		len += (size_t) snprintf(out + len, size - len, "%s%u",
					 k ? "," : "", first + k);
}

/* Those that say which GPUs of the node are a task's, or its run's. */
static bool task_is_gpus(const char *name)
{
	return task_name(name, task_gpu_names, TASK_COUNT(task_gpu_names)) ||
	       !strcmp(name, "SLURM_STEP_GPUS") ||
	       !strcmp(name, "SLURM_GPUS_ON_NODE");
}

/* Those that slurmstepd gave the launchers, with less in them.  Without GPUs the variables
 * that Slurm has are not there, as with srun; an empty one of the others hides all. */
static void task_vars_gpus(struct task_vars *v, const struct task_form *f,
			   const struct task_place *place)
{
	unsigned long long run = storm_idset_size(f->gpus);

	for (size_t i = 0; i < TASK_COUNT(task_of_node); i++) {
		const char *value = getenv(task_of_node[i]);
		bool slurms = !strncmp(task_of_node[i], "SLURM_", 6);
		char picked[4096];

		if (!task_is_gpus(task_of_node[i]) || !value ||
		    (slurms && !run))
			continue;
		if (!strcmp(task_of_node[i], "SLURM_GPUS_ON_NODE"))
			snprintf(picked, sizeof(picked), "%llu", run);
		else
			places_pick(value, &place->gpus, picked,
				    sizeof(picked));
		task_var(v, "%s=%s", task_of_node[i], picked);
	}
}

static void task_vars_all(struct task_vars *v, const struct task_form *f,
			  uint32_t local, const struct task_place *place)
{
	const struct run_start *s = f->start;
	uint32_t nodes = (uint32_t) storm_idset_size(&s->nodes);
	uint32_t first = s->rank[f->nth];
	const char *counts = f->counts ? f->counts : "";
	char ranks[8192] = "", parent[RUN_PARENT_TEXT];

	run_parent_text(s->life, &parent);
	task_ranks(ranks, sizeof(ranks), first, s->rank[f->nth + 1] - first);
	/* the child writes its number there */
	task_var(v, TASK_PID_VARIABLE "%*s", TASK_PID_DIGITS, "");
	task_var(v, "SLURM_PROCID=%u", first + local);
	task_var(v, "SLURM_LOCALID=%u", local);
	task_var(v, "SLURM_NODEID=%u", f->nth);
	task_var(v, "SLURM_NTASKS=%u", s->tasks);
	task_var(v, "SLURM_NPROCS=%u", s->tasks);
	task_var(v, "SLURM_NNODES=%u", nodes);
	task_var(v, "SLURM_STEP_NUM_TASKS=%u", s->tasks);
	task_var(v, "SLURM_STEP_NUM_NODES=%u", nodes);
	task_var(v, "SLURM_GTIDS=%s", ranks);
	if (s->cpus)
		task_var(v, "SLURM_CPUS_PER_TASK=%u", s->cpus);
	task_var(v, "SLURM_UMASK=%04o", f->what->umask);
	task_var(v, "SLURM_STEP_NODELIST=%s", s->names);
	task_var(v, "SLURM_STEP_TASKS_PER_NODE=%s", counts);
	task_var(v, "SLURM_TASKS_PER_NODE=%s", counts);
	task_var(v, "SLURM_STEP_ID=%s", f->step);
	task_var(v, "%s%llu", parent, (unsigned long long) s->number);
	task_var(v, "SLURM_STEPID=%s", f->step);
	task_var(v, "SLURMD_NODENAME=%s", f->name);
	if (f->what->mpi == RUN_MPI_PMI1) {
		task_var(v, "PMI_FD=%d", TASK_PMI_FD);
		task_var(v, "PMI_RANK=%u", first + local);
		task_var(v, "PMI_SIZE=%u", s->tasks);
	}
	if (f->gpus)
		task_vars_gpus(v, f, place);
	/* without them, and SLURM_STEP_ID, Open MPI 4.1 takes each rank for a program
	 * of its own, or ends */
	if (f->what->mpi == RUN_MPI_PMIX) {
		const char *job = getenv("SLURM_JOB_ID");

		task_var(v, "SLURM_JOBID=%s", job ? job : "");
		task_var(v, "SLURM_NODELIST=%s", s->names);
	}
}

/* Has the task this variable anyway, by task_vars_all()? */
static bool task_has_own(const struct task_form *f, const char *variable)
{
	static const char *const pmix[] = { "SLURM_JOBID", "SLURM_NODELIST" };
	static const char *const cpus[] = { "SLURM_CPUS_PER_TASK" };

	return (f->start->cpus &&
		task_name(variable, cpus, TASK_COUNT(cpus))) ||
	       (f->what->mpi == RUN_MPI_PMIX &&
		task_name(variable, pmix, TASK_COUNT(pmix)));
}

uint32_t task_gpus(void)
{
	uint32_t most = 0;

	for (size_t i = 0; i < TASK_COUNT(task_gpu_names); i++)
		most = (uint32_t) storm_max(
			most, places_names(getenv(task_gpu_names[i])));
	return most;
}

char **task_env(const struct task_form *f, uint32_t local,
		const struct task_place *place, char *const *mpi)
{
	struct task_vars size = { 0 }, v = { 0 };
	uint32_t given = 0, more = 0;
	bool slurm_gpus = f->gpus != NULL;
	size_t pointers;

	for (; f->what->env[given]; given++)
		slurm_gpus |= !strncmp(f->what->env[given],
				       "SLURM_GPUS_ON_NODE=", 19);
	while (mpi && mpi[more])
		more++;
	task_vars_all(&size, f, local, place);
	pointers = (size.count + TASK_COUNT(task_of_node) + given + more + 1) *
		   sizeof(char *);
	v.env = malloc(pointers + size.len);
	if (!v.env)
		return NULL;
	v.text = (char *) v.env + pointers;
	v.room = size.len;
	task_vars_all(&v, f, local, place);
	for (size_t i = 0; i < TASK_COUNT(task_of_node); i++) {
		char *value = getenv(task_of_node[i]);

		if (value && !(f->gpus && task_is_gpus(task_of_node[i])))
			/* what getenv(3) finds has its name before it */
			v.env[v.count++] = value - strlen(task_of_node[i]) - 1;
	}
	for (uint32_t k = 0; k < given; k++)
		if (task_keeps(f->what->env[k], slurm_gpus) &&
		    !task_has_own(f, f->what->env[k]))
			v.env[v.count++] = f->what->env[k];
	for (uint32_t k = 0; k < more; k++)
		v.env[v.count++] = mpi[k];
	v.env[v.count] = NULL;
	return v.env;
}
