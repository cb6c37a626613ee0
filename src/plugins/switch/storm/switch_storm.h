/*
 * switch_storm.h - the symbols that Slurm's loader looks up in the plugin, as
 * far as all releases have them.  Slurm's switch.c has the table and the
 * contracts; there is no header for it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SWITCH_STORM_H
#define STORM_SWITCH_STORM_H

#include <stdbool.h>
#include <stdint.h>

#include "src/slurmd/slurmstepd/slurmstepd_job.h"

#include "stepinfo.h"

#pragma GCC visibility push(default)
extern const char plugin_name[], plugin_type[];
extern const uint32_t plugin_version, plugin_id;
int switch_p_job_preinit(stepd_step_rec_t *job);
int switch_p_job_init(stepd_step_rec_t *job);
int switch_p_job_attach(struct stepinfo *s, char ***env, uint32_t nodeid,
			uint32_t procid, uint32_t nnodes, uint32_t nprocs,
			uint32_t rank);
int switch_p_job_postfini(stepd_step_rec_t *job);
int switch_p_job_step_complete(struct stepinfo *s, char *nodelist);
#pragma GCC visibility pop

/* The release's init() and fini() call these. */
void switch_storm_begin(void);
void switch_storm_end(void);
/* Is this Slurm another one than this plugin was built for?  Then stepinfos are
 * passed on unread, and nothing else is done. */
bool switch_storm_refused(void);
/* In slurmctld: read the leases from its state directory. */
void switch_storm_restore(const char *dir);

#endif
