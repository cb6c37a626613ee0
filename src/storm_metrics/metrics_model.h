/*
 * metrics_model.h - what storm metrics tells, as numbers.  Without Slurm and without I/O.
 *
 * What agents say is foreign: a value that is none of the words known here counts as
 * another one, so that no node makes more series than there are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_METRICS_MODEL_H
#define STORM_METRICS_MODEL_H

#include "src/storm_common/fallback_word.h"
#include "src/storm_common/health_word.h"
#include "src/storm_common/launch_took.h"
#include "src/storm_status/status_ask.h"

#define METRICS_BUILDS 16 /* that are told apart */
#define METRICS_VERSION \
	48 /* bytes of a version, with its NUL; the rest is cut */

/* Sums over the agents, each since that agent began. */
enum metrics_counter {
	METRICS_STEPS,	  /* that STORM launched */
	METRICS_FALLBACK, /* those of Slurm in its place: one for each cause */
	METRICS_LAUNCHES =
		METRICS_FALLBACK + FALLBACK_CAUSES, /* without failed ones */
	METRICS_LAUNCHES_FAILED,
	METRICS_FILES,
	METRICS_FILES_FAILED,
	METRICS_BYTES,
	METRICS_SIGNALS,
	METRICS_TOOK, /* launches that were timed, by bucket of launch_took.h */
	METRICS_TOOK_SUM = METRICS_TOOK + LAUNCH_TOOKS, /* us */
	METRICS_REPAIRED, /* parts of files that were sent again */
	METRICS_COUNTERS
};

enum metrics_gang {
	METRICS_GANG_MEMBER,
	METRICS_GANG_NO_MEMBER,
	METRICS_GANG_EXCLUDED,
	METRICS_GANG_SILENT,
	METRICS_GANG_LACKING,
	METRICS_GANGS
};

/* Agents of one version. */
struct metrics_build {
	char version[METRICS_VERSION], slurm[METRICS_VERSION]; /* printable */
	uint32_t agents;
};

/* One query.  Plain memory: it can go through a pipe. */
struct metrics {
	bool answered; /* the query has succeeded; else what is below nodes is 0 */
	uint64_t at;   /* when it ended: Unix time, ms */
	uint64_t took; /* ns */
	uint32_t nodes;

	uint32_t up;
	uint32_t silent[FALLBACK_CAUSES]; /* by why they do not answer */
	uint32_t nowhere;		  /* Slurm has no address for them */
	uint64_t datagrams;		  /* that came to this host */
	struct metrics_build build[METRICS_BUILDS];
	uint32_t builds;
	uint32_t other_builds; /* agents of further ones */

	bool shown; /* this user may see what follows: PrivateData */
	bool whole; /* what follows is of all that answered */
	uint32_t health[HEALTH_CAUSES]; /* by enum health_cause */
	uint32_t other_health;		/* of a later version */
	uint32_t gang[METRICS_GANGS];
	uint32_t no_slurmd;
	uint64_t sessions;
	uint64_t oldest;  /* s since the first of these agents began */
	uint64_t age;	  /* s, the sum over all */
	uint32_t epoch;	  /* the last that a node has heard; 0: none */
	uint32_t behind;  /* nodes that have heard another one */
	uint64_t quantum; /* ns, the longest; 0: none takes turns */
	uint32_t turning; /* nodes that take turns */
	uint64_t counter[METRICS_COUNTERS];
};

/* Read what the agents have answered into *out, whose at and took stay. */
void metrics_read(const struct status_nodes *n, const struct status_answer *a,
		  struct metrics *out);
/* The names of the nodes that have answered, ascending, each with a newline behind it
 * (free).  NULL: no memory. */
char *metrics_names(const struct status_nodes *n);

#endif
