/*
 * failed_rules.h - what slurmctld does about a node with which something is wrong: which
 * acts, and each once.  It uses no clock and nothing of Slurm.
 *
 * What can be taken back is done on a suspicion.  For what cannot there must be a second
 * witness (verdict.h), and no more such nodes than MaxFailedNodes: else a switch has
 * failed, or this host's network, and not the nodes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FAILED_RULES_H
#define STORM_FAILED_RULES_H

#include <stdbool.h>
#include <stdint.h>

#include "src/storm_common/storm_conf.h"
#include "src/storm_common/strober_protocol.h"

struct failed_rule {
	enum storm_failed policy;
	uint64_t act_after; /* ns */
	bool many;	    /* more than MaxFailedNodes have failed */
};

/* What is known of a node. */
struct failed_view {
	uint16_t state, cause; /* enum strober_state or 0, enum strober_cause */
	/* It was not heard since the strober began, and that is not known to be a
	 * failure: it may have been so for days. */
	bool never;
	bool known; /* an earlier strober has found it, and it is so since then */
	int64_t heard; /* us of the wall clock: when it was heard last.  If it never
			  was and is not known: when it was found, so before that. */
	uint64_t silent; /* ns since this strober has heard it, or found it */
	uint64_t suspect_at,
		suspect; /* ns: since when it is a suspect, how long */
	/* The host has answered since the node was silent.  lost: us of the wall clock;
	 * when it answered no more; 0: it never did, or still does. */
	bool answered;
	int64_t lost;
	/* It boots, is powered down, is being restarted or is down: that it is
	 * silent is no failure. */
	bool excused;
	bool talks; /* slurmctld has spoken with its slurmd since */
	bool taken; /* it is drained, by whomever */
	bool ours;  /* by this program, as its Reason says */
};

/* What was done already.  Initialize it to zeroes. */
struct failed_memory {
	uint16_t told, cause; /* what jobs were told */
	bool ended;	      /* steps were told that the node has failed */
	bool answered; /* its host has answered since: others may have begun */
	bool took;     /* it was drained or set down */
};

enum failed_act {
	FAILED_SAY = 1,	     /* tell the jobs of the node its state */
	FAILED_SAY_BACK = 2, /* tell them that it is back */
	FAILED_END = 4,	     /* give up what runs there: Slurm's rules decide */
	FAILED_TAKE_DRAIN = 8, /* drain it */
	FAILED_TAKE_DOWN = 16, /* set it down */
	FAILED_RESUME = 32,    /* it is good again */
};

/* The strober's word of the node; NULL: it is good.  *v has what was known before, and
 * gets state to lost; all else becomes 0.  now: ns of CLOCK_MONOTONIC; wall: us of the
 * wall clock, at the same time. */
void failed_take_word(struct failed_view *v, const struct strober_failed *x,
		      uint64_t now, int64_t wall);
/* Has slurmctld had an answer, at this second of the wall clock, since the node was
 * heard last, or its host was lost?  wall: us of the wall clock. */
bool failed_talks(const struct failed_view *v, int64_t response, int64_t wall);
/* Is the Reason of a node, which may be NULL, one of failed.c's?  uid: whose it is;
 * slurm: SlurmUser's. */
bool failed_is_our_reason(const char *reason, uint32_t uid, uint32_t slurm);
/* The Reasons that are ours begin so. */
#define FAILED_NO_HEARTBEAT "storm: no heartbeat since "
#define FAILED_NO_SLURMD "storm: slurmd gone since "
/* Does a job's step still belong to the run in which it was given up?  A requeued job
 * has the same number.  restarts: the job's now and then; gone: there is no such job. */
bool failed_is_same_run(bool gone, uint32_t now, uint32_t then);

/* The acts (enum failed_act) that are due now.  *m is updated: the caller does them
 * all. */
unsigned int failed_acts(const struct failed_rule *r,
			 const struct failed_view *v, struct failed_memory *m);

/* Does nothing there answer, as far as is known? */
bool failed_is_silent(const struct failed_view *v);
/* Could it be a failure? */
bool failed_may_fail(const struct failed_view *v);
/* Does it count among the nodes that have failed (MaxFailedNodes)? */
bool failed_counts(const struct failed_view *v);
/* Are so many of so many nodes more than MaxFailedNodes? */
uint32_t failed_limit(const struct storm_gang_conf *conf, uint32_t nodes);

/* The word for a node's Extra, constant; NULL: nothing is shown. */
const char *failed_word(const struct failed_rule *r,
			const struct failed_view *v);
/* What is wrong, in a sentence's words: "host unreachable". */
const char *failed_cause(const struct failed_view *v);
/* The sentence's end: what becomes of what runs there; constant, or "". */
const char *failed_outcome(const struct failed_view *v,
			   const struct failed_memory *m, bool many);

#endif
