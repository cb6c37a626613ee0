/*
 * keeper_nodes.c - see keeper_nodes.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job_nodes.h"
#include "keeper_nodes.h"
#include "runs.h"
#include "slurm_says.h"

/* Memory of the job, in MB; where Slurm does not count it there is no such variable, or
 * it is 0. */
static void nodes_memory(struct run_step *s)
{
	const char *node = getenv("SLURM_MEM_PER_NODE");
	const char *cpu = getenv("SLURM_MEM_PER_CPU");

	for (uint32_t k = 0; k < s->count; k++)
		s->mem[k] = node ? strtoull(node, NULL, 10) :
			    cpu	 ? strtoull(cpu, NULL, 10) * s->cpus[k] :
				   0;
}

bool keeper_nodes_init(struct run_step *s, char *why, size_t size)
{
	const char *nodes = getenv("SLURM_JOB_NUM_NODES");
	const char *cpus = getenv("SLURM_JOB_CPUS_PER_NODE");
	const char *job = getenv("SLURM_JOB_ID");
	unsigned long n = nodes ? strtoul(nodes, NULL, 10) : 0;

	if (!job || !n || n > STORM_NODES_MAX || !cpus) {
		snprintf(
			why, size,
			"SLURM_JOB_ID, SLURM_JOB_NUM_NODES or SLURM_JOB_CPUS_PER_NODE is not set: run it in a batch script");
		return false;
	}
	s->job = (uint32_t) strtoul(job, NULL, 10);
	if (!run_step_alloc(s, (uint32_t) n)) {
		snprintf(why, size, "no memory");
		return false;
	}
	if (runs_cpus_read(cpus, s->count, s->cpus)) {
		nodes_memory(s);
		return true;
	}
	snprintf(why, size, "SLURM_JOB_CPUS_PER_NODE=%s does not fit %u nodes",
		 cpus, s->count);
	return false;
}

/* ---------------------------------------------------------------------- asked --- */

struct asked {
	struct storm_node *nodes;
	uint32_t count, room;
	char *job;
};

static void asked_name(void *arg, char *text)
{
	struct asked *a = arg;

	if (a->count == a->room)
		return;
	a->nodes[a->count].name = strdup(text);
	a->count += a->nodes[a->count].name != NULL;
}

static void asked_job(void *arg, char *text)
{
	struct asked *a = arg;

	if (!a->job)
		a->job = strdup(text);
}

bool keeper_nodes_lose(struct run_step *s)
{
	char number[16], *all = getenv("SLURM_JOB_NODELIST");
	char *show_names[] = { "scontrol", "show", "hostnames", all, NULL };
	char *show_job[] = { "scontrol", "--oneliner", "show",
			     "job",	 number,       NULL };
	struct asked a = { .room = s->count };
	const char *list;
	uint32_t left = 0;

	snprintf(number, sizeof(number), "%u", s->job);
	a.nodes = calloc(s->count, sizeof(*a.nodes));
	if (a.nodes && all && slurm_says(show_names, asked_name, &a) &&
	    a.count == s->count && slurm_says(show_job, asked_job, &a) &&
	    a.job && job_nodes_read(a.job, &list))
		left = job_nodes_keep(list, a.nodes, a.count, s->cpus);
	for (uint32_t k = 0; k < a.count; k++)
		free((char *) a.nodes[k].name);
	free(a.nodes);
	free(a.job);
	if (!left || left == s->count)
		return false;
	storm_log(STORM_LOG_INFO, "the job has %u of %u nodes left", left,
		  s->count);
	s->count = left;
	nodes_memory(s);
	return true;
}
