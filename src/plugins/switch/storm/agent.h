/*
 * agent.h - the node agent's parts and what they share.
 *
 * The agent is the network side of the Node Manager (paper section 2.2), a
 * child process of slurmd.  One thread, the main loop, owns everything here;
 * what may block (MUNGE, name services, the controller) is done by workers
 * that hand their result back to it.
 *
 *	storm_agent.c	the program
 *	agent_loop.c	the main loop
 *	agent_nm.c	what the Node Manager asks for, and the network
 *	agent_ask.c	--stats and --trace
 *	agent_stats.c	the counters as JSON
 *	agent_session.c	sessions
 *	agent_io.c	descriptors
 *	agent_worker.c	threads for what may block
 *	agent_answer.c	answers to the Node Manager
 *	agent_auth.c	an OPEN's credential and authority
 *	agent_file.c	files, through the session's child (file_child.c)
 *	agent_launch.c	the launch message, to this node's slurmd
 *	agent_local.c	the local socket
 *	agent_container.c	the job's namespace, for its files
 *	agent_libdir.c	"<file>_libs" directories, until their job ends
 *	agent_gang.c	gang scheduling: this node takes part
 *	agent_gang_turns.c	... steps stop and continue on strobes
 *	agent_gang_steps.c	... which steps are here
 *	agent_gang_maps.c	... which jobs share this node
 *	agent_poll.c	on CPUs of its own it waits for strobes awake
 *	agent_note.c	how the next agent gets into the domain at once
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
#include "agent_contract.h"
#include "agent_io.h"
#include "agent_session.h"
#include "agent_worker.h"
#include "local.h"
#include "src/common/storm_conf.h"
#include "src/libstorm/drivers.h"
#include "src/libstorm/nm.h"
#include "src/libstorm/open.h"

struct agent;

/* ------------------------------------------------------------------ agent --- */

struct agent_libdir;
struct agent_conn;
struct agent_gang;
struct agent_poll;

struct agent {
	const char *node;
	uint16_t slurmd_port;
	struct storm_conf conf;
	char conf_stamp[STORM_CONF_STAMP_MAX];
	struct storm_nm *nm;
	const struct storm_driver *driver;	/* UDP or verbs */
	struct storm_net *net;
	struct agent_ios ios;
	int nursery;
	struct agent_io net_io, signal_io, listen_io;
	struct agent_worker auth, controller;
	struct agent_session *sessions;
	struct agent_answers answers;
	struct agent_creds *admitting;	/* for session_open, during admit */
	struct agent_conn *conns;
	struct agent_libdir *libdirs;
	struct agent_gang *gang;	/* NULL: no gang scheduling here */
	struct agent_poll *poll;	/* NULL: no CPUs of its own */
	bool libdir_asking;
	uint64_t libdir_at;
	unsigned int lifelines;		/* slurmds that hold us */
	pid_t slurmd;			/* ... the latest */
	uint64_t orphan_until;		/* without one: when to give up */
	bool stop;
	/* times this process went on after it had stood still; those after which
	 * all is read that was sent meanwhile; since when it is being read */
	volatile sig_atomic_t returns;
	sig_atomic_t returned;
	uint64_t back_at;
	struct {
		uint64_t files, files_failed, bytes, launches, launches_failed;
		uint64_t steps, reports, opens_bad;
		uint64_t gang_steps, gang_maps, gang_strobes, gang_missed;
		uint64_t gang_slots, gang_stops, gang_opened, gang_awake;
	} count;
};

/* Is what comes now old, as this process has stood still? */
static inline bool agent_is_back(const struct agent *a)
{
	return a->returns != a->returned;
}

/* agent_auth.c */
int agent_auth_start(struct agent *a);
void agent_auth_stop(struct agent *a);
void agent_auth_open(void *host, uint64_t ticket, void *buf, size_t len);

/* agent_file.c: the Node Manager's file operations */
void agent_file_begin(void *host, void *ctx, uint64_t session, uint64_t op,
		      const struct storm_target *to, uint64_t size,
		      void **file);
int agent_file_write(void *host, void *file, uint64_t off, const void *buf,
		     size_t len);
int agent_file_read(void *host, void *file, uint64_t off, void *buf,
		    size_t len);
void agent_file_stage(void *host, void *file, uint64_t session, uint64_t op);
void agent_file_commit(void *host, void *file, uint64_t session, uint64_t op);
void agent_file_end(void *host, void *file);
void agent_file_session_close(struct agent_session *s);

/* agent_container.c; a file_join_fn */
void agent_container_init(const char *node);
int agent_container_join(uint32_t job_id, uid_t uid);

/* agent_libdir.c */
void agent_libdir_load(struct agent *a);
void agent_libdir_add(struct agent *a, const struct agent_creds *c,
		      const char *path);
uint64_t agent_libdir_tick(struct agent *a, uint64_t now);

/* agent_launch.c */
void agent_launch(struct agent_session *s, const void *buf, size_t len,
		  uint64_t now);
uint64_t agent_launch_tick(struct agent *a, uint64_t now);
void agent_launch_session_close(struct agent_session *s);

/* agent_local.c */
int agent_local_start(struct agent *a);
void agent_local_stop(struct agent *a);
void agent_local_acked(struct agent_session *s, uint8_t kind,
		       const struct storm_idset *ids);
void agent_local_session_close(struct agent_session *s);

/* agent_gang.c */
int agent_gang_start(struct agent *a);
void agent_gang_stop(struct agent *a);
void agent_gang_session_open(struct agent_session *s);
void agent_gang_session_close(struct agent_session *s);
void agent_gang_event(struct agent_session *s, uint32_t event,
		      const void *buf, size_t len);
uint64_t agent_gang_tick(struct agent *a, uint64_t now);

/* agent_gang_turns.c */
void agent_gang_strobe(struct agent *a, struct agent_session *s,
		       uint64_t number, const void *buf, size_t len);
void agent_gang_no_slurmd(struct agent *a);
/* This process has stood still. */
void agent_gang_returned(struct agent *a);

/* agent_poll.c: bind to AgentCPUs, and wait awake for the strobe that is due a quantum
 * (ns) after that one was heard (storm_now()).  Without AgentCPUs nothing is done. */
void agent_poll_start(struct agent *a);
void agent_poll_stop(struct agent *a);
void agent_poll_expect(struct agent *a, uint64_t heard, uint64_t quantum);

/* agent_note.c: of the cluster domain of this session, for the next agent, if it
 * is not the one that is kept already */
void agent_note_keep(struct agent *a, uint64_t session);
/* The agent before has left one: ask to be let in again. */
void agent_note_find(struct agent *a);
void agent_note_forget(const struct agent *a);

#endif
