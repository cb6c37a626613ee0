/*
 * fuzz_status.c - STATUS of subtrees, and the STATUS that their parent makes of
 * them.
 *
 *   u16 nodes less one, u8 radix less two, u16 room for the parent's STATUS,
 *   u64 operation, u8 phase, u16 floor and u8 comparison that are asked for, then
 *   {u16 length, STATUS} until the end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/status.h"

#define LEAST (STORM_MTU_MIN - STORM_DATAGRAM_MIN)

static void must_be_status(const struct storm_status *s, uint32_t count)
{
	must(s->nfaults <= STORM_FAULTS_KEPT && s->nfaults <= s->faults_total);
	must(s->phase <= STORM_PHASE_ENDED);
	must(s->mtu >= STORM_MTU_MIN);
	must_be_set(&s->behind, count - 1);
	must_be_set(&s->unanswered, count - 1);
	must_be_set(&s->fresh, count - 1);
	must_be_set(&s->overdue, count - 1);
	for (uint32_t i = 0; i < s->nfaults; i++) {
		must(s->faults[i].node < count);
		must(s->faults[i].why > STORM_OK &&
		     s->faults[i].why < STORM_ERROR_END);
	}
}

/* A set may only grow on its way. */
static void same_or_more(const struct storm_idset *was,
			 const struct storm_idset *is, size_t room)
{
	must(storm_idset_covers(is, was) && !was->count == !is->count);
	must(room < STORM_DATAGRAM_MAX || was->count > STORM_BEHIND_KEPT ||
	     same_set(was, is));
}

/* A reader learns no more than the writer knew, and no less if there was room.
 * */
static void same_again(const struct storm_status *s, size_t room,
		       uint32_t count)
{
	uint8_t *buf = malloc(room);
	struct storm_status t;
	size_t len;

	must(buf);
	len = storm_status_pack(s, buf, room);
	must(len && len <= room);
	must(!storm_status_unpack(&t, buf, len, count));
	must_be_status(&t, count);
	must(t.version == s->version && t.op == s->op && t.last == s->last &&
	     t.floor == s->floor && t.phase == s->phase &&
	     t.flags == s->flags && t.progress == s->progress);
	must(t.cmp == s->cmp && t.cmp_false == s->cmp_false &&
	     t.mtu == s->mtu && t.seen == s->seen &&
	     t.repaired == s->repaired && t.lost == s->lost);
	must(t.faults_total == s->faults_total);
	same_or_more(&s->behind, &t.behind, room);
	same_or_more(&s->unanswered, &t.unanswered, room);
	same_or_more(&s->fresh, &t.fresh, room);
	/* of these there may be less, as nothing follows from it */
	must(storm_idset_covers(&s->overdue, &t.overdue));
	must(room < STORM_DATAGRAM_MAX ||
	     s->overdue.count > STORM_OVERDUE_KEPT ||
	     same_set(&s->overdue, &t.overdue));
	must(!s->nfaults == !t.nfaults);
	if (room == STORM_DATAGRAM_MAX)
		must(t.nfaults == s->nfaults);
	storm_status_free(&t);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	uint32_t count = storm_get16(&i) + 1u;
	uint32_t radix = storm_get8(&i) % 63u + 2;
	size_t room = LEAST + storm_get16(&i) % (STORM_DATAGRAM_MAX - LEAST);
	const struct storm_idset all = { 0 };
	struct storm_asked asked = { .op = storm_get64(&i),
				     .p = &all,
				     .cmp_p = &all };
	struct storm_status sum;
	struct storm_tree tree;

	asked.phase = storm_get8(&i) % (STORM_PHASE_ENDED + 1);
	asked.floor = storm_get16(&i);
	asked.cmp = storm_get8(&i);
	storm_status_init(&sum, &asked, STORM_DATAGRAM_MAX);
	storm_tree_init(&tree, count, radix);
	for (uint32_t child = 0; i.p < i.end && !i.bad && child < 8; child++) {
		struct storm_status s, was = sum;
		size_t len;
		uint8_t *buf = some(&i, STORM_DATAGRAM_MAX, &len);

		if (!storm_status_unpack(&s, buf, len, count)) {
			must_be_status(&s, count);
			same_again(&s, STORM_DATAGRAM_MAX, count);
			storm_status_merge(&sum, &asked, &tree, child % count,
					   &s);
			must(sum.phase <= was.phase &&
			     sum.progress <= was.progress);
			storm_status_news(&was, &sum);
			storm_status_free(&s);
		} else if (child < count) {
			storm_status_merge(&sum, &asked, &tree, child, NULL);
		}
		must_be_status(&sum, count);
		free(buf);
	}
	same_again(&sum, STORM_DATAGRAM_MAX, count);
	same_again(&sum, room, count);
	storm_status_free(&sum);
	storm_tree_free(&tree);
	return 0;
}
