/*
 * node_member.c - a node's membership of one domain, as its program sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "node_private.h"

void storm_member_release(storm_member_t *m)
{
	struct storm_shared *sh;

	if (!m)
		return;
	sh = m->sh;
	pthread_mutex_lock(&sh->lock);
	sh->users++;		/* of this call: the member may be the last */
	node_member_leave(m);
	storm_shared_leave(sh);
}

void storm_member_info(const storm_member_t *m, struct storm_member_info *out)
{
	*out = m->info;
}

int node_member_take(storm_member_t *m, uint32_t event, bool block,
		     uint64_t deadline, uint64_t *before)
{
	int err = STORM_OK;

	if (!event || event >= STORM_EVENTS)
		return STORM_EINVAL;
	pthread_mutex_lock(&m->sh->lock);
	while (!m->signals[event]) {
		if (!m->node) {
			err = STORM_ECLOSED;
			break;
		}
		if (!block || !storm_shared_wait(m->sh, deadline)) {
			err = STORM_ETIME;
			break;
		}
	}
	if (!err) {
		m->signals[event]--;
		*before = m->taken[event]++;
	}
	pthread_mutex_unlock(&m->sh->lock);
	return err;
}

int storm_member_test_event(storm_member_t *m, uint32_t event, bool block,
			    uint64_t deadline)
{
	uint64_t before;

	return node_member_take(m, event, block, deadline, &before);
}

int storm_member_variable(storm_member_t *m, uint32_t var, uint64_t *value)
{
	int err = STORM_ECLOSED;

	pthread_mutex_lock(&m->sh->lock);
	if (m->node)
		err = storm_nm_variable(m->node->nm, m->session, var, value);
	pthread_mutex_unlock(&m->sh->lock);
	return err;
}

int storm_member_own_set(storm_member_t *m, enum storm_own_var var,
			 uint64_t value)
{
	int err = STORM_ECLOSED;

	pthread_mutex_lock(&m->sh->lock);
	if (m->node)
		err = storm_nm_own_set(m->node->nm, m->session, var, value);
	pthread_mutex_unlock(&m->sh->lock);
	return err;
}

int storm_member_report(storm_member_t *m, uint8_t kind, uint32_t code,
			const struct storm_idset *ids)
{
	int err = STORM_ECLOSED;

	pthread_mutex_lock(&m->sh->lock);
	if (m->node) {
		err = storm_nm_report(m->node->nm, m->session, kind, code,
				      ids, storm_shared_now(m->sh));
		storm_runner_wake(&m->node->runner);
	}
	pthread_mutex_unlock(&m->sh->lock);
	return err;
}
