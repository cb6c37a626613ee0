/*
 * head_private.h - the state of head.h, of which each file has its part:
 *
 *	head.c		the loop, and who may say what
 *	head_runs.c	what becomes of runs
 *	head_clients.c	what clients ask for
 *	head_casts.c	messages to launchers
 *	head_output.c	output that launchers send
 *	head_fold.c	equal lines of it, of which one is shown
 *	head_input.c	input that clients send
 *	head_pmi.c	ranks of MPI, of which launchers send
 *	head_doors.c	clients that come by launchers
 *	head_idle.c	the end of launchers that nobody uses
 *	head_list.c	what storm ps asks for
 *	head_limits.c	what ends runs early, and what does not end
 *	head_journal.c	the journal of runs
 *	head_start.c	how it comes to be
 *	head_call.c	its call of a keeper on another host
 *	head_base.c	questions of them all
 *
 * The first calls all others, the second all but the first.  They call the last alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEAD_PRIVATE_H
#define STORM_HEAD_PRIVATE_H

#include <pthread.h>

#include "conn.h"
#include "head.h"
#include "runs.h"
#include "sealed.h"
#include "src/libstorm/base/worker.h"

#define HEAD_EVENT 1 /* of the launchers: a message is there */

struct cast;
struct journal;
struct px_msg;
struct pmi_run; /* head_pmi.c */

/* What libstorm's thread says. */
struct note {
	struct note *next;
	bool fault;
	struct storm_fault why;
	uint32_t code;
	struct storm_idset ids;
};

extern struct head {
	struct run_step step;
	uint8_t *step_text; /* what its names point into */
	struct runs runs;
	struct conn *conns;
	struct cast *casts;	  /* head_casts.c */
	struct pmi_run *pmi_runs; /* head_pmi.c */
	struct journal *journals; /* head_journal.c */
	storm_domain_t *domain;
	struct storm_addr relay; /* where output comes in */
	uint8_t life[RUN_LIFE];
	uint8_t doors[STORM_KEY_LEN]; /* the key of doors */
	uint64_t told_past;	      /* ids, head_casts.c */
	int listener, inlets, event;
	int signals; /* Slurm's SIGTERM; or -1 */
	int keep;    /* the lock of a keeper that is elsewhere; or -1 */
	struct storm_worker munge;
	struct storm_worker writer; /* of the journal, */
	bool writes;		    /* if it has begun */
	uint64_t serial;	    /* of the last connection */
	bool full;	 /* there are no descriptors to accept with */
	bool stays;	 /* also if it is idle */
	bool input_news; /* head_input_serve() has to look */
	pthread_mutex_t lock;
	struct note *notes, **notes_tail; /* under the lock */
} head;

/* ------------------------------------------------------------- head_runs.c --- */

/* Those that can begin, do.  None begins once the head ends: those that wait are sent to
 * the next one. */
void head_begin_runs(void);
/* Tell the clients of runs that are over. */
void head_end_runs(void);
/* Send SIGKILL to those that are to be killed. */
void head_kill_runs(void);
/* What libstorm's thread has said since. */
void head_hear_notes(void);
/* The keeper is gone, or its srun: the step ends with that. */
void head_step_over(void);
/* A client's signal for its run. */
void head_signal(const struct conn *c, uint8_t sig);
/* It wants its run no more, if that waits. */
void head_recall(const struct conn *c);

/* ------------------------------------------------------------- head_base.c --- */

/* The client of this run, this kind's first, the one with this serial number; NULL:
 * there is none, or it is closed. */
struct conn *head_client(uint64_t number);
struct conn *head_of_kind(enum conn_kind kind);
struct conn *head_of_serial(uint64_t serial);
/* NULL: no memory, and fd is closed. */
struct conn *head_add_conn(int fd, enum conn_kind kind);
const char *head_node_name(void *arg, uint32_t node);
/* What the keeper says first.  False: it is malformed. */
bool head_take_step(const struct storm_in *body);
/* A line for a client, or if it is NULL for the log. */
void head_say_line(void *client, const char *line);
/* A line for a client's stderr; c NULL: nobody. */
__attribute__((format(printf, 2, 3))) void head_say(struct conn *c,
						    const char *fmt, ...);

/* ---------------------------------------------------------- head_clients.c --- */

/* Its last word: it gets no run. */
void head_refuse(struct conn *c, enum run_kind kind, const char *why);
/* A RUN_ASK: a run that waits; or NULL, and the client is told why. */
struct user_run *head_ask(struct conn *c, struct storm_in *body);
/* Its run waits for CPUs (1), or does not (0); if it does not know that. */
void head_say_queued(struct conn *c, uint8_t waits);
/* Somebody has asked for launchers, and not only for a run. */
void head_stay(struct conn *c);

/* ------------------------------------------------------------ head_casts.c --- */

/* To all launchers, when their domain is open: they know the head by its first message,
 * and open their doors.  False: no memory. */
bool head_greet(void);
/* To the run's launchers: its start, which has the client's descriptors, too.  False:
 * it has not begun there. */
bool head_cast_start(struct user_run *run, struct conn *c);
/* What all nodes have brought to a fence of these ranks. */
void head_cast_fenced(struct user_run *run, const struct storm_idset *ranks,
		      const uint8_t *data, size_t len);
/* To one node of the run: it has a rank whose data is wanted, or has what it wanted. */
void head_cast_direct(struct user_run *run, uint32_t node, enum run_kind kind,
		      const struct px_msg *m);
/* It is over: all that its tasks have left behind is to end. */
void head_cast_sweep(const struct user_run *run);
/* A signal to its tasks.  If it cannot be sent, the client hears so. */
void head_cast_kill(struct user_run *run, uint8_t sig);
/* Reports of runs that are over are kept no longer.  A node hears so with its next
 * run; now and then all are told. */
void head_forget(void);
/* What has become of the messages. */
void head_check_casts(void);

/* ----------------------------------------------------------- head_output.c --- */

/* The first frame of a connection, which may be of PMI: a credential. */
void head_prove(struct conn *c, bool pmi, struct storm_in *body);
/* Bytes for the client of the connection's run. */
void head_output(struct conn *c, const struct storm_in *body);
/* Tell a launcher how much has come of it, if it does not know. */
void head_say_taken(struct conn *c);
/* Has its client room for more output? */
bool head_has_reader(const struct conn *client);
/* Likewise, of a framed run. */
void head_output_of(struct conn *c, struct storm_in *body);
/* The reader of a client's descriptor is gone: tasks elsewhere get the signal that
 * those on its host get from the kernel. */
void head_deafen(struct conn *c, uint8_t fd);
/* Has its client room for more output? */
bool head_may_read(const struct conn *c);
/* Connections without a credential: how many, is there room for one more, and close
 * those that had their time.  Anybody can connect.  No stranger makes room for another
 * one, which could be a launcher that makes room for an attacker: those beyond the
 * limit wait in the kernel, until others have shown a credential or had their time. */
uint32_t head_strangers(void);
bool head_has_room(void);
void head_expire_strangers(void);

/* ------------------------------------------------------------- head_fold.c --- */

/* A line of several tasks. */
void head_folded(struct conn *c, struct storm_in *body);
/* Show the lines that have waited; how many ms to wait for the next one at most, where it
 * was to be so many. */
void head_fold_serve(void);
int head_fold_wait(int wait);
/* Nothing more comes of this run: show all. */
void head_fold_end(struct user_run *run);

/* ------------------------------------------------------------ head_input.c --- */

/* A run has begun: its client may send, if none of its tasks has the descriptor. */
void head_input_open(struct user_run *run, struct conn *c);
/* A RUN_INPUT of a client, a RUN_ROOM of a launcher. */
void head_input(struct conn *c, struct storm_in *body);
void head_room(struct conn *c, struct storm_in *body);
/* A RUN_WINDOW of a client, and for a launcher that comes later. */
void head_resize(struct conn *c, struct storm_in *body);
void head_tell_size(const struct conn *client, struct conn *inlet);
/* Give it to launchers that are new, and tell clients what was taken. */
void head_input_serve(void);

/* -------------------------------------------------------------- head_pmi.c --- */

/* A RUN_PMI of a launcher. */
void head_pmi(struct conn *c, struct storm_in *body);
/* Fences to which a rank cannot come any more end their runs. */
void head_pmi_check(void);
/* The run is over. */
void head_pmi_drop(const struct user_run *run);

/* ------------------------------------------------------------- head_idle.c --- */

/* How many ms to wait for events at most, where it was to be so many; -1: until there is
 * one. */
int head_idle_wait(int wait);
/* After LauncherIdle without a run no other one begins. */
void head_expire_idle(void);

/* ------------------------------------------------------------- head_list.c --- */

/* All runs, for this client, whose only question it is. */
void head_list(struct conn *c);

/* ----------------------------------------------------------- head_limits.c --- */

/* End runs that are to end when a task fails, or some time after the first one. */
void head_end_early(void);
/* Ranks of MPI cannot go on: with this exit status, if it is not 0, and at once. */
void head_end_mpi(struct user_run *run, int status);
/* Time has passed.  It is to be said anew after so many ms at most, where it was to be
 * so many; -1: when there is an event. */
void head_expire_limits(void);
int head_limits_wait(int wait);

/* ---------------------------------------------------------- head_journal.c --- */

/* A run that was asked for is to be in the journal, a file on this host, unless path is
 * "".  False: no memory, or no thread. */
bool head_journal_begin(const struct user_run *run, const struct conn *c,
			const char *path);
bool head_journal_has(const struct user_run *run);
/* It is of no interest, as the next head gets the run. */
void head_journal_drop(uint64_t number);
void head_journal_began(const struct user_run *run);
/* A RUN_USED of a launcher. */
void head_usage(struct conn *c, struct storm_in *body);
/* The run is over.  False: its line is on its way, and the run is held until it is
 * there. */
bool head_journal_end(struct user_run *run);

/* ------------------------------------------------------------ head_doors.c --- */

/* The first frame of a launcher's connection, whose stream is a carrier's from then on. */
void head_door_open(struct conn *c, struct storm_in *body);
/* A client of a door of which something has come, and which may be new; NULL: there is
 * none. */
struct conn *head_door_next(struct conn *door);
/* A door's connection is closed, and so are those of its clients. */
void head_door_lost(struct conn *door);
/* Send what waits, channels before the carriers in which they are. */
void head_flush(void);

/* ------------------------------------------------------------ head_start.c --- */

/* From the state of zeros to open, with the path for clients.  False, and why. */
bool head_begin(const char *socket, const struct head_keeper *k, char *why,
		size_t size);

/* ------------------------------------------------------------- head_call.c --- */

/* Call the keeper.  Then the parent may hear that the head is there. */
bool head_call(const struct head_keeper *k, char *why, size_t size);
/* Wait until it has answered, and said where launchers are. */
bool head_called(char *why, size_t size);

#endif
