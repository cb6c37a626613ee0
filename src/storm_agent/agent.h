/*
 * agent.h - the state that the parts of the node agent share.
 *
 * The agent is the network side of the Node Manager (paper section 2.2), a
 * child process of slurmd.  The main loop's thread owns everything in struct
 * agent.  Worker threads do what may block and return the result to it.  Only
 * the thread that takes strobes shares more: turns/agent_strobe.h.
 *
 * The parts, from the top down.  A part calls only parts below it:
 *
 *  main/
 *	storm_agent.c	the program: starts and stops the parts
 *	agent_loop.c	the main loop
 *	agent_nm.c	the Node Manager's callbacks, and the network
 *	agent_pulse.c	signs of life
 *	agent_flood.c	what a flood may cost
 *	agent_local.c	the local socket
 *	agent_stats.c	the counters as JSON
 *	agent_state.c	what storm status asks
 *  turns/
 *	agent_gang*.c	this node's part in gang scheduling
 *	agent_strobe.c	the thread that takes strobes, and agent_gate.c
 *	agent_poll.c	polls for strobes, if the agent has CPUs of its own
 *	agent_note.c	lets the next agent rejoin the cluster domain at once
 *  here
 *	agent_auth.c	an OPEN's credential, addresses and authority
 *	agent_allow.c	AllowUsers and AllowHosts
 *	agent_peers.c	which addresses are nodes'
 *	agent_file.c	files, through the session's child (file_child.c)
 *	agent_child.c	that process: deadlines, and one that does not end
 *	agent_nursery.c	the process that starts these children
 *	agent_health.c	is this node well?  health/ has the process that checks
 *	agent_libdir.c	"<file>_libs" directories, until their job ends
 *	agent_launch.c	delivers the launch message, and signals, to this node's
 *			slurmd
 *	agent_message.c	the little of Slurm's messages that it reads
 *	agent_session.c	sessions
 *	agent_answer.c	answers to the Node Manager
 *	agent_worker.c	threads for what may block
 *	agent_io.c	descriptors
 *
 * Two files do not use struct agent: main/agent_ask.c (--stats, --trace)
 * queries a running agent, and agent_container.c runs in the agent's children.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_H
#define STORM_AGENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "agent_answer.h"
#include "agent_fallback.h"
#include "agent_io.h"
#include "agent_launched.h"
#include "agent_worker.h"
#include "src/storm_common/storm_conf.h"

struct storm_driver;
struct storm_net;
struct storm_nm;

struct agent_conn;
struct agent_stepd;
struct agent_creds;
struct agent_gang;
struct agent_libdir;
struct agent_poll;
struct agent_proc;
struct agent_pulse;
struct agent_session;

/* A connected slurmd is a lifeline: without one the agent ends. */
struct agent_slurmd {
	uint16_t port;
	bool own_address; /* it listens on the node's address alone */
	struct sockaddr_storage address; /* that one, if it is known yet */
	bool looking;			 /* the name service was asked */
	_Atomic unsigned int lifelines;	 /* slurmds that are connected */
	_Atomic pid_t pid;		 /* of the latest slurmd */
	_Atomic bool look; /* tell slurmd to look at the page (gang_page.h) */
	uint64_t orphan_until; /* when the agent ends, without a slurmd; or 0 */
};

/* If this process was stopped, its input is old when it continues
 * (doc/gang-scheduling.md, A process that was stopped).  The thread that takes
 * strobes reads its own. */
struct agent_away {
	_Atomic uint32_t returns; /* times that the process continued */
	uint32_t returned;	  /* of these: the main loop has read all old
				     input */
	uint64_t since;		  /* when reading old input began, or 0 */
};

/* See main/agent_flood.c. */
struct agent_flood {
	uint64_t allowed, counted_at; /* refused datagrams; when counted */
	uint64_t resume_at; /* when the network is read again; 0: it is */
	uint64_t filter_until, logged_at; /* 0: never */
	uint64_t *session;		  /* those that the filter lets pass */
	size_t sessions;
};

/* See main/agent_neighbours.c. */
struct agent_neighbours {
	uint64_t look_at; /* when to look again */
	uint64_t fulls;	  /* how often it was full, at the last look */
	uint64_t full_at; /* when it was seen full last; 0: it is not */
	bool looked;
};

/* See agent_health.c. */
struct agent_health {
	struct agent_io io; /* of the process that checks; fd -1: there is none */
	/* storm_minder's pidfd; -1: it has ended, and another one has its place */
	struct agent_io minder;
	uint64_t patience, due; /* it must say something until then */
	uint64_t value;		/* as in health_word.h */
	char text[256];		/* what is wrong, or "" */
};

struct agent_count {
	uint64_t files, files_failed, bytes, launches, launches_failed, signals;
	uint64_t steps_first; /* launches on the first node of STORM's domain */
	uint64_t steps, reports, opens_bad;
	uint64_t gang_steps, gang_maps, gang_strobes, gang_missed;
	uint64_t gang_slots, gang_stops, gang_opened, gang_awake;
	uint64_t gang_fills;   /* steps that filled a turn */
	uint64_t gang_agreed;  /* slots that began at the agreed time */
	uint64_t gang_planned; /* of these, without a strobe, by the plan */
	uint64_t pauses;       /* times that the network was not read */
	uint64_t gang_fast;    /* strobes that the thread took */
};

struct agent {
	const char *node;
	uint64_t began_at; /* ns, storm_now() */
	struct storm_conf conf;
	char conf_stamp[STORM_CONF_STAMP_MAX];

	int gang_lacks; /* the errno of what gang scheduling lacks here; or 0 */

	struct agent_ios ios;
	struct agent_io signal_io;
	struct agent_worker controller; /* queries slurmctld */
	bool stop;

	struct {
		const struct storm_driver *driver; /* UDP or verbs */
		struct storm_net *net;
		struct agent_io io;
		int port[2]; /* slurmd's UDP and TCP socket, or -1 */
		/* Where this node is among others, if has_place: the route to
		 * it shows the interface. */
		struct storm_addr place;
		bool has_place;
		bool place_asked;		/* it is looked for */
		uint64_t place_at, place_after; /* when again, and the pause */
	} net;
	struct storm_nm *nm;
	struct agent_answers answers;
	struct agent_session *sessions;

	struct agent_slurmd slurmd;
	struct agent_away away;
	struct agent_flood flood;
	struct agent_neighbours neighbours;
	struct agent_count count;
	struct agent_fallbacks fallbacks;
	struct agent_launches launches;

	/* Each of these is private to the part of its name. */
	struct {
		struct agent_worker worker;
		struct agent_creds *admitting; /* for the session that opens */
		bool looking; /* an address is being looked up */
	} auth;
	struct {
		int nursery; /* its socket, for file_child_start() */
		struct agent_io nursery_io; /* its pidfd */
		struct agent_proc *procs;
	} file;
	struct agent_health health;
	struct {
		struct agent_libdir *first;
		bool asking;
		uint64_t look_at;
	} libdir;
	struct {
		struct agent_io io;
		struct agent_conn *conns;
		struct agent_stepd *stepds;
	} local;
	struct agent_pulse *pulse; /* NULL: signs of life have no thread */
	struct agent_gang *gang;   /* NULL: no gang scheduling here */
	struct agent_poll *poll;   /* NULL: no AgentCPUs */
};

/* True: this process was stopped, and the main loop has not read all old input
 * yet. */
static inline bool agent_is_back(const struct agent *a)
{
	return a->away.returns != a->away.returned;
}

#endif
