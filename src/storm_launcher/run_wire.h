/*
 * run_wire.h - what clients, the head and launchers tell each other, as bytes.  All
 * are of one build and of one user; none trusts the other's lengths.
 *
 * On a stream a message is a frame: the length of its body, its kind, its body.  In
 * the domain it is the launchers' key, a kind and a body.  doc/launchers.md says who sends what.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_WIRE_H
#define STORM_RUN_WIRE_H

#include "src/libstorm/wire/wire.h"

/* Client, head and launchers must have the same. */
#define RUN_VERSION 8
#define RUN_FRAME_HEADER 5
#define RUN_FRAME_MAX (4u << 20) /* bytes of a body */
#define RUN_LIMITS 16		 /* resource limits, RLIMIT_CPU and on */
#define RUN_REPORT 1		 /* the kind of launchers' reports */
#define RUN_LIFE 16		 /* bytes that name a head's life */
#define RUN_SECRET 16		 /* bytes that a launcher's credential hides */
#define RUN_KEY 16 /* bytes that each message in the domain begins with */
#define RUN_PAST_RANGES 32 /* of a run_start's `past` */
#define RUN_HEAD_NODE 0	   /* the head is a child of its launcher */

enum run_kind {
	/* a connection's first one, to the head: it begins with RUN_VERSION */
	RUN_ASK = 1,   /* client: struct run_ask, with its three descriptors */
	RUN_STOP = 2,  /* client */
	RUN_STEP = 3,  /* the keeper: struct run_step */
	RUN_PROOF = 4, /* a launcher, by TCP: a credential */
	/* client -> head */
	RUN_SIGNAL = 5, /* u8 */
	/* head -> client */
	RUN_QUEUED =
		6, /* u8: 1 it waits for CPUs, 0 it does not; u64 its number; text:
		      * the launchers' step; comes first */
	RUN_SAY = 7,	  /* text for stderr */
	RUN_OUTPUT = 8,	  /* u8 descriptor, bytes; a launcher sends it, too */
	RUN_END = 9,	  /* u8 exit status */
	RUN_REFUSED = 10, /* text */
	RUN_AGAIN = 11,	  /* this head ends: ask the next one */
	/* head -> launcher */
	RUN_FILES =
		12, /* u64 run, with three descriptors; on the local socket */
	RUN_TAKEN = 13, /* u64 bytes of OUTPUT so far, by TCP */
	/* head -> launchers, in the domain */
	RUN_START = 14, /* struct run_start */
	RUN_KILL = 15,	/* u64 run, u8 signal */
	/* a set of ids, as run_start's `past` */
	RUN_PAST = 16,
	/* head -> its parent: it listens; -> the keeper: it serves clients.  When
	 * it ends it sends the keeper END */
	RUN_READY = 17,
	/* head -> launcher, on the local socket: u64 run, whose FILES are not needed:
	 * it does not begin */
	RUN_NO_FILES = 18,
	/* head -> launcher, by TCP, after PROOF: the secret of its credential */
	RUN_PROVEN = 19,
	/* client -> head -> launchers, by TCP: u8 descriptor, which nobody reads */
	RUN_DEAF = 20,
	/* head -> launchers, in the domain, its first message: the address for
	 * output and doors, and the key of doors */
	RUN_HEAD = 21,
	/* by TCP: launcher -> head, a connection's first one: u32 RUN_VERSION,
	 * u32 node, SEALED_RANDOM bytes; head -> launcher: as many bytes, and
	 * from then on both send records (carrier.h) */
	RUN_DOOR = 22,
	RUN_ANSWER = 23,
	/* head -> client, before QUEUED: text, the run that has the CPUs */
	RUN_PARENT = 24,
	/* by TCP: head -> keeper, a connection's first one: u32 RUN_VERSION, a
	 * credential (call.h); ANSWER comes back, and then both send records */
	RUN_CALL = 25,
	/* client -> head -> launcher, by TCP: u32 rank, or RUN_ALL_RANKS; bytes of its
	 * input, none: its end (run_pieces.h) */
	RUN_INPUT = 30,
	/* launcher -> head -> client: u32 rank, or RUN_ALL_RANKS; u64 bytes of
	 * INPUT that its task has taken, or that nobody will read.  The first one
	 * for all, of 0, says that the run has begun, and that the head takes
	 * input */
	RUN_ROOM = 31,
	/* of a framed run, launcher -> head -> client, for OUTPUT: u32 rank, u8
	 * descriptor, bytes */
	RUN_OUTPUT_OF = 32,
	/* of a framed run, head -> client: u32 rank, u32 run_code().  Its task has
	 * ended, and all of its output came before */
	RUN_GONE = 33,
	/* of a run that folds, launcher -> head, for OUTPUT: u8 descriptor, a set of
	 * ranks, a line of them all without its end */
	RUN_FOLDED = 34,
	/* client -> head -> launcher, by TCP: a struct run_window, the size of the
	 * client's terminal, which has changed */
	RUN_WINDOW = 35,
	/* client, a connection's first one: the launchers are to stay, also if
	 * nothing runs; the head answers READY or AGAIN */
	RUN_STAY = 40,
	/* head -> launchers, in the domain: u64 run, which is over: what its tasks have
	 * started and left behind is to end */
	RUN_SWEEP = 50,
	/* client, a connection's first one.  The head's answer: LIST with u64 CPUs and
	 * u64 of them that are free, LISTED with a struct run_listed for each run, END */
	RUN_LIST = 60,
	RUN_LISTED = 61,
	/* of a run with MPI, by TCP: as PROOF, of a connection for PMI alone; then
	 * both send PMI (pmi_wire.h) */
	RUN_PMI_PROOF = 70,
	RUN_PMI = 71,
	/* head -> launchers, in the domain: struct pmi_fenced */
	RUN_FENCED = 72
};

/* By which protocol ranks of MPI find each other. */
enum run_mpi {
	RUN_MPI_NONE,
	RUN_MPI_PMI1, /* pmi1.h */
	RUN_MPIS
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
 * read from; argv and env are freed by run_what_free(). */
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
	bool pty; /* its one task has a pseudo terminal, of this size */
	struct run_window window;
	enum run_mpi mpi;
	enum run_input input;
	uint32_t input_rank; /* of RUN_INPUT_ONE */
	char **argv, **env;  /* end with NULL */
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
	uint32_t cpus;	/* of each task */
	uint32_t limit; /* s: then it is ended */
	uint32_t wait;	/* s after its first task's end: likewise */
	bool kill;	/* a task that fails ends it */
	bool keep;	/* the loss of a node does not end it */
	bool whole; /* one task on each node, with all CPUs that the job has there */
	const char *with;    /* a list of nodes that it has in any case */
	const char *without; /* and of those that it does not have */
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
	struct storm_idset past; /* ids of runs that are over */
	uint32_t cpus;		 /* that were asked for, for each task; or 0 */
	const char *names;	 /* the nodes, as a list; the buffer's */
	struct storm_idset nodes;
	const uint32_t *rank; /* run_layout()'s, for these nodes */
	uint32_t local;	      /* the node that has the client's descriptors */
	uint32_t channel; /* of its door, by which; 0: the head sends them */
	struct storm_addr relay; /* where output of others goes */
	uint8_t life[RUN_LIFE];
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
	uint32_t *cpus;		  /* of each node */
	struct storm_node *nodes; /* by SLURM_PROCID of the launchers */
};

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

/*
 * As srun does it: each node in turn gets a task, if it has a CPU left, until all are
 * given; ranks go from node to node.  The rank of the first task of each node, and at
 * the end the number of tasks, which the caller frees.  NULL: the CPUs are too few, or a
 * node has none, or there is no memory.
 */
uint32_t *run_layout(const uint32_t *cpus, uint32_t nodes, uint32_t tasks);
/* The place of a node in a set of nodes, or UINT32_MAX. */
uint32_t run_place(const struct storm_idset *nodes, uint32_t node);

/* How a task ended: the code of its report, and with 0 it ended well. */
enum run_cause {
	RUN_EXITED,	 /* with this status */
	RUN_SIGNALED,	 /* by this signal */
	RUN_NOT_STARTED, /* this errno: the program */
	RUN_NO_CWD,	 /* this errno: the directory */
	RUN_NO_START,	 /* this errno: all else before the program */
	RUN_OUTPUT_LOST, /* this errno: some of its output did not come */
	RUN_NO_STDIN,	 /* this errno: its file; so the next two */
	RUN_NO_STDOUT,
	RUN_NO_STDERR,
	RUN_INPUT_LOST, /* this errno: some of its input did not come */
	RUN_NODE_LOST,	/* of GONE alone: the task's node */
	RUN_PMI_LOST, /* this errno: its launcher lost the ranks of other nodes */
	RUN_CAUSES
};
uint32_t run_code(enum run_cause cause, int value);
/* False: it is none. */
bool run_code_read(uint32_t code, enum run_cause *cause, int *value);
/* The exit status of a task, as srun has it. */
int run_code_status(uint32_t code);
/* Has a signal ended it? */
bool run_code_is_signal(uint32_t code);

void run_frame_head(uint8_t out[static RUN_FRAME_HEADER], enum run_kind kind,
		    size_t body);

/* Frames that come in pieces. */
struct run_reader {
	uint8_t *buf;
	size_t have, room;
	size_t used; /* bytes at its begin, of frames that were returned */
};
/* Where the next bytes belong, *room of them; the caller adds what came to
 * r->have.  NULL: no memory. */
uint8_t *run_reader_room(struct run_reader *r, size_t *room);
/* 1: a whole frame; its body is valid until the next call.  0: not yet.  -1: its
 * length is beyond RUN_FRAME_MAX. */
int run_reader_next(struct run_reader *r, enum run_kind *kind,
		    struct storm_in *body);
/* The bytes that the first frame's body has or will have; 0: not known yet. */
size_t run_reader_body(const struct run_reader *r);
void run_reader_fini(struct run_reader *r);

#endif
