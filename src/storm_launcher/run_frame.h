/*
 * run_frame.h - messages on a stream: the length of the body, its kind, the body.  And
 * their kinds, which those in the domain have, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_FRAME_H
#define STORM_RUN_FRAME_H

#include "src/libstorm/wire/wire.h"

#define RUN_FRAME_HEADER 5
#define RUN_FRAME_MAX (4u << 20) /* bytes of a body */

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
		6, /* u8: 1 it waits for CPUs and their like, 0 it does not; u64 its number; text:
		      * the launchers' step; comes first */
	RUN_SAY = 7,	  /* text for stderr */
	RUN_OUTPUT = 8,	  /* u8 descriptor, bytes; a launcher sends it, too */
	RUN_END = 9,	  /* u8 exit status, u8 enum run_end */
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
	/* launcher -> head, of a run in a journal, before its last task there is reported:
	 * struct run_usage */
	RUN_USED = 36,
	/* of a run that tells, head -> client: it begins now; text: the list of its
	 * nodes */
	RUN_BEGAN = 37,
	/* client -> head: if it has not begun, it is over */
	RUN_RECALL = 38,
	/* client -> head -> launcher, by TCP: a struct run_window, the size of the
	 * client's terminal, which has changed */
	RUN_WINDOW = 35,
	/* client, a connection's first one: the launchers are to stay, also if
	 * nothing runs; the head answers READY or AGAIN */
	RUN_STAY = 40,
	/* head -> launchers, in the domain: u64 run, which is over: what its tasks have
	 * started and left behind is to end */
	RUN_SWEEP = 50,
	/* client, a connection's first one.  The head's answer: LIST with struct
	 * run_stocks, LISTED with a struct run_listed for each run, END */
	RUN_LIST = 60,
	RUN_LISTED = 61,
	/* of a run with MPI, by TCP: as PROOF, of a connection for PMI alone; then
	 * both send PMI (pmi_wire.h) */
	RUN_PMI_PROOF = 70,
	RUN_PMI = 71,
	/* head -> launchers, in the domain: struct pmi_fenced */
	RUN_FENCED = 72,
	/* head -> one launcher, in the domain: a px_msg, for its storm_pmix (px_wire.h) */
	RUN_WANTED = 73,
	RUN_GIVEN = 74
};

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
