/*
 * test_gather.c - tables of a gather: merged in any order and grouping they are the
 * same as long as all fits, they never grow beyond their bounds, and they come out of
 * the wire as they went in.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/collect.h"
#include "src/libstorm/wire/gather.h"
#include "unit.h"

#define NODES 60

static bool same_set(const struct storm_idset *a, const struct storm_idset *b)
{
	return storm_idset_covers(a, b) && storm_idset_covers(b, a);
}

static bool same(const struct storm_gathered *a, const struct storm_gathered *b)
{
	if (a->count != b->count || a->bytes != b->bytes)
		return false;
	for (uint32_t i = 0; i < a->count; i++) {
		const struct storm_gather_entry *x = &a->entry[i],
						*y = &b->entry[i];

		if (x->kind != y->kind || x->key_len != y->key_len ||
		    memcmp(x->key, y->key, x->key_len) ||
		    x->value_len != y->value_len ||
		    memcmp(x->value, y->value, x->value_len) ||
		    !same_set(&x->nodes, &y->nodes) || x->sum != y->sum ||
		    x->max != y->max || x->max_node != y->max_node ||
		    x->count != y->count)
			return false;
	}
	return true;
}

static void own_random(struct storm_gather_own *g, uint32_t self, struct rnd *r)
{
	static const char *const keys[] = { "version", "v", "ver", "gang" };

	memset(g, 0, sizeof(*g));
	g->self = self;
	for (uint32_t n = below(r, 6); n; n--) {
		const char *key = keys[below(r, 4)];
		uint8_t value[3] = { (uint8_t) below(r, 3) };
		/* the greatest wins, and of equals the first node */
		uint64_t v = below(r, 4) ? below(r, 5) : UINT64_MAX - 3;

		if (below(r, 2))
			must(!storm_gather_value(g, key, strlen(key), value,
						 below(r, 4)));
		else
			must(!storm_gather_count(g, key, strlen(key), v));
	}
}

/* Merge those of all nodes as a tree of random shape does. */
static struct storm_gathered merged(struct storm_gather_own *own, struct rnd *r)
{
	struct storm_gathered part[NODES] = { 0 };
	uint32_t *order = shuffled(r, NODES), n = NODES;

	for (uint32_t i = 0; i < NODES; i++)
		must(!storm_gathered_merge(&part[i], &own[order[i]].t));
	for (; n > 1; n--) {
		uint32_t a = below(r, n), b = below(r, n - 1);
		struct storm_gathered last;

		b += b >= a;
		must(!storm_gathered_merge(&part[a], &part[b]));
		storm_gathered_clear(&part[b]);
		last = part[n - 1];
		memset(&part[n - 1], 0, sizeof(last));
		if (b != n - 1)
			part[b] = last;
	}
	free(order);
	return part[0];
}

START_TEST(test_any_order)
{
	struct storm_gather_own own[NODES];
	struct storm_gathered a, b;
	struct rnd r = rnd_of(_i);

	for (uint32_t i = 0; i < NODES; i++)
		own_random(&own[i], i, &r);
	a = merged(own, &r);
	b = merged(own, &r);
	must(a.count && same(&a, &b));
	for (uint32_t i = 1; i < a.count; i++)
		must(memcmp(a.entry[i - 1].key, a.entry[i].key,
			    STORM_GATHER_KEY) <= 0);
	storm_gathered_clear(&a);
	storm_gathered_clear(&b);
	for (uint32_t i = 0; i < NODES; i++)
		storm_gathered_clear(&own[i].t);
}
END_TEST

/* By the wire and back, with any nodes missing and any others not there at all. */
START_TEST(test_wire)
{
	struct storm_gathered sum = { 0 }, back;
	struct storm_idset nodes = { 0 }, asked = { 0 }, some = { 0 };
	struct storm_gather_own own;
	struct rnd r = rnd_of(_i);
	uint8_t *buf, *cut;
	size_t len;

	for (uint32_t i = 0; i < NODES; i++) {
		uint32_t what = below(&r, 4);

		if (!what)
			continue;
		must(!storm_idset_add(&asked, i, i));
		if (what == 1) {
			must(!storm_idset_add(&sum.missing, i, i));
			continue;
		}
		must(!storm_idset_add(&nodes, i, i));
		own_random(&own, i, &r);
		must(!storm_gathered_merge(&sum, &own.t));
		storm_gathered_clear(&own.t);
	}
	buf = storm_gathered_pack(&sum, &nodes, &len);
	must(buf);
	must(!storm_gathered_unpack(&back, &asked, buf, len));
	must(same(&sum, &back) && same_set(&sum.missing, &back.missing));
	storm_gathered_clear(&back);
	for (size_t n = 0; n < len; n++) {
		cut = exact(buf, n);
		if (!storm_gathered_unpack(&back, &asked, cut, n)) {
			must(back.count < sum.count);
			storm_gathered_clear(&back);
		}
		free(cut);
	}
	/* of a node that was not asked, or is missing, there is nothing */
	for (uint32_t i = 0; i < NODES && sum.missing.count; i++) {
		storm_idset_clear(&some);
		must(!storm_idset_union(&some, &asked));
		must(!storm_idset_drop(&some, &sum.missing));
		must(storm_gathered_unpack(&back, &some, buf, len) ==
		     STORM_EINVAL);
	}
	storm_idset_clear(&some);
	free(buf);
	storm_gathered_clear(&sum);
	storm_idset_clear(&nodes);
	storm_idset_clear(&asked);
}
END_TEST

/* A value of all takes the same bytes, whichever nodes there are. */
START_TEST(test_dead_cost_nothing)
{
	struct storm_gathered sum = { 0 };
	struct storm_gather_own own = { 0 };
	struct storm_idset nodes = { 0 };
	struct rnd r = rnd_of(_i);
	uint8_t *buf;
	size_t len;

	for (uint32_t i = 0; i < 10000; i++) {
		if (i && !below(&r, 10))
			continue;
		own.self = i;
		must(!storm_idset_add(&nodes, i, i));
		must(!storm_gather_value(&own, "version", 7, "1.0", 3));
		must(!storm_gather_count(&own, "launches", 8, i));
	}
	must(!storm_gathered_merge(&sum, &own.t));
	buf = storm_gathered_pack(&sum, &nodes, &len);
	must(buf && len < 60);
	free(buf);
	storm_gathered_clear(&sum);
	storm_gathered_clear(&own.t);
	storm_idset_clear(&nodes);
}
END_TEST

/* What finds no room is counted by its key, and more keys than a table counts are
 * counted together: nothing is lost unseen. */
START_TEST(test_rest)
{
	struct storm_gathered sum = { 0 }, back;
	struct storm_idset nodes = { 0 };
	uint64_t put = 0, in = 0;
	struct rnd r = rnd_of(_i);
	bool long_ones = _i % 2;
	uint8_t *buf;
	size_t len;

	must(!storm_idset_add(&nodes, 0, 199));
	for (uint32_t i = 0; i < 200; i++) {
		struct storm_gather_own own = { .self = i };

		for (int k = 0; k < 40; k++) {
			uint8_t value[STORM_GATHER_DATA];
			char key[8];

			snprintf(key, sizeof(key), "k%u", below(&r, 200));
			rnd_fill(&r, value, sizeof(value));
			must(!storm_gather_value(&own, key, strlen(key), value,
						 long_ones ? 200 : 4));
			put++;
		}
		must(!storm_gathered_merge(&sum, &own.t));
		must(sum.bytes <= STORM_GATHER_BYTES);
		storm_gathered_clear(&own.t);
	}
	for (uint32_t i = 0; i < sum.count; i++)
		in += sum.entry[i].kind == STORM_GATHER_VALUE ?
			      storm_idset_size(&sum.entry[i].nodes) :
			      sum.entry[i].count;
	ck_assert_uint_eq(in, put);
	must(sum.count <= STORM_GATHER_ENTRIES + STORM_GATHER_RESTS + 1);
	must(sum.entry[0].kind == STORM_GATHER_REST && !sum.entry[0].key_len);
	buf = storm_gathered_pack(&sum, &nodes, &len);
	must(buf && len <= 65536);
	must(!storm_gathered_unpack(&back, &nodes, buf, len));
	must(same(&sum, &back));
	free(buf);
	storm_gathered_clear(&back);
	storm_gathered_clear(&sum);
	storm_idset_clear(&nodes);
}
END_TEST

START_TEST(test_arguments)
{
	struct storm_gather_own own = { .self = 3 };
	char text[STORM_GATHER_DATA + 1] = { 0 };

	must(storm_gather_value(&own, "", 0, "x", 1) == STORM_EINVAL);
	must(storm_gather_value(&own, text, STORM_GATHER_KEY + 1, "x", 1) ==
	     STORM_EINVAL);
	must(storm_gather_value(&own, "k", 1, text, sizeof(text)) ==
	     STORM_EINVAL);
	must(storm_gather_count(&own, "", 0, 1) == STORM_EINVAL);
	must(!own.t.count);
	/* a counter of a node is one, however often it adds */
	must(!storm_gather_count(&own, "k", 1, 2));
	must(!storm_gather_count(&own, "k", 1, 3));
	must(own.t.count == 1 && own.t.entry[0].sum == 5 &&
	     own.t.entry[0].max == 5 && own.t.entry[0].count == 1 &&
	     own.t.entry[0].max_node == 3);
	storm_gathered_clear(&own.t);
}
END_TEST

/* doc/wire-format.md has these bytes. */
START_TEST(test_vector)
{
	static const uint8_t
		is[] = {
			0x01, 0x02, 0x00,		       /* missing: 2 */
			0x00, 0x01, 'v',  0x03, '1', '.', '0', /* v = 1.0: */
			0x01, 0x00, 0x04,		       /* all: 0 to 4 */
			0x01, 0x01, 'x',  0,	0,   0,	  0,   0, 0, 0,
			9,    0,    0,	  0,	0,   0,	  0,   0, 5, 0,
			0,    0,    4,	  0,	0,   0,	  3, /* x: sum 9, max 5 at 4, of 3 */
		};
	struct storm_gathered sum = { 0 }, back;
	struct storm_idset nodes = { 0 }, asked = { 0 };
	uint8_t *buf;
	size_t len;

	must(!storm_idset_add(&asked, 0, 4));
	must(!storm_idset_add(&nodes, 0, 1) && !storm_idset_add(&nodes, 3, 4));
	for (uint32_t i = 0; i < 5; i++) {
		struct storm_gather_own own = { .self = i };

		if (i == 2)
			continue;
		must(!storm_gather_value(&own, "v", 1, "1.0", 3));
		if (i)
			must(!storm_gather_count(&own, "x", 1, i == 4 ? 5 : 2));
		must(!storm_gathered_merge(&sum, &own.t));
		storm_gathered_clear(&own.t);
	}
	must(!storm_idset_add(&sum.missing, 2, 2));
	buf = storm_gathered_pack(&sum, &nodes, &len);
	must(buf && len == sizeof(is) && !memcmp(buf, is, len));
	must(!storm_gathered_unpack(&back, &asked, buf, len));
	must(same(&sum, &back));
	free(buf);
	storm_gathered_clear(&back);
	storm_gathered_clear(&sum);
	storm_idset_clear(&nodes);
	storm_idset_clear(&asked);
}
END_TEST

/* ------------------------------------------------------------------- collected --- */

/* A node's table comes, for itself alone, in one part. */
static int comes(struct storm_collect *c, uint32_t from, uint32_t node)
{
	struct storm_gather_own own = { .self = node };
	struct storm_idset nodes = { 0 };
	uint8_t body[200], *whole;
	struct storm_out o = { body, body + sizeof(body), false };
	size_t len;
	int got;

	for (uint32_t i = 0; i < c->count; i++)
		if (c->from[i].node == from)
			must(!storm_idset_union(&own.t.missing,
						&c->from[i].asked));
	must(!storm_idset_add(&nodes, node, node));
	must(!storm_idset_drop(&own.t.missing, &nodes));
	must(!storm_gather_count(&own, "x", 1, 1));
	whole = storm_gathered_pack(&own.t, &nodes, &len);
	must(whole);
	storm_put64(&o, 1);
	storm_put16(&o, 0);
	storm_put16(&o, 1);
	storm_put32(&o, (uint32_t) len);
	storm_put(&o, whole, len);
	got = storm_collect_part(c, from, body, (size_t) (o.p - body), 100000);
	free(whole);
	storm_gathered_clear(&own.t);
	storm_idset_clear(&nodes);
	return got;
}

static void await(struct storm_collect *c, uint32_t node, uint32_t first,
		  uint32_t last)
{
	struct storm_idset asked = { 0 };

	must(!storm_idset_add(&asked, first, last));
	must(!storm_collect_await(c, node, &asked, false));
}

/* Each node counts once: not twice by one that tells again, by another one, nor by
 * one that tells of others than its own. */
START_TEST(test_once)
{
	struct storm_collect c = { 0 };

	await(&c, 1, 1, 5);
	await(&c, 6, 5, 9);
	await(&c, 10, 10, 12);
	must(c.left == 3 && comes(&c, 77, 1) == 0);
	must(comes(&c, 1, 5) == 1 && c.left == 2);
	must(comes(&c, 1, 5) == 2 && comes(&c, 1, 4) == 2);
	must(comes(&c, 6, 5) == -1 && c.left == 1);
	must(comes(&c, 10, 3) == -1 && !c.left);
	must(c.sum.count == 1 && c.sum.entry[0].sum == 1 &&
	     storm_idset_size(&c.answered) == 1);
	storm_collect_clear(&c);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gather");
	TCase *t = tcase_create("tables");

	tcase_add_loop_test(t, test_any_order, 0, unit_runs(50));
	tcase_add_loop_test(t, test_wire, 0, unit_runs(20));
	tcase_add_loop_test(t, test_dead_cost_nothing, 0, unit_runs(3));
	tcase_add_loop_test(t, test_rest, 0, unit_runs(2));
	tcase_add_test(t, test_arguments);
	tcase_add_test(t, test_vector);
	tcase_add_test(t, test_once);
	suite_add_tcase(s, t);
	return unit_main(s);
}
