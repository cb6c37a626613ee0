/*
 * runs.h - the head's decisions: which run begins and where, whose tasks have ended,
 * and what the loss of a node means.  No I/O and no clock: the head acts on what it
 * finds here, and tells what has happened.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUNS_H
#define STORM_RUNS_H

#include "run_feed.h"
#include "run_fold.h"
#include "run_list.h"
#include "run_wire.h"
#include "src/libstorm/storm.h"

/* ns: a task that Slurm's signal has ended is reported so long before the head has its own
 * at most. */
#define RUNS_DOUBT 200000000ull
/* A head that has given so many task ids takes no more runs. */
#define RUNS_IDS_MAX 4000000000u

enum run_state {
	RUN_WAITS, /* for CPUs, GPUs or memory */
	RUN_RUNS,
	RUN_IS_OVER /* all of its tasks have ended, or are lost */
};

/* Tasks that ended in one way. */
struct run_ended {
	struct run_ended *next;
	uint32_t code;		  /* run_code() */
	struct storm_idset tasks; /* ranks */
};

/* What a run asks for.  Numbers 0: not given. */
struct run_want {
	uint32_t nodes, tasks;
	uint32_t cpus;		  /* of each task */
	uint32_t gpus;		  /* likewise */
	uint32_t node_gpus;	  /* of each node, if gpus is 0 */
	uint64_t mem;		  /* MB of each node */
	uint64_t cpu_mem;	  /* MB for each CPU, if mem is 0 */
	struct storm_idset with;  /* nodes that it has in any case */
	struct storm_idset never; /* and those that it does not have */
	bool whole; /* one task on each node, with all CPUs that the job has there */
};

struct user_run {
	struct user_run *next;
	uint64_t number; /* 1, 2, 3, ... of this head */
	enum run_state state;
	void *client; /* the head's; NULL: it is gone */
	uint32_t want_nodes, tasks, cpus;
	uint32_t gpus, node_gpus; /* as run_want's, and the next two */
	uint64_t mem, cpu_mem;
	struct storm_idset with, never; /* nodes */
	/* once it runs */
	uint32_t first; /* id of rank 0 */
	struct storm_idset nodes;
	uint32_t *rank;		  /* run_layout() */
	struct storm_idset done;  /* ranks that have ended or are lost */
	struct storm_idset freed; /* nodes whose CPUs and others it gave back */
	struct storm_idset lost;  /* nodes */
	struct run_ended *ended;  /* in any order */
	bool whole;		  /* as run_want's */
	bool keep;		  /* the loss of a node does not end it */
	bool folds; /* equal lines are shown once; what of them waits, or NULL */
	struct run_fold *fold[2];
	bool framed;		/* its client hears of the end of each task, */
	struct run_ended *gone; /* and has not yet heard of these */
	/* once it runs, and if the head takes input for it: one for all tasks, or
	 * one for each */
	enum run_input input;
	uint32_t input_rank; /* by which the one is named */
	struct run_feed *feed;
	uint32_t feeds;
	bool lent;   /* run_lends() */
	bool kill;   /* its tasks are to be killed; the head has not yet */
	bool killed; /* it has been decided already */
	int status;  /* beside the tasks' own codes: at least this */
	uint32_t asked_cpus; /* of each task; 0: not given */
	uint64_t began;	     /* the head's: storm_now(), or 0 */
	/* the head's (head_limits.c): ns since its tasks were sent SIGKILL, or 0;
	 * those left were named */
	uint64_t dying;
	bool named;
	bool kill_bad; /* a task that fails ends it */
	uint32_t wait; /* s after the first task's end it is ended; 0: never */
	/* ns that are left, or 0: of its time, of wait, until SIGKILL */
	uint64_t limit, waits, grace;
	bool ends;    /* it is ended early */
	bool stopped; /* the launchers end, and it with them */
	bool ending; /* Slurm ends the launchers, and its tasks have that signal, too */
	bool signaled; /* the head has sent SIGTERM or SIGKILL to its tasks */
	bool tells; /* its client is told why it is over, and may begin it again */
	uint64_t doubt; /* ns that are left until its end is told, or 0 */
	bool held;	/* it is over, but not for the head yet */
	int aborted;	/* a rank of MPI has ended it with this status; or 0 */
};

/* What each node has. */
struct runs_stock {
	uint32_t *cpus, *gpus;
	uint64_t *mem; /* MB */
};

struct runs {
	uint32_t nodes;
	/* what the job has, of which memory 0 is not known, and not counted; and what
	 * no run has of that */
	struct runs_stock all, free;
	struct storm_idset lost;
	struct user_run *first, **tail; /* in the order in which they came */
	uint64_t number;
	uint32_t next_id;
	bool closing; /* no other run begins */
};

/* STORM_OK or STORM_ENOMEM.  cpus are copied.  The nodes have nothing else. */
int runs_init(struct runs *r, uint32_t nodes, const uint32_t *cpus);
/* Before the first run: what else each of the nodes has, which is copied. */
void runs_stock(struct runs *r, const uint32_t *gpus, const uint64_t *mem);
void runs_fini(struct runs *r);

/* "2(x3),1" of SLURM_JOB_CPUS_PER_NODE, for so many nodes.  False: it is not for
 * them. */
bool runs_cpus_read(const char *text, uint32_t nodes, uint32_t *cpus);

/* A run that waits.  Without a number of tasks it has one for each node; without one of
 * nodes all that it may have, but no more than tasks.  NULL: it can never begin here, and
 * why says it; an empty why: there is no memory. */
struct user_run *runs_add(struct runs *r, const struct run_want *want,
			  void *client, char *why, size_t size);

/* The oldest that waits, if it can begin: it has its nodes and ids.  NULL: none
 * can.  None overtakes another. */
struct user_run *runs_begin(struct runs *r);

/* Ids have ended with this code.  False: no memory. */
bool runs_report(struct runs *r, uint32_t code, const struct storm_idset *ids);
/* A node is lost: all runs on it are killed, but for those that keep the others, and
 * none begins. */
void runs_lose(struct runs *r, uint32_t node);
/* A signal for a run that waits, and has no task yet: it is over, with the status of
 * a task that this signal ended. */
void runs_cancel(struct user_run *run, int sig);
/* The client is gone: a run that waits is over, one that runs is killed. */
void runs_leave(struct runs *r, struct user_run *run);
/* The launchers have not heard of it: it is over.  Or they are all gone. */
void runs_abort(struct user_run *run);
void runs_stop(struct user_run *run);
/* Slurm ends the launchers, by SIGTERM: no other run begins.  Those that run have the
 * signal already; what it kills has ended with the launchers. */
void runs_end(struct runs *r);
/* No other run begins.  now: those that run are killed, those that wait are over. */
void runs_close(struct runs *r, bool now);

/* The first that is over, or is to be killed; NULL: there is none. */
struct user_run *runs_over(const struct runs *r);
struct user_run *runs_to_kill(const struct runs *r);
struct user_run *runs_find(const struct runs *r, uint64_t number);
bool runs_any(const struct runs *r);
/* What all nodes have, and what of that no run has. */
void runs_sum(const struct runs *r, struct run_stocks *out);
/* How many CPUs has it; or does it wait for, at most? */
uint64_t run_cpus(const struct runs *r, const struct user_run *run);
/* Free one that is over. */
void runs_drop(struct runs *r, struct user_run *run);

/* Ids of runs that are over, and none of another run, in so many ranges at most, at
 * least 2: with more runs between them some are left out.  STORM_OK or STORM_ENOMEM;
 * out is empty before. */
int runs_past(const struct runs *r, uint32_t ranges, struct storm_idset *out);

/* Has one task alone input, and is it on the client's host, which lends it the
 * descriptor? */
bool run_lends(const struct run_start *s, const struct run_what *w);
/* A run that has begun takes input from now on.  False: no memory. */
bool run_input_open(struct user_run *run, enum run_input input, uint32_t rank);
/* The input that a frame with this rank is of; NULL: none. */
struct run_feed *run_feed_of(const struct user_run *run, uint32_t rank);
/* Have all of these ended, or are they lost? */
bool run_ranks_done(const struct user_run *run, uint32_t first, uint32_t last);
/* Its ranks on a node.  False: it has none there. */
bool run_ranks_on(const struct user_run *run, uint32_t node, uint32_t *first,
		  uint32_t *last);
/* On how many nodes has it tasks that have not ended? */
uint32_t run_nodes_left(const struct user_run *run);
/* A task of a framed run that has ended, and how: each is returned once.  False: there
 * is none. */
bool run_next_gone(struct user_run *run, uint32_t *rank, uint32_t *code);

/* Has a task of it not ended well?  In this way? */
bool run_has_failed(const struct user_run *run);
bool run_has_cause(const struct user_run *run, enum run_cause cause);
/* Why is it over? */
enum run_end run_why_over(const struct user_run *run);
/* The highest of its tasks' exit statuses; those by signals count more, as with srun. */
int run_status(const struct user_run *run);

/*
 * What is to be said of a run that is over, one line for each way in which tasks
 * did not end well: say(arg, line).  name(arg, node) is a node's name, what is what was
 * executed.
 */
void run_tell(const struct user_run *run, const struct run_what *what,
	      const char *(*name)(void *arg, uint32_t node),
	      void (*say)(void *arg, const char *line), void *arg);
/* Likewise, which tasks have ended, and which have not. */
void run_tell_tasks(const struct user_run *run,
		    void (*say)(void *arg, const char *line), void *arg);
/* Likewise, which tasks have not ended so many seconds after they were killed. */
void run_tell_left(const struct user_run *run, unsigned int seconds,
		   const char *(*name)(void *arg, uint32_t node),
		   void (*say)(void *arg, const char *line), void *arg);
/* In words, what a node lacks for a task, whatever that executes. */
void run_cause_text(enum run_cause cause, int value, char *out, size_t size);

#endif
