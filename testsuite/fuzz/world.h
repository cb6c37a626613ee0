/*
 * world.h - a Node Manager with one session open, as an agent has it, for the
 * harnesses, and for testsuite/unit/test_hostile.c with the real seals.  The session's key is known here, so that what the fuzzer makes up
 * can be sealed as any member of the domain would.  The same input does the
 * same every time: random numbers are constants, time is the script's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef WORLD_H
#define WORLD_H

#include "fuzz.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/seal.h"

#define WORLD_NODES 20

/* ------------------------------------------------------------- the scripts --- */

/* An input is a head and commands, {u8 command, its fields}, the integers in
 * network byte order.  Where they end in the middle, zeroes follow. */

/* {u8 sender, u8 type, u8 how, u8 epoch, u8 op, u16 length, body}: sealed by the
 * harness.  A sender that is not among the nodes is the owner. */
#define HOW_RELAY 0x1
#define HOW_GROUP 0x2  /* it came by multicast */
#define HOW_REPLAY 0x4 /* the last sequence, repeated */
#define HOW_LIFE 0x8   /* another incarnation of the sender */
#define HOW_OP 0x10    /* a u64 op follows the u8, which is ignored */
#define HOW_MORE 0x20  /* what comes next was received with it */

/* head {u8 self, u8 radix less two, u8 flags} */
#define NM_MULTICAST 0x1
#define NM_NARROW 0x2 /* the smallest MTU */
#define NM_FILE 0x4   /* a file is announced in the OPEN */
#define NM_MEMORY \
	0x8		/* ... or a transfer to memory; with both bits
				   to a segment, and not for all nodes */
#define NM_ALONE 0x10	/* no other node can be connected to */
#define NM_REFUSED 0x20 /* the host does not admit the session */
#define NM_KILLED 0x40	/* the agent ends with the script */
#define NM_CLUSTER 0x80 /* the cluster domain */
#define NM_OPEN_FLAGS \
	0xf /* those that the OPEN itself sets, and the
				   cluster */
enum nm_command {
	NM_SEALED,
	NM_RAW,	    /* {u8 0: not our session, u16 length, datagram} */
	NM_TIME,    /* {u16 ms}: this time passes */
	NM_ANSWER,  /* {u8 err}: the host answers what it was asked first */
	NM_REPORT,  /* {u8 kind, u8 code, u8 first, u8 more} */
	NM_EXPECT,  /* {u8 kind, u8 count} */
	NM_VAR,	    /* {u8 var, u8 value} */
	NM_FAILED,  /* {u8 node, u8 err}: an OPEN was not taken */
	NM_TROUBLE, /* {u8: 1 writes fail, 2 nothing can be sent} */
	NM_OPEN,    /* {u8: 1 of another session, 2 no peer waits for the
			   verdict, 4 the host refuses it}: one more OPEN */
	NM_TAKE,    /* {u8: 1 in the same epoch, 2 this node is excluded, 4
			   as if there had been no owner before, 8 with a file,
			   0x10 it is not permitted}: the next owner of the
			   cluster */
	NM_ASK,	    /* {u8: 1 a transfer, 2 not of all, u8 value or length}:
			   this node asks for an operation */
	NM_DATA,    /* {u8 sender, u8 how, u8 op, u16 offset in tenths, u16
			   length}: DATA, sealed, of bytes made up */
	NM_COMMANDS
};

/* head {u8 nodes less one, u8 radix less two, u8 flags, u8 length of a first
 * transfer, in KiB: 0 none} */
#define OWNED_MULTICAST 0x1
#define OWNED_NARROW 0x2
#define OWNED_TO_FILE 0x4  /* the first transfer */
#define OWNED_RATE 0x8	   /* with a rate set, and an authority */
#define OWNED_CLUSTER 0x10 /* the cluster domain */
#define OWNED_TAKES 0x20   /* ... from an owner before, one is excluded */
enum owned_command {
	OWNED_SEALED,
	OWNED_RAW,     /* as NM_RAW */
	OWNED_TIME,    /* as NM_TIME */
	OWNED_WELL,    /* {u8 child, u8 phase, u8 flags}: a STATUS in which all
			   is well and the operation under way this far; with
			   JOIN from any node, with 0x40 in another life, with
			   0x80 one that knows nothing */
	OWNED_XFER,    /* {u8 how, u16 length}: see fuzz_owner.c */
	OWNED_COMPARE, /* {u8 var and relation, u8 how, u8 value}; var above 240:
			  a gather, in value times 10 ms */
	OWNED_FORGET,  /* {u8 which} */
	OWNED_FAILED,  /* {u8 node, u8 err} */
	OWNED_TROUBLE, /* {u8: 2 nothing can be sent, 4 no epoch be saved} */
	OWNED_ILL,     /* {u8 child, u8 phase, u8 flags, u8 node, u8 err, u8
			   behind, u8 lost}: the same with a fault, from one
			   that has missed states and data */
	OWNED_COMMANDS
};

/* ---------------------------------------------------------------- sealing --- */

/* What the harness seals with: one key, two lives of each sender. */
#define LIVES 2
struct sealer {
	uint8_t key[STORM_KEY_LEN];
	uint64_t session;
	uint64_t sequence;
	uint32_t epoch; /* which the script calls 1 */
	struct storm_seal *seal[WORLD_NODES + 1][LIVES][STORM_LANES];
};
/* Keeps what was derived before if it would be the same. */
void sealer_set(struct sealer *s, const uint8_t key[STORM_KEY_LEN],
		uint64_t session);
/* The datagram that the script has next; rx->buf is to be freed.  True: with
 * HOW_MORE. */
bool sealer_next(struct sealer *s, struct storm_in *script, uint32_t nodes,
		 struct storm_rx *rx);
/* The same with the fields at hand; from WORLD_NODES on the owner. */
void sealer_make(struct sealer *s, uint32_t sender, uint8_t how,
		 const struct storm_header *h, const uint8_t *body, size_t len,
		 struct storm_rx *rx);
/* NM_RAW */
void raw_next(struct storm_in *script, uint64_t session, struct storm_rx *rx);

/* Call first: no MUNGE, nothing is logged.  world_payload: what the latest
 * credential holds, the key first. */
void world_init(void);
extern uint8_t world_payload[STORM_KEY_LEN + 32];
extern uint32_t world_uid; /* whom MUNGE vouches for */

/* Every segment is a datagram of this session. */
void must_be_datagrams(const void *buf, size_t len, size_t seg,
		       uint64_t session);

/* --------------------------------------------------------------- the world --- */

#define WORLD_BATCH 8
#define WORLD_OWNERS 20 /* one after the other, of the cluster domain */

struct world_file;

struct world {
	struct storm_transport transport; /* first */
	struct storm_nm *nm;
	struct sealer *sealer;
	uint64_t now, session;
	uint64_t opened[WORLD_OWNERS + 1]; /* sessions so far */
	uint64_t host_session;		   /* as the host knows it */
	uint32_t self;
	uint32_t epoch; /* the owner's first one */
	uint8_t owners;
	bool cluster;
	int sessions; /* that the host knows to be open */
	struct world_file *files;
	uint64_t ticket;
	void *stream;
	size_t stream_len;
	uint64_t streams;	/* OPENs so far */
	enum storm_err verdict; /* on the latest; ERANGE_: none yet */
	int waiting;		/* ... without a verdict */
	bool nobody_waits;
	enum storm_stream opens; /* its OPENs to others */
	bool writes_fail, no_room, sends_fail, alone, killed, refused;
	uint8_t room[4 * STORM_DATAGRAM_MAX]; /* for the next run of a file */
	struct storm_rx rx[WORLD_BATCH];      /* not handed over yet */
	int received;
	uint64_t sent;		      /* sends */
	uint64_t bytes_in, bytes_out; /* of datagrams */
	uint64_t datagrams_in;
	/* NULL, or sees each file that the host is asked to begin */
	void (*begins)(struct world *w, uint64_t op, const char *path);
	int asked;	 /* operations, not ended */
	uint64_t strobe; /* the latest one's number */
};

/* A Node Manager without a session; its end, with what it has. */
void world_create(struct world *w);
void world_destroy(struct world *w);
/* An OPEN as a stream, with the key that the domain has from then on. Returns
 * the sender's answer. The host admits an authentic OPEN, or returns err. */
enum storm_err world_stream(struct world *w, const void *buf, size_t len,
			    int err);
enum storm_err world_open(struct world *w, const struct storm_open *o,
			  uint32_t self, int err);
/* The host answers what it was asked. */
void world_answer(struct world *w, int err);

/* head: see above.  The session is open. */
void world_start(struct world *w, struct storm_in *head);
/* This is received now, at once with what waits. */
void world_receive(struct world *w, struct storm_rx *rx);
/* One command of a script. */
void world_step(struct world *w, struct storm_in *script);
/* All is silent: the session ends and frees all that it had; with NM_KILLED at
 * once. */
void world_end(struct world *w);

#endif
