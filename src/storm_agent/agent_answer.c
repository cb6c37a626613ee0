/*
 * agent_answer.c - see agent_answer.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"

#include "agent_answer.h"
#include "src/libstorm/base/clock.h"

struct agent_answer {
	struct agent_answer *next;
	enum agent_answer_kind kind;
	uint64_t session, op;
	int err, sys;
};

void agent_answer_init(struct agent_answers *s)
{
	s->first = NULL;
	s->end = &s->first;
}

void agent_answer_add(struct agent_answers *s, enum agent_answer_kind kind,
		      uint64_t session, uint64_t op, int err, int sys)
{
	struct agent_answer *i = xmalloc(sizeof(*i));

	i->kind = kind;
	i->session = session;
	i->op = op;
	i->err = err;
	i->sys = sys;
	*s->end = i;
	s->end = &i->next;
}

void agent_answer_give(struct agent_answers *s, struct storm_nm *nm)
{
	struct agent_answer *i;
	uint64_t now = storm_now();

	/* delivering one may queue another */
	while ((i = s->first)) {
		s->first = i->next;
		if (!s->first)
			s->end = &s->first;
		switch (i->kind) {
		case ANSWER_BEGUN:
			storm_nm_begun(nm, i->session, i->op, i->err, i->sys,
				       now);
			break;
		case ANSWER_WRITTEN:
			storm_nm_written(nm, i->session, i->op, 0, 0, i->err,
					 i->sys, now);
			break;
		case ANSWER_STAGED:
			storm_nm_staged(nm, i->session, i->op, i->err, i->sys,
					now);
			break;
		case ANSWER_APPLIED:
			storm_nm_applied(nm, i->session, i->op, i->err, i->sys,
					 now);
			break;
		}
		xfree(i);
	}
}
