/*
 * run_wire.h - what clients, the head and launchers tell each other, as bytes.  All
 * are of one build and of one user; none trusts the other's lengths.
 *
 * On a stream a message is a frame (run_frame.h).  In the domain it is the launchers' key,
 * a kind and a body.  doc/launchers.md says who sends what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_WIRE_H
#define STORM_RUN_WIRE_H

#include "run_code.h"
#include "run_frame.h"
#include "run_layout.h"
#include "run_programs.h"

/* Client, head and launchers must have the same. */
#define RUN_VERSION 15
#define RUN_LIMITS 16 /* resource limits, RLIMIT_CPU and on */
#define RUN_REPORT 1  /* the kind of launchers' reports */
#define RUN_LIFE 16   /* bytes that name a head's life */
#define RUN_SECRET 16 /* bytes that a launcher's credential hides */
#define RUN_KEY 16    /* bytes that each message in the domain begins with */
#define RUN_PAST_RANGES 32 /* of a run_start's `past` */
#define RUN_HEAD_NODE 0	   /* the head is a child of its launcher */

/* By which protocol ranks of MPI find each other. */
enum run_mpi {
	RUN_MPI_NONE,
	RUN_MPI_PMI1, /* pmi1.h */
	RUN_MPI_PMIX, /* storm_pmix, by libpmix (px_wire.h) */
	RUN_MPIS
};

/* To which CPUs its tasks are bound. */
enum run_bind {
	RUN_BIND_NONE, /* to none: all that the launchers have are theirs */
	RUN_BIND_THREADS, /* to as many as are counted for it, which no other has */
	RUN_BIND_CORES,	  /* to the cores of such */
	RUN_BIND_LDOMS,	  /* to their domains of memory */
	RUN_BIND_SOCKETS, /* to their sockets */
	RUN_BIND_MAP,	  /* to those of a list (run_bind.h) */
	RUN_BIND_MASK,	  /* likewise, of masks */
	RUN_BINDS
};

/* Where a run's input comes from. */
enum run_input {
	RUN_INPUT_NONE, /* none comes: /dev/null, or the file of stream[0] */
	RUN_INPUT_ALL,	/* the client: the same for all tasks */
	RUN_INPUT_ONE,	/* likewise, for one task; others have /dev/null */
	RUN_INPUT_EACH, /* likewise, for each task its own */
	RUN_INPUTS
};

/* The size of a terminal, as struct winsize has it. */
struct run_window {
	uint16_t rows, columns, width, height;
};

/* What to execute, and as whom it feels.  The strings are the buffer's that it was
 * read from; programs, argv and env are freed by run_what_free(). */
struct run_what {
	uint32_t umask;
	uint64_t limit[RUN_LIMITS]; /* soft ones */
	const char *cwd;
	/* what -i, -o and -e say (run_paths.h), or ""; err as out: they share a file */
	const char *stream[3];
	bool label;	 /* lines of output begin with their task's number */
	bool fold;	 /* equal lines of its tasks are shown once */
	bool unbuffered; /* without a label lines are not made whole */
	bool append;	 /* files are not emptied */
	bool direct; /* tasks on the client's host may have its own descriptors */
	bool lends; /* its descriptor 0, too, if one task alone has input */
	bool framed; /* the client is told whose output it is, and each end of a task */
	bool tells; /* the client is told when and where it begins */
	bool pty;   /* its one task has a pseudo terminal, of this size */
	struct run_window window;
	enum run_mpi mpi;
	enum run_bind bind;
	const char *bind_list; /* of MAP and MASK, or "" */
	bool bind_verbose;     /* tasks say on stderr to what they are bound */
	bool no_gpus;	       /* they see none */
	enum run_input input;
	uint32_t input_rank; /* of RUN_INPUT_ONE */
	/* those of --multi-prog, whose file is then the first of argv */
	struct run_programs programs;
	char **argv, **env; /* end with NULL */
};

size_t run_what_len(const struct run_what *w);
void run_what_put(struct storm_out *o, const struct run_what *w);
/* False: it is malformed, or there is no memory; nothing needs to be freed. */
bool run_what_get(struct storm_in *i, struct run_what *w);
void run_what_free(struct run_what *w);

#define RUN_WINDOW_LEN 8
void run_window_put(struct storm_out *o, const struct run_window *w);
void run_window_get(struct storm_in *i, struct run_window *w);

/* A client's wish, before its run_what.  0, or "": not given. */
struct run_ask {
	uint32_t nodes, tasks;
	uint32_t cpus; /* of each task */
	uint32_t gpus; /* likewise */
	uint32_t node_gpus; /* of each node, which its tasks there share; if gpus is 0 */
	uint64_t mem;	  /* MB of each node */
	uint64_t cpu_mem; /* MB for each CPU; if mem is 0 */
	uint32_t limit;	  /* s: then it is ended */
	uint32_t wait;	  /* s after its first task's end: likewise */
	bool kill;	  /* a task that fails ends it */
	bool keep;	  /* the loss of a node does not end it */
	bool whole; /* one task on each node, with all CPUs that the job has there */
	const char *with;    /* a list of nodes that it has in any case */
	const char *without; /* and of those that it does not have */
	const char *journal; /* a file of the head's host */
};

size_t run_ask_len(const struct run_ask *a);
void run_ask_put(struct storm_out *o, const struct run_ask *a);
/* False: it has another version, or is malformed.  Lists are the buffer's. */
bool run_ask_get(struct storm_in *i, struct run_ask *a);

/* What launchers of a run are told before its run_what. */
struct run_start {
	uint64_t number;
	uint32_t first; /* id of rank 0; that of rank 1 is the next one */
	uint32_t tasks;
	struct storm_idset past;  /* ids of runs that are over */
	uint32_t cpus;		  /* that were asked for, for each task; or 0 */
	uint32_t gpus, node_gpus; /* as run_ask's */
	const char *names;	  /* the nodes, as a list; the buffer's */
	struct storm_idset nodes;
	const uint32_t *rank; /* run_layout()'s, for these nodes */
	uint32_t local;	      /* the node that has the client's descriptors */
	uint32_t channel; /* of its door, by which; 0: the head sends them */
	struct storm_addr relay; /* where output of others goes */
	uint8_t life[RUN_LIFE];
	bool usage; /* the head is to know what its tasks have used */
};

size_t run_start_len(const struct run_start *s);
void run_start_put(struct storm_out *o, const struct run_start *s);
/* run_start_free() frees what it makes.  False: it is malformed, or there is no
 * memory; nothing needs to be freed. */
bool run_start_get(struct storm_in *i, struct run_start *s);
void run_start_free(struct run_start *s);

/* The launchers' step, as the keeper tells it to the head. */
struct run_step {
	uint32_t job, count;
	uint8_t key[RUN_KEY];
	uint32_t *cpus, *gpus;	  /* of each node */
	uint64_t *mem;		  /* likewise, MB; 0: not known */
	struct storm_node *nodes; /* by SLURM_PROCID of the launchers */
};

/* Room for so many nodes, all of it zeros.  False: no memory, and nothing needs to be
 * freed. */
bool run_step_alloc(struct run_step *s, uint32_t count);
size_t run_step_len(const struct run_step *s);
void run_step_put(struct storm_out *o, const struct run_step *s);
/* False: it has another version, is malformed, or there is no memory; nothing needs
 * to be freed.  Names are the buffer's that it was read from. */
bool run_step_get(struct storm_in *i, struct run_step *s);
void run_step_free(struct run_step *s);

/* Tasks have "STORM_RUN=LIFE:NUMBER", of the head's life and their run: a run inside it
 * is known by that.  All of it but the number, and how long it is. */
#define RUN_PARENT_NAME "STORM_RUN="
#define RUN_PARENT_TEXT (sizeof(RUN_PARENT_NAME ":") + 2 * RUN_LIFE)
size_t run_parent_text(const uint8_t life[static RUN_LIFE],
		       char (*out)[RUN_PARENT_TEXT]);

/*
 * The key of a step of launchers: who opens a domain with them is of their user, and
 * who has the key is of their step.  The keeper makes it and gives it to srun in this
 * variable, as text.
 */
#define RUN_KEY_VARIABLE "STORM_RUN_KEY"
#define RUN_KEY_TEXT (2 * RUN_KEY + 1)
void run_key_text(const uint8_t key[static RUN_KEY], char (*out)[RUN_KEY_TEXT]);
/* False: text, which may be NULL, is none. */
bool run_key_read(const char *text, uint8_t key[static RUN_KEY]);

#endif
