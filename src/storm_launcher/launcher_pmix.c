/*
 * launcher_pmix.c - ranks of PMIx, which storm_pmix serves: what it says, and when their
 * run can begin.  See launcher_pmi.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>

#include "launcher_pmi.h"
#include "px_link.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

static char launcher_pmix_why[PMI_TEXT_MAX]; /* its last words, or "" */

/* The run that has ranks of PMIx here; NULL: it is over. */
static struct launched_pmi *launcher_pmix_run(uint64_t number)
{
	struct launched_pmi *p = launcher_pmi_of(number);

	return p && p->run->what.mpi == RUN_MPI_PMIX ? p : NULL;
}

/* Nobody hears by PMIx who waits for whom on one node.  An MPI program begins with a
 * fence of all ranks, so one that has ended before lets others wait. */
void launcher_pmix_check(struct launched_pmi *p)
{
	uint32_t never = p->here;
	bool others = false;

	for (uint32_t k = 0; k < p->here; k++) {
		const struct pmi_rank *r = &p->rank[k];

		if (r->ended && !r->joined)
			never = storm_min(never, k);
		others |= r->joined && !r->left && !r->ended;
	}
	if (never < p->here && others)
		launcher_pmi_say_vain(p, never);
}

/* -------------------------------------------------------------- what storm_pmix says --- */

static bool launcher_pmix_hear_env(const struct storm_in *body)
{
	size_t len = (size_t) (body->end - body->p);
	uint8_t *text = malloc(len ? len : 1);
	struct storm_in in = { text, text ? text + len : NULL, !text };
	struct launched_pmi *p = NULL;
	struct px_env env;
	bool good;

	if (text)
		memcpy(text, body->p, len);
	good = px_env_get(&in, &env);
	if (good)
		p = launcher_pmix_run(env.run);
	if (p && !p->env_text && env.count == p->here) {
		p->env = env;
		p->env_text = text;
		return true;
	}
	if (good)
		px_env_free(&env);
	free(text);
	return good && !p;
}

static void launcher_pmix_abort(struct launched_pmi *p, uint32_t k,
				const struct px_msg *m)
{
	p->rank[k].left = true;
	launcher_pmi_say(p, PMI_END, k, m->code & 0xff ? m->code : 1,
			 "MPI_Abort with code %d%s%.*s", (int) m->code,
			 m->len ? ": " : "", (int) m->len,
			 m->len ? (const char *) m->data : "");
}

static void launcher_pmix_spawn(struct launched_pmi *p, uint32_t k)
{
	if (!p->rank[k].spawned)
		launcher_pmi_say(
			p, PMI_SAY, k, 0,
			"MPI_Comm_spawn is refused: storm run starts no more tasks in a run");
	p->rank[k].spawned = true;
}

/* False: it has no such rank, or that is nothing that it may say. */
static bool launcher_pmix_hear_rank(struct launched_pmi *p, enum px_kind kind,
				    const struct px_msg *m)
{
	uint32_t k = m->rank - p->first;

	if (m->rank < p->first || k >= p->here)
		return false;
	if (kind == PX_JOINED) {
		p->rank[k].joined = true;
		launcher_pmix_check(p);
	} else if (kind == PX_LEFT) {
		p->rank[k].left = true;
	} else if (kind == PX_ABORT) {
		launcher_pmix_abort(p, k, m);
	} else if (kind == PX_SPAWN) {
		launcher_pmix_spawn(p, k);
	} else {
		return false;
	}
	return true;
}

static void launcher_pmix_hear_fault(struct launched_pmi *p,
				     const struct px_msg *m)
{
	int len = (int) storm_min(m->len, sizeof(launcher_pmix_why) - 1);

	if (!p) {
		snprintf(launcher_pmix_why, sizeof(launcher_pmix_why), "%.*s",
			 len, (const char *) m->data);
		storm_log(STORM_LOG_ERROR, "storm_pmix: %s", launcher_pmix_why);
		return;
	}
	if (!p->env_text)
		p->fault = run_code(RUN_NO_PMIX, EPROTO);
	launcher_pmi_say(p, PMI_FAULT, 0, 1, "%.*s", len,
			 (const char *) m->data);
}

static bool launcher_pmix_hear(enum px_kind kind, struct storm_in *body)
{
	struct launched_pmi *p;
	struct px_msg m;
	bool good = true;

	if (kind == PX_ENV)
		return launcher_pmix_hear_env(body);
	if (!px_msg_get(body, &m))
		return false;
	p = launcher_pmix_run(m.run);
	if (kind == PX_FAULT) {
		launcher_pmix_hear_fault(p, &m);
	} else if (p && kind == PX_FENCE && m.ranks.count) {
		struct pmi_msg fence = { .kind = PMI_FENCE,
					 .ranks = m.ranks, /* it stays m's */
					 .data = m.data,
					 .len = m.len };

		launcher_pmi_send(p, &fence);
	} else if (p && (kind == PX_WANT || kind == PX_GIVEN)) {
		launcher_pmi_send(p,
				  &(struct pmi_msg) { .kind = kind == PX_WANT ?
								      PMI_WANT :
								      PMI_GIVEN,
						      .rank = m.rank,
						      .code = m.code,
						      .data = m.data,
						      .len = m.len });
	} else if (p) {
		good = launcher_pmix_hear_rank(p, kind, &m);
	}
	px_msg_free(&m);
	return good;
}

/* Wait for what it says, and until it takes what it is told. */
static void launcher_pmix_watch(void)
{
	bool writes;
	int fd = px_link_fd(&writes);
	struct epoll_event e = { .events = EPOLLIN | (writes ? EPOLLOUT : 0) };

	if (fd >= 0 && epoll_ctl(launcher_pmi_poll, EPOLL_CTL_MOD, fd, &e) &&
	    errno == ENOENT &&
	    epoll_ctl(launcher_pmi_poll, EPOLL_CTL_ADD, fd, &e))
		px_link_distrust();
}

void launcher_pmix_serve(void)
{
	enum px_kind kind;
	struct storm_in body;

	px_link_write();
	while (px_link_next(&kind, &body))
		if (!launcher_pmix_hear(kind, &body)) {
			storm_log(STORM_LOG_ERROR,
				  "what storm_pmix says cannot be read");
			px_link_distrust();
			break;
		}
	launcher_pmix_watch();
}

void launcher_pmix_fenced(const struct pmi_fenced *f)
{
	px_link_fenced(f);
	launcher_pmix_watch();
}

void launcher_pmix_direct(const struct px_msg *m, bool given)
{
	if (!launcher_pmix_run(m->run))
		return;
	px_link_say(given ? PX_GIVEN : PX_WANTED, m);
	launcher_pmix_watch();
}

/* -------------------------------------------------------------------------- its end --- */

/* Have all ranks here ended, as far as PMIx goes? */
static bool launcher_pmix_is_over(const struct launched_pmi *p)
{
	for (uint32_t k = 0; k < p->here; k++)
		if (!p->rank[k].left && !p->rank[k].ended)
			return false;
	return true;
}

bool launcher_pmix_reaped(pid_t pid, int status)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	bool why;

	if (pid != px_link_pid())
		return false;
	launcher_pmix_serve(); /* its last words */
	px_link_ended();
	why = *launcher_pmix_why;
	for (struct launched *run = launcher.runs; run; run = run->next) {
		struct launched_pmi *p = launcher_pmix_run(run->start.number);

		if (!p || launcher_pmix_is_over(p))
			continue;
		if (!p->env_text)
			p->fault = run_code(RUN_NO_PMIX, RUN_PMIX_ENDED + sig);
		launcher_pmi_say(
			p, PMI_FAULT, 0, 1,
			"storm_pmix, which its ranks need, has ended: %s%s%s",
			sig ? strsignal(sig) : "it gave up", why ? ": " : "",
			launcher_pmix_why);
	}
	*launcher_pmix_why = '\0';
	return true;
}

void launcher_pmix_stop(void)
{
	px_link_stop();
}

/* -------------------------------------------------------------------------- the run --- */

/* Its name is nothing that others know: who has it could be one of its ranks. */
static void launcher_pmix_name(const struct run_start *s,
			       char (*out)[PX_NAMESPACE])
{
	char life[RUN_KEY_TEXT];

	run_key_text(s->life, &life); /* as long */
	snprintf(*out, sizeof(*out), "storm.%s.%llu", life,
		 (unsigned long long) s->number);
}

uint32_t launcher_pmix_open(struct launched_pmi *p)
{
	const struct run_start *s = &p->run->start;
	char space[PX_NAMESPACE];
	struct px_register r = {
		.run = s->number,
		.space = space,
		.names = s->names,
		.nodes = (uint32_t) storm_idset_size(&s->nodes),
		.nth = p->run->form.nth,
		.rank = s->rank,
	};
	int err = px_link_start(launcher.name);

	if (err)
		return run_code(RUN_NO_PMIX, err);
	launcher_pmix_name(s, &space);
	px_link_register(&r);
	launcher_pmix_watch();
	return 0;
}

void launcher_pmix_close(struct launched_pmi *p)
{
	px_link_say(PX_DROP, &(struct px_msg) { .run = p->run->start.number });
	if (launcher_pmi_poll >= 0)
		launcher_pmix_watch();
	px_env_free(&p->env);
	free(p->env_text);
}
