/*
 * launch_gone.c - see launch_gone.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>

#include "src/common/slurm_xlator.h"

#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/xmalloc.h"

#include "launch_gone.h"
#include "step_failed.h"

void launch_gone(struct storm_session *s, struct hostlist *again, list_t *list)
{
	struct storm_outcome out = { 0 };
	struct hostlist *bad;
	char *why = NULL, *name;

	if (!s->odd.conf ||
	    s->odd.conf->failed_launch == FAILED_LAUNCH_FALLBACK)
		return;
	out.faults = xcalloc(s->domain->count + 1, sizeof(*out.faults));
	slurm_mutex_lock(&s->lock);
	for (uint32_t n = 0; n < s->domain->count; n++)
		if (s->answer[n] == ANSWER_CAME &&
		    s->answer_rc[n] == SLURM_COMMUNICATIONS_CONNECTION_ERROR)
			out.faults[out.nfaults++].node = n;
	slurm_mutex_unlock(&s->lock);
	out.faults_kept = out.nfaults;
	bad = step_failed_ask(s->domain, &out, false, &why);
	xfree(out.faults);
	if (!bad)
		return;
	error("storm: an agent has the launch, and slurmd does not answer on %s: the launch there has failed, as FailedLaunch says",
	      why);
	xfree(why);
	while ((name = hostlist_shift(bad))) {
		storm_answer(list, name, SLURM_COMMUNICATIONS_CONNECTION_ERROR);
		hostlist_delete(again, name);
		free(name);
	}
	hostlist_destroy(bad);
}
