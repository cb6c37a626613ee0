/*
 * jobs_model.c - see jobs_model.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "jobs_model.h"
#include "src/libstorm/base/idset.h"

#define GOT_LEAST 1.0 /* s; before that a share says nothing */

struct jobs_job *jobs_add(struct jobs *j)
{
	struct jobs_job *more = realloc(j->job, (j->count + 1) * sizeof(*more));

	if (!more)
		return NULL;
	j->job = more;
	memset(&more[j->count], 0, sizeof(*more));
	return &more[j->count++];
}

bool jobs_add_cores(struct jobs *j, const struct jobs_cores *c)
{
	if (j->ncores == j->room) {
		uint32_t room = j->room ? 2 * j->room : 64;
		struct jobs_cores *more =
			realloc(j->cores, room * sizeof(*more));

		if (!more)
			return false;
		j->cores = more;
		j->room = room;
	}
	j->cores[j->ncores++] = *c;
	return true;
}

bool jobs_add_node(struct jobs *j, char *name)
{
	char **more = realloc(j->node, (j->nnodes + 1) * sizeof(*more));

	if (more)
		j->node = more;
	if (!more || !name) {
		free(name);
		return false;
	}
	j->node[j->nnodes++] = name;
	return true;
}

static int jobs_order(const void *x, const void *y)
{
	const struct jobs_cores *a = x, *b = y;

	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* Two that overlap. */
static bool jobs_meet(struct jobs *j, uint32_t a, uint32_t b)
{
	return a == b || (!storm_idset_add(&j->job[a].with, b, b) &&
			  !storm_idset_add(&j->job[b].with, a, a));
}

bool jobs_share(struct jobs *j)
{
	if (j->ncores)
		qsort(j->cores, j->ncores, sizeof(*j->cores), jobs_order);
	for (uint32_t i = 0; i < j->ncores; i++) {
		const struct jobs_cores *a = &j->cores[i];

		for (uint32_t k = i + 1; k < j->ncores; k++) {
			const struct jobs_cores *b = &j->cores[k];

			if (b->node != a->node || b->first > a->last)
				break;
			if (!jobs_meet(j, a->job, b->job))
				return false;
		}
	}
	return true;
}

void jobs_clear(struct jobs *j)
{
	for (uint32_t i = 0; i < j->count; i++) {
		free(j->job[i].id);
		free(j->job[i].name);
		free(j->job[i].user);
		free(j->job[i].partition);
		free(j->job[i].nodes);
		storm_idset_clear(&j->job[i].with);
	}
	free(j->job);
	free(j->cores);
	for (uint32_t i = 0; i < j->nnodes; i++)
		free(j->node[i]);
	free(j->node);
	*j = (struct jobs) { 0 };
}

bool jobs_got(const struct jobs_job *job, double *got, double *due)
{
	double all = job->turns.had + job->turns.waited;

	if (!job->takes_turns || all < GOT_LEAST)
		return false;
	*got = job->turns.had / all;
	*due = (double) job->turns.have / job->turns.of;
	return true;
}

bool jobs_is_wrong(const struct jobs_job *job)
{
	return (job->takes_turns && *job->turns.out) ||
	       (job->held && job->hold.stands < job->hold.nodes);
}

bool jobs_has_part(const struct jobs_job *job)
{
	return job->with.count || job->takes_turns || job->held;
}

bool jobs_is_named(const struct jobs_job *job, const char *name)
{
	size_t len = strlen(name);
	char *end;

	if (strtoul(name, &end, 10) == job->number && !*end)
		return true;
	return !strncmp(job->id, name, len) &&
	       (!job->id[len] || job->id[len] == '_' || job->id[len] == '+');
}
