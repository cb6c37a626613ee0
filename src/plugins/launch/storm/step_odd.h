/*
 * step_odd.h - the odd nodes of a command (Fallback=nodes): STORM serves the
 * command without them, and Slurm's own messages go to them.  Some of these have
 * failed (step_failed.h): with FailedLaunch nothing goes to them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_ODD_H
#define STORM_STEP_ODD_H

#include <stdbool.h>
#include <stdint.h>

#include "src/libstorm/storm.h"
#include "src/storm_common/storm_conf.h"

struct step_domain;

/* One command's.  All zeroes and conf: none are odd.  One thread at a time. */
struct step_odd {
	const struct storm_conf *conf; /* not owned; NULL: no node may be odd */
	char *nodes;		       /* in Slurm's form; NULL: none */
	uint32_t count;		       /* of them */
	uint32_t rounds; /* how often some were left out that were tried */
	/* Some were, and the command is to be tried without them.  The caller
	 * clears it. */
	bool again;
	bool may_leave; /* the caller's word: the command may do without some */
	char *failed;	/* of the nodes, those that have; NULL: none */
	uint32_t failures; /* number of them */
	char *failed_why;  /* their names, and the causes */
	bool stop; /* it may not do without them: nothing is to be begun */
	/* The faults that were met last, whatever was made of them: the first one,
	 * and all of their nodes.  STORM_OK, NULL: none. */
	enum storm_err err;
	char *faulty;
	/* What step_odd_tell() has to say: nodes that are odd and have not
	 * failed, what is wrong with them, and the causes of those that have. */
	char *untold, *untold_why, *failed_untold;
	uint32_t others; /* nodes that are left */
};
void step_odd_clear(struct step_odd *odd);

/* How many of so many nodes may be odd; 0 unless Fallback=nodes.  At least one:
 * one node says nothing about the others.  Never all. */
uint32_t step_odd_most(const struct storm_conf *c, uint32_t nodes);

/* `stop` is set.  Why nothing is begun, without the remedy (xfree). */
char *step_odd_why_stop(const struct step_odd *odd);
/* step_odd_why_stop() of a step, with the remedy (xfree). */
char *step_odd_no_launch(const struct step_odd *odd);

/* Forget these nodes of sd: those that are odd. */
void step_odd_remove(const struct step_odd *odd, struct step_domain *sd);

/* The faults of sd's nodes are why a command failed before anything was begun;
 * `why` names both.  True: those nodes are few.  They are odd from now on, and
 * `again` is set.  Or some have failed: then that
 * holds for these, or false is returned with `stop`.  odd may be NULL. */
bool step_odd_leave(struct step_odd *odd, const struct step_domain *sd,
		    const struct storm_outcome *out, const char *why);

/* As step_odd_leave(), for nodes of which that was known.  They leave sd, and
 * nothing is to be tried again. */
bool step_odd_leave_known(struct step_odd *odd, struct step_domain *sd,
			  const struct storm_outcome *out, const char *why);

/* The command goes on for the other nodes.  Warn of those that are odd: of all in one
 * line, and of each once in a process. */
void step_odd_tell(struct step_odd *odd);
/* It does not: Slurm serves it, for the reason `why`, which is taken over.  The reason
 * to log, with what is wrong with the odd nodes (xfree). */
char *step_odd_why_all(struct step_odd *odd, char *why);

/* The names of the nodes that have faults, in Slurm's form (xfree). */
char *step_odd_faulty(const struct step_domain *sd,
		      const struct storm_outcome *out);
/* Which of a step's nodes keeps the reason of a fallback: the number, in the list, of the
 * first one that is not among the faulty (NULL: none is), as its agent may be there. */
uint32_t step_odd_keeper(const char *nodelist, const char *faulty);

/* Those of the list, in Slurm's form, that are odd (xfree).  NULL: none.  served:
 * that have not failed, either, so that Slurm's own messages go to them. */
char *step_odd_of(const struct step_odd *odd, const char *nodelist);
char *step_odd_served(const struct step_odd *odd, const char *nodelist);

/* The list without nodes that have failed (xfree). */
char *step_odd_living(const struct step_odd *odd, const char *nodelist);

#endif
