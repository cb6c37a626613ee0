/*
 * test_oracle.c - the judges are judged: histories as they should be pass, and
 * with one thing wrong they do not.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "../unit/unit.h"

#include "linear.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/wire/cast.h"
#include "src/storm_sim/oracle.h"

#define NODES 3
#define SECOND 1000000000ULL

/* Entries of a history, each with the fields that its kind has. */
#define ADD(h, ...) history_add(&(h), (struct history_entry) { __VA_ARGS__ })

static const struct oracle_limits limits = {
	.bound = 10 * SECOND,
	.window = 1000,
	.owner_cost = 5,
	.node_cost = 20,
};

static bool good(struct history *h)
{
	char why[ORACLE_WHY];
	bool ok = oracle_judge(h, &limits, why, sizeof(why));

	history_free(h);
	return ok;
}

/* What an operation goes through when all is well. */
enum part { STAGE = 1, DECIDE = 2, SHOW = 4, SIGNAL = 8, END = 16, ALL = 31 };

static void run_op(struct history *h, uint32_t op, uint64_t number,
		   unsigned int parts)
{
	const struct history_op *o = &h->op[op - 1];

	for (uint32_t i = 0; i < NODES && parts & STAGE; i++)
		ADD(*h, .kind = HISTORY_STAGED, .op = op, .node = i);
	if (parts & DECIDE)
		ADD(*h, .kind = HISTORY_DECIDED, .op = op, .number = number,
		    .what = STORM_COMMIT);
	for (uint32_t i = 0; i < NODES && parts & SHOW; i++)
		ADD(*h, .kind = HISTORY_SHOWN, .op = op, .node = i,
		    .value = o->value);
	for (uint32_t i = 0; i < NODES && parts & SIGNAL && o->event; i++)
		ADD(*h, .kind = HISTORY_EVENT, .op = op, .node = i,
		    .value = o->value);
	if (parts & END)
		ADD(*h, .kind = HISTORY_RESULT, .op = op,
		    .what = o->compare ? HISTORY_TRUE : STORM_DONE);
}

static uint32_t new_xfer(struct history *h, uint32_t place, uint64_t value)
{
	uint32_t op = history_op(h, &(struct history_op) { .writes = true,
							   .event = true,
							   .place = place,
							   .value = value });

	ADD(*h, .kind = HISTORY_ISSUED, .op = op);
	return op;
}

/* If place_r == operand then place = value. */
static uint32_t new_compare(struct history *h, uint32_t place_r,
			    uint64_t operand, uint32_t place, uint64_t value)
{
	uint32_t op =
		history_op(h, &(struct history_op) { .compare = true,
						     .writes = true,
						     .place = place,
						     .value = value,
						     .place_r = place_r,
						     .rel = STORM_EQ,
						     .operand = operand });

	ADD(*h, .kind = HISTORY_ISSUED, .op = op);
	return op;
}

static struct history begun(void)
{
	struct history h;

	history_init(&h, NODES, 4, 8);
	return h;
}

START_TEST(a_good_one)
{
	struct history h = begun();

	run_op(&h, new_xfer(&h, 0, 11), 1, ALL);
	run_op(&h, new_compare(&h, 0, 11, 1, 12), 2, ALL);
	ADD(h, .kind = HISTORY_READ, .node = 2, .place = 1, .value = 12);
	ADD(h, .kind = HISTORY_READ, .node = 2, .place = 2, .value = 0);
	must(good(&h));
}
END_TEST

/* Each part of an operation is missed where it is left out, but for the
 * result's own parts. */
START_TEST(nothing_is_left_out)
{
	struct history h = begun();

	run_op(&h, new_xfer(&h, 0, 11), 1, ALL & ~(1u << _i));
	must(!good(&h));
}
END_TEST

START_TEST(nothing_comes_twice)
{
	struct history h = begun();
	uint32_t op = new_xfer(&h, 0, 11);

	run_op(&h, op, 1, ALL);
	run_op(&h, op, 1, 1u << (_i + 2)); /* shown, signalled, ended */
	must(!good(&h));
}
END_TEST

START_TEST(shown_before_it_is_decided)
{
	struct history h = begun();
	uint32_t op = new_xfer(&h, 0, 11);

	run_op(&h, op, 1, STAGE);
	ADD(h, .kind = HISTORY_SHOWN, .op = op, .node = 1, .value = 11);
	run_op(&h, op, 1, DECIDE);
	must(!good(&h));
}
END_TEST

START_TEST(an_event_before_its_data)
{
	struct history h = begun();
	uint32_t op = new_xfer(&h, 0, 11);

	run_op(&h, op, 1, STAGE | DECIDE);
	run_op(&h, op, 1, SIGNAL);
	run_op(&h, op, 1, SHOW | END);
	must(!good(&h));
}
END_TEST

/* Of a write that changes nothing there is nothing to be seen; one that changes
 * something must be. */
START_TEST(the_same_value_again)
{
	struct history h = begun();

	run_op(&h, new_compare(&h, 1, 0, 0, 11), 1, ALL);
	run_op(&h, new_compare(&h, 1, 0, 0, _i ? 12 : 11), 2, ALL & ~SHOW);
	must(good(&h) == !_i);
}
END_TEST

/* In all of the domain there is nothing but what was sent. */
START_TEST(what_nobody_sent)
{
	struct history h = begun();

	run_op(&h, new_xfer(&h, 0, 11), 1, ALL);
	ADD(h, .kind = _i ? HISTORY_EVENT : HISTORY_SHOWN, .node = 1);
	must(!good(&h));
}
END_TEST

START_TEST(what_is_kept)
{
	struct history h = begun();

	run_op(&h, new_xfer(&h, 0, 11), 1, ALL);
	ADD(h, .kind = HISTORY_KEPT, .node = 1,
	    .what = _i ? HISTORY_SESSION : HISTORY_TEMPORARY);
	must(!good(&h));
}
END_TEST

static struct history aborted(bool shown, bool with_name)
{
	struct history h = begun();
	uint32_t op = new_xfer(&h, 0, 11);

	ADD(h, .kind = HISTORY_DISTURBED, .node = 0);
	ADD(h, .kind = HISTORY_DECIDED, .op = op, .number = 1,
	    .what = STORM_ABORT);
	if (shown)
		ADD(h, .kind = HISTORY_SHOWN, .op = op, .node = 1, .value = 11);
	if (with_name)
		ADD(h, .kind = HISTORY_NAMED, .op = op, .node = 0);
	ADD(h, .kind = HISTORY_RESULT, .op = op, .what = STORM_ABORTED);
	return h;
}

START_TEST(aborted_is_never_shown)
{
	struct history h = aborted(false, true), shown = aborted(true, true);
	struct history nameless = aborted(false, false);

	must(good(&h));
	must(!good(&shown));
	must(!good(&nameless));
}
END_TEST

START_TEST(other_data)
{
	struct history h = begun();
	uint32_t op = new_xfer(&h, 0, 11);

	run_op(&h, op, 1, STAGE | DECIDE);
	ADD(h, .kind = HISTORY_SHOWN, .op = op, .node = 0, .value = 10);
	run_op(&h, op, 1, END);
	must(!good(&h));
	h = begun();
	run_op(&h, new_xfer(&h, 0, 11), 1, ALL);
	ADD(h, .kind = HISTORY_READ, .node = 1, .place = 0, .value = 0);
	must(!good(&h));
}
END_TEST

/* A failure names its cause, unless no node is left. */
START_TEST(nobody_in_particular)
{
	struct history h = begun();
	uint32_t op = new_xfer(&h, 0, 11);

	for (uint32_t i = 0; i < (_i ? NODES : NODES - 1); i++) {
		ADD(h, .kind = HISTORY_BROKEN, .node = i);
		ADD(h, .kind = HISTORY_NAMED, .node = i);
		ADD(h, .kind = HISTORY_EXCLUDED, .node = i, .epoch = i + 1);
	}
	ADD(h, .kind = HISTORY_DECIDED, .op = op, .epoch = NODES, .number = 1,
	    .what = STORM_ABORT);
	ADD(h, .kind = HISTORY_NAMED, .op = op, .node = STORM_NO_NODE);
	ADD(h, .kind = HISTORY_RESULT, .op = op, .what = STORM_ABORTED);
	must(good(&h) == (_i != 0));
}
END_TEST

/* Two writes of one place: a node that shows them the other way round, or one
 * alone. */
START_TEST(the_same_order_everywhere)
{
	struct history h = begun();
	uint32_t a = new_xfer(&h, 0, 11), b = new_xfer(&h, 0, 12);

	run_op(&h, a, 1, STAGE | DECIDE);
	run_op(&h, b, 2, STAGE | DECIDE);
	ADD(h, .kind = HISTORY_SHOWN, .op = b, .node = 1, .value = 12);
	if (_i)
		ADD(h, .kind = HISTORY_SHOWN, .op = a, .node = 1, .value = 11);
	must(!good(&h));
}
END_TEST

/* Operations on different nodes are in one order too. */
START_TEST(numbers_rise)
{
	struct history h = begun();
	uint32_t a = new_xfer(&h, 0, 11), b = new_xfer(&h, 0, 12);

	run_op(&h, b, 2, ALL);
	run_op(&h, a, 1, ALL);
	must(!good(&h));
}
END_TEST

static struct history comparison(uint64_t with, int said, bool commit)
{
	struct history h = begun();
	uint32_t op;

	run_op(&h, new_xfer(&h, 0, 11), 1, ALL);
	op = new_compare(&h, 0, with, 1, 12);
	run_op(&h, op, 2, STAGE);
	ADD(h, .kind = HISTORY_DECIDED, .op = op, .number = 2,
	    .what = commit ? STORM_COMMIT : STORM_ABORT);
	if (commit)
		run_op(&h, op, 2, SHOW);
	ADD(h, .kind = HISTORY_RESULT, .op = op, .what = said);
	return h;
}

START_TEST(comparisons)
{
	struct history h = comparison(11, HISTORY_TRUE, true);

	must(good(&h));
	h = comparison(10, HISTORY_FALSE, false);
	must(good(&h));
	h = comparison(10, HISTORY_TRUE, true);
	must(!good(&h));
	h = comparison(11, HISTORY_FALSE, false);
	must(!good(&h));
	h = comparison(11, HISTORY_FAILED, false); /* names no node */
	must(!good(&h));
	h = comparison(11, STORM_UNKNOWN, true); /* its owner is there */
	must(!good(&h));
}
END_TEST

/* An own variable was 3 when asked, and 5 when answered. */
static struct history own_comparison(enum storm_relation rel, uint64_t v,
				     int said)
{
	struct history h = begun();
	uint32_t op = history_op(&h, &(struct history_op) { .compare = true,
							    .own = true,
							    .rel = rel,
							    .operand = v });

	for (uint32_t i = 0; i < NODES; i++)
		ADD(h, .kind = HISTORY_OWN, .node = i, .value = 3);
	ADD(h, .kind = HISTORY_ISSUED, .op = op);
	for (uint32_t i = 0; i < NODES; i++)
		ADD(h, .kind = HISTORY_OWN, .node = i, .value = 5);
	ADD(h, .kind = HISTORY_RESULT, .op = op, .what = said);
	return h;
}

START_TEST(own_variables)
{
	static const struct {
		enum storm_relation rel;
		uint64_t v;
		bool may_true, may_false;
	} t[] = {
		{ STORM_GE, 3, true, false }, { STORM_GE, 5, true, true },
		{ STORM_GE, 6, false, true }, { STORM_LT, 3, false, true },
		{ STORM_LT, 4, true, true },  { STORM_LT, 6, true, false },
		{ STORM_EQ, 2, false, true }, { STORM_EQ, 4, true, true },
		{ STORM_NE, 6, true, false }, { STORM_NE, 5, true, true },
	};
	struct history h = own_comparison(t[_i].rel, t[_i].v, HISTORY_TRUE);

	must(good(&h) == t[_i].may_true);
	h = own_comparison(t[_i].rel, t[_i].v, HISTORY_FALSE);
	must(good(&h) == t[_i].may_false);
}
END_TEST

/* Decided, and the owner died; its successor decides the other way. */
static struct history taken_over(bool somebody_showed)
{
	struct history h = begun();
	uint32_t op = new_xfer(&h, 0, 11);

	run_op(&h, op, 1, STAGE | DECIDE);
	if (somebody_showed)
		ADD(h, .kind = HISTORY_SHOWN, .op = op, .node = 0, .value = 11);
	ADD(h, .kind = HISTORY_LOST);
	ADD(h, .kind = HISTORY_RESULT, .op = op, .what = STORM_UNKNOWN);
	ADD(h, .kind = HISTORY_DECIDED, .op = op, .number = 1, .epoch = 7,
	    .what = STORM_ABORT);
	return h;
}

START_TEST(a_successor)
{
	struct history h = taken_over(false);

	must(good(&h));
	h = taken_over(true);
	must(!good(&h));
}
END_TEST

START_TEST(epochs_never_fall)
{
	struct history h = begun();

	ADD(h, .kind = HISTORY_EPOCH, .node = 1, .epoch = 3);
	if (_i)
		ADD(h, .kind = HISTORY_RESTARTED, .node = 1);
	ADD(h, .kind = HISTORY_EPOCH, .node = 1, .epoch = 2);
	must(good(&h) == (_i != 0));
}
END_TEST

/* Out in epoch 2, and back in epoch 4, or not. */
START_TEST(the_fenced)
{
	struct history h = begun();

	ADD(h, .kind = HISTORY_DISTURBED, .node = 1);
	ADD(h, .kind = HISTORY_EXCLUDED, .node = 1, .epoch = 2);
	ADD(h, .kind = HISTORY_NAMED, .node = 1);
	/* those that have not received it yet */
	ADD(h, .kind = HISTORY_ACCEPTED, .node = 0, .peer = 1, .epoch = 1);
	if (_i)
		ADD(h, .kind = HISTORY_JOINED, .node = 1, .epoch = 4);
	ADD(h, .kind = HISTORY_ACCEPTED, .node = 0, .peer = 1, .epoch = 4);
	must(good(&h) == (_i != 0));
}
END_TEST

START_TEST(who_joins_begins_anew)
{
	struct history h = begun();

	run_op(&h, new_xfer(&h, 0, 11), 1, ALL);
	ADD(h, .kind = HISTORY_DISTURBED, .node = 1);
	ADD(h, .kind = HISTORY_EXCLUDED, .node = 1, .epoch = 2);
	ADD(h, .kind = HISTORY_JOINED, .node = 1, .epoch = 3);
	ADD(h, .kind = HISTORY_READ, .node = 1, .place = 0,
	    .value = _i ? 0 : 11);
	must(good(&h) == (_i != 0));
}
END_TEST

START_TEST(who_is_named)
{
	struct history h = begun();

	/* nothing was done to it */
	ADD(h, .kind = HISTORY_NAMED, .node = 2);
	must(!good(&h));
	/* it is not named */
	h = begun();
	ADD(h, .kind = HISTORY_BROKEN, .node = 2);
	must(!good(&h));
	h = begun();
	ADD(h, .kind = HISTORY_BROKEN, .node = 2);
	ADD(h, .kind = HISTORY_NAMED, .node = 2);
	must(good(&h));
}
END_TEST

START_TEST(limits_are_kept)
{
	static const struct history_entry over[] = {
		{ .kind = HISTORY_WINDOW, .value = 1001 },
		{ .kind = HISTORY_COST, .node = STORM_NO_NODE, .value = 6 },
		{ .kind = HISTORY_COST, .node = 0, .value = 21 },
		{ .kind = HISTORY_FORGED, .node = 0, .value = 1 },
	};
	struct history h = begun();
	struct history_entry e = over[_i];

	history_add(&h, e);
	must(!good(&h));
	h = begun();
	e.value--;
	history_add(&h, e);
	must(good(&h));
}
END_TEST

START_TEST(all_ends_in_time)
{
	struct history h = begun();
	uint32_t op = new_xfer(&h, 0, 11);

	ADD(h, .kind = HISTORY_CALM, .at = 50 * SECOND);
	run_op(&h, op, 1, ALL & ~END);
	ADD(h, .kind = HISTORY_RESULT, .op = op, .what = STORM_DONE,
	    .at = (_i ? 59 : 61) * SECOND);
	must(good(&h) == (_i != 0));
}
END_TEST

/* A report is made, received and acknowledged, in that order and once. */
START_TEST(reports)
{
	static const enum history_kind bad[][3] = {
		{ HISTORY_HEARD },
		{ HISTORY_REPORTED, HISTORY_HEARD },
		{ HISTORY_REPORTED, HISTORY_ACKED, HISTORY_HEARD },
		{ HISTORY_REPORTED, HISTORY_HEARD, HISTORY_HEARD },
		{ HISTORY_REPORTED },
	};
	struct history h = begun();

	ADD(h, .kind = HISTORY_REPORTED, .node = 1, .value = 5);
	ADD(h, .kind = HISTORY_HEARD, .value = 5);
	ADD(h, .kind = HISTORY_ACKED, .node = 1, .value = 5);
	must(good(&h));
	h = begun();
	for (int k = 0; k < 3 && (!k || bad[_i][k]); k++)
		ADD(h, .kind = bad[_i][k], .node = 1, .value = 5);
	must(!good(&h));
}
END_TEST

/* ---------------------------------------------------------------- black box --- */

#define BOTH 3u
#define W(p, v) .kind = LINEAR_WRITE, .nodes = BOTH, .place = p, .value = v
#define R(n, p, v) .kind = LINEAR_READ, .nodes = 1u << n, .place = p, .value = v
#define C(p, v, pw, vw)                                                     \
	.kind = LINEAR_COMPARE, .nodes = BOTH, .place = p, .rel = STORM_EQ, \
	.value = v, .writes = true, .place_w = pw, .value_w = vw

static const struct {
	bool ok;
	struct linear_op op[5];
} small[] = {
	/* a read may be late, but not go back */
	{ true, { { 0, W(0, 1) }, { 1, R(0, 0, 0) }, { 1, R(0, 0, 1) } } },
	{ false, { { 0, W(0, 1) }, { 1, R(0, 0, 1) }, { 1, R(0, 0, 0) } } },
	/* nor read what no operation wrote */
	{ false, { { 0, W(0, 1) }, { 1, R(0, 0, 2) } } },
	/* two readers agree on the order of two writers */
	{ true,
	  { { 0, W(0, 1) },
	    { 1, W(1, 2) },
	    { 2, R(0, 0, 1) },
	    { 2, R(0, 1, 0) },
	    { 3, R(1, 1, 2) } } },
	{ false,
	  { { 0, W(0, 1) },
	    { 0, W(0, 2) },
	    { 2, R(0, 0, 2) },
	    { 2, R(0, 0, 1) } } },
	{ false,
	  { { 0, W(0, 1) },
	    { 1, W(0, 2) },
	    { 2, R(0, 0, 1) },
	    { 2, R(0, 0, 2) },
	    { 2, R(0, 0, 1) } } },
	/* one of two that compare with 0 and write wins */
	{ true,
	  { { 0, C(0, 0, 0, 1) }, { 1, C(0, 0, 0, 2), .result = LINEAR_NO } } },
	{ false, { { 0, C(0, 0, 0, 1) }, { 1, C(0, 0, 0, 2) } } },
	{ false,
	  { { 0, C(0, 0, 0, 1), .result = LINEAR_NO },
	    { 1, C(0, 0, 0, 2), .result = LINEAR_NO } } },
	/* what has failed is not seen, what is unknown may be, also late */
	{ false,
	  { { 0, W(0, 1), .result = LINEAR_NOTHING }, { 1, R(0, 0, 1) } } },
	{ true, { { 0, W(0, 1), .result = LINEAR_MAYBE }, { 1, R(0, 0, 1) } } },
	{ true, { { 0, W(0, 1), .result = LINEAR_MAYBE }, { 1, R(0, 0, 0) } } },
	{ true,
	  { { 0, W(0, 1), .result = LINEAR_MAYBE },
	    { 0, W(0, 2) },
	    { 1, R(0, 0, 2) },
	    { 1, R(0, 0, 1) } } },
	/* but it is seen by all or by none */
	{ false,
	  { { 0, W(0, 1), .result = LINEAR_MAYBE },
	    { 1, R(0, 0, 1) },
	    { 1, C(0, 1, 1, 3), .result = LINEAR_NO },
	    { 1, R(1, 0, 1) } } },
};

START_TEST(small_histories)
{
	uint32_t n = 0;

	while (n < 5 && small[_i].op[n].nodes)
		n++;
	must(linear_consistent(small[_i].op, n) == small[_i].ok);
}
END_TEST

/* A history made from one order is always found consistent, in whatever way it
 * is mixed. With a read of another value it is seldom found consistent. With a
 * read of a value that no process wrote it is never found consistent. */
START_TEST(any_order_is_found)
{
	struct rnd r = rnd_of(_i);
	struct linear_op op[8], mixed[8];
	uint64_t mem[3][LINEAR_PLACES] = { 0 };
	uint32_t count = 0;

	for (uint32_t k = 0; k < 8; k++) {
		struct linear_op *o = &op[k];

		memset(o, 0, sizeof(*o));
		o->process = below(&r, 3);
		o->kind = (enum linear_kind) below(&r, 3);
		o->nodes = 1 + below(&r, 7);
		o->place = below(&r, LINEAR_PLACES);
		o->place_w = below(&r, LINEAR_PLACES);
		o->value = o->value_w = k + 1;
		if (o->kind == LINEAR_READ) {
			uint32_t n = below(&r, 3);

			o->nodes = 1u << n;
			o->value = mem[n][o->place];
		} else if (o->kind == LINEAR_COMPARE) {
			o->rel = (enum storm_relation) below(&r, 4);
			o->value = below(&r, 5);
			o->writes = true;
			for (uint32_t n = 0; n < 3; n++)
				if (o->nodes >> n & 1 &&
				    !history_holds(o->rel, mem[n][o->place],
						   o->value))
					o->result = LINEAR_NO;
		}
		for (uint32_t n = 0; n < 3; n++)
			if (o->nodes >> n & 1 && o->kind != LINEAR_READ &&
			    o->result == LINEAR_YES)
				mem[n][o->kind == LINEAR_WRITE ? o->place :
								 o->place_w] =
					k + 1;
	}
	/* process by process: all that is known of the order */
	for (uint32_t p = 0; p < 3; p++)
		for (uint32_t k = 0; k < 8; k++)
			if (op[k].process == p)
				mixed[count++] = op[k];
	must(linear_consistent(mixed, 8));
	for (uint32_t k = 0; k < 8; k++)
		if (mixed[k].kind == LINEAR_READ) {
			mixed[k].value = 99;
			must(!linear_consistent(mixed, 8));
			break;
		}
}
END_TEST

#define COUNT(a) ((int) (sizeof(a) / sizeof((a)[0])))

int main(void)
{
	Suite *s = suite_create("oracle");
	TCase *w = tcase_create("white box"), *b = tcase_create("black box");

	tcase_add_test(w, a_good_one);
	tcase_add_loop_test(w, nothing_is_left_out, 0, 5);
	tcase_add_loop_test(w, nothing_comes_twice, 0, 3);
	tcase_add_test(w, shown_before_it_is_decided);
	tcase_add_test(w, an_event_before_its_data);
	tcase_add_loop_test(w, the_same_value_again, 0, 2);
	tcase_add_loop_test(w, what_nobody_sent, 0, 2);
	tcase_add_loop_test(w, what_is_kept, 0, 2);
	tcase_add_test(w, aborted_is_never_shown);
	tcase_add_loop_test(w, nobody_in_particular, 0, 2);
	tcase_add_test(w, other_data);
	tcase_add_loop_test(w, the_same_order_everywhere, 0, 2);
	tcase_add_test(w, numbers_rise);
	tcase_add_test(w, comparisons);
	tcase_add_loop_test(w, own_variables, 0, 10);
	tcase_add_test(w, a_successor);
	tcase_add_loop_test(w, epochs_never_fall, 0, 2);
	tcase_add_loop_test(w, the_fenced, 0, 2);
	tcase_add_loop_test(w, who_joins_begins_anew, 0, 2);
	tcase_add_test(w, who_is_named);
	tcase_add_loop_test(w, limits_are_kept, 0, 4);
	tcase_add_loop_test(w, all_ends_in_time, 0, 2);
	tcase_add_loop_test(w, reports, 0, 5);
	suite_add_tcase(s, w);
	tcase_add_loop_test(b, small_histories, 0, COUNT(small));
	tcase_add_loop_test(b, any_order_is_found, 0, unit_runs(200));
	suite_add_tcase(s, b);
	return unit_main(s);
}
