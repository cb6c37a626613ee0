/*
 * agent_session.c - see agent_session.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"

#include "agent.h"
#include "agent_session.h"
#include "src/libstorm/wire/open.h"

void agent_creds_destroy(struct agent_creds *c)
{
	if (!c)
		return;
	xfree(c->user.gids);
	xfree(c);
}

struct agent_session *agent_session_create(struct agent *a, uint64_t id,
					   const struct storm_open_info *info,
					   struct agent_creds *creds)
{
	struct agent_session *s = xmalloc(sizeof(*s));

	s->a = a;
	s->id = id;
	s->cluster = info->cluster;
	s->self = info->self;
	s->step = (struct agent_step) {
		.uid = info->uid,
		.job_id = info->job_id,
		.step_id = info->step_id,
		.het = info->step_het,
	};
	s->creds = creds;
	s->next = a->sessions;
	a->sessions = s;
	return s;
}

void agent_session_destroy(struct agent_session *s)
{
	struct agent_session **p;

	for (p = &s->a->sessions; *p != s; p = &(*p)->next)
		;
	*p = s->next;
	agent_creds_destroy(s->creds);
	xfree(s);
}

struct agent_session *agent_session_of_step(struct agent *a,
					    const struct agent_step *step)
{
	for (struct agent_session *s = a->sessions; s; s = s->next) {
		/* The owner chooses job and step.  So compare the uid, too:
		 * another user's session must not get this step's reports. */
		if (s->launched && s->step.job_id == step->job_id &&
		    s->step.step_id == step->step_id &&
		    s->step.het == step->het && s->step.uid == step->uid)
			return s;
	}
	return NULL;
}
