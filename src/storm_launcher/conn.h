/*
 * conn.h - a connection of the head's: frames that come, and bytes that wait to be sent.
 * Nothing here waits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONN_H
#define STORM_CONN_H

#include "carrier.h"
#include "run_sock.h"

enum conn_kind {
	CONN_NEW,
	CONN_PROVING, /* munged reads the credential that it has shown */
	CONN_CLIENT,
	CONN_PARENT, /* the launcher whose child the head is; or the keeper */
	CONN_KEEPER,
	CONN_WAITS, /* for the head's end */
	CONN_INLET, /* output of a launcher, by TCP */
	CONN_PMI,   /* of its ranks of MPI, likewise */
	CONN_DOOR /* clients of a launcher's host, or of the keeper's, by TCP */
};

struct conn {
	struct conn *next;
	enum conn_kind kind;
	int fd; /* -1: closed; or its bytes come by the channel */
	struct carrier *carrier; /* NULL: not by one */
	uint32_t channel;
	bool tcp;
	uint64_t since, serial;
	bool bye; /* close it when all is sent */
	struct run_reader in;
	uint8_t *out; /* [at, have) is to be sent */
	size_t at, have, room;
	/* CLIENT, INLET and PMI: the run, or 0 */
	uint64_t run;
	/* CLIENT: its own descriptors, until the run has begun; what it wants,
	 * as run_what's bytes, and read */
	int file[RUN_SOCK_FDS];
	uint8_t *ask;
	size_t ask_len;
	struct run_what what;
	/* the size of its terminal, as it was told last; if it was */
	struct run_window window;
	bool resized;
	uint8_t queued; /* it was told that it waits */
	uint8_t deaf;	/* bit k: nobody reads its descriptor k */
	/* INLET: bytes of output that it has brought, and of which it was told; whether it got what came of
	 * the input before it; its node's ranks; bytes of the input of all that
	 * they took */
	uint64_t taken, told;
	bool fed;
	uint32_t first, last;
	uint64_t input_taken;
	bool pmi; /* what is being proven becomes PMI */
	/* INLET, PMI, DOOR, and a client that came by it: the node, or
	 * STORM_NO_NODE: the keeper's host.  DOOR: what its stream is from then
	 * on; the conn's own */
	uint32_t node;
	struct carrier *carries;
};

/* NULL: no memory, and fd is closed. */
struct conn *conn_create(int fd, bool tcp);
/* One whose bytes come by a channel, which it closes, but channel 0.  NULL: no memory,
 * and it is closed. */
struct conn *conn_create_on(struct carrier *carrier, uint32_t channel);
/* False: it is closed; the head frees it. */
bool conn_is_open(const struct conn *c);
/* NULL is allowed. */
void conn_destroy(struct conn *c);
void conn_close(struct conn *c);
/* Its carrier is no more. */
void conn_forget_carrier(struct conn *c);
void conn_close_files(struct conn *c);

/* Without memory it is closed: the other end must not miss anything. */
void conn_put(struct conn *c, enum run_kind kind, const void *body, size_t len);
void conn_put_text(struct conn *c, enum run_kind kind, const char *text);
/* Bytes that wait. */
size_t conn_waits(const struct conn *c);
void conn_flush(struct conn *c);
/* Read what is there.  A connection that has ended is closed. */
void conn_read(struct conn *c);

#endif
