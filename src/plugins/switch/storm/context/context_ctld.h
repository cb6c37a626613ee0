/*
 * context_ctld.h - network contexts in slurmctld: leases for steps, and their
 * return (doc/protocol.md, "Network contexts").  Called with slurmctld's job
 * write lock held, except for context_ctld_sign().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONTEXT_CTLD_H
#define STORM_CONTEXT_CTLD_H

#include "src/slurmctld/slurmctld.h"

#include "context.h"

/* Read storm.conf, and the leases in this directory, before slurmctld recovers
 * its jobs.  Errors are logged. */
void context_ctld_start(const char *state_dir);
/* Leave the leases as they are: another slurmctld may take over. */
void context_ctld_stop(void);
/* Read storm.conf again. */
void context_ctld_reconfig(void);

/* Lease a context to a step.  CONTEXT_LEASED: *c has it, and scontrol shows
 * it.  Otherwise the step runs without one, which is logged unless contexts are
 * disabled. */
enum context_left context_ctld_lease(step_record_t *step, struct context *c);
/* The step has ended on all nodes. */
void context_ctld_return(const struct context *c);
/* slurmctld has recovered a step with this context. */
void context_ctld_claim(const struct context *c);

/* A job ends: leases of its steps that nobody claimed can be returned soon. */
void context_ctld_job_ends(void);

/* Make the credential for slurmstepd (free()).  NULL: MUNGE failed, which was
 * logged.  Any thread, without a lock. */
char *context_ctld_sign(const struct context *c);

#endif
