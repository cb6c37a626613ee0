/*
 * step_told.h - which nodes of a step have been told of a signal, and what they
 * have answered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_TOLD_H
#define STORM_STEP_TOLD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/storm.h"

struct storm_session;

enum step_told { TOLD_NOT, TOLD_AWAITS, TOLD_ANSWERED, TOLD_LOST };

/* A session has one, and its lock protects all but `one`. */
struct step_signals {
	pthread_mutex_t one; /* held by the thread that casts */
	bool open;	     /* nodes can be reached by the domain */
	bool casting;
	uint32_t order;	  /* number of the last one */
	uint8_t *told;	  /* enum step_told, by node of the domain */
	uint32_t *rc;	  /* slurmd's answer, if there is one */
	uint32_t nodes;	  /* size of both */
	uint32_t pending; /* nodes of which an answer is awaited */
	/* One that was canceled: the domain is busy until it ends. */
	storm_event_t *stuck;
	uint8_t *stuck_buf;
};

/* The step's own thread.  open: its nodes have got the launch message.  close:
 * before its domain is dropped; waits for the thread that casts, which does not
 * wait for the network then. */
void step_told_open(struct storm_session *s);
void step_told_close(struct storm_session *s);

/* The domain's thread.  lost: with the session's lock held. */
void step_told_reported(struct storm_session *s, const struct storm_report *r);
void step_told_lost(struct storm_session *s, uint32_t node);

/* The thread that casts, or the step's own one: free the canceled one. */
void step_told_unstick(struct step_signals *g);

/* Does this code of an agent say that it has no answer of its slurmd, or did not
 * ask it?  It refuses a message that it does not know, and slurmd may know it. */
bool step_told_nothing(uint32_t rc);

#endif
