/*
 * launcher_private.h - the state of launcher.h, of which each file has its part:
 *
 *	launcher.c		the loop
 *	launcher_start.c	how it comes to be
 *	launcher_heard.c	what the head sends in the domain
 *	launcher_runs.c		how a run begins here
 *	launcher_ends.c		how its tasks end
 *	launcher_places.c	CPUs and GPUs that they have
 *	launcher_hwloc.c	of which cores these CPUs are
 *	launcher_output.c	their output
 *	launcher_pmi.c		ranks of MPI (launcher_pmi.h)
 *	launcher_input.c	their input
 *	launcher_pty.c		the terminal of one
 *	launcher_door.c		clients on this host, and the way to the head
 *	launcher_files.c	descriptors of clients on the head's host
 *	launcher_state.c	the state
 *
 * Each calls those below it alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_LAUNCHER_PRIVATE_H
#define STORM_LAUNCHER_PRIVATE_H

#include <pthread.h>

#include "relay.h"
#include "run_lines.h"
#include "run_sock.h"
#include "src/libstorm/base/worker.h"
#include "src/libstorm/storm.h"
#include "task.h"

struct launched_pmi; /* launcher_pmi.c */
struct files;	     /* launcher_files.c */
struct said;	     /* launcher_heard.c */
struct task_input;   /* launcher_input.c */

/* A run that has tasks here. */
struct launched {
	struct launched *next;
	uint8_t *msg; /* what the rest points into */
	struct run_start start;
	struct run_what what;
	struct task_form form;
	int fd[RUN_SOCK_FDS]; /* the client's own; -1: elsewhere */
	bool lent;	      /* a task here has its 0 */
	struct relay *relay;  /* NULL: not needed */
	struct task_input
		*input; /* that comes by the relay: for all, or for each */
	uint32_t inputs;
	struct run_fold *fold[2]; /* lines that wait for equal ones; or NULL */
	struct launched_pmi *pmi; /* NULL: it has no MPI */
	struct storm_idset gpus;  /* that were given to it here */
	uint32_t tasks;		  /* that are not reported yet */
	struct run_usage usage;	  /* of those that have ended, */
	bool told;		  /* which the head gets */
	bool waits;		  /* they are not started yet */
	int killed;		  /* then: by this signal, or 0 */
};

struct local_task {
	struct local_task *next;
	struct launched *run;
	uint32_t id;
	pid_t pid;
	int pipe[2]; /* its output; -1: none, or it is read to its end */
	struct run_lines lines[2];
	bool ended, wrote;	 /* to the relay */
	bool killed;		 /* by SIGKILL from here */
	struct task_input *from; /* NULL: none comes */
	int input;    /* the pipe for it; -1: none, or it is closed */
	uint64_t fed; /* bytes that the pipe has taken */
	int lost;     /* input, by this errno; or 0 */
	struct task_place place;
	uint32_t code;
};

extern struct launcher {
	storm_node_t *node;
	storm_member_t *member; /* NULL: the head has not said anything yet */
	uint32_t self;
	uint8_t key[RUN_KEY];
	const char *name, *step;
	int event, signals;
	struct storm_worker munge;
	int head;	/* a connection to it, if it is a child; or -1 */
	pid_t head_pid; /* or 0 */
	char socket[RUN_SOCK_PATH]; /* the head's, if its keeper is elsewhere; or "" */
	int null;
	pthread_mutex_t lock;
	struct said *said, **said_tail; /* under the lock */
	storm_member_t *heard;		/* likewise: what member will be */
	bool closed;			/* likewise: its domain is over */
	bool refused;			/* of libstorm's thread: it is said */
	struct launched *runs;
	struct local_task *tasks;
	uint64_t ooms; /* of oom_now(), those that are of tasks that have ended */
	struct files *files;
	struct run_reader from_head;
	bool ending; /* Slurm ends the step: with the last task it is over */
	const char *headless; /* how the head has ended, or NULL */
	bool over;	      /* the head's domain is */
} launcher;

/* --------------------------------------------------------- launcher_start.c --- */

/* Ready to be served.  NULL, or what fails. */
const char *launcher_begin_serving(uint16_t port);
/* Have the head as a child, before that: launcher_serve() has socket and call.  NULL, or
 * what fails. */
const char *launcher_begin_head(const char *socket, uint16_t call);
/* It has ended, or is to: nothing of it stays on this host. */
void launcher_end_head(void);
bool launcher_port_free(uint16_t port);
/* What srun brings to the keeper: where it listens; its port is taken; or, with the
 * exit status, that it cannot begin, for which all others wait. */
void launcher_say_ready(const char *proc);
void launcher_say_taken(const char *proc);
int launcher_say_fault(const char *proc, const char *what);

/* --------------------------------------------------------- launcher_heard.c --- */

/* In libstorm's thread: a message is there. */
void launcher_on_signal(void *arg, storm_member_t *m, uint32_t event,
			const void *buf, size_t len);
/* Likewise: a domain is over. */
void launcher_on_close(void *arg, storm_member_t *m);
/* In the loop: do what messages say. */
void launcher_hear_all(void);

/* ---------------------------------------------------------- launcher_runs.c --- */

/* A RUN_START, of which msg, which becomes the run's, has the bytes. */
void launcher_begin(struct storm_in *in, uint8_t *msg);
/* Start the tasks of runs that waited for what they need, and do not any more. */
void launcher_begin_rest(void);

/* ---------------------------------------------------------- launcher_ends.c --- */

void launcher_report(uint32_t id, uint32_t code);
void launcher_run_drop(struct launched *run);
/* Let go of its pipes, and free it; NULL: nothing. */
void launcher_task_drop(struct local_task *t);
/* Report the tasks that have ended and whose output the client has. */
void launcher_tasks_report(void);
void launcher_reap(void);
/* number 0: of all runs. */
void launcher_kill(uint64_t number, int sig);
/* End all that tasks of this run have started here and left behind. */
void launcher_sweep(uint64_t number);

/* -------------------------------------------------------- launcher_places.c --- */

/* GPUs for the n tasks of a run here, and what it needs to bind them.  0, or the code of
 * their reports: it cannot have them. */
uint32_t launcher_places_run(struct launched *run, uint32_t n);
/* What the task with this number here has of them.  0, or the code of its report;
 * launcher_place_leave() is called in either case. */
uint32_t launcher_place(const struct launched *run, uint32_t local,
			struct task_place *place);
/* Before the reports of a run that does not begin: likewise, GPUs. */
void launcher_places_leave(const struct launched *run);
/* Before its report: others may have what it has. */
void launcher_place_leave(const struct launched *run, struct task_place *place);

/* --------------------------------------------------------- launcher_hwloc.c --- */

struct places;

/* Before any thread: what a user says to hwloc by variables is for programs of the user's
 * alone. */
void launcher_hwloc_start(void);
/* Fills the table of these CPUs: their cores, domains of memory and sockets.  It loads
 * hwloc, which takes some ms; after that it costs nothing.  0, or the code of a report. */
uint32_t launcher_hwloc(struct places *p);

/* -------------------------------------------------------- launcher_output.c --- */

/* How many ms until a line without an end is sent, or one that waits for others' copies;
 * -1: there is none. */
int launcher_lines_wait(const struct local_task *t);
int launcher_fold_wait(const struct launched *run);
/* Its equal lines are sent once from now on.  False: no memory. */
bool launcher_fold_open(struct launched *run, uint32_t first, uint32_t n);
/* Send those that have waited. */
void launcher_fold_serve(const struct launched *run);
/* Does a line of the task wait? */
bool launcher_fold_has(const struct local_task *t);
/* Send what it has written. */
void launcher_task_read(struct local_task *t);

/* ----------------------------------------------------------- launcher_pmi.c --- */

/* The run has n ranks of MPI here, from this one on; or has none.  0, or a code for all of
 * them, which cannot start; launcher_pmi_close() has what there is. */
uint32_t launcher_pmi_open(struct launched *run, uint32_t first, uint32_t n);
void launcher_pmi_close(struct launched *run);
/* Its tasks cannot start yet, or, with a code, not at all. */
bool launcher_pmi_waits(const struct launched *run, uint32_t *code);
/* What MPI wants in the environment of a task, or NULL; the caller frees it, and not its
 * strings.  False: no memory. */
bool launcher_pmi_env(const struct launched *run, uint32_t local, char ***env);
/* The connection of a rank; *theirs is its end.  False, with errno: there is none. */
bool launcher_pmi_pair(struct local_task *t, int *theirs);
/* A child has ended.  False: it is not storm_pmix. */
bool launcher_pmix_reaped(pid_t pid, int status);
/* The launcher ends, and its tasks have. */
void launcher_pmix_stop(void);
/* It was not started, or has ended with its code. */
void launcher_pmi_not_started(struct local_task *t);
void launcher_pmi_ended(struct local_task *t);
/* A RUN_FENCED. */
void launcher_pmi_fenced(struct storm_in *in);
/* A RUN_WANTED or RUN_GIVEN. */
void launcher_pmi_direct(struct storm_in *in, bool given);
/* An errno, once the run's ranks cannot be told of others; or 0. */
int launcher_pmi_lost(const struct launched *run);
/* Then it is to be killed: true once. */
bool launcher_pmi_must_end(struct launched *run);
/* What to wait for: ranks, or -1; and the run's way to the head, or NULL. */
int launcher_pmi_fd(void);
struct relay *launcher_pmi_relay(const struct launched *run);
void launcher_pmi_serve(bool came);

/* --------------------------------------------------------- launcher_input.c --- */

/* Input for the tasks here, n from this rank on, if any comes by the relay.  False: no
 * memory. */
bool launcher_input_open(struct launched *run, uint32_t first, uint32_t n);
void launcher_input_close(struct launched *run);
/* The pipe of a task that gets some; *theirs is its end.  False, with errno: there is
 * none. */
bool launcher_input_pipe(struct local_task *t, uint32_t rank, int *theirs);
/* Is there some that its pipe has not taken? */
bool launcher_input_waits(const struct local_task *t);
/* Write to all pipes, and tell the head how much was taken. */
void launcher_input_serve(void);

/* ----------------------------------------------------------- launcher_pty.c --- */

/* A pseudo terminal, from which it reads and writes; *theirs is its end.  False, with
 * errno: there is none. */
bool launcher_pty_open(struct local_task *t, int *theirs);
/* Give terminals the size that their clients' have now. */
void launcher_pty_serve(void);

/* ---------------------------------------------------------- launcher_door.c --- */

/* A RUN_HEAD: where the head is. */
void launcher_door_open(struct storm_in *in);
void launcher_door_close(void);
/* What to wait for: the door's descriptor, and that of a call to the head; or -1. */
int launcher_door_fd(void);
int launcher_call_fd(short *events);
int launcher_door_patience(void);
void launcher_door_serve(bool door_came, bool call_came);
/* The descriptors of a client that came by this channel.  0, or an errno. */
int launcher_door_files(uint32_t channel, int (*fd)[RUN_SOCK_FDS]);

/* --------------------------------------------------------- launcher_files.c --- */

/* What has come from the head on the local socket. */
void launcher_files_receive(void);
/* The run gets its client's descriptors.  0, or an errno. */
int launcher_files_take(struct launched *run);

#endif
