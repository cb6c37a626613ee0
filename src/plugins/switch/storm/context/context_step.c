/*
 * context_step.c - see context_step.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/env.h"
#include "src/common/log.h"
#include "src/common/read_config.h"

#include "context_step.h"

#define CONTEXT_ENV "STORM_CONTEXT"
#define GROUP_ENV "STORM_CONTEXT_GROUP"
#define KEY_ENV "STORM_CONTEXT_KEY"

static struct {
	slurm_step_id_t step;
	char why[CONTEXT_WHY_MAX];
} refused;

bool context_step_verify(const stepd_step_rec_t *job, const void *bytes,
			 size_t len, struct context *c)
{
	struct context_expected e = {
		.job = job->step_id.job_id,
		.step = job->step_id.step_id,
		.het = job->step_id.step_het_comp,
		.uid = job->uid,
		.ctld_uid = slurm_conf.slurm_user_id,
		.cluster = slurm_conf.cluster_name,
	};

	if (context_verify(bytes, len, &e, c, &refused.why))
		return true;
	refused.step = job->step_id;
	context_step_refusal();
	return false;
}

void context_step_refusal(void)
{
	error("storm: the network context of %ps is refused: %s", &refused.step,
	      refused.why);
}

void context_step_export(const struct context *c, char ***env)
{
	char group[CONTEXT_GROUP_TEXT], key[CONTEXT_KEY_TEXT];

	if (!c) {
		unsetenvp(*env, CONTEXT_ENV);
		unsetenvp(*env, GROUP_ENV);
		unsetenvp(*env, KEY_ENV);
		return;
	}
	context_group_text(c->group, &group);
	context_key_text(c->key, &key);
	env_array_overwrite_fmt(env, CONTEXT_ENV, "%u", c->id);
	env_array_overwrite(env, GROUP_ENV, group);
	env_array_overwrite(env, KEY_ENV, key);
}
