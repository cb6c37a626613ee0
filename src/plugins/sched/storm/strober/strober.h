/*
 * strober.h - what slurmctld's plugin and its child, the strober, say to each
 * other, along a stream socket that both were born with: the child's standard
 * input.  Integers in host byte order: both are one build on one machine.
 *
 * A frame is struct strober_frame and its body.  When the socket ends, the other
 * side is gone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBER_H
#define STORM_STROBER_H

#include <stdint.h>

#include "src/libstorm/base/clock.h"

enum strober_verb {
	/* plugin: the nodes of the domain, in its order: their names, each with
	 * a NUL at its end.  Slurm's configuration is read anew. */
	STROBER_NODES = 1,
	/* plugin: gang_map_pack()'s, of those nodes */
	STROBER_MAP = 2,
	/* plugin, every STROBER_PULSE_EVERY: I am alive, and the time of that
	 * (uint64_t, CLOCK_MONOTONIC), for it may wait to be read.  Without it
	 * for STROBER_PULSE_LIMIT everything runs. */
	STROBER_PULSE = 3,
	/* strober, every STROBER_REPORT_EVERY while something is shared: struct
	 * strober_report, then struct strober_given for each job of the map */
	STROBER_REPORT = 4,
	/* strober: struct strober_missed of each node that has missed strobes */
	STROBER_MISSED = 5,
};

#define STROBER_PULSE_EVERY (100 * STORM_MS)
#define STROBER_PULSE_LIMIT (400 * STORM_MS)
#define STROBER_PULSE_GRACE (200 * STORM_MS)	/* while some is unread */
#define STROBER_REPORT_EVERY STORM_SEC

struct strober_frame {
	uint32_t verb;
	uint32_t len;		/* of the body */
};
#define STROBER_BODY_MAX (32u << 20)

struct strober_report {
	uint64_t version;	/* of the map */
	uint64_t switches, repeats, late;
	uint64_t latest;	/* ns that the worst strobe came after its time */
	uint32_t outside;	/* nodes that are not members */
	uint32_t njobs;
};

struct strober_given {
	uint32_t job_id;
	uint32_t pad;
	uint64_t ns;		/* for which it had its slots */
};

struct strober_missed {
	uint32_t node;		/* its number in the domain */
	uint32_t pad;
	uint64_t strobes;	/* since its agent began */
};

/* Exit status: no use to hurry with the next one. */
#define STROBER_EXIT_CONF 3

#endif
