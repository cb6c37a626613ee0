/*
 * relay.h - how output of a run's tasks on another host than the client's comes to the
 * head, and input from it: one connection for each run, opened when there is something to
 * send, or at once for input.  The launcher's loop calls all of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RELAY_H
#define STORM_RELAY_H

#include "run_lines.h"
#include "run_pieces.h"
#include "run_usage.h"

struct relay;
struct storm_worker;

/* What its user does with a RUN_INPUT. */
typedef void relay_input_fn(void *arg, const struct run_piece *p);

/* Nothing is opened yet.  start and munge, which waits for munged, must outlive it.  node:
 * this one.  NULL: no memory. */
struct relay *relay_create(const struct run_start *start, uint32_t node,
			   struct storm_worker *munge);
/* Input comes, too: so it is opened at once. */
void relay_await_input(struct relay *r, relay_input_fn *input, void *arg);
/* It is of PMI alone, and opened at once.  Nothing comes by it: a fence's end is sent in
 * the domain. */
void relay_is_of_pmi(struct relay *r);
/* Send a RUN_PMI, as soon as it can be.  False: no memory, or the connection failed. */
bool relay_put_pmi(struct relay *r, const void *body, size_t len);
/* Send a RUN_USED, as output.  False: there is no room now. */
bool relay_usage(struct relay *r, const struct run_usage *u);
/* Tell the head what was taken of it.  False: there is no room now. */
bool relay_room(struct relay *r, uint32_t rank, uint64_t taken);
void relay_destroy(struct relay *r);

/*
 * Read what is in a pipe, as OUTPUT of this descriptor, or as OUTPUT_OF a rank, which is
 * not RUN_ALL_RANKS, as far as there is room.
 * False: it has ended, or there is nothing more although all was read.  What comes
 * to a connection that failed is lost, and said once.
 */
bool relay_read(struct relay *r, int pipe, uint8_t fd, uint32_t rank);
/* Move lines to what is to be sent, as many as there is room for. */
void relay_lines(struct relay *r, struct run_lines *l, uint8_t fd, bool over);
/* Send a line of several tasks.  False: there is no room now. */
bool relay_folded(struct relay *r, uint8_t fd, const struct run_folded *line);
/* May more be read? */
bool relay_has_room(const struct relay *r);
/* Bytes of OUTPUT so far, and has the head got so many, or are they lost? */
uint64_t relay_sent(const struct relay *r);
bool relay_has_taken(const struct relay *r, uint64_t sent);

/* An errno, once output is lost; else 0. */
int relay_failed(const struct relay *r);
/* Has the head sent another size of the client's terminal? */
bool relay_window(struct relay *r, struct run_window *out);
/* Will nobody read what is written to this descriptor? */
bool relay_is_deaf(const struct relay *r, uint8_t fd);
/* After how many ms relay_serve() is to be called: there is output, and no connection.
 * -1: not for that. */
int relay_again(const struct relay *r);

/* For poll(2): -1, or its descriptor with the events to wait for; then what came.
 * Call the second one in each turn: it opens the connection. */
int relay_fd(const struct relay *r, short *events);
void relay_serve(struct relay *r, short events);

#endif
