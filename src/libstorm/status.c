/*
 * status.c - see status.h: the reduction of the combining tree.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "idset.h"
#include "status.h"

/* bytes of a STATUS: without ranges and faults, a range, a fault */
#define FIXED 73
#define RANGE 8
#define FAULT 9

void storm_status_free(struct storm_status *s)
{
	storm_idset_clear(&s->missing);
	memset(s, 0, sizeof(*s));
}

size_t storm_status_pack(const struct storm_status *s, uint8_t *buf,
			 size_t max)
{
	struct storm_out o = { buf, buf + max, false };
	uint32_t n = s->missing.count < STORM_MISSING_KEPT ?
		     s->missing.count : STORM_MISSING_KEPT;
	uint32_t f = s->nfaults;
	struct storm_idset kept = { s->missing.r, n, n };

	/* some of each: with none left all would look well */
	while (FIXED + RANGE * (size_t) n + FAULT * (size_t) f > max) {
		if (n > 1 && (f <= 1 || RANGE * n >= FAULT * f))
			n--;
		else if (f > 1)
			f--;
		else
			return 0;
	}
	kept.count = n;
	storm_put64(&o, s->version);
	storm_put64(&o, s->op);
	storm_put8(&o, s->phase);
	storm_put8(&o, s->flags);
	storm_put64(&o, s->progress);
	storm_put64(&o, s->cmp);
	storm_put8(&o, s->cmp_false);
	storm_put32(&o, s->mtu);
	storm_put64(&o, s->seen);
	storm_put64(&o, s->repaired);
	storm_put64(&o, s->lost);
	storm_put_idset(&o, &kept);
	storm_put32(&o, s->faults_total);
	storm_put16(&o, (uint16_t) f);
	for (uint32_t i = 0; i < f; i++) {
		storm_put32(&o, s->faults[i].node);
		storm_put8(&o, (uint8_t) s->faults[i].why);
		storm_put32(&o, (uint32_t) s->faults[i].sys);
	}
	return o.bad ? 0 : (size_t) (o.p - buf);
}

int storm_status_unpack(struct storm_status *s, const uint8_t *buf,
			size_t len, uint32_t count)
{
	struct storm_in i = { buf, buf + len, false };

	memset(s, 0, sizeof(*s));
	s->version = storm_get64(&i);
	s->op = storm_get64(&i);
	s->phase = storm_get8(&i);
	s->flags = storm_get8(&i);
	s->progress = storm_get64(&i);
	s->cmp = storm_get64(&i);
	s->cmp_false = storm_get8(&i);
	s->mtu = storm_get32(&i);
	s->seen = storm_get64(&i);
	s->repaired = storm_get64(&i);
	s->lost = storm_get64(&i);
	storm_get_idset(&i, &s->missing, count - 1);
	s->faults_total = storm_get32(&i);
	s->nfaults = storm_get16(&i);
	if (i.bad || s->nfaults > STORM_FAULTS_KEPT ||
	    s->nfaults > s->faults_total || s->phase > STORM_PHASE_ENDED ||
	    (s->flags & ~STORM_STATUS_FLAGS) || s->mtu < STORM_MTU_MIN)
		goto bad;
	for (uint32_t k = 0; k < s->nfaults; k++) {
		s->faults[k].node = storm_get32(&i);
		s->faults[k].why = storm_get8(&i);
		s->faults[k].sys = (int) storm_get32(&i);
		if (s->faults[k].node >= count ||
		    !s->faults[k].why ||
		    s->faults[k].why >= STORM_ERANGE_)
			goto bad;
	}
	if (storm_in_done(&i))
		return STORM_OK;
bad:
	storm_status_free(s);
	return STORM_EINVAL;
}

/* Not beyond what can be counted: less than are named would be malformed. */
static void more_faults(struct storm_status *s, uint32_t n)
{
	s->faults_total += n < UINT32_MAX - s->faults_total ?
			   n : UINT32_MAX - s->faults_total;
}

void storm_status_fault(struct storm_status *s, uint32_t node,
			enum storm_err why, int sys)
{
	for (uint32_t i = 0; i < s->nfaults; i++)
		if (s->faults[i].node == node)
			return;
	if (s->nfaults < STORM_FAULTS_KEPT)
		s->faults[s->nfaults++] = (struct storm_fault) {
			node, why, sys };
	more_faults(s, 1);
}

bool storm_fault_of_session(enum storm_err why)
{
	return why == STORM_ENOAGENT || why == STORM_ELOST ||
	       why == STORM_EVERSION || why == STORM_EAUTH ||
	       why == STORM_EACCES || why == STORM_EBUSY || why == STORM_ETIME;
}

void storm_status_merge(struct storm_status *into,
			const struct storm_status *child)
{
	uint8_t phase = child->phase;
	uint64_t progress = child->progress;

	if (child->op < into->op) {	/* has not heard of it yet */
		phase = STORM_PHASE_NONE;
		progress = 0;
	} else if (child->op > into->op) {
		/* it could only go on because the owner saw the end of ours */
		phase = STORM_PHASE_ENDED;
		progress = UINT64_MAX;
	}
	if (phase < into->phase)
		into->phase = phase;
	if (progress < into->progress)
		into->progress = progress;
	if (!(child->flags & STORM_STATUS_MCAST))
		into->flags &= (uint8_t) ~STORM_STATUS_MCAST;
	into->flags |= child->flags & STORM_STATUS_UNACKED;
	if (child->op == into->op)
		into->flags |= child->flags & STORM_STATUS_NO;
	if (child->cmp != into->cmp) {
		into->cmp = 0;		/* not answered by all */
	} else {
		into->cmp_false |= child->cmp_false;
	}
	if (child->mtu < into->mtu)
		into->mtu = child->mtu;
	into->repaired += child->repaired;
	if (child->lost > into->lost)
		into->lost = child->lost;
	storm_idset_union(&into->missing, &child->missing);
	for (uint32_t i = 0; i < child->nfaults; i++)
		/* of another operation?  then it says nothing of this one */
		if (child->op == into->op ||
		    storm_fault_of_session(child->faults[i].why))
			storm_status_fault(into, child->faults[i].node,
					   child->faults[i].why,
					   child->faults[i].sys);
	if (child->op == into->op)
		more_faults(into, child->faults_total - child->nfaults);
}

void storm_status_merge_silent(struct storm_status *into,
			       const struct storm_tree *t, uint32_t child)
{
	into->phase = STORM_PHASE_NONE;
	into->progress = 0;
	into->cmp = 0;
	into->flags &= (uint8_t) ~STORM_STATUS_MCAST;
	storm_tree_subtree(t, child, &into->missing);
}

bool storm_status_news(const struct storm_status *was,
		       const struct storm_status *is)
{
	/* of an operation that has just become known there is none */
	uint8_t had = is->op == was->op ? was->phase : STORM_PHASE_NONE;

	return is->phase > had ||
	       is->faults_total > was->faults_total ||
	       (is->cmp && (is->cmp != was->cmp)) ||
	       (is->flags & ~was->flags) ||
	       (was->missing.count && !is->missing.count);
}
