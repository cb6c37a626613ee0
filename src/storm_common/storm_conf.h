/*
 * storm_conf.h - read storm.conf, which is in slurm.conf's directory and has
 * its syntax.  Every key has a default that suits a LAN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_H
#define STORM_CONF_H

#include <sched.h>

#include "src/libstorm/storm.h"

/* What srun does if STORM cannot launch a step, before it has sent any of the
 * launch. */
enum storm_fallback {
	FALLBACK_WARN, /* Slurm's standard launch, one warning */
	FALLBACK_NEVER /* fail */
};

/* Which of Slurm's schedulers sched/storm runs, and how it packs. */
enum storm_base { BASE_BACKFILL, BASE_BUILTIN };
enum storm_packing { PACKING_FIRST_FIT, PACKING_BUDDY };

/* Partitions that storm.conf names. */
#define STORM_CONF_PARTITIONS 32
struct storm_conf_partition {
	char name[64];
	uint64_t quantum; /* ns; 0: not given */
	bool local;	  /* no gang scheduling, even if jobs share */
};

struct storm_gang_conf {
	enum storm_base base;
	enum storm_packing packing;
	uint64_t quantum; /* ns, for partitions without their own */
	/* GangAllow: no warning that jobs hold these between turns */
	bool allow_gpus, allow_licenses;
	struct storm_conf_partition partition[STORM_CONF_PARTITIONS];
	uint32_t partitions;
};

/* Network contexts of steps. */
#define STORM_CONTEXTS_MAX 1048576
struct storm_context_conf {
	uint32_t count;	   /* 0: no contexts */
	uint32_t per_user; /* for steps of one user, but for SlurmUser's */
	uint32_t group;	   /* of the first one; IPv4, in host byte order */
};

#define STORM_CONF_ALLOW_MAX 1024
struct storm_conf {
	struct storm_settings set;
	enum storm_fallback fallback;
	/* who may open sessions, and from where; "": all */
	char allow_users[STORM_CONF_ALLOW_MAX];
	char allow_hosts[STORM_CONF_ALLOW_MAX];
	/* how steps are stopped: "cgroup2", "signals" or "freezer"; "": the
	 * best that the node has */
	char freezer[16];
	/* do steps that a debugger traces run all the time? */
	bool gang_debug;
	/* CPUs without jobs, to which the agent is bound; none: it runs where
	 * slurmd does */
	cpu_set_t agent_cpus;
	/* ns that an agent without a slurmd waits for the next one */
	uint64_t agent_linger;
	struct storm_gang_conf gang;
	struct storm_context_conf context;
};

/*
 * Read storm.conf; slurm.conf must have been read (slurm_conf_init()).  Without
 * the file *out gets the defaults.  Returns SLURM_SUCCESS, or SLURM_ERROR and
 * *error, which names file, line and key; *out is then unchanged.  The caller
 * frees *error with xfree().  Never ends the process.
 */
int storm_conf_load(struct storm_conf *out, char **error);

/* The same for the file `path`, which must exist. */
int storm_conf_load_file(const char *path, struct storm_conf *out,
			 char **error);

void storm_conf_default(struct storm_conf *out);

/* The partition's entry, owned by *g.  NULL: storm.conf does not name it. */
const struct storm_conf_partition *
storm_conf_partition(const struct storm_gang_conf *g, const char *name);

/* A string that identifies the settings of an agent.  It differs once
 * storm.conf, or slurm.conf's SchedulerType, has changed. */
#define STORM_CONF_STAMP_MAX 96
void storm_conf_stamp(char out[STORM_CONF_STAMP_MAX]);

#endif
