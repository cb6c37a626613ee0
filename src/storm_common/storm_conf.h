/*
 * storm_conf.h - the values that storm.conf sets, and how Slurm's programs read
 * them.  The file is in slurm.conf's directory and has its syntax.  Every key
 * has a default that suits a LAN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONF_H
#define STORM_CONF_H

#include <limits.h>
#include <sched.h>
#include <stdbool.h>

#include "gang_policy.h"
#include "src/libstorm/storm.h"

/* What srun does if STORM cannot launch a step and has sent none of the launch
 * yet. */
enum storm_fallback {
	FALLBACK_NODES, /* as FALLBACK_WARN; but where a few nodes are the cause,
			   Slurm's messages go to these alone */
	FALLBACK_WARN,	/* Slurm's standard launch, one warning */
	FALLBACK_NEVER	/* fail */
};

/* FailedLaunch: what a command does before COMMIT about nodes that STORM does not
 * reach, and whose slurmd does not answer either. */
enum storm_failed_launch {
	FAILED_LAUNCH_FALLBACK, /* what Fallback says */
	FAILED_LAUNCH_RETRY, /* leave them out where the step may; else fail */
	FAILED_LAUNCH_FAIL
};

/* Which of Slurm's schedulers sched/storm runs, and how it packs. */
enum storm_base { BASE_BACKFILL, BASE_BUILTIN };
enum storm_packing { PACKING_FIRST_FIT, PACKING_BUDDY };

/* What slurmctld does with a node that has failed. */
enum storm_failed { FAILED_REPORT, FAILED_DRAIN, FAILED_DOWN };

/* A partition that storm.conf names; at most so many. */
#define STORM_CONF_PARTITIONS 32
struct storm_conf_partition {
	char name[64]; /* upper and lower case differ, as they do in Slurm */
	/* "file:line" of the partition's line, perhaps without its beginning;
	 * "": only keys of the old form name it */
	char place[192];
	uint64_t quantum; /* ns; 0: not given */
	bool local;	  /* no gang scheduling, even if jobs share */
	bool limit_by_turns;
	bool turns; /* `policy` is given */
	enum gang_policy policy;
};

/* QosWeight: jobs of this QOS have so many turns for each of another's. */
#define STORM_CONF_QOS 32
#define STORM_CONF_WEIGHT_MAX 16
struct storm_conf_qos {
	char name[64];
	uint32_t weight;
};

struct storm_gang_conf {
	enum storm_base base;
	enum storm_packing packing;
	uint64_t quantum; /* ns, for partitions without their own */
	/* ns from a strobe to the slot that it announces; 0: nodes act when it
	 * comes */
	uint64_t lead;
	/* Every node is in the cluster domain, and not only those of partitions
	 * that share. */
	bool cluster;
	enum storm_failed failed;
	uint64_t act_after; /* ns of silence that suffice alone */
	/* Nothing is done if more nodes fail, or more per cent of them; 0: the
	 * greater one of the defaults. */
	uint32_t failed_max;
	bool failed_percent;
	/* GangAllow: no warning that jobs hold these between turns */
	bool allow_gpus, allow_licenses;
	struct storm_conf_partition partition[STORM_CONF_PARTITIONS];
	uint32_t partitions;
	struct storm_conf_qos qos[STORM_CONF_QOS];
	uint32_t qoses;
};

/* What a node is checked for while it is idle. */
#define STORM_CONF_PATHS_MAX 1024
struct storm_health_conf {
	uint64_t period;	/* ns; 0: it is not checked */
	uint64_t space, memory; /* bytes; less is too little */
	uint32_t inodes;	/* fewer are too few */
	bool busy;		/* also while jobs run there */
	uint64_t timeout; /* ns that the program has, and each check at most */
	char program[PATH_MAX];		  /* "": Slurm's own; "none": none */
	char paths[STORM_CONF_PATHS_MAX]; /* where files go, with colons between */
};

/* Network contexts of steps. */
#define STORM_CONTEXTS_MAX 1048576
struct storm_context_conf {
	uint32_t count;	   /* 0: no contexts */
	uint32_t per_user; /* for steps of one user, but for SlurmUser's */
	uint32_t group;	   /* of the first one; IPv4, in host byte order */
};

/* What the daemons of STORM say: as slurmd or slurmctld is told by its own debug level,
 * or this. */
enum storm_conf_log {
	CONF_LOG_SLURM,
	CONF_LOG_ERROR,
	CONF_LOG_INFO,
	CONF_LOG_DEBUG
};

#define STORM_CONF_ALLOW_MAX 1024
struct storm_conf {
	struct storm_settings set;
	enum storm_conf_log log;
	enum storm_fallback fallback;
	enum storm_failed_launch failed_launch;
	/* With FALLBACK_NODES so many nodes are few, or so many per cent of a
	 * command's. */
	uint32_t odd_max;
	bool odd_percent;
	/* On fewer nodes Slurm launches a step without a file. */
	uint32_t launch_nodes;
	/* The users and hosts that may open sessions; "": all. */
	char allow_users[STORM_CONF_ALLOW_MAX];
	char allow_hosts[STORM_CONF_ALLOW_MAX];
	/* How steps are stopped: "cgroup2", "signals" or "freezer"; "": the
	 * best that the node has. */
	char freezer[16];
	/* Do steps that a debugger traces run all the time? */
	bool gang_debug;
	bool gang_yield; /* a user's --storm-turns=yield counts */
	/* CPUs without jobs, to which the agent is bound; none: it runs where
	 * slurmd does. */
	cpu_set_t agent_cpus;
	/* How many ns an agent without a slurmd waits for the next one. */
	uint64_t agent_linger;
	/* After so many ns without a run a job's launchers end; 0: never. */
	uint64_t launcher_idle;
	uint16_t launcher_port_first, launcher_port_last; /* LauncherPorts */
	struct storm_gang_conf gang;
	struct storm_context_conf context;
	struct storm_health_conf health;
};

/*
 * Read storm.conf, and the keys in plugstack.conf; slurm.conf must have been
 * read (slurm_conf_init()).  Keys that are not given have their defaults.
 * Returns SLURM_SUCCESS, or SLURM_ERROR and *error, which names file, line and
 * key; *out is then unchanged.  The caller frees *error with xfree().  An
 * unknown key is no error.  Never ends the process.
 */
int storm_conf_load(struct storm_conf *out, char **error);

/* As storm_conf_load(), but read the file `path` alone, which must exist. */
int storm_conf_load_file(const char *path, struct storm_conf *out,
			 char **error);

enum storm_conf_state {
	STORM_CONF_GOOD,
	STORM_CONF_KEPT, /* *error; the last good file's values count */
	STORM_CONF_NONE	 /* *error; *out is unchanged */
};

/*
 * Load a daemon's configuration.  If the present file is wrong, those keys
 * count that storm_conf_keep() saved last in dir, the daemon's own directory.
 * If it is good, *lines is set to its keys, for storm_conf_keep(), and lines
 * without effect are logged; lines NULL: nothing is logged.  The caller frees
 * *error with xfree().
 */
enum storm_conf_state storm_conf_load_kept(const char *dir,
					   struct storm_conf *out, char **lines,
					   char **error);
/* Save the keys in dir, and free them.  NULL: do nothing. */
void storm_conf_keep(const char *dir, char *lines);

/* Does a key differ that an agent reads?  Both have been loaded. */
bool storm_conf_is_agents(const struct storm_conf *a,
			  const struct storm_conf *b);

/* Set every key to its default. */
void storm_conf_default(struct storm_conf *out);

/* The partition's entry, owned by *g.  NULL: storm.conf does not name it. */
const struct storm_conf_partition *
storm_conf_partition(const struct storm_gang_conf *g, const char *name);

/* The weight of a job with this QOS (NULL: it has none): 1 to
 * STORM_CONF_WEIGHT_MAX. */
uint32_t storm_conf_weight(const struct storm_gang_conf *g, const char *qos);

/* By some partition's policy, do steps give way to others (cpu.idle)? */
bool storm_conf_gives_way(const struct storm_gang_conf *g);

/* Write a string that identifies the settings of an agent.  It is another
 * one after storm.conf, plugstack.conf or slurm.conf's SchedulerType has
 * changed. */
#define STORM_CONF_STAMP_MAX 192
void storm_conf_stamp(char (*out)[STORM_CONF_STAMP_MAX]);

#endif
