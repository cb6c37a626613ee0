/*
 * scenario.h - what storm_sim runs: nodes on a network, operations one after
 * the other, and faults at their times.  A scenario is a JSON file;
 * storm_sim(1) describes every key.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SIM_SCENARIO_H
#define STORM_SIM_SCENARIO_H

#include <json-c/json.h>

#include "src/libstorm/storm.h"
#include "src/storm_sim/model/model.h"

#define SCENARIO_LAUNCHES STORM_REPORT_KINDS
#define SCENARIO_SIZE_MAX 4294967294.0 /* bytes of a transfer */

enum fault_kind {
	FAULT_CRASH,
	FAULT_PAUSE,
	FAULT_DISK,
	FAULT_SLOW,
	FAULT_LOSS,
	FAULT_CUT,
	FAULT_VERSION,
	FAULT_FORGE,
	FAULT_HANG
};

/* scenario_settle() replaces both. */
#define NODE_RANDOM (UINT32_MAX - 1)
#define ANY_TIME -1.0

struct fault {
	int kind;	  /* enum fault_kind */
	double at, until; /* s; before it is settled a time between them */
	uint32_t node;	  /* STORM_NO_NODE: the owner */
	double seconds;	  /* how long; crash: until it restarts, 0: never */
	double fraction;  /* of datagrams lost, or of all nodes that crash */
	int way;	  /* enum cut_way */
};

enum cut_way { CUT_BOTH, CUT_TO, CUT_FROM };

enum op_kind { OP_OPEN, OP_COMPARE, OP_TRANSFER, OP_LAUNCH, OP_SET, OP_WAIT };

struct op {
	int kind;	      /* enum op_kind */
	uint32_t first, last; /* P; all nodes: 0 to UINT32_MAX */
	uint32_t repeat;
	double size;	   /* bytes */
	int target;	   /* enum storm_target_kind */
	uint32_t variable; /* own, or STORM_GLOBAL(i) */
	int relation;	   /* enum storm_relation */
	double value;
	bool write;
	uint32_t write_variable;
	double write_value;
	double seconds, jitter; /* s, of a wait, or of a launch's processes */
	double others; /* s, simulated, until the nodes without a fault have the
			  file (each: show it); 0: any */
	bool each;     /* STORM_FILE_EACH */
	double within; /* s, simulated; 0: what the time-outs allow */
	double owner_datagrams, node_datagrams; /* most control sent; 0: any */
	double model_error;  /* most, as a part of the model's time; 0: any */
	double rounds_error; /* most, beside the model with rounds; 0: any */
	bool succeeds;	     /* any other end is a violation */
};

struct scenario {
	char *name;
	uint64_t seed;
	uint32_t nodes;
	struct storm_settings set;
	const struct storm_model_net *net;
	double bus, bandwidth;	      /* bytes/s */
	double latency, jitter, late; /* s */
	double loss, duplicates, late_fraction;
	bool carries_multicast, frames;
	uint32_t datagram; /* bytes */
	double disk;	   /* s, at most, for each step of a file */
	double host;	   /* s, for each datagram received */
	struct op *op;
	uint32_t ops;
	struct fault *fault;
	uint32_t faults;
};

/* Load a scenario, which the caller frees.  NULL: the error was printed on
 * stderr, with the file, the key and what to write instead. */
struct scenario *scenario_load(const char *file);
struct scenario *scenario_copy(const struct scenario *s);
void scenario_free(struct scenario *s);
/* Choose by the seed what the faults leave to chance, and replace nodes beyond
 * the last one. */
void scenario_settle(struct scenario *s);
/* The scenario as JSON, as scenario_load() takes it.  The caller owns it. */
json_object *scenario_json(const struct scenario *s);

const char *op_name(int kind);

#endif
