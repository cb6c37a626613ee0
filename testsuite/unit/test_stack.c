/*
 * test_stack.c - storm stack: stacks that are merged, and the lines by which they travel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/storm_stack/stack_line.h"
#include "unit.h"

/* ------------------------------------------------------------------------- merging --- */

#define RANKS 200
#define TEXTS 12

static struct stack_rec rec; /* large */

static void one_rank(uint32_t rank, unsigned int text)
{
	memset(&rec, 0, sizeof(rec));
	rec.kind = text % 3 ? STACK_MAIN : STACK_THREAD;
	snprintf(rec.label, sizeof(rec.label), "%u", text & 1);
	snprintf(rec.program, sizeof(rec.program), "a.out");
	snprintf(rec.text, sizeof(rec.text), "f%u < main", text);
	rec.count = 1;
	must(!storm_idset_add(&rec.ranks, rank, rank));
}

static const struct stack_one *set_find(const struct stack_set *s,
					const char *text)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (!strcmp(s->all[i]->text, text))
			return s->all[i];
	return NULL;
}

/* Send a set to another one, by lines in pieces. */
static void set_send(const struct stack_set *from, struct stack_set *to)
{
	static struct stack_said said; /* large */
	struct stack_pieces pieces = { 0 };
	struct stack_desk desk;
	char line[STACK_LINE], piece[STACK_PIECE + 1];
	const char *body, *whole;
	uint32_t range, nth;
	size_t at;

	stack_desk_init(&desk, 4);
	for (uint32_t i = 0; i < from->count; i++)
		for (range = 0; stack_line_put(&line, from->all[i], &range);) {
			whole = NULL;
			at = 0;
			while (stack_piece_put(&piece, 3, line, &at)) {
				must(!whole);
				piece[strlen(piece) - 1] = '\0';
				must(stack_piece_read(piece, 4, &nth, &body));
				ck_assert_uint_eq(nth, 3);
				whole = stack_piece_add(&desk, &pieces, body);
			}
			must(whole);
			ck_assert_str_eq(whole, line);
			must(stack_line_read(whole, &said) == LINE_STACK);
			must(!stack_set_add(to, &said.rec));
			storm_idset_clear(&said.rec.ranks);
			stack_pieces_clear(&desk, &pieces);
		}
	ck_assert_uint_eq(desk.room, STACK_ALL);
	ck_assert_uint_eq(desk.lost, 0);
}

/* Random trees: what arrives at the root is what a plain table has, whatever the tree. */
START_TEST(test_trees)
{
	static bool has[TEXTS][RANKS];
	static uint64_t count[TEXTS];
	struct stack_set nodes[16] = { 0 };

	srandom((unsigned int) _i);
	memset(has, 0, sizeof(has));
	memset(count, 0, sizeof(count));
	for (int k = 0; k < 600; k++) {
		uint32_t rank = (uint32_t) random() % RANKS;
		unsigned int text = (unsigned int) random() % TEXTS;

		one_rank(rank, text);
		must(!stack_set_add(&nodes[random() % 16], &rec));
		storm_idset_clear(&rec.ranks);
		has[text][rank] = true;
		count[text]++;
	}
	/* each to one before it */
	for (long k = 15; k > 0; k--) {
		set_send(&nodes[k], &nodes[random() % k]);
		stack_set_clear(&nodes[k]);
	}
	stack_set_sort(&nodes[0]);
	for (unsigned int text = 0; text < TEXTS; text++) {
		const struct stack_one *one;
		char name[32];

		snprintf(name, sizeof(name), "f%u < main", text);
		one = set_find(&nodes[0], name);
		must(one || !count[text]);
		if (!one)
			continue;
		ck_assert_uint_eq(one->count, count[text]);
		for (uint32_t r = 0; r < RANKS; r++)
			must(storm_idset_has(&one->ranks, r) == has[text][r]);
	}
	stack_set_clear(&nodes[0]);
}
END_TEST

/* A set does not grow without end: what is more is counted. */
START_TEST(test_full)
{
	struct stack_set s = { 0 };
	uint32_t kept;

	for (unsigned int k = 0; k < 1000; k++) {
		one_rank(k, 1);
		memset(rec.text, 'a', STACK_TEXT - 5);
		snprintf(rec.text + STACK_TEXT - 5, 6, "%u", k);
		must(!stack_set_add(&s, &rec));
		storm_idset_clear(&rec.ranks);
	}
	kept = s.count;
	ck_assert_uint_gt(kept, 200);
	ck_assert_uint_eq(s.over, 1000 - kept);
	ck_assert_uint_lt(s.bytes, STACK_ALL + sizeof(rec));
	/* one more rank of a stack that is there also takes no room */
	for (uint32_t k = 0; k < 100000; k += 2) {
		one_rank(k, 1);
		snprintf(rec.text, sizeof(rec.text), "%s", s.all[0]->text);
		must(!stack_set_add(&s, &rec));
		storm_idset_clear(&rec.ranks);
	}
	ck_assert_uint_lt(s.bytes, STACK_ALL + sizeof(rec));
	ck_assert_uint_gt(s.over, 1000 - kept);
	stack_set_clear(&s);
}
END_TEST

START_TEST(test_order)
{
	static const unsigned int texts[] = { 1, 5, 5, 3, 5, 1, 2 };
	struct stack_set s = { 0 };

	for (unsigned int k = 0; k < sizeof(texts) / sizeof(*texts); k++) {
		one_rank(k, texts[k]);
		must(!stack_set_add(&s, &rec));
		storm_idset_clear(&rec.ranks);
	}
	stack_set_sort(&s);
	/* step 0, then of step 1 first threads before others, the most first */
	ck_assert_uint_eq(s.count, 4);
	ck_assert_str_eq(s.all[0]->text, "f2 < main");
	ck_assert_str_eq(s.all[1]->text, "f5 < main");
	ck_assert_str_eq(s.all[2]->text, "f1 < main");
	ck_assert_str_eq(s.all[3]->text, "f3 < main");
	stack_set_clear(&s);
}
END_TEST

/* Processes without a rank are not taken for some of the ranks that have the same stack. */
START_TEST(test_rankless)
{
	struct stack_set s = { 0 }, t = { 0 };

	for (uint32_t k = 0; k < 8; k++) {
		one_rank(k < 5 ? k : STACK_NO_RANK, 1);
		must(!stack_set_add(&s, &rec));
		storm_idset_clear(&rec.ranks);
	}
	set_send(&s, &t);
	stack_set_sort(&t);
	ck_assert_uint_eq(t.count, 2);
	ck_assert_uint_eq(t.all[0]->count, 5);
	ck_assert_uint_eq(storm_idset_size(&t.all[0]->ranks), 5);
	must(!stack_is_rankless(&t.all[0]->ranks));
	ck_assert_uint_eq(t.all[1]->count, 3);
	must(stack_is_rankless(&t.all[1]->ranks));
	stack_set_clear(&s);
	stack_set_clear(&t);
}
END_TEST

/* --------------------------------------------------------------------------- lines --- */

START_TEST(test_bad_lines)
{
	static const char *const bad[] = {
		"",
		"S",
		"S\tm\t0\ta.out\t1\t0\t",
		"S\tx\t0\ta.out\t1\t0\tf",
		"S\tm\t0\ta.out\t1\t\tf",
		"S\tm\t0\ta.out\t1\t1-0\tf",
		"S\tm\t0\ta.out\t1\t3,2\tf",
		"S\tm\t0\ta.out\t1\t0,0\tf",
		"S\tm\t0\ta.out\t1\t4294967295\tf",
		"S\tm\t0\ta.out\t4294967296\t0\tf",
		"S\tm\t0\ta.out\t-1\t0\tf",
		"S\tm\t0\ta.out\t1\t0\tf\tg",
		"S\tm\t0\ta.out\t1\t0\t\x1b[2J",
		"S\tm\t0\ta.out\t1\t0",
		"N\tn1\t1",
		"N\tn1\t1\t2\t3",
		"R\tn1\t10.0.0.1",
		"R\tn1\t10.0.0\t7",
		"R\tn1\t10.0.0.1\t65536",
		"R\tn1\tn1\t7",
		"P\t",
		"P\t1\t",
		"Q\t1",
		"O\t",
		"O\t-1",
		"O\t1\t2",
		"U\t1",
		"U\t1\t-1",
		"U\t1\t2\t3",
		"U\t4294967296\t2",
	};
	static struct stack_said said; /* large */
	struct stack_node n = { .name = "n1", .tasks = 4, .stood_us = 77 };
	struct stack_unseen u = { 976, 3 };
	struct storm_addr at;
	char line[STACK_LINE];

	for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++)
		if (stack_line_read(bad[k], &said) != LINE_NONE)
			ck_abort_msg("%s", bad[k]);
	stack_node_put(&line, &n);
	must(stack_line_read(line, &said) == LINE_NODE);
	ck_assert_str_eq(said.node.name, "n1");
	ck_assert_uint_eq(said.node.tasks, 4);
	ck_assert_uint_eq(said.node.stood_us, 77);
	must(!storm_addr_set(&at, "10.1.2.3", 99));
	stack_ready_put(&line, "n7", &at);
	ck_assert_str_eq(line, "R\tn7\t10.1.2.3\t99");
	must(stack_line_read(line, &said) == LINE_READY);
	ck_assert_str_eq(said.node.name, "n7");
	must(!memcmp(&said.at, &at, sizeof(at)));
	stack_ready_put(&line, "n7", NULL);
	must(stack_line_read(line, &said) == LINE_READY && !said.at.port);
	must(stack_line_read("P\t9", &said) == LINE_NEXT && said.next == 9);
	stack_over_put(&line, 12);
	must(stack_line_read(line, &said) == LINE_OVER && said.over == 12);
	stack_unseen_put(&line, &u);
	ck_assert_str_eq(line, "U\t976\t3");
	must(stack_line_read(line, &said) == LINE_UNSEEN);
	ck_assert_uint_eq(said.unseen.threads, 976);
	ck_assert_uint_eq(said.unseen.processes, 3);
}
END_TEST

/* Many ranges go in several lines, and the count in one. */
START_TEST(test_many_ranges)
{
	struct stack_set s = { 0 }, t = { 0 };

	one_rank(1, 1);
	for (uint32_t k = 1; k < 5000; k++)
		must(!storm_idset_add(&rec.ranks, 3 * k, 3 * k));
	rec.count = 5000;
	must(!stack_set_add(&s, &rec));
	set_send(&s, &t);
	ck_assert_uint_eq(t.count, 1);
	ck_assert_uint_eq(t.all[0]->count, 5000);
	ck_assert_uint_eq(storm_idset_size(&t.all[0]->ranks), 5000);
	storm_idset_clear(&rec.ranks);
	stack_set_clear(&s);
	stack_set_clear(&t);
}
END_TEST

START_TEST(test_pieces)
{
	struct stack_pieces p = { 0 };
	struct stack_desk d;
	char body[STACK_PIECE];
	const char *at;
	uint32_t nth;

	must(!stack_piece_read("storm_stack 4 .x", 4, &nth, &at));
	must(!stack_piece_read("storm_stack x .x", 4, &nth, &at));
	must(!stack_piece_read("storm_stack 1 x", 4, &nth, &at));
	must(!stack_piece_read("hello", 4, &nth, &at));
	must(stack_piece_read("storm_stack 0 .", 4, &nth, &at));
	/* too long: the next one is whole again */
	memset(body, 'a', sizeof(body) - 1);
	body[0] = '+';
	body[sizeof(body) - 1] = '\0';
	stack_desk_init(&d, 1);
	for (int k = 0; k < 100; k++)
		must(!stack_piece_add(&d, &p, body));
	must(!stack_piece_add(&d, &p, ".end"));
	ck_assert_uint_eq(d.lost, 1);
	ck_assert_str_eq(stack_piece_add(&d, &p, ".next"), "next");
	stack_pieces_clear(&d, &p);
	ck_assert_uint_eq(d.room, STACK_ALL);
}
END_TEST

#define SENDERS 400

/* Whatever all nodes send, their pieces take 1 MB.  What has no room is counted. */
START_TEST(test_desk)
{
	static struct stack_pieces p[SENDERS];
	struct stack_desk d;
	char body[STACK_PIECE];
	uint64_t kept = 0, whole = 0, lost;

	memset(body, 'a', sizeof(body) - 1);
	body[0] = '+';
	body[sizeof(body) - 1] = '\0';
	stack_desk_init(&d, SENDERS);
	for (int k = 0; k < 10; k++)
		for (int n = 0; n < SENDERS; n++)
			must(!stack_piece_add(&d, &p[n], body));
	for (int n = 0; n < SENDERS; n++) {
		must(p[n].drop ? !p[n].line : p[n].len == 9580);
		kept += p[n].len;
	}
	ck_assert_uint_le(kept, STACK_ALL);
	ck_assert_uint_eq(d.room, STACK_ALL - kept);
	for (int n = 0; n < SENDERS; n++) {
		whole += stack_piece_add(&d, &p[n], ".") != NULL;
		stack_pieces_clear(&d, &p[n]);
	}
	ck_assert_uint_eq(d.room, STACK_ALL);
	ck_assert_uint_gt(whole, 0);
	ck_assert_uint_eq(d.lost, SENDERS - whole);
	/* one node sends without end */
	lost = d.lost;
	body[0] = '.';
	for (whole = 0; stack_piece_add(&d, &p[0], body); whole++)
		;
	ck_assert_uint_lt(whole * sizeof(body), stack_share(SENDERS) + 0x20000);
	for (int k = 0; k < 100; k++)
		must(!stack_piece_add(&d, &p[0], body));
	ck_assert_uint_eq(d.lost, lost + 101);
	ck_assert_uint_eq(d.room, STACK_ALL);
	/* and the others are heard */
	ck_assert_str_eq(stack_piece_add(&d, &p[1], ".next"), "next");
	/* shares: some 1 MB together, and a line at least */
	ck_assert_uint_eq(stack_share(1), STACK_ALL);
	ck_assert_uint_eq(stack_share(8), STACK_ALL / 8);
	ck_assert_uint_eq(stack_share(100000), STACK_LINE);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("stack");
	TCase *t = tcase_create("stack");

	tcase_add_loop_test(t, test_trees, 0, 50);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_order);
	tcase_add_test(t, test_rankless);
	tcase_add_test(t, test_bad_lines);
	tcase_add_test(t, test_many_ranges);
	tcase_add_test(t, test_pieces);
	tcase_add_test(t, test_desk);
	suite_add_tcase(s, t);
	return unit_main(s);
}
