/*
 * test_each_tasks.c - storm each: which puller gets which task, and what becomes of those of
 * one that is lost; what puller and client tell each other; which commands need no shell.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <signal.h>

#include "src/storm_each/each_tasks.h"
#include "src/storm_each/pull_direct.h"
#include "src/storm_each/pull_doubt.h"
#include "src/storm_each/pull_queue.h"
#include "src/storm_each/pull_wire.h"
#include "unit.h"

#define PULLERS 5
#define TASKS 400

static struct rnd chance;

static uint32_t any(uint32_t n)
{
	return below(&chance, n);
}

/* A game of pullers that begin, end, give back and are lost by chance. */
static struct game {
	struct each_tasks t;
	struct each_task task[TASKS];
	uint32_t next, ended, given_up;
	bool over[TASKS];
} game;

static struct each_puller *some_puller(void)
{
	return &game.t.puller[any(PULLERS)];
}

static struct each_task *nth_of(const struct each_puller *p, uint32_t n)
{
	struct each_task *task = p->has.first;

	while (task && n--)
		task = task->next;
	return task;
}

static void is_over(const struct each_task *task)
{
	must(!game.over[task->seq]);
	game.over[task->seq] = true;
}

/* Two with which a puller was lost before are not at one. */
static void must_be_apart(const struct each_puller *p)
{
	uint32_t feared = 0;

	for (const struct each_task *t = p->has.first; t; t = t->next)
		feared += t->deaths > 0;
	must(feared <= 1 && feared == p->feared);
}

static void give_all(void)
{
	struct each_puller *p;

	for (;;) {
		bool bare = any(2);
		struct each_task *task = each_tasks_again(&game.t, bare, &p);

		if (!task && !(p = each_tasks_wants(&game.t, bare)))
			return;
		must(p->there && p->slots);
		if (!task && game.next == TASKS)
			return;
		if (!task) {
			task = &game.task[game.next];
			task->seq = game.next++;
		}
		each_tasks_give(p, task);
		must(p->count <= p->slots + EACH_AHEAD_MAX);
		must_be_apart(p);
	}
}

/* The oldest one that waits begins, if a slot is free. */
static void begin_some(void)
{
	struct each_puller *p = some_puller();
	struct each_task *task = p->has.first;

	while (task && task->begun)
		task = task->next;
	if (task && p->begun < p->slots)
		must(each_tasks_begun(p, task->seq) == task);
}

static void end_some(void)
{
	struct each_puller *p = some_puller();
	struct each_task *task = nth_of(p, any(8));

	if (!task || !task->begun)
		return;
	must(each_tasks_ended(p, task->seq, 1 + any(9000)) == task);
	must(!each_tasks_ended(p, task->seq, 1));
	if (any(10) || !each_tasks_retry(&game.t, task)) {
		is_over(task);
		game.ended++;
	}
	must(task->tries <= game.t.retries);
}

static void give_back_some(void)
{
	uint32_t n;
	struct each_puller *p = each_tasks_recall(&game.t, !any(4), &n);

	if (!p)
		return;
	must(n && p->count - p->begun >= n);
	for (; n && p->count > p->begun; n--) {
		struct each_task *task = p->has.last;

		while (task->begun)
			task = task->prev;
		must(each_tasks_back(&game.t, p, task->seq) == task);
	}
	must(!p->back);
}

static void lose_one(void)
{
	struct each_puller *p = some_puller();
	uint32_t begun = p->begun, known = 0, maybe = 0;
	/* with the words that it has kept back */
	uint64_t most = p->slots +
			(p->mean_us ? p->slots * PULL_HOLD_US / p->mean_us : 0);
	enum each_fate fate;
	struct each_task *task;

	if (!p->there || any(3) || p == &game.t.puller[0])
		return;
	while ((task = each_tasks_lose(p, &fate))) {
		known += fate == EACH_WAS_BEGUN;
		maybe += fate == EACH_MAY_HAVE_BEGUN;
		must(task->deaths <= game.t.crash_limit);
		if (!each_tasks_survives(&game.t, task)) {
			is_over(task);
			game.given_up++;
		}
	}
	must(known == begun && known + maybe <= most);
	must(!p->count && !p->begun && !p->has.first && !p->there);
}

START_TEST(test_chance)
{
	chance = rnd_of(_i);
	game = (struct game) { .t = { .retries = 3,
				      .crash_limit = 1 + any(3) } };
	for (uint32_t k = 0; k < PULLERS; k++)
		must(each_tasks_join(&game.t, k, 1 + any(4)));
	must(!each_tasks_join(&game.t, 2, 1));
	for (uint32_t n = 0; game.ended + game.given_up < TASKS; n++) {
		must(n < 1000000);
		give_all();
		begin_some();
		end_some();
		if (!any(20))
			give_back_some();
		if (!any(300))
			lose_one();
	}
	must(!each_tasks_under_way(&game.t) && !game.t.again.first);
	for (uint32_t k = 0; k < TASKS; k++)
		must(game.over[k]);
	each_tasks_fini(&game.t);
}
END_TEST

/* Before the first task has ended none is given ahead of need, and with short ones many. */
/* Where pullers share nodes, one task with which one was lost runs at a time. */
START_TEST(test_shared)
{
	struct each_tasks t = { .retries = 1,
				.crash_limit = 3,
				.shared = true };
	struct each_task task[] = { { .seq = 1 }, { .seq = 2 } }, *lost;
	struct each_puller *p;
	enum each_fate fate;

	for (uint32_t k = 0; k < 3; k++)
		must(each_tasks_join(&t, k, 1));
	for (uint32_t k = 0; k < 2; k++) {
		each_tasks_give(&t.puller[k], &task[k]);
		must(each_tasks_begun(&t.puller[k], k + 1));
	}
	for (uint32_t k = 0; k < 2; k++) {
		lost = each_tasks_lose(&t.puller[k], &fate);
		must(lost == &task[k] && fate == EACH_WAS_BEGUN);
		must(!each_tasks_lose(&t.puller[k], &fate));
		must(each_tasks_survives(&t, lost));
		each_tasks_rejoin(&t, k);
	}
	must(each_tasks_slots(&t) == 3);
	lost = each_tasks_again(&t, true, &p);
	must(lost == &task[0]);
	each_tasks_give(p, lost);
	must(!each_tasks_again(&t, true, &p) && each_tasks_wants(&t, true));
	must(each_tasks_begun(p = &t.puller[0], 1) &&
	     each_tasks_ended(p, 1, 5) == lost);
	must(each_tasks_again(&t, true, &p) == &task[1]);
	each_tasks_fini(&t);
}
END_TEST

START_TEST(test_ahead)
{
	struct each_tasks t = { .retries = 1, .crash_limit = 3 };
	struct each_task task[900] = { 0 };
	struct each_puller *p;
	uint32_t n = 0, done = 1;

	must(each_tasks_join(&t, 0, 2));
	while ((p = each_tasks_wants(&t, false))) {
		task[n].seq = n;
		each_tasks_give(p, &task[n++]);
	}
	must(n == 2);
	must(each_tasks_begun(&t.puller[0], 0));
	must(each_tasks_ended(&t.puller[0], 0, 500));
	while ((p = each_tasks_wants(&t, false))) {
		task[n].seq = n;
		each_tasks_give(p, &task[n++]);
	}
	/* 1 of 2 goes on, and 100 ms of work for two slots are 400 */
	must(t.puller[0].count == 2 + 2 * EACH_AHEAD_US / 500);
	must(!each_tasks_wants(&t, true));
	/* there is more when half of it is left, and then up to all of it */
	while (!(p = each_tasks_wants(&t, false))) {
		must(each_tasks_begun(&t.puller[0], done));
		must(each_tasks_ended(&t.puller[0], done++, 500));
	}
	must(p->count == (2 + 2 + 2 * EACH_AHEAD_US / 500) / 2 - 1);
	for (; each_tasks_wants(&t, false); n++) {
		task[n].seq = n;
		each_tasks_give(p, &task[n]);
	}
	must(p->count == 2 + 2 * EACH_AHEAD_US / 500);
	/* words that it has kept back are those of so many more */
	must(each_tasks_begun(p, done));
	for (uint32_t k = 0; k < 2 + 2 * PULL_HOLD_US / 500; k++) {
		enum each_fate fate;

		must(each_tasks_lose(p, &fate));
		must(fate == (k ? EACH_MAY_HAVE_BEGUN : EACH_WAS_BEGUN));
		if (k == 1 + 2 * PULL_HOLD_US / 500) {
			must(each_tasks_lose(p, &fate));
			must(fate == EACH_NOT_BEGUN);
		}
	}
	each_tasks_fini(&t);
}
END_TEST

START_TEST(test_direct)
{
	static const char *const shells[] = {
		"a b|c", "a $x",   "echo a", "a 'b'",  "a=1 b",
		"a;b",	 "a*",	   "~/a",    "a\nb",   "",
		"   ",	 "exec a", "a {b}",  "a\\b",   "a <b",
		"a #b",	 "[ a ]",  "a !b",   "test a", "a\xc3\xa4",
	};
	char **words = pull_direct(" ./solve  -n 10 a-b_c.d,e:f@g%h+i ");

	must(words && !strcmp(words[0], "./solve") && !strcmp(words[1], "-n") &&
	     !strcmp(words[2], "10") &&
	     !strcmp(words[3], "a-b_c.d,e:f@g%h+i") && !words[4]);
	free(words);
	for (size_t k = 0; k < sizeof(shells) / sizeof(*shells); k++)
		ck_assert_msg(!pull_direct(shells[k]), "%s", shells[k]);
	must(pull_direct_shell("/bin/bash", (char *[]) { "A=1", NULL }));
	must(!pull_direct_shell("/bin/bash",
				(char *[]) { "BASH_FUNC_a%%=() {", NULL }));
	must(!pull_direct_shell("/bin/zsh", (char *[]) { NULL }));
}
END_TEST

/* A byte 0 is the slot's number, however long that is. */
START_TEST(test_slot)
{
	struct pull_bytes b = { 0 };
	struct storm_out o = pull_frame(&b, PULL_TASK, 8 + 4 + 6);
	struct run_reader r = { 0 };
	struct pull_queue q = { 0 };
	struct storm_in body;
	struct pull_task *t;
	enum run_kind kind;
	size_t room;

	storm_put64(&o, 7);
	storm_put32(&o, 1);
	storm_put(&o, "/a \0b\0", 6);
	must(!o.bad);
	memcpy(run_reader_room(&r, &room), b.buf, b.have);
	r.have = b.have;
	must(run_reader_next(&r, &kind, &body) == 1 &&
	     (enum pull_kind) kind == PULL_TASK);
	must(pull_queue_add(&q, &body));
	t = pull_queue_first(&q);
	must(t && t->seq == 7 && !strcmp(t->dir, "/"));
	must(!strcmp(pull_task_text(t, 4294967295u),
		     "a 4294967295b4294967295"));
	must(!strcmp(pull_task_text(t, 1), "a 1b1"));
	pull_task_free(t);
	must(!pull_queue_first(&q) && !pull_queue_last(&q));
	body = (struct storm_in) { b.buf + RUN_FRAME_HEADER,
				   b.buf + RUN_FRAME_HEADER + 11, false };
	must(!pull_queue_add(&q, &body));
	run_reader_fini(&r);
	pull_bytes_fini(&b);
}
END_TEST

/* What Slurm ends a step by is told later, so that a puller which ends by it, too, has not
 * told it; all else at once. */
START_TEST(test_doubt)
{
	struct pull_end e = { .seq = 1 };

	must(!pull_doubt(&e, 1000));
	e.status = 1;
	must(!pull_doubt(&e, 1000));
	e.status = 128 + SIGINT;
	must(!pull_doubt(&e, 1000));
	e.status = 128 + SIGTERM; /* a shell's, whose program got it */
	must(pull_doubt(&e, 1000) == 1000 + PULL_DOUBT);
	e.status = 128 + SIGKILL;
	must(pull_doubt(&e, 1000) == 1000 + PULL_DOUBT);
	e = (struct pull_end) { .signal = SIGTERM };
	must(pull_doubt(&e, 1000) == 1000 + PULL_DOUBT);
	e.signal = SIGKILL;
	must(pull_doubt(&e, 1000) == 1000 + PULL_DOUBT);
	e.signal = SIGSEGV;
	must(!pull_doubt(&e, 1000));
	e = (struct pull_end) { .signal = SIGKILL, .killed = true };
	must(!pull_doubt(&e, 1000));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("each_tasks");
	TCase *a = tcase_create("tasks"), *b = tcase_create("puller");

	tcase_add_loop_test(a, test_chance, 0, 60);
	tcase_add_test(a, test_ahead);
	tcase_add_test(a, test_shared);
	tcase_add_test(b, test_direct);
	tcase_add_test(b, test_slot);
	tcase_add_test(b, test_doubt);
	suite_add_tcase(s, a);
	suite_add_tcase(s, b);
	return unit_main(s);
}
