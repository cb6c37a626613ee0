/*
 * storm_conf.h - storm.conf, which lies beside slurm.conf and is written as
 * that is.  Every key has a default that suits a LAN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_H
#define STORM_CONF_H

#include <sched.h>

#include "src/libstorm/storm.h"

/* What srun does when storm cannot serve a step, before the first byte of the
 * launch has left. */
enum storm_fallback {
	FALLBACK_WARN,		/* Slurm's own launch, with one warning */
	FALLBACK_NEVER		/* an error */
};

/* Which of Slurm's schedulers sched/storm runs, and how it packs. */
enum storm_base { BASE_BACKFILL, BASE_BUILTIN };
enum storm_packing { PACKING_FIRST_FIT, PACKING_BUDDY };

/* Partitions that are named. */
#define STORM_CONF_PARTITIONS 32
struct storm_conf_partition {
	char name[64];
	uint64_t quantum;	/* 0: not given */
	bool local;		/* no gang scheduling, whatever it shares */
};

struct storm_gang_conf {
	enum storm_base base;
	enum storm_packing packing;
	uint64_t quantum;	/* ns, where a partition has none of its own */
	/* what jobs hold out of turn, too: whoever names it, knows */
	bool allow_gpus, allow_licenses;
	struct storm_conf_partition partition[STORM_CONF_PARTITIONS];
	uint32_t partitions;
};

/* Network contexts of steps. */
#define STORM_CONTEXTS_MAX 1048576
struct storm_context_conf {
	uint32_t count;		/* 0: there are none */
	uint32_t group;		/* of the first one; IPv4, in the host's order */
};

struct storm_conf {
	struct storm_settings set;
	enum storm_fallback fallback;
	/* how steps are stopped: "cgroup2", "signals" or "freezer"; "": as the
	 * node can */
	char freezer[16];
	/* do steps that a debugger has hold of run all the time? */
	bool gang_debug;
	/* CPUs that no job is given, to which the agent is bound; none: it runs
	 * where slurmd does */
	cpu_set_t agent_cpus;
	/* ns that an agent whose slurmd is gone waits for the next one */
	uint64_t agent_linger;
	struct storm_gang_conf gang;
	struct storm_context_conf context;
};

/*
 * Read storm.conf; slurm.conf must have been read (slurm_conf_init).  No file:
 * the defaults.  SLURM_SUCCESS, or SLURM_ERROR and *error, a sentence that
 * names the file, the line and the key, to be freed with xfree(); *out is then
 * untouched.  Never ends the process.
 */
int storm_conf_load(struct storm_conf *out, char **error);

/* The same from a named file, which must exist. */
int storm_conf_load_file(const char *path, struct storm_conf *out,
			 char **error);

void storm_conf_default(struct storm_conf *out);

/* NULL: storm.conf does not name it. */
const struct storm_conf_partition *
storm_conf_partition(const struct storm_gang_conf *g, const char *name);

/* What an agent goes by, as a short string: it differs once storm.conf has changed, or
 * slurm.conf's SchedulerType. */
#define STORM_CONF_STAMP_MAX 96
void storm_conf_stamp(char out[STORM_CONF_STAMP_MAX]);

#endif
