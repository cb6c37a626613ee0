/*
 * test_status.c - STATUS, the state of a subtree: on the wire, merged, and as its
 * parent keeps it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/child.h"
#include "src/libstorm/wire/status.h"
#include "unit.h"

#define COUNT 200 /* nodes in the domain */
#define FIXED 99  /* bytes without ranges and faults */
#define ROOM 1400

static int unpack(struct storm_status *s, const uint8_t *buf, size_t len,
		  uint32_t count)
{
	uint8_t *p = exact(buf, len);
	int err = storm_status_unpack(s, p, len, count);

	must(!err || (!s->behind.r && !s->unanswered.r && !s->fresh.r));
	free(p);
	return err;
}

static void status_random(struct storm_status *s, struct rnd *r, uint32_t op,
			  uint32_t faults)
{
	static const enum storm_err whys[] = {
		STORM_ELOST,  STORM_EACCES,   STORM_ESYS,
		STORM_EEXIST, STORM_ENOAGENT, STORM_EPATH,
	};

	memset(s, 0, sizeof(*s));
	s->version = rnd64(r);
	s->op = op;
	s->phase = (uint8_t) below(r, 4);
	s->flags = (uint8_t) below(r, 256);
	s->progress = below(r, 4) ? below(r, 1000000) : UINT64_MAX;
	s->cmp = below(r, 3);
	s->cmp_false = below(r, 2);
	s->mtu = 1000 + below(r, 500);
	s->seen = rnd64(r);
	s->repaired = below(r, 1000);
	s->lost = below(r, 1000);
	s->floor = below(r, 3);
	s->last = below(r, 5);
	for (uint32_t n = below(r, 8); n; n--) {
		uint32_t node = below(r, COUNT - 5);

		if (!below(r, 3))
			must(!storm_idset_add(&s->overdue, node, node));
		must(!storm_idset_add(n % 3 == 2 ? &s->fresh :
				      n % 3	 ? &s->behind :
						   &s->unanswered,
				      node, node + below(r, 5)));
	}
	for (uint32_t n = below(r, 8); n; n--)
		storm_status_fault(s, below(r, COUNT), STORM_ELOST, 0);
	while (faults--)
		/* a node has one reason, whichever node reports it */
		storm_status_fault(s, below(r, COUNT) / 6 * 6, STORM_ESYS, 0);
	for (uint32_t i = 0; i < s->nfaults; i++) {
		s->faults[i].why = whys[s->faults[i].node / 6 % 6];
		s->faults[i].sys = (int) s->faults[i].node * 3 - 50;
	}
}

/* ---------------------------------------------------------------- wire --- */

START_TEST(test_golden)
{
	struct storm_status s = {
		.version = 5, .last = 4, .op = 3, .floor = 4096,
		.phase = STORM_PHASE_STAGED,
		.flags = STORM_STATUS_MCAST, .progress = UINT64_MAX,
		.cmp = 2, .cmp_false = true, .mtu = 1472, .seen = 6,
		.repaired = 17, .lost = 4,
	}, t;
	uint8_t buf[ROOM];
	size_t len;

	must(!storm_idset_add(&s.behind, 8, 9));
	must(!storm_idset_add(&s.unanswered, 5, 5));
	must(!storm_idset_add(&s.overdue, 9, 9));
	storm_status_fault(&s, 11, STORM_ESYS, 28);
	storm_status_fault(&s, 4, STORM_ELOST, 0);
	len = storm_status_pack(&s, buf, sizeof(buf));
	same_hex(buf, len,
		 "0000000000000005"
		 "0000000000000004"
		 "0000000000000003"
		 "0000000000001000"
		 "02"
		 "01"
		 "ffffffffffffffff"
		 "0000000000000002"
		 "01"
		 "000005c0"
		 "0000000000000006"
		 "0000000000000011"
		 "0000000000000004"
		 "00000001"
		 "00000008"
		 "00000009"
		 "00000001"
		 "00000005"
		 "00000005"
		 "00000000"
		 "00000001"
		 "0001"
		 "0000000b"
		 "03"
		 "0000001c"
		 "01"
		 "0900"
		 "01"
		 "0400");
	ck_assert_int_eq(unpack(&t, buf, len, COUNT), STORM_OK);
	ck_assert_uint_eq(t.version, 5);
	ck_assert_uint_eq(t.op, 3);
	ck_assert_uint_eq(t.phase, STORM_PHASE_STAGED);
	ck_assert_uint_eq(t.flags, STORM_STATUS_MCAST);
	ck_assert(t.progress == UINT64_MAX);
	ck_assert_uint_eq(t.cmp, 2);
	ck_assert(t.cmp_false);
	ck_assert_uint_eq(t.mtu, 1472);
	ck_assert_uint_eq(t.seen, 6);
	ck_assert_uint_eq(t.repaired, 17);
	ck_assert_uint_eq(t.lost, 4);
	ck_assert_uint_eq(t.last, 4);
	ck_assert_uint_eq(t.floor, 4096);
	ck_assert_uint_eq(t.fresh.count, 0);
	ck_assert_uint_eq(t.overdue.count, 1);
	ck_assert_uint_eq(t.overdue.r[0].first, 9);
	ck_assert_uint_eq(t.behind.count, 1);
	ck_assert_uint_eq(t.behind.r[0].last, 9);
	ck_assert_uint_eq(t.unanswered.count, 1);
	ck_assert_uint_eq(t.unanswered.r[0].last, 5);
	ck_assert_uint_eq(t.nfaults, 1);
	ck_assert_uint_eq(t.faults_total, 1);
	ck_assert_uint_eq(t.faults[0].node, 11);
	ck_assert_uint_eq(t.faults[0].why, STORM_ESYS);
	ck_assert_int_eq(t.faults[0].sys, 28);
	ck_assert_uint_eq(t.gone.count, 1);
	ck_assert_uint_eq(t.gone.r[0].first, 4);
	storm_status_free(&s);
	storm_status_free(&t);
	ck_assert_uint_eq(t.version, 0);
}
END_TEST

/* Bytes of it, its count among them. */
static size_t short_set(const struct storm_idset *s)
{
	uint8_t buf[ROOM];
	struct storm_out o = { buf, buf + sizeof(buf), false };

	storm_put_set(&o, s);
	return (size_t) (o.p - buf);
}

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	struct storm_status s, t;
	uint8_t buf[ROOM], again[ROOM];
	size_t len;

	status_random(&s, &r, below(&r, 9), below(&r, 40));
	s.faults_total += below(&r, 3);
	len = storm_status_pack(&s, buf, sizeof(buf));
	must(len == FIXED + 8 * (size_t) s.behind.count +
			    8 * (size_t) s.unanswered.count +
			    8 * (size_t) s.fresh.count +
			    9 * (size_t) s.nfaults + short_set(&s.overdue) - 1 +
			    short_set(&s.gone) - 1);
	must(unpack(&t, buf, len, COUNT) == STORM_OK);
	must(storm_status_pack(&t, again, sizeof(again)) == len);
	must(!memcmp(buf, again, len));
	storm_status_free(&t);
	for (size_t n = 0; n < len; n++)
		must(unpack(&t, buf, n, COUNT) == STORM_EINVAL);
	buf[len] = 0;
	must(unpack(&t, buf, len + 1, COUNT) == STORM_EINVAL);
	storm_status_free(&s);
}
END_TEST

/* Faults that do not fit are left out, but never so that all looks well. Late
 * nodes are never left out: others are named with them instead. */
START_TEST(test_small)
{
	struct storm_status s = { .op = 1, .mtu = 1472 }, t;
	uint8_t buf[ROOM];

	for (uint32_t i = 0; i < 40; i++) {
		must(!storm_idset_add(&s.behind, 2 * i, 2 * i));
		must(!storm_idset_add(&s.unanswered, 3 * i, 3 * i));
		must(!storm_idset_add(&s.fresh, 4 * i, 4 * i));
		must(!storm_idset_add(&s.overdue, 5 * i, 5 * i));
		storm_status_fault(&s, 100 + i, STORM_ESYS, 28);
		storm_status_fault(&s, 101 + 2 * i, STORM_ELOST, 0);
	}
	ck_assert_uint_eq(s.nfaults, STORM_FAULTS_KEPT);
	ck_assert_uint_eq(s.faults_total, 40);
	for (size_t max = 0; max <= sizeof(buf); max++) {
		size_t len = storm_status_pack(&s, buf, max);

		must(len <= max);
		must((len > 0) == (max >= FIXED + 2 + 3 * 8 + 9 + 10));
		if (!len)
			continue;
		must(!unpack(&t, buf, len, COUNT));
		must(t.faults_total == 40 && t.nfaults);
		must(t.nfaults <= STORM_FAULTS_KEPT &&
		     t.behind.count <= STORM_BEHIND_KEPT &&
		     t.unanswered.count <= STORM_BEHIND_KEPT);
		must(storm_idset_covers(&t.behind, &s.behind) &&
		     storm_idset_covers(&t.unanswered, &s.unanswered) &&
		     storm_idset_covers(&t.fresh, &s.fresh));
		/* of these there may be too few, never too many */
		must(storm_idset_covers(&s.overdue, &t.overdue));
		must(t.gone.count && storm_idset_covers(&s.gone, &t.gone));
		must(storm_idset_size(&t.behind) < 80 &&
		     storm_idset_size(&t.unanswered) < 120);
		if (max >= 508) /* as on a link of 576 bytes */
			must(t.nfaults >= 10 && t.behind.count >= 10);
		storm_status_free(&t);
	}
	must(storm_status_pack(&s, buf, sizeof(buf)) ==
	     FIXED + 24 * STORM_BEHIND_KEPT + 9 * STORM_FAULTS_KEPT +
		     2 * STORM_OVERDUE_KEPT + 2 * 40);
	storm_status_free(&s);
}
END_TEST

#define REFUSED(change)                                             \
	do {                                                        \
		struct storm_status s_ = { .version = 1,            \
					   .op = 1,                 \
					   .mtu = 1472 },           \
				    t_;                             \
		uint8_t buf_[ROOM];                                 \
		size_t len_;                                        \
		storm_status_fault(&s_, 11, STORM_ESYS, 28);        \
		len_ = storm_status_pack(&s_, buf_, sizeof(buf_));  \
		must(!unpack(&t_, buf_, len_, COUNT));              \
		s_.change;                                          \
		len_ = storm_status_pack(&s_, buf_, sizeof(buf_));  \
		if (unpack(&t_, buf_, len_, COUNT) != STORM_EINVAL) \
			ck_abort_msg("taken: %s", #change);         \
	} while (0)

START_TEST(test_refused)
{
	struct storm_status s = { .version = 1, .mtu = 1472 }, t;
	uint8_t buf[ROOM];
	size_t len;

	REFUSED(phase = STORM_PHASE_ENDED + 1);
	REFUSED(faults_total = 0);
	REFUSED(faults[0].node = COUNT);
	REFUSED(faults[0].node = STORM_NO_NODE);
	REFUSED(faults[0].why = STORM_ERROR_END);
	REFUSED(faults[0].why = STORM_OK);
	/* the owner makes its datagrams as small as the smallest MTU: one
	 * that does not hold the headers and a chunk is a lie */
	REFUSED(mtu = 0);
	REFUSED(mtu = 10);
	REFUSED(mtu = STORM_MTU_MIN - 1);
	must(!storm_idset_add(&s.behind, 7, 7));
	len = storm_status_pack(&s, buf, sizeof(buf));
	ck_assert_int_eq(unpack(&t, buf, len, 7), STORM_EINVAL);
	ck_assert_int_eq(unpack(&t, buf, len, 8), STORM_OK);
	storm_status_free(&t);
	storm_idset_clear(&s.behind);
	must(!storm_idset_add(&s.unanswered, 7, 7));
	len = storm_status_pack(&s, buf, sizeof(buf));
	ck_assert_int_eq(unpack(&t, buf, len, 7), STORM_EINVAL);
	storm_idset_clear(&s.unanswered);
	/* more faults than anybody sends */
	s.faults_total = 1000;
	len = storm_status_pack(&s, buf, sizeof(buf));
	buf[len - 3] = STORM_FAULTS_KEPT + 1;
	memset(buf + len, 0, sizeof(buf) - len);
	ck_assert_int_eq(unpack(&t, buf, len + 9 * (STORM_FAULTS_KEPT + 1),
				COUNT),
			 STORM_EINVAL);
	buf[len - 4] = 0xff;
	ck_assert_int_eq(unpack(&t, buf, len, COUNT), STORM_EINVAL);
	storm_status_free(&s);
}
END_TEST

START_TEST(test_noise)
{
	struct rnd r = rnd_of(_i);
	struct storm_status s, t;
	uint8_t buf[ROOM];
	size_t len;

	status_random(&s, &r, 3, 8);
	len = storm_status_pack(&s, buf, sizeof(buf));
	for (int i = 0; i < 200; i++) {
		uint8_t bad[ROOM];

		memcpy(bad, buf, len);
		for (uint32_t n = 1 + below(&r, 4); n; n--)
			bad[below(&r, (uint32_t) len)] = (uint8_t) rnd64(&r);
		if (unpack(&t, bad, len, COUNT))
			continue;
		must(t.nfaults <= STORM_FAULTS_KEPT &&
		     t.nfaults <= t.faults_total);
		must(t.phase <= STORM_PHASE_ENDED);
		for (uint32_t k = 0; k < t.nfaults; k++)
			must(t.faults[k].node < COUNT &&
			     t.faults[k].why < STORM_ERROR_END);
		storm_status_free(&t);
	}
	storm_status_free(&s);
}
END_TEST

/* --------------------------------------------------------------- merge --- */

static const struct storm_idset all;

/* The request to all nodes, unless a test sets another. */
static struct storm_asked asks(void)
{
	return (struct storm_asked) {
		.op = 3,
		.phase = STORM_PHASE_BEGUN,
		.cmp = 2,
		.p = &all,
		.cmp_p = &all,
	};
}

static bool same_set(const struct storm_idset *a, const struct storm_idset *b)
{
	return storm_idset_covers(a, b) && storm_idset_covers(b, a);
}

static bool same(const struct storm_status *a, const struct storm_status *b)
{
	if (a->op != b->op || a->phase != b->phase || a->flags != b->flags ||
	    a->progress != b->progress || a->cmp != b->cmp ||
	    (a->cmp && a->cmp_false != b->cmp_false) || a->mtu != b->mtu ||
	    a->repaired != b->repaired || a->lost != b->lost ||
	    a->nfaults != b->nfaults || a->faults_total != b->faults_total ||
	    !same_set(&a->behind, &b->behind) ||
	    !same_set(&a->unanswered, &b->unanswered) ||
	    !same_set(&a->fresh, &b->fresh) || a->last != b->last ||
	    !same_set(&a->gone, &b->gone))
		return false;
	for (uint32_t i = 0; i < a->nfaults; i++) {
		uint32_t k = 0;

		while (k < b->nfaults && b->faults[k].node != a->faults[i].node)
			k++;
		if (k == b->nfaults || b->faults[k].why != a->faults[i].why ||
		    b->faults[k].sys != a->faults[i].sys)
			return false;
	}
	return true;
}

/* All is well. */
static void own(struct storm_status *s, uint64_t op)
{
	struct storm_asked a = asks();

	a.op = op;
	storm_status_init(s, &a, 1472);
}

static bool is_below(const struct storm_tree *t, uint32_t node,
		     const struct storm_idset *s)
{
	struct storm_idset sub = { 0 };
	bool is;

	must(!storm_tree_subtree(t, node, &sub));
	is = same_set(&sub, s);
	storm_idset_clear(&sub);
	return is;
}

/* Children answer in any order. */
START_TEST(test_commutes)
{
	struct rnd r = rnd_of(_i);
	struct storm_status child[8], a, b;
	struct storm_asked ask = asks();
	struct storm_idset p = { 0 };
	struct storm_tree t;
	uint32_t n = 2 + below(&r, 7), *order = shuffled(&r, n);

	storm_tree_init(&t, COUNT, 8);
	if (_i % 3) {
		must(!storm_idset_add(&p, below(&r, 50), 50 + below(&r, 100)));
		ask.p = &p;
	}
	own(&a, 3);
	own(&b, 3);
	for (uint32_t i = 0; i < n; i++) {
		status_random(&child[i], &r, 2 + below(&r, 3), below(&r, 4));
		if (_i % 2)
			child[i].cmp = 2;
	}
	for (uint32_t i = 0; i < n; i++) {
		storm_status_merge(&a, &ask, &t, i, &child[i]);
		storm_status_merge(&b, &ask, &t, order[i], &child[order[i]]);
	}
	must(same(&a, &b));
	for (uint32_t i = 0; i < n; i++)
		storm_status_free(&child[i]);
	storm_status_free(&a);
	storm_status_free(&b);
	storm_idset_clear(&p);
	free(order);
}
END_TEST

/* A tree's claims hold on every node. Each has some state; some parents have
 * none from it, or an older one. */
START_TEST(test_claims)
{
	struct rnd r = rnd_of(_i);
	struct storm_asked ask = asks();
	struct storm_status own_[40], sub[40], sum;
	struct storm_idset p = { 0 };
	struct storm_tree t;

	storm_tree_init(&t, 40, 2 + below(&r, 3));
	ask.phase = (uint8_t) below(&r, 4);
	if (_i % 2) {
		for (uint32_t n = 1 + below(&r, 10); n; n--) {
			uint32_t node = below(&r, 40);

			must(!storm_idset_add(&p, node, node));
		}
		ask.p = ask.cmp_p = &p;
	}
	storm_status_init(&sum, &ask, 1472);
	for (uint32_t n = 40; n-- > 0;) {
		bool asked = !p.count || storm_idset_has(&p, n);
		uint32_t kids[8], count = storm_tree_children(&t, n, kids);
		struct storm_status *o = &own_[n], *s = &sub[n];

		own(o, below(&r, 5) ? 3 : 2);
		o->phase = (uint8_t) (below(&r, 4) ? 3 : below(&r, 4));
		storm_status_init(s, &ask, 1472);
		if (asked && (o->op < 3 || o->phase < ask.phase))
			must(!storm_idset_add(&s->behind, n, n));
		else if (asked && o->phase < s->phase)
			s->phase = o->phase;
		s->cmp_false = asked && (o->cmp_false = !below(&r, 20));
		for (uint32_t i = 0; i < count; i++)
			storm_status_merge(s, &ask, &t, kids[i],
					   below(&r, 9) ? &sub[kids[i]] : NULL);
		if (!below(&r, 12)) /* of an earlier question */
			s->cmp = 1;
		if (storm_tree_parent(&t, n) == STORM_NO_NODE)
			storm_status_merge(&sum, &ask, &t, n, s);
	}
	for (uint32_t n = 0; n < 40; n++) {
		bool asked = !p.count || storm_idset_has(&p, n);

		if (!asked)
			must(!storm_idset_has(&sum.behind, n) &&
			     !storm_idset_has(&sum.unanswered, n));
		else if (!storm_idset_has(&sum.behind, n))
			must(own_[n].op == 3 && own_[n].phase >= ask.phase &&
			     own_[n].phase >= sum.phase);
		if (asked && !storm_idset_has(&sum.unanswered, n))
			must(sum.cmp_false || !own_[n].cmp_false);
	}
	for (uint32_t n = 0; n < 40; n++)
		storm_status_free(&sub[n]);
	storm_status_free(&sum);
	storm_idset_clear(&p);
}
END_TEST

START_TEST(test_minimum)
{
	struct storm_asked ask = asks();
	struct storm_status a, c;
	struct storm_tree t;

	storm_tree_init(&t, COUNT, 8);
	own(&a, 3);
	own(&c, 3);
	c.phase = STORM_PHASE_BEGUN;
	c.progress = 1000;
	c.mtu = 1400;
	c.repaired = 3;
	c.lost = 2;
	c.flags = STORM_STATUS_UNACKED | STORM_STATUS_WAITS;
	storm_status_merge(&a, &ask, &t, 0, &c);
	ck_assert_uint_eq(a.phase, STORM_PHASE_BEGUN);
	ck_assert_uint_eq(a.progress, 1000);
	ck_assert_uint_eq(a.mtu, 1400);
	ck_assert_uint_eq(a.flags, STORM_STATUS_UNACKED | STORM_STATUS_WAITS);
	c.progress = 2000;
	c.mtu = 1450;
	c.lost = 1;
	c.flags = STORM_STATUS_MCAST;
	storm_status_merge(&a, &ask, &t, 1, &c);
	ck_assert_uint_eq(a.progress, 1000);
	ck_assert_uint_eq(a.mtu, 1400);
	ck_assert_uint_eq(a.repaired, 6);
	ck_assert_uint_eq(a.lost, 2);
	ck_assert_uint_eq(a.flags, STORM_STATUS_UNACKED | STORM_STATUS_WAITS);
	/* A node that has not reached the epoch is behind, but its bytes count;
	 * what the others have reached does not decrease. */
	ask.phase = STORM_PHASE_STAGED;
	own(&a, 3);
	storm_status_merge(&a, &ask, &t, 1, &c);
	ck_assert_uint_eq(a.phase, STORM_PHASE_ENDED);
	ck_assert_uint_eq(a.progress, 2000);
	ck_assert(is_below(&t, 1, &a.behind));
	storm_status_free(&a);
	/* likewise of bytes, where some are asked for */
	ask.phase = STORM_PHASE_BEGUN;
	ask.floor = 1500;
	own(&a, 3);
	storm_status_merge(&a, &ask, &t, 1, &c);
	ck_assert(is_below(&t, 1, &a.behind));
	storm_status_free(&a);
	c.floor = 1500;
	own(&a, 3);
	storm_status_merge(&a, &ask, &t, 1, &c);
	ck_assert(!a.behind.count);
}
END_TEST

/* A child that is at another operation. */
START_TEST(test_other_operation)
{
	struct storm_asked ask = asks();
	struct storm_status a, late, early;
	struct storm_tree t;

	storm_tree_init(&t, COUNT, 8);
	own(&a, 3);
	own(&late, 2);
	late.phase = STORM_PHASE_ENDED;
	storm_status_fault(&late, 5, STORM_EEXIST, 17);
	storm_status_fault(&late, 6, STORM_ESYS, 28);
	late.faults_total = 40;
	storm_status_merge(&a, &ask, &t, 2, &late);
	/* it has not received our operation, and its last one's outcome is void
	 * */
	ck_assert(is_below(&t, 2, &a.behind));
	ck_assert(a.flags & STORM_STATUS_LACKS);
	ck_assert_uint_eq(a.progress, 0);
	ck_assert_uint_eq(a.nfaults, 0);
	ck_assert_uint_eq(a.faults_total, 0);
	/* but a node that is lost is lost to all of them */
	storm_status_free(&a);
	own(&a, 3);
	storm_status_fault(&late, 7, STORM_ELOST, 0);
	storm_status_fault(&late, 8, STORM_EVERSION, 1);
	storm_status_merge(&a, &ask, &t, 2, &late);
	ck_assert_uint_eq(a.nfaults, 1);
	ck_assert_uint_eq(a.faults_total, 1);
	ck_assert_uint_eq(a.faults[0].node, 8);
	ck_assert_uint_eq(storm_idset_size(&a.gone), 1);
	ck_assert(storm_idset_has(&a.gone, 7));
	storm_status_free(&late);
	storm_status_free(&a);
	/* one that went on holds ours no more up */
	ask.phase = STORM_PHASE_ENDED;
	own(&a, 3);
	own(&early, 4);
	early.phase = STORM_PHASE_NONE;
	early.progress = 0;
	storm_status_fault(&early, 5, STORM_EEXIST, 17);
	storm_status_merge(&a, &ask, &t, 2, &early);
	ck_assert_uint_eq(a.phase, STORM_PHASE_ENDED);
	ck_assert(a.progress == UINT64_MAX);
	ck_assert_uint_eq(a.nfaults, 0);
	ck_assert(!a.behind.count);
}
END_TEST

START_TEST(test_compare)
{
	struct storm_asked ask = asks();
	struct storm_status a, c;
	struct storm_tree t;

	storm_tree_init(&t, COUNT, 8);
	own(&a, 3);
	own(&c, 3);
	storm_status_merge(&a, &ask, &t, 0, &c);
	ck_assert_uint_eq(a.cmp, 2);
	ck_assert(!a.cmp_false && !a.unanswered.count);
	c.cmp_false = true;
	storm_status_merge(&a, &ask, &t, 0, &c);
	ck_assert_uint_eq(a.cmp, 2);
	ck_assert(a.cmp_false && !a.unanswered.count);
	/* It answered another request, which is no answer to this one and does
	 * not become one by the next merge; the operation continues. */
	a.cmp_false = false;
	c.cmp = 1;
	storm_status_merge(&a, &ask, &t, 1, &c);
	ck_assert(!a.cmp_false && is_below(&t, 1, &a.unanswered));
	ck_assert(!a.behind.count);
	c.cmp = 2;
	c.cmp_false = false;
	storm_status_merge(&a, &ask, &t, 2, &c);
	ck_assert(is_below(&t, 1, &a.unanswered));
	storm_status_free(&a);
}
END_TEST

START_TEST(test_silent)
{
	struct storm_asked ask = asks();
	struct storm_tree t;
	struct storm_status a, c;
	struct storm_idset p = { 0 };

	storm_tree_init(&t, 100, 4);
	own(&a, 3);
	own(&c, 3);
	storm_status_merge(&a, &ask, &t, 2, NULL);
	ck_assert_uint_eq(a.progress, 0);
	ck_assert_uint_eq(a.flags, STORM_STATUS_LACKS);
	ck_assert(is_below(&t, 2, &a.behind));
	ck_assert(is_below(&t, 2, &a.unanswered));
	/* the others do not make up for it */
	storm_status_merge(&a, &ask, &t, 3, &c);
	ck_assert(is_below(&t, 2, &a.behind));
	ck_assert(is_below(&t, 2, &a.unanswered));
	storm_status_free(&a);
	/* but if none of them is asked, it delays no node */
	must(!storm_idset_add(&p, 0, 1));
	ask.p = ask.cmp_p = &p;
	own(&a, 3);
	storm_status_merge(&a, &ask, &t, 2, NULL);
	ck_assert(a.progress == UINT64_MAX);
	ck_assert(!(a.flags & STORM_STATUS_LACKS));
	ck_assert(!a.behind.count && !a.unanswered.count);
	storm_idset_clear(&p);
}
END_TEST

/* A silent child is bypassed: its own children's reports count, and it stays
 * late itself. */
START_TEST(test_round)
{
	struct storm_asked ask = asks();
	struct storm_idset late = { 0 };
	struct storm_status a, c;
	struct storm_tree t;

	storm_tree_init(&t, 20, 4); /* below 0: 4, 5, 6, 7 */
	own(&a, 3);
	storm_status_merge(&a, &ask, &t, 0, NULL);
	must(storm_idset_size(&a.behind) == 5);
	own(&c, 3);
	c.cmp_false = true;
	storm_status_merge_round(&a, &ask, &t, 5, &c);
	must(!storm_idset_has(&a.behind, 5) &&
	     !storm_idset_has(&a.unanswered, 5));
	must(storm_idset_size(&a.behind) == 4 && a.cmp_false);
	/* one that is late itself, of an older request, or names another node
	 * */
	c.op = 2;
	c.cmp = 1;
	storm_status_merge_round(&a, &ask, &t, 6, &c);
	must(storm_idset_has(&a.behind, 6) &&
	     storm_idset_has(&a.unanswered, 6));
	c.op = 3;
	c.cmp = 2;
	c.phase = STORM_PHASE_BEGUN;
	must(!storm_idset_add(&c.behind, 6, 6));
	storm_status_merge_round(&a, &ask, &t, 6, &c);
	must(storm_idset_has(&a.behind, 6) &&
	     !storm_idset_has(&a.unanswered, 6));
	ck_assert_uint_eq(a.phase, STORM_PHASE_BEGUN);
	storm_idset_clear(&c.behind);
	for (uint32_t n = 4; n < 8; n++)
		storm_status_merge_round(&a, &ask, &t, n, &c);
	must(!storm_idset_add(&late, 0, 0));
	must(same_set(&late, &a.behind) && same_set(&late, &a.unanswered));
	storm_idset_clear(&late);
	storm_status_free(&a);
}
END_TEST

/* What is asked for follows from the state. */
START_TEST(test_asked)
{
	struct storm_cast c = { .op = 3, .size = 1000, .cmp = 5 };
	struct storm_asked a;

	must(!storm_idset_add(&c.p, 7, 7));
	storm_asked_of(&a, &c, 2);
	ck_assert_uint_eq(a.op, 3);
	ck_assert_uint_eq(a.phase, STORM_PHASE_BEGUN);
	ck_assert_uint_eq(a.cmp, 5);
	ck_assert_ptr_eq(a.p, &c.p);
	c.sent = 1000;
	c.floor = 400;
	storm_asked_of(&a, &c, 3);
	ck_assert_uint_eq(a.phase, STORM_PHASE_STAGED);
	ck_assert_uint_eq(a.floor, 400);
	c.decision = STORM_ABORT;
	storm_asked_of(&a, &c, 3);
	ck_assert_uint_eq(a.phase, STORM_PHASE_ENDED);
	/* announced, but not yet asked for: that all receive it */
	storm_asked_of(&a, &c, 4);
	ck_assert_uint_eq(a.op, 4);
	ck_assert_uint_eq(a.phase, STORM_PHASE_NONE);
	ck_assert_uint_eq(a.floor, 0);
	ck_assert_uint_eq(a.p->count, 0);
	c.op = 0;
	storm_asked_of(&a, &c, 0);
	ck_assert_uint_eq(a.phase, STORM_PHASE_NONE);
	storm_cast_free(&c);
}
END_TEST

/* A node of the operation that is not asked any more has left: what it said before that
 * holds nobody up.  A node that the operation is not for speaks for those below it. */
START_TEST(test_left)
{
	struct storm_idset p = { 0 }, named = { 0 };
	struct storm_tree t;
	struct storm_asked a = { .op = 3,
				 .phase = STORM_PHASE_BEGUN,
				 .p = &p,
				 .cmp_p = &named,
				 .named = &named };
	struct storm_status into, child = { .op = 3,
					    .phase = STORM_PHASE_BEGUN,
					    .progress = 1000 };

	storm_tree_init(&t, 4, 4);
	must(!storm_idset_add(&p, 1, 3));
	storm_status_init(&into, &a, 1472);
	storm_status_merge(&into, &a, &t, 0, &child);
	ck_assert_uint_eq(into.progress, UINT64_MAX);
	must(!storm_idset_add(&named, 1, 3));
	storm_status_merge(&into, &a, &t, 0, &child);
	ck_assert_uint_eq(into.progress, 1000);
	storm_status_free(&into);
	storm_idset_clear(&p);
	storm_idset_clear(&named);
	storm_tree_free(&t);
}
END_TEST

/* Once more are asked than before, only what is said since then counts. */
START_TEST(test_renewed)
{
	struct storm_cast c = {
		.op = 3, .size = 5000, .sent = 5000, .floor = 5001
	};
	struct storm_tree t;
	struct storm_asked a;
	struct storm_status into, child = { .op = 3,
					    .floor = 2000,
					    .phase = STORM_PHASE_ENDED,
					    .progress = UINT64_MAX };

	storm_tree_init(&t, 2, 2);
	storm_asked_of(&a, &c, 3);
	a.named = &all;
	storm_status_init(&into, &a, 1472);
	storm_status_merge(&into, &a, &t, 1, &child);
	ck_assert(storm_idset_has(&into.behind, 1));
	ck_assert_uint_eq(into.progress, 0);
	storm_status_free(&into);
	child.floor = c.floor;
	storm_status_init(&into, &a, 1472);
	storm_status_merge(&into, &a, &t, 1, &child);
	ck_assert(!into.behind.count);
	ck_assert_uint_eq(into.progress, UINT64_MAX);
	storm_status_free(&into);
	storm_tree_free(&t);
}
END_TEST

START_TEST(test_faults)
{
	struct storm_asked ask = asks();
	struct storm_status s, c;
	struct storm_tree t;

	storm_tree_init(&t, COUNT, 8);
	own(&s, 3);
	for (uint32_t i = 0; i < 50; i++) {
		storm_status_fault(&s, i, STORM_ESYS, 5);
		/* the first reason stays */
		if (i < STORM_FAULTS_KEPT)
			storm_status_fault(&s, i, STORM_EPATH, 6);
	}
	ck_assert_uint_eq(s.nfaults, STORM_FAULTS_KEPT);
	ck_assert_uint_eq(s.faults_total, 50);
	ck_assert_uint_eq(s.faults[3].why, STORM_ESYS);
	own(&c, 3);
	storm_status_merge(&c, &ask, &t, 0, &s);
	ck_assert_uint_eq(c.nfaults, STORM_FAULTS_KEPT);
	ck_assert_uint_eq(c.faults_total, 50);
	for (int e = 0; e < STORM_ERROR_END; e++)
		must(storm_fault_of_session((enum storm_err) e) ==
		     (e == STORM_ENOAGENT || e == STORM_ELOST ||
		      e == STORM_EVERSION || e == STORM_EAUTH ||
		      e == STORM_EACCES || e == STORM_EBUSY ||
		      e == STORM_ETIME));
}
END_TEST

/* More faults than nodes can have are invalid: they must not make the parent's
 * STATUS malformed. */
START_TEST(test_faults_counted_to_the_end)
{
	struct storm_status s = { .op = 1,
				  .phase = STORM_PHASE_ENDED,
				  .mtu = 1472 };
	struct storm_status liar = s, t;
	struct storm_asked ask = asks();
	struct storm_tree tree;
	uint8_t buf[ROOM];
	size_t len;

	storm_status_fault(&s, 1, STORM_ESYS, 5);
	storm_status_fault(&s, 2, STORM_ESYS, 5);
	liar.faults_total = UINT32_MAX;
	ask.op = 1;
	storm_tree_init(&tree, COUNT, 8);
	storm_status_merge(&s, &ask, &tree, 0, &liar);
	ck_assert_uint_eq(s.faults_total, UINT32_MAX);
	storm_status_fault(&s, 3, STORM_ESYS, 5);
	ck_assert_uint_eq(s.faults_total, UINT32_MAX);
	len = storm_status_pack(&s, buf, sizeof(buf));
	ck_assert_int_eq(unpack(&t, buf, len, COUNT), STORM_OK);
	ck_assert_uint_eq(t.nfaults, 3);
	storm_status_free(&t);
	storm_status_free(&s);
}
END_TEST

START_TEST(test_news)
{
	struct storm_status was, is;

	own(&was, 3);
	was.phase = STORM_PHASE_BEGUN;
	was.cmp = 0;
	was.progress = 0;
	is = was;
	ck_assert(storm_status_news(&was, &is)); /* the first word */
	was.version = is.version = 1;
	ck_assert(!storm_status_news(&was, &is));
	is.progress = 1000; /* has its own pace */
	is.mtu = 1400;
	is.version++;
	ck_assert(!storm_status_news(&was, &is));
	is = was;
	is.op = 4;
	ck_assert(storm_status_news(&was, &is));
	is = was;
	is.phase = STORM_PHASE_STAGED;
	ck_assert(storm_status_news(&was, &is));
	ck_assert(!storm_status_news(&is, &was));
	is = was;
	is.faults_total = 1;
	ck_assert(storm_status_news(&was, &is));
	is = was;
	is.cmp = 1;
	ck_assert(storm_status_news(&was, &is));
	ck_assert(!storm_status_news(&is, &was));
	is = was;
	is.flags |= STORM_STATUS_UNACKED;
	ck_assert(storm_status_news(&was, &is));
	ck_assert(!storm_status_news(&is, &was));
	is = was;
	is.flags |= STORM_STATUS_LACKS;
	ck_assert(!storm_status_news(&was, &is));
}
END_TEST

/* A claim that is not whole waits until it is, the other does not. */
START_TEST(test_whole)
{
	struct storm_status was, is, late;

	own(&was, 3);
	was.version = 1;
	was.phase = STORM_PHASE_BEGUN;
	was.cmp = 0;
	is = was;
	is.phase = STORM_PHASE_STAGED;
	is.cmp = 1;
	must(!storm_idset_add(&is.behind, 3, 4));
	ck_assert(storm_status_news(&was, &is)); /* for the comparison */
	must(!storm_idset_add(&is.unanswered, 3, 3));
	ck_assert(!storm_status_news(&was, &is));
	storm_idset_clear(&is.behind);
	ck_assert(storm_status_news(&was, &is)); /* for the operation */
	/* the last one that was behind has come */
	late = was;
	must(!storm_idset_add(&late.behind, 3, 4));
	ck_assert(storm_status_news(&late, &was));
	ck_assert(!storm_status_news(&was, &late));
	/* in an answer that named them, less is news, too */
	ck_assert(!storm_status_caught_up(&was, &late));
	ck_assert(storm_status_caught_up(&late, &was));
	storm_idset_clear(&was.behind);
	must(!storm_idset_add(&was.behind, 4, 9));
	ck_assert(storm_status_caught_up(&late, &was));
	ck_assert(!storm_status_caught_up(&late, &late));
	storm_status_free(&late);
	storm_status_free(&was);
	storm_status_free(&is);
}
END_TEST

/* ------------------------------------------------------------ children --- */

static int hear(struct storm_child *c, const struct storm_status *s)
{
	uint8_t buf[ROOM], *p;
	size_t len = storm_status_pack(s, buf, sizeof(buf));
	int heard;

	must(len);
	p = exact(buf, len);
	heard = storm_child_hear(c, p, len, COUNT);
	free(p);
	return heard;
}

/* Datagrams are doubled and reordered: the newest counts. */
START_TEST(test_child_hears)
{
	struct storm_child c = { .node = 7 };
	struct storm_status s;
	uint8_t noise[3] = { 0 };

	own(&s, 3);
	s.version = 0; /* the first one counts, whichever it is */
	s.phase = STORM_PHASE_BEGUN;
	must(!storm_idset_add(&s.behind, 20, 29));
	ck_assert_int_eq(hear(&c, &s), 1);
	ck_assert(c.heard);
	ck_assert_uint_eq(c.status.phase, STORM_PHASE_BEGUN);
	ck_assert_uint_eq(storm_idset_size(&c.status.behind), 10);
	s.phase = STORM_PHASE_ENDED;
	ck_assert_int_eq(hear(&c, &s), 0);
	ck_assert_uint_eq(c.status.phase, STORM_PHASE_BEGUN);
	s.version = 9;
	storm_idset_clear(&s.behind);
	ck_assert_int_eq(hear(&c, &s), 1);
	ck_assert_uint_eq(c.status.phase, STORM_PHASE_ENDED);
	ck_assert_uint_eq(c.status.behind.count, 0);
	s.version = 8;
	s.phase = STORM_PHASE_STAGED;
	ck_assert_int_eq(hear(&c, &s), 0);
	ck_assert_int_eq(storm_child_hear(&c, noise, sizeof(noise), COUNT), -1);
	ck_assert_uint_eq(c.status.phase, STORM_PHASE_ENDED);
	ck_assert_uint_eq(c.status.version, 9);
	storm_status_free(&c.status);
}
END_TEST

/* A new epoch: the children follow from the tree. Those that stay no longer
 * describe their subtrees correctly, but their reports continue. */
START_TEST(test_children_of_an_epoch)
{
	struct rnd r = rnd_of(_i);
	struct storm_tree t;
	struct storm_child *c = NULL;
	struct storm_idset out = { 0 };
	struct storm_status s;
	uint32_t n = 0, me = _i % 2 ? STORM_NO_NODE : below(&r, COUNT);

	own(&s, 3);
	s.version = 5;
	must(!storm_idset_add(&s.behind, 3, 4));
	storm_tree_init(&t, COUNT, 2 + below(&r, 7));
	for (uint32_t epoch = 1; epoch < 12; epoch++) {
		uint32_t kids[16], count, gone = below(&r, COUNT);
		uint32_t *stays = calloc(COUNT, sizeof(*stays));

		must(stays);
		for (uint32_t i = 0; i < n; i++) {
			c[i].last_heard = 1 + below(&r, epoch);
			stays[c[i].node] = (uint32_t) c[i].last_heard;
			must(hear(&c[i], &s) == 1);
			c[i].complete = 1;
			c[i].rx.done = 100 + c[i].node;
			if (!c[i].rx.buf)
				c[i].rx.buf = malloc(8);
		}
		must(!storm_children_update(&c, &n, &t, me, epoch));
		count = storm_tree_children(&t, me, kids);
		must(n == count);
		for (uint32_t i = 0; i < n; i++) {
			must(storm_child_find(c, n, kids[i]) == &c[i]);
			must(!c[i].heard && !c[i].complete &&
			     !c[i].status.behind.count);
			/* a silent one gets no new time */
			must(c[i].last_heard ==
			     (stays[kids[i]] ? stays[kids[i]] : epoch));
			must(c[i].rx.done ==
			     (stays[kids[i]] ? 100 + kids[i] : 0));
			must(!c[i].rx.buf == !stays[kids[i]]);
		}
		must(!storm_child_find(c, n, COUNT));
		free(stays);
		if (gone == me || storm_idset_has(&out, gone))
			continue;
		must(!storm_idset_add(&out, gone, gone));
		/* often one of ours */
		if (n && c[0].node != me && !storm_idset_has(&out, c[0].node))
			must(!storm_idset_add(&out, c[0].node, c[0].node));
		must(!storm_tree_exclude(&t, &out));
	}
	storm_children_free(c, n);
	storm_status_free(&s);
	storm_idset_clear(&out);
	storm_tree_free(&t);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("status");
	TCase *t = tcase_create("wire");

	tcase_add_test(t, test_golden);
	tcase_add_loop_test(t, test_random, 0, unit_runs(50));
	tcase_add_test(t, test_small);
	tcase_add_test(t, test_refused);
	tcase_add_loop_test(t, test_noise, 0, unit_runs(20));
	suite_add_tcase(s, t);
	t = tcase_create("merge");
	tcase_add_loop_test(t, test_commutes, 0, unit_runs(100));
	tcase_add_loop_test(t, test_claims, 0, unit_runs(200));
	tcase_add_test(t, test_minimum);
	tcase_add_test(t, test_other_operation);
	tcase_add_test(t, test_compare);
	tcase_add_test(t, test_silent);
	tcase_add_test(t, test_round);
	tcase_add_test(t, test_asked);
	tcase_add_test(t, test_left);
	tcase_add_test(t, test_renewed);
	tcase_add_test(t, test_faults);
	tcase_add_test(t, test_faults_counted_to_the_end);
	tcase_add_test(t, test_news);
	tcase_add_test(t, test_whole);
	suite_add_tcase(s, t);
	t = tcase_create("children");
	tcase_add_test(t, test_child_hears);
	tcase_add_loop_test(t, test_children_of_an_epoch, 0, unit_runs(40));
	suite_add_tcase(s, t);
	return unit_main(s);
}
