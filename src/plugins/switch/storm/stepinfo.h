/*
 * stepinfo.h - what slurmctld sends about a step to its slurmstepds: the step's
 * network context.  Slurm calls it jobinfo in 22.05 and stepinfo since; the
 * switch_ops_* files have the operations of each release.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEPINFO_H
#define STORM_STEPINFO_H

#include <stdbool.h>
#include <stdint.h>

#include "src/common/pack.h"
#include "src/slurmctld/slurmctld.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"

struct stepinfo;

/* Create one without a context. */
struct stepinfo *stepinfo_create(void);
void stepinfo_free(struct stepinfo *s);
/* Copy one; from may be NULL. */
struct stepinfo *stepinfo_copy(const struct stepinfo *from);

/* In slurmctld: lease a context for the step, if one is left. */
void stepinfo_lease(struct stepinfo *s, step_record_t *step);
/* In slurmctld: add the credential for slurmstepd now, to be packed from here
 * on. */
void stepinfo_sign(struct stepinfo *s);
/* In slurmctld: this copy leaves slurmctld.  Add the credential when it is
 * packed, because no lock is held then. */
void stepinfo_sign_later(struct stepinfo *s);
/* The step's lease in slurmctld, or NULL. */
const struct context *stepinfo_leased(const struct stepinfo *s);

/* Pack one; s may be NULL, because Slurm also packs what was never built. */
void stepinfo_pack(const struct stepinfo *s, buf_t *buffer);
/* Unpack one.  NULL: malformed. */
struct stepinfo *stepinfo_unpack(buf_t *buffer);
/* In slurmctld: read the lease of a step in its saved state. */
void stepinfo_recover(struct stepinfo *s);
/* In srun: log at -v why its step has no context.  Contexts are optional. */
void stepinfo_tell(const struct stepinfo *s);

/* In slurmstepd, before there are tasks: check the context, if there is one. */
void stepinfo_verify(struct stepinfo *s, const stepd_step_rec_t *step);
/* In a task's process: put the context into its environment.  False: the
 * context was refused.  first: log why, once on this node. */
bool stepinfo_export(const struct stepinfo *s, bool first, char ***env);

#endif
