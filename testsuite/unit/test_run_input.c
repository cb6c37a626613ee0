/*
 * test_run_input.c - storm run: input of tasks and what is told of each task, in the head's
 * decisions and as bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/storm_launcher/run_pieces.h"
#include "src/storm_launcher/runs.h"
#include "unit.h"

static struct user_run *add(struct runs *r, const struct run_want *want)
{
	char why[200];
	struct user_run *run = runs_add(r, want, r, why, sizeof(why));

	ck_assert_msg(run != NULL, "refused: %s", why);
	return run;
}

static void report(struct runs *r, uint32_t code, uint32_t first, uint32_t last)
{
	struct storm_range range = { first, last };
	const struct storm_idset s = { &range, 1, 1 };

	must(runs_report(r, code, &s));
}

/* ----------------------------------------------------------------------- bytes --- */

/* The body of a frame, of which no byte may be missing. */
static struct storm_in body_of(const uint8_t *frame, size_t len,
			       enum run_kind kind)
{
	uint8_t head[RUN_FRAME_HEADER];

	run_frame_head(head, kind, len - RUN_FRAME_HEADER);
	must(!memcmp(frame, head, sizeof(head)));
	return (struct storm_in) { frame + RUN_FRAME_HEADER, frame + len,
				   false };
}

START_TEST(test_pieces)
{
	uint8_t f[RUN_OUTPUT_OF_HEADER + 3];
	struct run_piece p;
	struct storm_in in;

	run_input_head(f, 7, 3);
	memcpy(f + RUN_INPUT_HEADER, "abc", 3);
	in = body_of(f, RUN_INPUT_HEADER + 3, RUN_INPUT);
	must(run_input_get(&in, &p) && p.rank == 7 && p.len == 3 &&
	     !memcmp(p.buf, "abc", 3));
	/* the end of input */
	run_input_head(f, RUN_ALL_RANKS, 0);
	in = body_of(f, RUN_INPUT_HEADER, RUN_INPUT);
	must(run_input_get(&in, &p) && p.rank == RUN_ALL_RANKS && !p.len);
	in = (struct storm_in) { f, f + 3, false };
	must(!run_input_get(&in, &p));
	run_output_of_head(f, 9, 2, 3);
	memcpy(f + RUN_OUTPUT_OF_HEADER, "xyz", 3);
	in = body_of(f, sizeof(f), RUN_OUTPUT_OF);
	must(run_output_of_get(&in, &p) && p.rank == 9 && p.fd == 2 &&
	     p.len == 3 && !memcmp(p.buf, "xyz", 3));
	/* no bytes; no descriptor for output */
	in = (struct storm_in) { f + 5, f + 10, false };
	must(!run_output_of_get(&in, &p));
	f[RUN_OUTPUT_OF_HEADER - 1] = 0;
	in = (struct storm_in) { f + 5, f + sizeof(f), false };
	must(!run_output_of_get(&in, &p));
}
END_TEST

START_TEST(test_words)
{
	uint8_t room[RUN_ROOM_LEN], gone[RUN_GONE_LEN];
	struct storm_in in;
	uint64_t taken;
	uint32_t rank, code;

	run_room_put(room, 3, 1ull << 40);
	in = body_of(room, sizeof(room), RUN_ROOM);
	must(run_room_get(&in, &rank, &taken) && rank == 3 &&
	     taken == 1ull << 40);
	in = (struct storm_in) { room + 5, room + sizeof(room) - 1, false };
	must(!run_room_get(&in, &rank, &taken));
	run_gone_put(gone, 4, run_code(RUN_NODE_LOST, 0));
	in = body_of(gone, sizeof(gone), RUN_GONE);
	must(run_gone_get(&in, &rank, &code) && rank == 4 &&
	     code == run_code(RUN_NODE_LOST, 0));
	in = (struct storm_in) { gone + 5, gone + sizeof(gone) - 1, false };
	must(!run_gone_get(&in, &rank, &code));
}
END_TEST

/* One piece more than a frame may have. */
START_TEST(test_piece_too_long)
{
	static uint8_t body[4 + RUN_INPUT_PIECE + 1];
	struct storm_in in = { body, body + sizeof(body), false };
	struct run_piece p;

	must(!run_input_get(&in, &p));
	in = (struct storm_in) { body, body + sizeof(body) - 1, false };
	must(run_input_get(&in, &p) && p.len == RUN_INPUT_PIECE);
}
END_TEST

/* ------------------------------------------------------------------------ feed --- */

static uint8_t byte_at(uint64_t pos)
{
	return (uint8_t) (pos * 7 + (pos >> 8));
}

static void add_bytes(struct run_feed *f, size_t n)
{
	uint8_t *buf = malloc(n);

	must(buf);
	for (size_t k = 0; k < n; k++)
		buf[k] = byte_at(f->come + k);
	must(run_feed_add(f, buf, n));
	free(buf);
}

/* What has come and is not taken is there, byte by byte. */
static void must_have(const struct run_feed *f, uint64_t from)
{
	size_t len;
	const uint8_t *p = run_feed_from(f, from, &len);

	must(len == f->come - from && !p == !len);
	for (size_t k = 0; k < len; k++)
		must(p[k] == byte_at(from + k));
}

START_TEST(test_feed)
{
	struct rnd x = rnd_of(_i);
	struct run_feed f = { 0 };

	for (int k = 0; k < 400; k++) {
		uint64_t have = f.come - f.taken;

		must(have <= RUN_INPUT_WINDOW);
		if (below(&x, 2) && have < RUN_INPUT_WINDOW)
			add_bytes(&f,
				  1 + below(&x, (uint32_t) (RUN_INPUT_WINDOW -
							    have)));
		else if (have)
			run_feed_take(&f,
				      f.taken + below(&x, (uint32_t) have + 1));
		must_have(&f, f.taken);
		must_have(&f, f.taken + (f.come - f.taken) / 2);
		must(f.room <= 4 * RUN_INPUT_WINDOW + 2);
	}
	must(!run_feed_take(&f, f.taken));
	must(run_feed_take(&f, UINT64_MAX) == (f.buf != NULL) || !f.buf);
	must(f.taken == f.come && !f.buf);
	run_feed_fini(&f);
}
END_TEST

START_TEST(test_feed_limits)
{
	static const uint8_t much[RUN_INPUT_WINDOW + 1];
	struct run_feed f = { 0 };

	must(!run_feed_add(&f, much, sizeof(much)));
	must(run_feed_add(&f, much, RUN_INPUT_WINDOW));
	must(!run_feed_add(&f, much, 1));
	must(run_feed_take(&f, 10) && run_feed_add(&f, much, 10));
	must(!run_feed_add(&f, much, 1));
	/* the end has no bytes, and nothing comes behind it */
	must(run_feed_take(&f, 100) && run_feed_add(&f, NULL, 0) && f.over);
	must(!run_feed_add(&f, much, 1) && !run_feed_add(&f, NULL, 0));
	run_feed_fini(&f);
}
END_TEST

/* ------------------------------------------------------------------- decisions --- */

START_TEST(test_whose)
{
	const uint32_t cpus[] = { 2, 2, 2 };
	struct user_run *run;
	struct runs r;

	must(!runs_init(&r, 3, cpus));
	run = add(&r, &(struct run_want) { .nodes = 3, .tasks = 5 });
	must(runs_begin(&r) == run);
	must(run_input_open(run, RUN_INPUT_EACH, 0) && run->feeds == 5);
	must(run_feed_of(run, 4) == &run->feed[4] && !run_feed_of(run, 5));
	must(!run_feed_of(run, RUN_ALL_RANKS));
	free(run->feed);
	must(run_input_open(run, RUN_INPUT_ONE, 3) && run->feeds == 1);
	must(run_feed_of(run, 3) && !run_feed_of(run, 0) &&
	     !run_feed_of(run, RUN_ALL_RANKS));
	free(run->feed);
	must(run_input_open(run, RUN_INPUT_NONE, 0) && !run->feeds);
	must(!run_feed_of(run, 0) && !run_feed_of(run, RUN_ALL_RANKS));
	must(run_input_open(run, RUN_INPUT_ALL, 0));
	must(run_feed_of(run, RUN_ALL_RANKS) && !run_feed_of(run, 0));
	runs_fini(&r);
}
END_TEST

START_TEST(test_left)
{
	const uint32_t cpus[] = { 2, 2, 2 };
	uint32_t first, last;
	struct user_run *run;
	struct runs r;

	must(!runs_init(&r, 3, cpus));
	run = add(&r, &(struct run_want) { .nodes = 2, .tasks = 4 });
	must(runs_begin(&r) == run && run_nodes_left(run) == 2);
	must(run_ranks_on(run, 1, &first, &last) && first == 2 && last == 3);
	must(!run_ranks_on(run, 2, &first, &last));
	report(&r, 0, run->first + 1, run->first + 2);
	must(run_nodes_left(run) == 2 && run_ranks_done(run, 1, 2) &&
	     !run_ranks_done(run, 1, 3));
	report(&r, 0, run->first + 3, run->first + 3);
	must(run_nodes_left(run) == 1);
	runs_fini(&r);
}
END_TEST

/* A descriptor is one task's, and only on its client's host. */
START_TEST(test_lends)
{
	struct storm_range nodes = { 1, 2 };
	struct run_start s = { .tasks = 1,
			       .nodes = { &nodes, 1, 1 },
			       .rank = (uint32_t[]) { 0, 1, 3 },
			       .local = 1 };
	struct run_what w = { .lends = true, .input = RUN_INPUT_ALL };

	must(run_lends(&s, &w));
	s.local = 2;
	must(!run_lends(&s, &w));
	s.local = 0;
	must(!run_lends(&s, &w));
	s.local = STORM_NO_NODE;
	must(!run_lends(&s, &w));
	s.local = 1;
	s.tasks = 3;
	must(!run_lends(&s, &w));
	w.input = RUN_INPUT_ONE;
	must(run_lends(&s, &w));
	w.input_rank = 2;
	must(!run_lends(&s, &w));
	s.local = 2;
	must(run_lends(&s, &w));
	w.lends = false;
	must(!run_lends(&s, &w));
	w.lends = true;
	w.input = RUN_INPUT_EACH;
	must(!run_lends(&s, &w));
	w.input = RUN_INPUT_NONE;
	must(!run_lends(&s, &w));
}
END_TEST

/* Each end is told once; that of a lost node, too. */
START_TEST(test_gone)
{
	const uint32_t cpus[] = { 2, 2 }, lost = run_code(RUN_NODE_LOST, 0);
	const uint32_t bad = run_code(RUN_EXITED, 3);
	uint32_t rank, code, told[4];
	struct user_run *run, *other;
	struct runs r;

	must(!runs_init(&r, 2, cpus));
	run = add(&r, &(struct run_want) { .nodes = 2, .tasks = 3 });
	run->framed = run->keep = true;
	other = add(&r, &(struct run_want) { .tasks = 1 });
	must(runs_begin(&r) == run && runs_begin(&r) == other);
	must(!run_next_gone(run, &rank, &code));
	report(&r, bad, run->first + 1, run->first + 1);
	report(&r, bad, run->first + 1, other->first);
	must(run_next_gone(run, &rank, &code) && code == bad);
	told[rank] = code;
	must(run_next_gone(run, &rank, &code) && code == bad);
	told[rank] = code;
	must(told[1] == bad && told[2] == bad && rank);
	must(!run_next_gone(run, &rank, &code));
	report(&r, bad, run->first + 1, run->first + 2);
	must(!run_next_gone(run, &rank, &code));
	/* nobody hears of it in a run that is not framed */
	must(!run_next_gone(other, &rank, &code) && run_has_failed(other));
	runs_lose(&r, 0);
	must(run_next_gone(run, &rank, &code) && !rank && code == lost);
	must(!run_next_gone(run, &rank, &code) && runs_over(&r));
	runs_fini(&r);
}
END_TEST

/* A run that keeps its other nodes goes on without the lost one, and fails. */
START_TEST(test_keep)
{
	const uint32_t cpus[] = { 2, 2, 2 };
	struct user_run *run;
	struct runs r;

	must(!runs_init(&r, 3, cpus));
	run = add(&r, &(struct run_want) { .nodes = 3, .tasks = 6 });
	run->keep = true;
	must(runs_begin(&r) == run);
	runs_lose(&r, 1);
	must(!runs_to_kill(&r) && !runs_over(&r) && run->state == RUN_RUNS);
	report(&r, 0, run->first, run->first + 1);
	must(!runs_over(&r));
	report(&r, 0, run->first + 4, run->first + 5);
	must(runs_over(&r) == run && run_status(run) == 1);
	runs_fini(&r);
}
END_TEST

/* A whole node is one of which no other run has a CPU. */
START_TEST(test_whole)
{
	const struct run_want whole = { .whole = true };
	const uint32_t cpus[] = { 2, 1, 7 };
	struct user_run *one, *all, *next;
	char why[200];
	struct runs r;

	must(!runs_init(&r, 3, cpus));
	one = add(&r, &(struct run_want) { .tasks = 1, .cpus = 3 });
	all = add(&r, &whole);
	must(all->tasks == 3 && runs_begin(&r) == one && !runs_begin(&r));
	report(&r, 0, one->first, one->first);
	runs_drop(&r, one);
	must(runs_begin(&r) == all && all->rank[3] == 3);
	must(!r.free.cpus[0] && !r.free.cpus[1] && !r.free.cpus[2]);
	must(run_cpus(&r, all) == 10);
	next = add(&r, &(struct run_want) { .tasks = 5, .nodes = 1 });
	must(!runs_begin(&r));
	report(&r, 0, all->first + 2, all->first + 2);
	must(r.free.cpus[2] == 7 && !r.free.cpus[0] && runs_begin(&r) == next);
	report(&r, 0, all->first, all->first + 1);
	must(runs_over(&r) == all);
	runs_drop(&r, all);
	must(r.free.cpus[0] == 2 && r.free.cpus[1] == 1 && r.free.cpus[2] == 2);
	must(!runs_add(
		&r,
		&(struct run_want) { .whole = true, .tasks = 4, .nodes = 2 },
		&r, why, sizeof(why)));
	ck_assert_str_eq(why, "4 tasks cannot have 2 whole nodes: each of them "
			      "has one");
	runs_fini(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("run_input");
	TCase *b = tcase_create("bytes"), *t = tcase_create("decisions");

	tcase_add_test(b, test_pieces);
	tcase_add_test(b, test_words);
	tcase_add_test(b, test_piece_too_long);
	tcase_add_loop_test(b, test_feed, 0, unit_runs(20));
	tcase_add_test(b, test_feed_limits);
	suite_add_tcase(s, b);
	tcase_add_test(t, test_whose);
	tcase_add_test(t, test_left);
	tcase_add_test(t, test_lends);
	tcase_add_test(t, test_gone);
	tcase_add_test(t, test_keep);
	tcase_add_test(t, test_whole);
	suite_add_tcase(s, t);
	return unit_main(s);
}
