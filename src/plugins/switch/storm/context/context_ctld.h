/*
 * context_ctld.h - network contexts in slurmctld: who gets one, and when it is
 * free again.  Slurm's hooks call from under its job write lock, but for
 * context_ctld_sign().
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CONTEXT_CTLD_H
#define STORM_CONTEXT_CTLD_H

#include "src/slurmctld/slurmctld.h"

#include "context.h"

/* Before slurmctld recovers its jobs: read storm.conf and the leases in this
 * directory. */
void context_ctld_start(const char *state_dir);
/* From now on another slurmctld may have the leases: they are left as they are. */
void context_ctld_stop(void);
/* storm.conf may have changed. */
void context_ctld_reconfig(void);

/* 1: *c is the step's, and scontrol shows it; 0: there are to be no contexts;
 * -1: none is left, of which the user and the log were told. */
int context_ctld_lease(step_record_t *step, struct context *c);
/* The step is gone. */
void context_ctld_return(const struct context *c);
/* slurmctld has found a step with this context in what it saved. */
void context_ctld_claim(const struct context *c);

/* A job is about to end: steps of it that nobody has claimed may soon be gone. */
void context_ctld_job_ends(void);

/* What slurmstepd wants to see. NULL: MUNGE refuses, of which the log was told. */
char *context_ctld_sign(const struct context *c);

#endif
