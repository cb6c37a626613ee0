/*
 * call_desk.h - where the keeper waits for the call of its head (call.h), among strangers.
 * They are few, have little time, and none takes a place for ever: the head is among the
 * first that call, and those beyond wait in the kernel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CALL_DESK_H
#define STORM_CALL_DESK_H

#include <poll.h>

#include "call.h"
#include "carrier.h"

#define CALL_DESK_GUESTS 16
#define CALL_DESK_POLLS (1 + CALL_DESK_GUESTS)

struct call_desk;

/* listener, without blocking, becomes the desk's; key: of the step.  NULL: no memory, and
 * listener is closed. */
struct call_desk *call_desk_create(int listener,
				   const uint8_t key[static RUN_KEY]);
/* NULL is allowed. */
void call_desk_destroy(struct call_desk *d);

/* CALL_DESK_POLLS entries for poll(2), and how many ms it is to wait. */
int call_desk_polls(const struct call_desk *d, struct pollfd *p);
/* Do what can be done.  The stream of the head, whose carrier is proven, and opens
 * channels: both are the caller's.  -1: it has not called yet. */
int call_desk_serve(struct call_desk *d, const struct pollfd *p,
		    struct carrier **c);
/* Why the last call was refused, or "". */
const char *call_desk_why(const struct call_desk *d);

#endif
