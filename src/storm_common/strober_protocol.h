/*
 * strober_protocol.h - the frames that slurmctld's plugin and its child, the
 * strober, exchange over a stream socket, which is the child's standard input.
 * Integers are in host byte order: both are of one build and on one host.
 *
 * A frame is struct strober_frame and its body.  The end of the stream means
 * that the other side is gone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STROBER_PROTOCOL_H
#define STORM_STROBER_PROTOCOL_H

#include <stdint.h>

#include "src/libstorm/base/clock.h"

enum strober_verb {
	/* From the plugin: the domain's nodes in its order, for each its name,
	 * where slurmctld finds it, the port of its slurmd in decimal, and
	 * STROBER_SHARES if jobs may share it, else nothing, with a NUL each.
	 * The strober reads slurm.conf again. */
	STROBER_NODES = 1,
	/* From the plugin: a map of these nodes (gang_map_pack()). */
	STROBER_MAP = 2,
	/* From the plugin, every STROBER_PULSE_EVERY: a sign of life.  It has
	 * the time when it was sent (uint64_t, ns of CLOCK_MONOTONIC), because
	 * it may wait long to be read.  After STROBER_PULSE_LIMIT without one
	 * everything runs. */
	STROBER_PULSE = 3,
	/* From the strober, every STROBER_REPORT_EVERY while jobs share: struct
	 * strober_report, then struct strober_given for each job of the map. */
	STROBER_REPORT = 4,
	/* From the strober: struct strober_missed for each node that has missed
	 * strobes. */
	STROBER_MISSED = 5,
	/* From the strober, every STROBER_REPORT_EVERY while its domain is
	 * open, and at once when it changes: uint32_t number of the domain's
	 * nodes, uint32_t 0, then struct strober_outside for each node that is
	 * out of gang scheduling. */
	STROBER_OUTSIDE = 6,
	/* From the plugin: StrobeLead of storm.conf (uint64_t, ns).  It is 0
	 * until then. */
	STROBER_LEAD = 7,
	/* From the strober, as often as STROBER_OUTSIDE: struct strober_held,
	 * then uint32_t, the number, of each node where not all held jobs are
	 * known to stand. */
	STROBER_HELD = 8,
	/* From the strober, as often as STROBER_OUTSIDE: uint32_t number of the
	 * domain's nodes, uint32_t 0, then struct strober_failed for each node
	 * with which something is wrong, ascending. */
	STROBER_FAILED = 9,
};

enum strober_state {
	/* No sign of life comes from the node, and none of its ports has
	 * answered yet. */
	STROBER_SUSPECT = 1,
	STROBER_FOUND = 2, /* there is a cause */
	/* It is there, and says that it is not well: the cause is one of
	 * health_word.h, no time is given. */
	STROBER_UNWELL = 3,
};

enum strober_cause {
	STROBER_UNKNOWN,
	STROBER_UNREACHABLE, /* nothing there answers */
	STROBER_SLURMD_GONE, /* the host answers, its slurmd does not */
	STROBER_SLURMD_HUNG, /* its agent says so, but the port answers */
	STROBER_AGENT,	     /* slurmd's port answers, no sign of life comes */
	STROBER_DEAF,	     /* signs of life come, and nothing reaches it */
	STROBER_RETURNING,   /* signs of life come, slurmd was not asked yet */
};

#define STROBER_SHARES "s"
#define STROBER_HEAD (2 * sizeof(uint32_t)) /* of a list of nodes */

#define STROBER_PULSE_EVERY (100 * STORM_MS)
#define STROBER_PULSE_LIMIT (400 * STORM_MS)
#define STROBER_PULSE_GRACE (200 * STORM_MS) /* with unread input */
#define STROBER_REPORT_EVERY STORM_SEC

struct strober_frame {
	uint32_t verb;
	uint32_t len; /* of the body */
};
#define STROBER_BODY_MAX (32u << 20)

struct strober_report {
	uint64_t version; /* of the map */
	uint64_t switches,
		repeats;  /* strobes for another slot; repeated ones */
	uint64_t late;	  /* strobes that were late */
	uint64_t latest;  /* ns by which the latest was late */
	uint32_t outside; /* nodes that are not members */
	uint32_t njobs;
};

struct strober_given {
	uint32_t job_id;
	uint32_t pad;
	uint64_t ns;	 /* that the job has had in its slots */
	uint64_t waited; /* ns that it has waited outside them */
};

struct strober_missed {
	uint32_t node; /* its number in the domain */
	uint32_t pad;
	uint64_t strobes; /* since its agent started */
};

struct strober_outside {
	uint32_t node;	  /* its number in the domain */
	uint32_t lacks;	  /* the errno of what its agent cannot have; or 0 */
	int64_t since;	  /* seconds of the wall clock */
	uint32_t deaf;	  /* 1: it is there, and hears no strobe */
	uint32_t unheard; /* 1: no member since the strober began */
};

struct strober_failed {
	uint32_t node; /* its number in the domain */
	uint16_t state, cause;
	/* ns of CLOCK_MONOTONIC: when it was last heard (0: never since the
	 * domain was opened), and when it was found. */
	uint64_t heard, found;
};

struct strober_held {
	uint64_t force; /* the version of the map that strobes go by; 0: none */
	uint64_t proof; /* the version of the map whose held jobs are meant; 0:
			   nothing is known */
	uint32_t nodes; /* of the domain */
	uint32_t loose; /* how many numbers follow, ascending */
};

#endif
