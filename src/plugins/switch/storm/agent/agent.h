/*
 * agent.h - the node agent, and what its parts share.
 *
 * The agent is the network side of the Node Manager (paper section 2.2), a
 * child process of slurmd.  One thread, the main loop, owns everything here;
 * what may block is done by workers that hand their result back to it.
 *
 * From the roof down, and each calls only what is below it:
 *
 *	storm_agent.c	the program: starts and stops the parts
 *	agent_loop.c	the main loop
 *	agent_nm.c	what the Node Manager asks for, and the network
 *	agent_local.c	the local socket
 *	agent_stats.c	the counters as JSON
 *	agent_gang*.c	gang scheduling: this node takes part
 *	agent_poll.c	on CPUs of its own it waits for strobes awake
 *	agent_note.c	how the next agent gets into the cluster domain at once
 *	agent_auth.c	an OPEN's credential and authority
 *	agent_file.c	files, through the session's child (file_child.c)
 *	agent_libdir.c	"<file>_libs" directories, until their job ends
 *	agent_launch.c	the launch message, to this node's slurmd
 *	agent_session.c	sessions
 *	agent_answer.c	answers to the Node Manager
 *	agent_worker.c	threads for what may block
 *	agent_io.c	descriptors
 *
 * agent_ask.c (--stats, --trace) asks a running agent from outside, and
 * agent_container.c serves its children: neither uses what is here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_H
#define STORM_AGENT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent_answer.h"
#include "agent_io.h"
#include "agent_worker.h"
#include "src/storm_common/storm_conf.h"

struct storm_driver;
struct storm_net;
struct storm_nm;

struct agent_conn;
struct agent_creds;
struct agent_gang;
struct agent_libdir;
struct agent_poll;
struct agent_session;

/* The slurmds that hold a connection to us, which is our lifeline. */
struct agent_slurmd {
	uint16_t port;
	unsigned int lifelines;
	pid_t pid;			/* the latest one's */
	uint64_t orphan_until;		/* without one: when to give up */
};

/* This process may be stopped for a while, and what was sent meanwhile is old when
 * it goes on. */
struct agent_away {
	volatile sig_atomic_t returns;	/* times that it went on */
	sig_atomic_t returned;		/* those whose old input is all read */
	uint64_t since;			/* when that began to be read; 0: not */
};

struct agent_count {
	uint64_t files, files_failed, bytes, launches, launches_failed;
	uint64_t steps, reports, opens_bad;
	uint64_t gang_steps, gang_maps, gang_strobes, gang_missed;
	uint64_t gang_slots, gang_stops, gang_opened, gang_awake;
};

struct agent {
	const char *node;
	struct storm_conf conf;
	char conf_stamp[STORM_CONF_STAMP_MAX];

	struct agent_ios ios;
	struct agent_io signal_io;
	struct agent_worker controller;	/* asks slurmctld */
	bool stop;

	struct {
		const struct storm_driver *driver;	/* UDP or verbs */
		struct storm_net *net;
		struct agent_io io;
	} net;
	struct storm_nm *nm;
	struct agent_answers answers;
	struct agent_session *sessions;

	struct agent_slurmd slurmd;
	struct agent_away away;
	struct agent_count count;

	/* each is that part's own */
	struct {
		struct agent_worker worker;
		struct agent_creds *admitting;	/* for the session that opens */
	} auth;
	struct {
		int nursery;		/* file_child.h */
	} file;
	struct {
		struct agent_libdir *first;
		bool asking;
		uint64_t look_at;
	} libdir;
	struct {
		struct agent_io io;
		struct agent_conn *conns;
	} local;
	struct agent_gang *gang;	/* NULL: no gang scheduling here */
	struct agent_poll *poll;	/* NULL: no CPUs of its own */
};

/* Is what comes now old, as this process has stood still? */
static inline bool agent_is_back(const struct agent *a)
{
	return a->away.returns != a->away.returned;
}

#endif
