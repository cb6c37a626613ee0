/*
 * launcher_pmi.c - ranks of MPI on this node: how they begin and end, and what the head
 * says of them.  See launcher_pmi.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "launcher_pmi.h"
#include "src/libstorm/base/idset.h"

#define EVENTS 64 /* at a time */

static bool launcher_pmi_is_1(const struct launched_pmi *p)
{
	return p->run->what.mpi == RUN_MPI_PMI1;
}

static struct pmi_rank *launcher_pmi_rank(const struct local_task *t)
{
	const struct launched_pmi *p = t->run->pmi;

	return &p->rank[t->id - t->run->start.first - p->first];
}

static void launcher_pmi_check(struct launched_pmi *p)
{
	if (launcher_pmi_is_1(p))
		launcher_pmi1_check(p);
	else
		launcher_pmix_check(p);
}

void launcher_pmi_ended(struct local_task *t)
{
	struct launched_pmi *p = t->run->pmi;
	struct pmi_rank *r;

	if (!p)
		return;
	r = launcher_pmi_rank(t);
	/* its last words */
	if (launcher_pmi_is_1(p))
		launcher_pmi1_ended(r);
	else
		launcher_pmix_serve();
	r->ended = true;
	if (r->joined && !r->left && t->code)
		launcher_pmi_say(p, PMI_END, (uint32_t) (r - p->rank), 0,
				 "it has ended without MPI_Finalize");
	launcher_pmi_check(p);
}

void launcher_pmi_not_started(struct local_task *t)
{
	if (t->run->pmi)
		launcher_pmi_rank(t)->ended = true;
}

void launcher_pmi_fenced(struct storm_in *in)
{
	struct pmi_fenced f;
	struct launched_pmi *p;

	if (!pmi_fenced_get(in, &f)) {
		storm_log(STORM_LOG_ERROR, "a fence cannot be read");
		return;
	}
	p = launcher_pmi_of(f.run);
	if (p && launcher_pmi_is_1(p))
		launcher_pmi1_fenced(p, &f);
	else if (p)
		launcher_pmix_fenced(&f);
	pmi_fenced_free(&f);
}

void launcher_pmi_direct(struct storm_in *in, bool given)
{
	struct px_msg m;

	if (!px_msg_get(in, &m)) {
		storm_log(STORM_LOG_ERROR, "data of a rank cannot be read");
		return;
	}
	launcher_pmix_direct(&m, given);
	px_msg_free(&m);
}

/* ------------------------------------------------------------------------ the run --- */

static bool launcher_pmi_create(struct launched_pmi *p)
{
	if (launcher_pmi_poll < 0)
		launcher_pmi_poll = epoll_create1(EPOLL_CLOEXEC);
	p->rank = calloc(p->here, sizeof(*p->rank));
	p->relay = relay_create(&p->run->start, launcher.self, &launcher.munge);
	if (launcher_pmi_poll < 0 || !p->rank || !p->relay)
		return false;
	for (uint32_t k = 0; k < p->here; k++) {
		p->rank[k].pmi = p;
		p->rank[k].fd = -1;
	}
	relay_is_of_pmi(p->relay);
	return true;
}

uint32_t launcher_pmi_open(struct launched *run, uint32_t first, uint32_t n)
{
	const uint32_t no_memory = run_code(RUN_NO_START, ENOMEM);
	struct launched_pmi *p;

	if (run->what.mpi == RUN_MPI_NONE)
		return 0;
	p = calloc(1, sizeof(*p));
	if (!p)
		return no_memory;
	run->pmi = p; /* launcher_pmi_close() has the rest */
	p->run = run;
	p->first = first;
	p->here = n;
	p->alone = storm_idset_size(&run->start.nodes) == 1;
	if (!launcher_pmi_create(p))
		return no_memory;
	if (!launcher_pmi_is_1(p))
		return launcher_pmix_open(p);
	return launcher_pmi1_open(p) ? 0 : no_memory;
}

void launcher_pmi_close(struct launched *run)
{
	struct launched_pmi *p = run->pmi;

	if (!p)
		return;
	if (launcher_pmi_is_1(p))
		launcher_pmi1_close(p);
	else
		launcher_pmix_close(p);
	relay_destroy(p->relay);
	free(p->rank);
	free(p);
	run->pmi = NULL;
}

bool launcher_pmi_waits(const struct launched *run, uint32_t *code)
{
	const struct launched_pmi *p = run->pmi;

	*code = p ? p->fault : 0;
	return p && !launcher_pmi_is_1(p) && !p->env_text;
}

bool launcher_pmi_env(const struct launched *run, uint32_t local, char ***env)
{
	*env = NULL;
	if (!run->pmi || launcher_pmi_is_1(run->pmi))
		return true;
	*env = px_env_of(&run->pmi->env, local);
	return *env != NULL;
}

bool launcher_pmi_pair(struct local_task *t, int *theirs)
{
	const struct launched_pmi *p = t->run->pmi;

	return !p || !launcher_pmi_is_1(p) ||
	       launcher_pmi1_pair(launcher_pmi_rank(t), theirs);
}

/* Without the head its ranks would wait for ever. */
int launcher_pmi_lost(const struct launched *run)
{
	return run->pmi && !run->pmi->alone ? relay_failed(run->pmi->relay) : 0;
}

bool launcher_pmi_must_end(struct launched *run)
{
	bool must = launcher_pmi_lost(run) && !run->pmi->ending;

	if (must)
		run->pmi->ending = true;
	return must;
}

int launcher_pmi_fd(void)
{
	return launcher_pmi_poll;
}

struct relay *launcher_pmi_relay(const struct launched *run)
{
	return run->pmi ? run->pmi->relay : NULL;
}

void launcher_pmi_serve(bool came)
{
	struct epoll_event e[EVENTS];
	int n = came ? epoll_wait(launcher_pmi_poll, e, EVENTS, 0) : 0;

	for (int k = 0; k < n; k++)
		if (e[k].data.ptr)
			launcher_pmi1_serve(e[k].data.ptr);
		else
			launcher_pmix_serve();
}
