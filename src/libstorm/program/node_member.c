/*
 * node_member.c - storm_member_t: a node's membership of one domain.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "event.h"
#include "node_private.h"
#include "src/libstorm/base/faults.h"

void storm_member_release(storm_member_t *m)
{
	struct storm_shared *sh;

	if (!m)
		return;
	sh = m->sh;
	pthread_mutex_lock(&sh->lock);
	sh->users++; /* a use by this call: m may be the last */
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
		err = storm_nm_report(m->node->nm, m->session, kind, code, ids,
				      storm_shared_now(m->sh));
		storm_runner_wake(&m->node->runner);
	}
	pthread_mutex_unlock(&m->sh->lock);
	return err == STORM_ENOENT ? STORM_ECLOSED : err;
}

int storm_member_forget(storm_member_t *m, uint8_t kind,
			const struct storm_idset *ids)
{
	int err = STORM_ECLOSED;

	if (kind >= STORM_REPORT_TERMINATED)
		return STORM_EINVAL;
	pthread_mutex_lock(&m->sh->lock);
	if (m->node)
		err = storm_nm_report_forget(m->node->nm, m->session, kind,
					     ids);
	pthread_mutex_unlock(&m->sh->lock);
	return err == STORM_ENOENT ? STORM_ECLOSED : err;
}

int storm_member_hold(storm_member_t *m, uint64_t ns)
{
	int err = STORM_ECLOSED;

	pthread_mutex_lock(&m->sh->lock);
	if (m->node)
		err = storm_nm_report_hold(m->node->nm, m->session, ns);
	pthread_mutex_unlock(&m->sh->lock);
	return err == STORM_ENOENT ? STORM_ECLOSED : err;
}

/* ------------------------------------------------- primitives of this node --- */

/* Locked.  After a request to the owner: wake the thread and return the event,
 * or on err free it and return NULL. */
static storm_event_t *node_member_asked(storm_member_t *m, storm_event_t *e,
					int err)
{
	if (err) {
		storm_event_drop(e);
		return NULL;
	}
	storm_runner_wake(&m->node->runner);
	return e;
}

storm_event_t *storm_member_xfer_and_signal(storm_member_t *m,
					    const struct storm_idset *P,
					    const struct storm_target *to,
					    const void *buf, size_t len)
{
	storm_event_t *e = NULL;

	pthread_mutex_lock(&m->sh->lock);
	if (m->node)
		e = storm_event_create(m->sh, len);
	if (e)
		e = node_member_asked(m, e,
				      storm_nm_xfer(m->node->nm, m->session, P,
						    to, buf, len, e));
	pthread_mutex_unlock(&m->sh->lock);
	return e;
}

enum storm_compare
storm_member_compare_and_write(storm_member_t *m, const struct storm_idset *P,
			       uint32_t var, enum storm_relation rel,
			       uint64_t value, const struct storm_assign *write,
			       struct storm_outcome *out)
{
	struct storm_outcome none = { .state = STORM_ABORTED };
	enum storm_compare result = STORM_FAILED;
	storm_event_t *e = NULL;

	pthread_mutex_lock(&m->sh->lock);
	if (m->node)
		e = storm_event_create(m->sh, 0);
	if (e)
		e = node_member_asked(m, e,
				      storm_nm_compare(m->node->nm, m->session,
						       P, var, rel, value,
						       write, e));
	while (e && e->out.state == STORM_PENDING)
		storm_shared_wait(m->sh, 0);
	storm_outcome_copy(out, e ? &e->out : &none);
	if (e) {
		result = e->result;
		storm_event_drop(e);
	}
	pthread_mutex_unlock(&m->sh->lock);
	return result;
}
