/*
 * test_tree.c - the combining tree, against one that is grown in a queue.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/tree.h"
#include "unit.h"

/* Members in the list's order are handed out as children to the owner, then
 * to the owner's first child, to its second, ... */
struct model {
	uint32_t count, radix, members;
	uint32_t *member; /* in order */
	uint32_t *parent; /* by node */
	bool *out;
};

static void model_grow(struct model *m)
{
	uint32_t from = STORM_NO_NODE, given = 0, next = 0;

	m->members = 0;
	for (uint32_t i = 0; i < m->count; i++) {
		if (m->out[i])
			continue;
		m->member[m->members++] = i;
		if (given == m->radix) {
			from = m->member[next++];
			given = 0;
		}
		m->parent[i] = from;
		given++;
	}
}

static bool model_above(const struct model *m, uint32_t up, uint32_t node)
{
	while (node != up && node != STORM_NO_NODE)
		node = m->parent[node];
	return node == up;
}

static const struct storm_idset everyone;

static void check(const struct storm_tree *t, const struct model *m)
{
	uint32_t kids[64], prev = STORM_NO_NODE, total = 0;

	must(t->members == m->members);
	for (uint32_t i = 0; i < m->count; i++)
		must(storm_tree_member(t, i) == !m->out[i]);
	must(!storm_tree_member(t, m->count));
	must(!storm_tree_member(t, STORM_NO_NODE));
	for (uint32_t k = 0; k < m->members; k++) {
		uint32_t node = m->member[k];

		must(storm_tree_parent(t, node) == m->parent[node]);
		/* the chain is the list */
		must(storm_tree_successor(t, prev, &everyone) == node);
		prev = node;
	}
	must(storm_tree_successor(t, prev, &everyone) == STORM_NO_NODE);
	/* children, the owner's first */
	for (uint32_t k = 0; k <= m->members; k++) {
		uint32_t node = k ? m->member[k - 1] : STORM_NO_NODE;
		uint32_t n = storm_tree_children(t, node, kids);

		must(n <= m->radix);
		for (uint32_t i = 0; i < n; i++) {
			must(m->parent[kids[i]] == node);
			must(!i || kids[i] > kids[i - 1]);
		}
		total += n;
	}
	must(total == m->members);
}

static void check_below(const struct storm_tree *t, const struct model *m,
			struct rnd *r)
{
	uint32_t kids[64], n;
	struct storm_idset all = { 0 };
	uint64_t sum = 0;

	for (int i = 0; i < 20; i++) {
		uint32_t node = m->member[below(r, m->members)];
		struct storm_idset s = { 0 };
		uint64_t size = 0;

		must(!storm_tree_subtree(t, node, &s));
		must(storm_tree_above(t, STORM_NO_NODE, node));
		for (uint32_t k = 0; k < m->members; k++) {
			uint32_t other = m->member[k];
			bool under = model_above(m, node, other);

			must(storm_tree_above(t, node, other) == under);
			must(storm_idset_has(&s, other) == under);
			size += under;
		}
		must(storm_idset_size(&s) == size);
		storm_idset_clear(&s);
	}
	/* the owner's subtrees are disjoint and complete */
	n = storm_tree_children(t, STORM_NO_NODE, kids);
	for (uint32_t i = 0; i < n; i++) {
		struct storm_idset s = { 0 };

		must(!storm_tree_subtree(t, kids[i], &s));
		sum += storm_idset_size(&s);
		must(!storm_idset_union(&all, &s));
		storm_idset_clear(&s);
	}
	must(sum == m->members && storm_idset_size(&all) == m->members);
	storm_idset_clear(&all);
	/* all nodes are below the owner */
	must(!storm_tree_subtree(t, STORM_NO_NODE, &all));
	must(storm_idset_size(&all) == m->members);
	for (uint32_t k = 0; k < m->members; k++)
		must(storm_idset_has(&all, m->member[k]));
	storm_idset_clear(&all);
}

START_TEST(test_random)
{
	struct rnd r = rnd_of(_i);
	struct model m = { .radix = 2 + below(&r, 63) };
	struct storm_idset out = { 0 };
	struct storm_tree t;

	if (_i % 3 == 0)
		m.radix = 2 + below(&r, 8);
	m.count = 1 + below(&r, _i % 10 ? 300 : 3000);
	m.member = calloc(m.count, sizeof(*m.member));
	m.parent = calloc(m.count, sizeof(*m.parent));
	m.out = calloc(m.count, sizeof(*m.out));
	must(m.member && m.parent && m.out);
	storm_tree_init(&t, m.count, m.radix);
	for (int epoch = 0; epoch < 4; epoch++) {
		uint32_t n = below(&r, 1 + m.count / 3);

		model_grow(&m);
		check(&t, &m);
		if (!m.members)
			break;
		check_below(&t, &m, &r);
		/* whole runs and single nodes leave; none returns */
		while (n--) {
			uint32_t node = below(&r, m.count);
			uint32_t last = node + below(&r, 4);

			for (; node <= last && node < m.count; node++) {
				m.out[node] = true;
				must(!storm_idset_add(&out, node, node));
			}
		}
		must(!storm_tree_exclude(&t, &out));
	}
	storm_tree_free(&t);
	storm_idset_clear(&out);
	free(m.member);
	free(m.parent);
	free(m.out);
}
END_TEST

START_TEST(test_all_gone)
{
	struct storm_idset out = { 0 };
	struct storm_tree t;
	uint32_t kids[2];

	storm_tree_init(&t, 3, 2);
	/* beyond the list is no harm */
	must(!storm_idset_add(&out, 0, 9));
	must(!storm_tree_exclude(&t, &out));
	ck_assert_uint_eq(t.members, 0);
	ck_assert_uint_eq(storm_tree_children(&t, STORM_NO_NODE, kids), 0);
	ck_assert_uint_eq(storm_tree_successor(&t, STORM_NO_NODE, &everyone),
			  STORM_NO_NODE);
	ck_assert(!storm_tree_member(&t, 0));
	storm_tree_free(&t);
	storm_idset_clear(&out);
}
END_TEST

/* By hand: 13 nodes, radix 3, node 1 lost. */
START_TEST(test_known)
{
	struct storm_idset out = { 0 }, s = { 0 };
	struct storm_tree t;
	uint32_t kids[3];

	storm_tree_init(&t, 13, 3);
	ck_assert_uint_eq(storm_tree_parent(&t, 2), STORM_NO_NODE);
	ck_assert_uint_eq(storm_tree_parent(&t, 3), 0);
	ck_assert_uint_eq(storm_tree_parent(&t, 11), 2);
	ck_assert_uint_eq(storm_tree_parent(&t, 12), 3);
	must(!storm_idset_add(&out, 1, 1));
	must(!storm_tree_exclude(&t, &out));
	ck_assert_uint_eq(storm_tree_parent(&t, 3), STORM_NO_NODE);
	ck_assert_uint_eq(storm_tree_children(&t, 0, kids), 3);
	ck_assert_uint_eq(kids[0], 4);
	ck_assert_uint_eq(kids[2], 6);
	must(!storm_tree_subtree(&t, 3, &s));
	ck_assert_uint_eq(storm_idset_size(&s), 4);
	ck_assert(storm_idset_has(&s, 3) && storm_idset_has(&s, 10) &&
		  storm_idset_has(&s, 11) && storm_idset_has(&s, 12));
	storm_tree_free(&t);
	storm_idset_clear(&out);
	storm_idset_clear(&s);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("tree");
	TCase *t = tcase_create("tree");

	tcase_add_test(t, test_known);
	tcase_add_test(t, test_all_gone);
	tcase_add_loop_test(t, test_random, 0, unit_runs(60));
	suite_add_tcase(s, t);
	return unit_main(s);
}
