/*
 * runs_stock.c - what the job's nodes have, and what runs take of it.  See runs.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "runs.h"
#include "runs_private.h"

bool runs_stock_alloc(struct runs_stock *s, uint32_t nodes)
{
	s->cpus = calloc(nodes, sizeof(*s->cpus));
	s->gpus = calloc(nodes, sizeof(*s->gpus));
	s->mem = calloc(nodes, sizeof(*s->mem));
	return s->cpus && s->gpus && s->mem;
}

void runs_stock_free(struct runs_stock *s)
{
	free(s->cpus);
	free(s->gpus);
	free(s->mem);
	*s = (struct runs_stock) { NULL, NULL, NULL };
}

void runs_stock(struct runs *r, const uint32_t *gpus, const uint64_t *mem)
{
	memcpy(r->all.gpus, gpus, r->nodes * sizeof(*gpus));
	memcpy(r->free.gpus, gpus, r->nodes * sizeof(*gpus));
	memcpy(r->all.mem, mem, r->nodes * sizeof(*mem));
	memcpy(r->free.mem, mem, r->nodes * sizeof(*mem));
}

void runs_sum(const struct runs *r, struct run_stocks *out)
{
	*out = (struct run_stocks) { .cpus = 0 };
	for (uint32_t k = 0; k < r->nodes; k++) {
		out->cpus += r->all.cpus[k];
		out->free_cpus += r->free.cpus[k];
		out->gpus += r->all.gpus[k];
		out->free_gpus += r->free.gpus[k];
		out->mem += r->all.mem[k];
		out->free_mem += r->free.mem[k];
	}
}

struct run_share run_share_of(const struct runs *r, const struct user_run *run,
			      uint32_t node, uint32_t nth)
{
	uint32_t tasks = run->rank[nth + 1] - run->rank[nth];
	struct run_share s = { .cpus = tasks * run->cpus,
			       .gpus = run->node_gpus + tasks * run->gpus };

	if (run->whole)
		s.cpus = r->all.cpus[node];
	if (r->all.mem[node])
		s.mem = run->mem + run->cpu_mem * s.cpus;
	return s;
}

void runs_give_share(struct runs *r, uint32_t node, struct run_share s)
{
	r->free.cpus[node] += s.cpus;
	r->free.gpus[node] += s.gpus;
	r->free.mem[node] += s.mem;
}

void runs_take_share(struct runs *r, uint32_t node, struct run_share s)
{
	r->free.cpus[node] -= s.cpus;
	r->free.gpus[node] -= s.gpus;
	r->free.mem[node] -= s.mem;
}
