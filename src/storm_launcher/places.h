/*
 * places.h - which CPUs and GPUs of its node a task has, of those that Slurm gave to the
 * launchers.  The head counts them, a launcher chooses.  No I/O: the topology is a table.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PLACES_H
#define STORM_PLACES_H

#include "run_wire.h"
#include "src/libstorm/storm.h"

/* A CPU, by the kernel's number, and of what it is a part: CPUs with the same number of
 * a core are of the same core. */
struct place_cpu {
	uint32_t cpu, core, ldom, socket;
};

struct places {
	uint32_t count;
	struct place_cpu *cpus; /* ascending; the table */
	bool *taken;		/* of each */
	uint32_t *load;		/* of its core, while CPUs are chosen */
	uint64_t *order;	/* core and index, likewise */
	uint32_t gpus;
	bool *gpu_taken;
};

/* STORM_OK or STORM_ENOMEM.  Each CPU is a core of one socket until the table says more:
 * the caller may write to p->cpus at any time, but for the numbers of CPUs. */
int places_init(struct places *p, const struct storm_idset *cpus,
		uint32_t gpus);
void places_fini(struct places *p);

/* So many CPUs that no task has, in one domain of memory or socket if one has so many,
 * and in cores of which no task has any, if there are some; out is empty before.  False:
 * there are too few, or no memory, and nothing is taken. */
bool places_take_cpus(struct places *p, uint32_t count,
		      struct storm_idset *out);
void places_give_cpus(struct places *p, const struct storm_idset *cpus);
/* The CPUs that a task may use which has these and is bound to such units: of its cores
 * those that no other task has, of sockets and domains all.  False: no memory. */
bool places_widen(const struct places *p, const struct storm_idset *own,
		  enum run_bind unit, struct storm_idset *out);

/* Likewise, GPUs, which are numbered from 0. */
bool places_take_gpus(struct places *p, uint32_t count,
		      struct storm_idset *out);
void places_give_gpus(struct places *p, const struct storm_idset *gpus);

/* The nth one of a set and those that follow it, so many.  False: no memory, or there are
 * too few. */
bool places_part(const struct storm_idset *all, uint32_t nth, uint32_t count,
		 struct storm_idset *out);

/* How many names are in "0,1,3"; NULL, "" and what Slurm writes for none have none. */
uint32_t places_names(const char *names);
/* The names at these places, with commas between them; the length, without its zero, that
 * the whole has. */
size_t places_pick(const char *names, const struct storm_idset *which,
		   char *out, size_t size);

#endif
