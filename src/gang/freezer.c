/*
 * freezer.c - see freezer.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "freezer_private.h"
#include "senders.h"

static const struct freezer_ops *const freezer_ops_of[FREEZER_KINDS] = {
	[FREEZER_V2] = &freezer_v2_ops,
	[FREEZER_SIGNALS] = &freezer_signals_ops,
	[FREEZER_V1] = &freezer_v1_ops,
};

struct freezer *freezer_open(enum freezer_kind kind, const char *group,
			     pid_t root)
{
	const struct freezer_ops *ops = freezer_ops_of[kind];
	struct freezer *f;
	int err;

	if (!ops) {
		errno = EINVAL;
		return NULL;
	}
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->ops = ops;
	f->kind = kind;
	f->root = root;
	f->dir = f->state = f->stat = f->idle = f->shares = -1;
	err = ops->open(f, group);
	if (!err)
		return f;
	freezer_drop(f);
	errno = err;
	return NULL;
}

void freezer_drop(struct freezer *f)
{
	if (!f)
		return;
	f->ops->close(f);
	if (f->idle >= 0)
		close(f->idle);
	if (f->shares >= 0)
		close(f->shares);
	free(f);
}

void freezer_close(struct freezer *f)
{
	if (f && freezer_held(f))
		freezer_continue(f, true);
	freezer_drop(f);
}

/* ---------------------------------------------------------- stop and go on --- */

int freezer_stop(struct freezer *f, bool again)
{
	if (f->stopped && !again)
		return 0;
	/* After a failure some may be stopped: freezer_continue() must act. */
	f->stopped = true;
	f->fills = false;
	return f->ops->stop(f);
}

int freezer_continue(struct freezer *f, bool again)
{
	int err = 0, also = 0;

	if (!freezer_held(f) && !again)
		return 0;
	if (f->idle >= 0 && (f->idled || again))
		err = freezer_set_idle(f, false);
	/* a signal disturbs what was not stopped */
	if (f->stopped || again)
		also = f->ops->cont(f);
	/* in a group that is gone nobody stands, nor gives way */
	if (!also || also == ENODEV)
		f->stopped = false;
	if (!err || err == ENODEV)
		f->fills = false;
	return also ? also : err;
}

int freezer_fill(struct freezer *f)
{
	/* also if it was set: a guard may have taken it back */
	int err = freezer_set_idle(f, true);

	if (!err && f->stopped)
		err = f->ops->cont(f);
	if (err)
		return err;
	f->stopped = false;
	f->fills = true;
	return 0;
}

void freezer_share_idle(struct freezer *f, bool others)
{
	f->idled = !others;
}

bool freezer_can_fill(const struct freezer *f)
{
	return f->idle >= 0;
}

bool freezer_fills(const struct freezer *f)
{
	return f->fills;
}

bool freezer_stopped(const struct freezer *f)
{
	return f->stopped;
}

bool freezer_settled(struct freezer *f)
{
	return f->ops->settled(f);
}

bool freezer_used(struct freezer *f, uint64_t *ns)
{
	return f->ops->used && f->ops->used(f, ns);
}

/* ---------------------------------------------------------- what is in it --- */

int freezer_pids(struct freezer *f, pid_t **out, size_t *count)
{
	struct freezer_pid_list p = { .n = 0 };
	int err = f->ops->pids(f, &p);

	if (err) {
		free(p.pid);
		return err;
	}
	*out = p.pid;
	*count = p.n;
	return 0;
}

unsigned int freezer_wants(struct freezer *f)
{
	unsigned int all = 0;
	pid_t *pids;
	size_t n;

	if (freezer_pids(f, &pids, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		all |= freezer_proc_wants(pids[i]);
	free(pids);
	return all;
}

bool freezer_awaited(struct freezer *f)
{
	bool yes = false;
	pid_t *pids;
	size_t n;

	if (freezer_pids(f, &pids, &n))
		return false;
	for (size_t i = 0; !yes && i < n; i++)
		yes = freezer_proc_awaited(pids[i]);
	free(pids);
	return yes;
}

struct senders *freezer_senders(struct freezer *f)
{
	struct senders *s;
	size_t n, some = 0;
	pid_t *pids;
	int err = freezer_pids(f, &pids, &n);

	if (err) {
		errno = err;
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		if (freezer_proc_wants(pids[i]) == FREEZER_SIGNALLED)
			pids[some++] = pids[i];
	s = senders_start(pids, some);
	if (!s)
		free(pids);
	return s;
}

bool freezer_has(struct freezer *f, const char *name)
{
	bool yes = false;
	pid_t *pids;
	size_t n;

	if (freezer_pids(f, &pids, &n))
		return false;
	for (size_t i = 0; !yes && i < n; i++)
		yes = freezer_helper_runs(pids[i], name);
	free(pids);
	return yes;
}

bool freezer_starting(struct freezer *f)
{
	bool yes = false;
	pid_t *pids;
	size_t n;

	if (freezer_pids(f, &pids, &n))
		return false;
	for (size_t i = 0; !yes && i < n; i++)
		yes = freezer_proc_same(pids[i], f->root);
	free(pids);
	return yes;
}
