/*
 * switch_modern.c - see switch_modern.h.
 *
 * From 24.11 on the stepinfo is inside the step's credential, which slurmctld
 * signs, and only slurmctld and slurmstepd unpack it.  That credential is signed
 * and not encrypted.  So the context has its own here, too: only slurmd's user
 * can decode the key.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/run_in_daemon.h"

#include "src/plugins/switch/storm/context/context_ctld.h"
#include "switch_modern.h"
#include "switch_storm.h"

/* The agent's home is spank_storm (agent_watch.h). */
int init(void)
{
	switch_storm_begin();
	return SLURM_SUCCESS;
}

int fini(void)
{
	switch_storm_end();
	return SLURM_SUCCESS;
}

/* Each lease was saved when it began. */
int switch_p_save(void)
{
	context_ctld_stop();
	return SLURM_SUCCESS;
}

int switch_p_restore(bool recover)
{
	(void) recover;
	switch_storm_restore(slurm_conf.state_save_location);
	return SLURM_SUCCESS;
}

void switch_p_job_complete(job_record_t *job)
{
	(void) job;
	if (running_in_slurmctld() && !switch_storm_refused())
		context_ctld_job_ends();
}

/* Leases are slurmctld's.  The steps of a job with stepmgr are made on its first
 * node, in its extern step. */
static void switch_modern_tell_stepmgr(void)
{
	static bool told;

	if (!told)
		info("storm: this job's steps are made by stepmgr, and get no network context");
	told = true;
}

/* slurmctld copies and packs it for the credential, with its locks held, at
 * once. */
struct stepinfo *switch_modern_build(step_record_t *step)
{
	struct stepinfo *s = stepinfo_create();

	if (switch_storm_refused())
		return s;
	if (running_in_slurmctld()) {
		stepinfo_lease(s, step);
		stepinfo_sign(s);
	} else {
		switch_modern_tell_stepmgr();
	}
	return s;
}

/* slurmctld unpacks only the steps of its saved state. */
struct stepinfo *switch_modern_unpack(buf_t *buffer)
{
	struct stepinfo *s = stepinfo_unpack(buffer);

	if (!s || !running_in_slurmctld() || switch_storm_refused())
		return s;
	stepinfo_recover(s);
	if (stepinfo_leased(s))
		context_ctld_claim(stepinfo_leased(s));
	return s;
}
