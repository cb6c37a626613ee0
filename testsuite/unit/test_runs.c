/*
 * test_runs.c - storm run: the head's decisions, and its messages as bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/storm_launcher/job_nodes.h"
#include "src/storm_launcher/run_list.h"
#include "src/storm_launcher/run_names.h"
#include "src/storm_launcher/run_peer.h"
#include "src/storm_launcher/run_wire.h"
#include "src/storm_launcher/runs.h"
#include "unit.h"

static struct storm_idset set_of(uint32_t first, uint32_t last)
{
	struct storm_idset s = { 0 };

	must(!storm_idset_add(&s, first, last));
	return s;
}

static void report(struct runs *r, uint32_t code, uint32_t first, uint32_t last)
{
	struct storm_idset s = set_of(first, last);

	must(runs_report(r, code, &s));
	storm_idset_clear(&s);
}

static struct user_run *add(struct runs *r, uint32_t nodes, uint32_t tasks)
{
	char why[200];
	const struct run_want want = { .nodes = nodes, .tasks = tasks };
	struct user_run *run = runs_add(r, &want, r, why, sizeof(why));

	ck_assert_msg(run != NULL, "refused: %s", why);
	return run;
}

static void refused(struct runs *r, uint32_t nodes, uint32_t tasks,
		    const char *expected)
{
	const struct run_want want = { .nodes = nodes, .tasks = tasks };
	char why[200];

	must(!runs_add(r, &want, r, why, sizeof(why)));
	ck_assert_str_eq(why, expected);
}

/* Said lines, behind each other. */
static char said[4096];

static void say(void *arg, const char *line)
{
	(void) arg;
	strcat(strcat(said, line), "\n");
}

static const char *name(void *arg, uint32_t node)
{
	static char text[16];

	(void) arg;
	snprintf(text, sizeof(text), "n%u", node + 1);
	return text;
}

static const char *told(const struct user_run *run)
{
	char *argv[] = { (char *) "prog", NULL };
	const struct run_what what = { .argv = argv,
				       .cwd = "/dir",
				       .stream = { "", "out.%t", "" } };

	said[0] = '\0';
	run_tell(run, &what, name, say, NULL);
	return said;
}

/* ------------------------------------------------------------------ decisions --- */

START_TEST(test_cpus)
{
	uint32_t c[4];

	must(runs_cpus_read("2(x3),1", 4, c) && c[0] == 2 && c[2] == 2 &&
	     c[3] == 1);
	must(runs_cpus_read("16", 1, c) && c[0] == 16);
	must(!runs_cpus_read("2(x3)", 4, c));
	must(!runs_cpus_read("2(x5)", 4, c));
	must(!runs_cpus_read("2(x3),1,1", 4, c));
	must(!runs_cpus_read("2(x3", 3, c));
	must(!runs_cpus_read("0(x4)", 4, c));
	must(!runs_cpus_read("-1(x4)", 4, c));
	must(!runs_cpus_read("2;2;2;2", 4, c));
	must(!runs_cpus_read("", 4, c));
}
END_TEST

/* As dealing cards: each node in turn, if it has a CPU left. */
START_TEST(test_layout)
{
	struct rnd x = rnd_of(_i);
	uint32_t cpus[12], dealt[12], sum = 0, nodes = 1 + below(&x, 12);

	for (uint32_t k = 0; k < nodes; k++)
		sum += cpus[k] = 1 + below(&x, 1 + below(&x, 9));
	for (uint32_t tasks = 0; tasks <= sum + 2; tasks++) {
		uint32_t *rank = run_layout(cpus, nodes, tasks);
		uint32_t left = tasks, at = 0;

		must(!rank == (tasks < nodes || tasks > sum));
		memset(dealt, 0, sizeof(dealt));
		for (uint32_t k = 0; rank && left; k = (k + 1) % nodes)
			if (dealt[k] < cpus[k]) {
				dealt[k]++;
				left--;
			}
		for (uint32_t k = 0; rank && k < nodes; k++) {
			must(rank[k] == at);
			at += dealt[k];
		}
		must(!rank || rank[nodes] == tasks);
		free(rank);
	}
	cpus[0] = 0;
	must(!run_layout(cpus, nodes, nodes));
}
END_TEST

/* A job whose nodes have unequal numbers of CPUs: all of them serve. */
START_TEST(test_uneven)
{
	const uint32_t cpus[] = { 2, 1, 7 };
	struct user_run *run;
	struct runs r;

	must(!runs_init(&r, 3, cpus));
	run = add(&r, 0, 10);
	must(runs_begin(&r) == run && run->rank[1] == 2 && run->rank[2] == 3);
	must(!r.free.cpus[0] && !r.free.cpus[1] && !r.free.cpus[2]);
	report(&r, run_code(RUN_EXITED, 1), 2, 2);
	must(r.free.cpus[1] == 1 && !r.free.cpus[2]);
	ck_assert_str_eq(told(run),
			 "error: n2: task 2: Exited with exit code 1\n");
	runs_lose(&r, 2);
	report(&r, 0, 0, 1);
	must(runs_over(&r) == run);
	runs_drop(&r, run);
	must(r.free.cpus[0] == 2 && r.free.cpus[1] == 1 && r.free.cpus[2] == 7);
	runs_fini(&r);
	/* the node with one CPU has come first, and does not fit */
	must(!runs_init(&r, 3, (const uint32_t[]) { 1, 4, 4 }));
	run = add(&r, 2, 8);
	must(runs_begin(&r) == run && !storm_idset_has(&run->nodes, 0));
	runs_fini(&r);
}
END_TEST

START_TEST(test_one_run)
{
	const uint32_t cpus[] = { 2, 2, 2 };
	struct runs r;
	struct user_run *run;

	must(!runs_init(&r, 3, cpus));
	run = add(&r, 0, 0);
	must(run->tasks == 3 && run->state == RUN_WAITS);
	must(runs_begin(&r) == run && !runs_begin(&r));
	must(run->state == RUN_RUNS && storm_idset_size(&run->nodes) == 3);
	report(&r, 0, run->first, run->first + 1);
	must(!runs_over(&r));
	/* again, and of nobody */
	report(&r, 0, run->first, run->first + 1);
	report(&r, run_code(RUN_EXITED, 9), 1000, 2000);
	must(!runs_over(&r));
	report(&r, 0, run->first + 2, run->first + 2);
	must(runs_over(&r) == run && !run_status(run));
	ck_assert_str_eq(told(run), "");
	runs_drop(&r, run);
	must(!runs_any(&r) && r.free.cpus[0] == 2 && r.free.cpus[2] == 2);
	runs_fini(&r);
}
END_TEST

START_TEST(test_refused)
{
	const uint32_t cpus[] = { 2, 1, 2 };
	struct runs r;

	must(!runs_init(&r, 3, cpus));
	refused(&r, 4, 0, "4 nodes are asked for, the job has 3");
	refused(&r, 0, 6,
		"6 tasks on 3 nodes are asked for, the job has 5 CPUs on 3 nodes");
	refused(&r, 2, 1,
		"1 tasks cannot be on 2 nodes: each has one at least");
	/* two on each of two nodes: the one of one CPU is left out */
	add(&r, 2, 4);
	must(runs_begin(&r) && !storm_idset_has(&r.first->nodes, 1));
	must(!r.free.cpus[0] && r.free.cpus[1] == 1 && !r.free.cpus[2]);
	runs_fini(&r);
}
END_TEST

/* Tasks of more CPUs, nodes that are named, and nodes that are excluded. */
START_TEST(test_wants)
{
	const uint32_t cpus[] = { 3, 4, 4, 8 };
	struct run_want want = { .tasks = 5, .cpus = 2 };
	struct user_run *run;
	char why[200];
	struct runs r;

	must(!runs_init(&r, 4, cpus));
	want.never = set_of(1, 1);
	run = runs_add(&r, &want, &r, why, sizeof(why));
	must(run && runs_begin(&r) == run && run->want_nodes == 3);
	must(run->rank[1] == 1 && run->rank[2] == 3 && run->rank[3] == 5);
	must(r.free.cpus[0] == 1 && r.free.cpus[1] == 4 && !r.free.cpus[2] &&
	     r.free.cpus[3] == 4);
	report(&r, 0, run->first, run->first + 4);
	runs_drop(&r, run);
	must(r.free.cpus[0] == 3 && r.free.cpus[2] == 4 && r.free.cpus[3] == 8);
	/* those that are named, and the first of the others */
	storm_idset_clear(&want.never);
	want = (struct run_want) { .nodes = 2, .with = set_of(2, 2) };
	run = runs_add(&r, &want, &r, why, sizeof(why));
	must(run && runs_begin(&r) == run);
	must(storm_idset_has(&run->nodes, 0) &&
	     storm_idset_has(&run->nodes, 2));
	/* it waits for the node that is named, and not for another one */
	want.nodes = want.tasks = 1;
	want.cpus = 4;
	must(runs_add(&r, &want, &r, why, sizeof(why)) && !runs_begin(&r));
	report(&r, 0, run->first, run->first + 1);
	runs_drop(&r, run);
	run = runs_begin(&r);
	must(run && storm_idset_has(&run->nodes, 2) && !r.free.cpus[2]);
	want.cpus = 5;
	must(!runs_add(&r, &want, &r, why, sizeof(why)));
	ck_assert_str_eq(
		why,
		"1 tasks with 5 CPUs each on 1 nodes are asked for, the job has 19 CPUs on 4 nodes");
	must(!storm_idset_add(&want.with, 0, 0));
	must(!runs_add(&r, &want, &r, why, sizeof(why)));
	ck_assert_str_eq(why, "1 nodes are asked for, and 2 are named");
	storm_idset_clear(&want.with);
	want = (struct run_want) { .never = set_of(0, 3) };
	must(!runs_add(&r, &want, &r, why, sizeof(why)));
	ck_assert_str_eq(why, "all nodes of the job are excluded");
	storm_idset_clear(&want.never);
	want = (struct run_want) { .nodes = 4, .never = set_of(3, 3) };
	must(!runs_add(&r, &want, &r, why, sizeof(why)));
	ck_assert_str_eq(
		why,
		"4 tasks on 4 nodes are asked for, the job has 19 CPUs on 4 nodes, 1 of them excluded");
	storm_idset_clear(&want.never);
	runs_fini(&r);
}
END_TEST

/* What is over has so many ranges, and so many ids. */
static bool past_is(const struct runs *r, uint32_t most, uint32_t ranges,
		    uint64_t ids)
{
	struct storm_idset past = { 0 };
	bool is;

	must(!runs_past(r, most, &past));
	is = past.count == ranges && storm_idset_size(&past) == ids;
	storm_idset_clear(&past);
	return is;
}

/* First come, first served: what is small does not overtake. */
START_TEST(test_queue)
{
	const uint32_t cpus[] = { 2, 2 };
	struct user_run *a, *b, *c;
	struct runs r;

	must(!runs_init(&r, 2, cpus));
	a = add(&r, 1, 1);
	b = add(&r, 2, 4);
	c = add(&r, 1, 1);
	must(runs_begin(&r) == a && !runs_begin(&r));
	must(c->state == RUN_WAITS);
	report(&r, 0, a->first, a->first);
	must(runs_over(&r) == a);
	runs_drop(&r, a);
	must(runs_begin(&r) == b && !runs_begin(&r));
	/* its first node is done, and serves the next one */
	report(&r, 0, b->first, b->first + 1);
	must(runs_begin(&r) == c && storm_idset_has(&c->nodes, 0));
	must(c->first == b->first + 4 && past_is(&r, UINT32_MAX, 1, b->first));
	report(&r, 0, b->first + 2, c->first);
	must(runs_over(&r) == b);
	runs_drop(&r, b);
	must(runs_over(&r) == c);
	runs_drop(&r, c);
	must(past_is(&r, UINT32_MAX, 1, r.next_id));
	must(r.free.cpus[0] == 2 && r.free.cpus[1] == 2);
	runs_fini(&r);
}
END_TEST

/* Runs go on between those that are over.  With few ranges some are left out, and
 * none that goes on is in. */
START_TEST(test_past)
{
	const uint32_t cpus[] = { 100 };
	struct user_run *run[20];
	struct storm_idset past = { 0 };
	struct runs r;

	must(!runs_init(&r, 1, cpus));
	must(past_is(&r, UINT32_MAX, 0, 0));
	for (uint32_t i = 0; i < 20; i++) {
		run[i] = add(&r, 1, 1 + i % 5);
		must(runs_begin(&r) == run[i]);
	}
	must(past_is(&r, UINT32_MAX, 0, 0) && past_is(&r, 2, 0, 0));
	add(&r, 1, 100); /* it waits, and has no ids */
	must(!runs_begin(&r));
	for (uint32_t i = 1; i < 20; i += 2) {
		report(&r, 0, run[i]->first, run[i]->first + run[i]->tasks - 1);
		must(runs_over(&r) == run[i]);
		runs_drop(&r, run[i]);
	}
	must(past_is(&r, UINT32_MAX, 10, 30));
	for (uint32_t most = 2; most < 12; most++) {
		must(!runs_past(&r, most, &past));
		must(past.count && past.count <= most);
		for (uint32_t i = 0; i < 20; i += 2)
			for (uint32_t k = 0; k < run[i]->tasks; k++)
				must(!storm_idset_has(&past,
						      run[i]->first + k));
		storm_idset_clear(&past);
	}
	for (uint32_t i = 0; i < 20; i += 2) {
		report(&r, 0, run[i]->first, run[i]->first + run[i]->tasks - 1);
		runs_drop(&r, run[i]);
	}
	must(past_is(&r, 2, 1, 60));
	runs_fini(&r);
}
END_TEST

START_TEST(test_codes)
{
	const uint32_t cpus[] = { 4, 4 };
	struct runs r;
	struct user_run *run;

	must(!runs_init(&r, 2, cpus));
	run = add(&r, 2, 8);
	runs_begin(&r);
	report(&r, 0, 0, 0);
	report(&r, run_code(RUN_EXITED, 3), 1, 2);
	report(&r, run_code(RUN_EXITED, 3), 4, 4);
	must(run_status(run) == 3);
	ck_assert_str_eq(
		told(run),
		"error: n1,n2: tasks 1-2,4: Exited with exit code 3\n");
	report(&r, run_code(RUN_SIGNALED, 9), 3, 3);
	must(run_status(run) == 137);
	said[0] = '\0';
	run_tell_left(run, 10, name, say, NULL);
	ck_assert_str_eq(
		said,
		"error: n2: tasks 5-7: no end is reported 10 s after SIGKILL\n");
	report(&r, run_code(RUN_NOT_STARTED, 2), 5, 5);
	report(&r, run_code(RUN_NO_CWD, 2), 6, 6);
	report(&r, run_code(RUN_SIGNALED, 11 | 0x80), 7, 7);
	must(run_status(run) == 139 && runs_over(&r) == run);
	told(run);
	must(strstr(said, "error: n1: task 3: Killed\n"));
	must(strstr(
		said,
		"n2: task 5: cannot execute prog: No such file or directory"));
	must(strstr(said, "task 6: cannot change to directory /dir: No such"));
	must(strstr(said, "task 7: Segmentation fault (core dumped)"));
	runs_fini(&r);
	must(!runs_init(&r, 2, cpus));
	run = add(&r, 2, 2);
	runs_begin(&r);
	report(&r, run_code(RUN_NO_STDOUT, 13), 0, 0);
	must(run_status(run) == 13);
	ck_assert_str_eq(
		told(run),
		"error: n1: task 0: Could not open stdout file out.%t: Permission denied\n");
	runs_fini(&r);
	must(!runs_init(&r, 2, cpus));
	run = add(&r, 2, 2);
	runs_begin(&r);
	report(&r, 0, 0, 0);
	report(&r, run_code(RUN_OUTPUT_LOST, 111), 1, 1);
	must(runs_over(&r) == run && run_status(run) == 1);
	ck_assert_str_eq(
		told(run),
		"error: n2: task 1: output is lost: Connection refused\n");
	runs_fini(&r);
	/* as with srun, a signal counts more than any exit status */
	must(!runs_init(&r, 2, cpus));
	run = add(&r, 2, 2);
	runs_begin(&r);
	must(!run_has_failed(run));
	report(&r, run_code(RUN_EXITED, 200), 0, 0);
	must(run_has_failed(run) && run_status(run) == 200);
	said[0] = '\0';
	run_tell_tasks(run, say, NULL);
	ck_assert_str_eq(said, "task 1: running\ntask 0: exited\n");
	report(&r, run_code(RUN_SIGNALED, 15), 1, 1);
	must(run_status(run) == 143);
	runs_fini(&r);
	/* a code that no launcher has made */
	must(run_code_status(0xff0000) == 1);
}
END_TEST

/* A node is lost: its tasks are over, the others are killed, nothing else begins. */
START_TEST(test_lost_node)
{
	const uint32_t cpus[] = { 2, 2, 2 };
	struct user_run *a, *b, *c;
	struct runs r;

	must(!runs_init(&r, 3, cpus));
	a = add(&r, 3, 3);
	b = add(&r, 1, 1);
	c = add(&r, 3, 6);
	must(runs_begin(&r) == a && runs_begin(&r) == b && !runs_begin(&r));
	runs_lose(&r, 1);
	must(runs_to_kill(&r) == a);
	a->kill = false;
	must(!runs_to_kill(&r)); /* b is on another node */
	must(!runs_over(&r) && !runs_begin(&r));
	report(&r, run_code(RUN_SIGNALED, 9), a->first, a->first);
	report(&r, run_code(RUN_SIGNALED, 9), a->first + 2, a->first + 2);
	must(runs_over(&r) == a && run_status(a) == 137);
	runs_drop(&r, a);
	report(&r, 0, b->first, b->first);
	must(runs_over(&r) == b && !run_status(b));
	runs_drop(&r, b);
	must(c->state == RUN_WAITS && r.closing);
	/* what ended before the loss stays ended */
	runs_fini(&r);
	must(!runs_init(&r, 3, cpus));
	a = add(&r, 3, 3);
	runs_begin(&r);
	report(&r, 0, a->first + 1, a->first + 1);
	runs_lose(&r, 1);
	must(!runs_to_kill(&r) && !a->status);
	runs_lose(&r, 2);
	must(a->status == 1 && runs_to_kill(&r) == a);
	report(&r, 0, a->first, a->first);
	must(runs_over(&r) == a && run_status(a) == 1);
	runs_fini(&r);
}
END_TEST

START_TEST(test_leave_and_close)
{
	const uint32_t cpus[] = { 1 };
	struct user_run *a, *b, *c;
	struct runs r;

	must(!runs_init(&r, 1, cpus));
	a = add(&r, 1, 1);
	b = add(&r, 1, 1);
	c = add(&r, 1, 1);
	must(runs_begin(&r) == a);
	runs_cancel(c, 2); /* none of its tasks runs */
	must(runs_over(&r) == c && run_status(c) == 130 && !runs_to_kill(&r));
	runs_drop(&r, c);
	c = add(&r, 1, 1);
	runs_leave(&r, b);
	must(runs_over(&r) == b && !b->client);
	runs_drop(&r, b);
	runs_leave(&r, a);
	must(runs_to_kill(&r) == a);
	a->kill = false;
	runs_close(&r, true); /* it is killed once */
	must(!runs_to_kill(&r) && runs_over(&r) == c &&
	     run_why_over(c) == RUN_END_STOPPED);
	runs_drop(&r, c);
	report(&r, run_code(RUN_SIGNALED, 9), a->first, a->first);
	must(runs_over(&r) == a);
	runs_drop(&r, a);
	a = add(&r, 1, 1);
	must(!runs_begin(&r));
	runs_fini(&r);
}
END_TEST

/* A run whose client may begin it again, and its first task's end. */
static struct user_run *told_end(struct runs *r, uint32_t code)
{
	struct user_run *run = add(r, 1, 1);

	run->tells = true;
	must(runs_begin(r) == run);
	report(r, code, run->first, run->first);
	return run;
}

/* Slurm ends the launchers: what its signal kills has not ended of its own, even if the
 * report comes before the head has the signal. */
START_TEST(test_slurm_ends_launchers)
{
	const uint32_t cpus[] = { 4 }, term = run_code(RUN_SIGNALED, 15);
	struct user_run *a, *b, *c;
	struct runs r;

	must(!runs_init(&r, 1, cpus));
	a = told_end(&r, term); /* of others: it is told a moment later */
	must(a->doubt && !runs_over(&r));
	a->doubt = 0;
	must(runs_over(&r) == a && run_why_over(a) == RUN_END_OWN);
	runs_drop(&r, a);
	a = told_end(&r, run_code(RUN_EXITED, 7));
	must(runs_over(&r) == a && run_why_over(a) == RUN_END_OWN);
	runs_drop(&r, a);
	a = add(&r, 1, 1); /* nobody asks why it is over */
	must(runs_begin(&r) == a);
	report(&r, term, a->first, a->first);
	must(runs_over(&r) == a);
	runs_drop(&r, a);

	a = told_end(&r, run_code(RUN_EXITED, 143)); /* a shell's */
	b = add(&r, 1, 1);
	c = add(&r, 1, 2);
	b->tells = c->tells = true;
	must(runs_begin(&r) == b && runs_begin(&r) == c && !runs_over(&r));
	runs_end(&r);
	must(runs_over(&r) == a && run_why_over(a) == RUN_END_STOPPED);
	runs_drop(&r, a);
	must(!runs_over(&r) && !runs_to_kill(&r)); /* they have time to end */
	a = add(&r, 1, 1);
	must(!runs_begin(&r));
	runs_abort(a);
	runs_drop(&r, a);
	report(&r, 0, b->first, b->first);
	must(runs_over(&r) == b && run_why_over(b) == RUN_END_OWN);
	runs_drop(&r, b);
	report(&r, 0, c->first, c->first);
	report(&r, run_code(RUN_SIGNALED, 9), c->first + 1, c->first + 1);
	must(runs_over(&r) == c && run_why_over(c) == RUN_END_STOPPED);
	runs_fini(&r);

	must(!runs_init(&r, 1, cpus));
	a = add(&r, 1, 1); /* its client has killed it: it knows */
	a->tells = a->signaled = true;
	must(runs_begin(&r) == a);
	report(&r, term, a->first, a->first);
	must(runs_over(&r) == a && run_why_over(a) == RUN_END_OWN);
	runs_fini(&r);
}
END_TEST

/* With or without what can be asked for; some of it is refused. */
static void add_any(struct runs *r, uint32_t nodes, struct rnd *x)
{
	struct run_want want = { .nodes = below(x, nodes + 1),
				 .tasks = below(x, 20),
				 .cpus = below(x, 3) };
	uint32_t with = below(x, nodes), never = below(x, nodes);
	struct user_run *run;
	char why[200];

	if (below(x, 3) == 0)
		want.with = set_of(with, with);
	if (below(x, 3) == 0)
		want.never = set_of(never, never);
	run = runs_add(r, &want, r, why, sizeof(why));
	must(!run == !!*why);
	storm_idset_clear(&want.with);
	storm_idset_clear(&want.never);
}

/* Any order of begins, ends and losses: CPUs are never given twice, all come back,
 * and each run ends. */
START_TEST(test_random)
{
	struct rnd x = rnd_of(_i);
	uint32_t nodes = 1 + below(&x, 12), cpus[12], id = 0, all = 0;
	bool ended[3000] = { false };
	struct runs r;

	for (uint32_t k = 0; k < nodes; k++)
		cpus[k] = 1 + below(&x, 4);
	must(!runs_init(&r, nodes, cpus));
	for (int step = 0; step < 300; step++) {
		struct user_run *run;

		if (below(&x, 2))
			add_any(&r, nodes, &x);
		while ((run = runs_begin(&r))) {
			must(run->first == id);
			id += run->tasks;
			must(id < 3000);
		}
		for (uint32_t k = 0; k < nodes; k++)
			must(r.free.cpus[k] <= cpus[k]);
		for (uint32_t k = 0; id && k < 4; k++) {
			uint32_t t = below(&x, id);

			report(&r, 0, t, t);
			ended[t] = true;
		}
		while ((run = runs_over(&r))) {
			for (uint32_t t = 0; t < run->tasks; t++)
				must(ended[run->first + t]);
			runs_drop(&r, run);
		}
	}
	for (struct user_run *run; (run = r.first);) {
		runs_begin(&r);
		if (run->state == RUN_WAITS) /* those before it hold CPUs */
			must(run != r.first);
		report(&r, 0, 0, 3000);
		while ((run = runs_over(&r)))
			runs_drop(&r, run);
		must(all++ < 3000);
	}
	for (uint32_t k = 0; k < nodes; k++)
		must(r.free.cpus[k] == cpus[k]);
	runs_fini(&r);
}
END_TEST

/* Which run a random one of them is; NULL: none. */
static struct user_run *any_run(struct runs *r, struct rnd *x)
{
	struct user_run *run = r->first;
	uint32_t n = 0;

	for (; run; run = run->next)
		n++;
	n = n ? below(x, n) : 0;
	for (run = r->first; run && n; n--)
		run = run->next;
	return run;
}

/* Likewise with clients that go, signals for runs that wait, nodes that are lost, and an
 * end: no run stays, none that was harmed ends well, and CPUs come back. */
START_TEST(test_random_faults)
{
	struct rnd x = rnd_of(_i);
	uint32_t nodes = 2 + below(&x, 12), cpus[14];
	struct user_run *run;
	struct runs r;

	for (uint32_t k = 0; k < nodes; k++)
		cpus[k] = 1 + below(&x, 4);
	must(!runs_init(&r, nodes, cpus));
	for (int step = 0; step < 200; step++) {
		uint32_t what = below(&x, 40);

		if (below(&x, 2))
			add_any(&r, nodes, &x);
		while (runs_begin(&r))
			must(!r.closing || r.next_id >= RUNS_IDS_MAX);
		run = any_run(&r, &x);
		if (run && what < 4) {
			runs_leave(&r, run);
		} else if (run && what == 4 && run->state == RUN_WAITS) {
			runs_cancel(run, 2);
		} else if (run && what == 5 && run->state == RUN_RUNS) {
			runs_abort(run);
		} else if (what == 6 && step > 150) {
			runs_lose(&r, below(&x, nodes));
		} else if (what == 7 && step > 180) {
			runs_close(&r, below(&x, 2));
		}
		while ((run = runs_to_kill(&r))) {
			must(run->state == RUN_RUNS);
			run->kill = false;
			/* what a launcher that is lost does not say, nobody does */
			report(&r, run_code(RUN_SIGNALED, 9), run->first,
			       run->first + run->tasks - 1);
			must(run->state == RUN_IS_OVER && run_status(run));
		}
		for (uint32_t k = 0; r.next_id && k < 4; k++) {
			uint32_t t = below(&x, r.next_id);

			report(&r, 0, t, t);
		}
		while ((run = runs_over(&r)))
			runs_drop(&r, run);
		for (uint32_t k = 0; k < nodes; k++)
			must(r.free.cpus[k] <= cpus[k]);
	}
	runs_close(&r, true);
	while ((run = runs_to_kill(&r)))
		run->kill = false;
	if (r.next_id)
		report(&r, run_code(RUN_SIGNALED, 9), 0, r.next_id - 1);
	while ((run = runs_over(&r))) {
		must(run_status(run));
		runs_drop(&r, run);
	}
	must(!runs_any(&r) && !runs_begin(&r));
	for (uint32_t k = 0; k < nodes; k++)
		must(r.free.cpus[k] == cpus[k]);
	runs_fini(&r);
}
END_TEST

/* --------------------------------------------------------------------- bytes --- */

static char *argv_[] = { "prog", "a b", "", "c\nd", NULL };
static char *env_[] = { "PATH=/bin", "X=", NULL };

static struct run_what some_what(void)
{
	struct run_what w = { .umask = 027,
			      .cwd = "/home",
			      .stream = { "none", "o.%t", "" },
			      .label = true,
			      .lends = true,
			      .bind = RUN_BIND_MAP,
			      .bind_list = "0,3*2",
			      .bind_verbose = true,
			      .input = RUN_INPUT_ONE,
			      .input_rank = 77,
			      .tells = true,
			      .argv = argv_,
			      .env = env_ };

	for (int k = 0; k < RUN_LIMITS; k++)
		w.limit[k] = (uint64_t) k << 33;
	return w;
}

static uint8_t *packed_what(size_t *len)
{
	struct run_what w = some_what();
	uint8_t *buf;
	struct storm_out o;

	*len = run_what_len(&w);
	buf = malloc(*len);
	must(buf);
	o = (struct storm_out) { buf, buf + *len, false };
	run_what_put(&o, &w);
	must(!o.bad && o.p == o.end);
	return buf;
}

START_TEST(test_what)
{
	size_t len;
	uint8_t *buf = packed_what(&len);
	struct storm_in in = { buf, buf + len, false };
	struct run_what w;

	must(run_what_get(&in, &w));
	must(!strcmp(w.stream[0], "none") && !strcmp(w.stream[1], "o.%t") &&
	     !*w.stream[2] && w.label && !w.append && !w.direct);
	must(w.lends && !w.framed && w.tells && w.input == RUN_INPUT_ONE &&
	     w.input_rank == 77);
	must(w.bind == RUN_BIND_MAP && !strcmp(w.bind_list, "0,3*2") &&
	     w.bind_verbose && !w.no_gpus);
	must(w.umask == 027 && !strcmp(w.cwd, "/home") &&
	     w.limit[3] == 3ull << 33);
	for (int k = 0; k < 5; k++)
		must(argv_[k] ? !strcmp(w.argv[k], argv_[k]) : !w.argv[k]);
	must(!strcmp(w.env[1], "X=") && !w.env[2]);
	run_what_free(&w);
	free(buf);
}
END_TEST

/* Cut short, or with a byte that is another one: no read outside of it. */
START_TEST(test_what_hostile)
{
	struct rnd x = rnd_of(_i);
	size_t len;
	uint8_t *buf = packed_what(&len);

	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = exact(buf, n);
		struct storm_in in = { cut, cut + n, false };
		struct run_what w;

		must(!run_what_get(&in, &w) && !w.argv && !w.env);
		free(cut);
	}
	for (int k = 0; k < 500; k++) {
		uint8_t *other = exact(buf, len);
		struct storm_in in = { other, other + len, false };
		struct run_what w;

		for (uint32_t n = 1 + below(&x, 3); n; n--)
			other[below(&x, (uint32_t) len)] = (uint8_t) rnd64(&x);
		if (run_what_get(&in, &w)) {
			size_t sum = strlen(w.cwd);

			for (char **a = w.argv; *a; a++)
				sum += strlen(*a);
			must(sum < len);
			run_what_free(&w);
		}
		free(other);
	}
	free(buf);
}
END_TEST

START_TEST(test_start)
{
	const uint32_t rank[] = { 0, 2, 4, 6, 7, 9 };
	struct run_start s = { .number = 7,
			       .first = 100,
			       .tasks = 9,
			       .cpus = 3,
			       .gpus = 2,
			       .node_gpus = 5,
			       .names = "n[4-7,10]",
			       .local = STORM_NO_NODE },
			 t;
	uint8_t buf[256];
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_in in;
	size_t len;

	s.nodes = set_of(3, 6);
	must(!storm_idset_add(&s.nodes, 9, 9));
	s.past = set_of(0, 89);
	must(!storm_idset_add(&s.past, 95, 99));
	s.rank = rank;
	must(!storm_addr_set(&s.relay, "10.0.0.1", 1234));
	memset(s.life, 5, sizeof(s.life));
	run_start_put(&o, &s);
	len = (size_t) (o.p - buf);
	must(!o.bad && len == run_start_len(&s));
	in = (struct storm_in) { buf, buf + len, false };
	must(run_start_get(&in, &t) && storm_in_done(&in));
	must(t.cpus == 3 && t.gpus == 2 && t.node_gpus == 5 &&
	     !strcmp(t.names, s.names));
	must(t.number == 7 && t.first == 100 && t.tasks == 9 &&
	     t.local == STORM_NO_NODE && t.relay.port == 1234 &&
	     t.life[15] == 5);
	must(run_place(&t.nodes, 3) == 0 && run_place(&t.nodes, 9) == 4 &&
	     run_place(&t.nodes, 7) == UINT32_MAX);
	must(!memcmp(t.rank, rank, sizeof(rank)));
	must(t.past.count == 2 && storm_idset_size(&t.past) == 95 &&
	     storm_idset_covers(&t.past, &s.past));
	run_start_free(&t);
	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = exact(buf, n);

		in = (struct storm_in) { cut, cut + n, false };
		must(!run_start_get(&in, &t) && !t.nodes.r && !t.past.r);
		free(cut);
	}
	storm_idset_clear(&s.nodes);
	storm_idset_clear(&s.past);
}
END_TEST

START_TEST(test_step)
{
	uint32_t cpus[] = { 2, 7 }, gpus[] = { 0, 4 };
	uint64_t mem[] = { 1ull << 33, 5 };
	struct storm_node nodes[2] = { { .name = "n1" }, { .name = "n20" } };
	struct run_step s = { .job = 9,
			      .count = 2,
			      .cpus = cpus,
			      .gpus = gpus,
			      .mem = mem,
			      .nodes = nodes },
			t;
	uint8_t buf[256];
	struct storm_out o = { buf, buf + sizeof(buf), false };
	struct storm_in in;
	size_t len;

	must(!storm_addr_set(&nodes[0].addr, "10.0.0.1", 1234));
	must(!storm_addr_set(&nodes[1].addr, "10.0.0.2", 1234));
	memset(s.key, 7, sizeof(s.key));
	run_step_put(&o, &s);
	len = (size_t) (o.p - buf);
	must(!o.bad && len == run_step_len(&s));
	in = (struct storm_in) { buf, buf + len, false };
	must(run_step_get(&in, &t) && t.job == 9 && t.count == 2);
	must(t.gpus[1] == 4 && t.mem[0] == 1ull << 33 && t.mem[1] == 5);
	must(t.cpus[1] == 7 && t.key[15] == 7);
	ck_assert_str_eq(t.nodes[1].name, "n20");
	must(!memcmp(&t.nodes[1].addr, &nodes[1].addr, sizeof(nodes[1].addr)));
	run_step_free(&t);
	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = exact(buf, n);

		in = (struct storm_in) { cut, cut + n, false };
		must(!run_step_get(&in, &t) && !t.cpus && !t.nodes);
		free(cut);
	}
	buf[3]++; /* another version */
	in = (struct storm_in) { buf, buf + len, false };
	must(!run_step_get(&in, &t));
}
END_TEST

START_TEST(test_key)
{
	uint8_t key[RUN_KEY], same[RUN_KEY];
	struct rnd x = rnd_of(1);
	char text[RUN_KEY_TEXT];

	for (int k = 0; k < RUN_KEY; k++)
		key[k] = (uint8_t) rnd64(&x);
	run_key_text(key, &text);
	must(run_key_read(text, same) && !memcmp(key, same, RUN_KEY));
	text[9] = ' ';
	must(!run_key_read(text, same));
	text[9] = '\0';
	must(!run_key_read(text, same) && !run_key_read(NULL, same));
}
END_TEST

/* Frames in pieces of any length, also long ones, come whole and in order. */
START_TEST(test_frames)
{
	struct rnd x = rnd_of(_i);
	struct run_reader r = { 0 };
	static uint8_t stream[400000];
	uint32_t len[40], n = 0, seen = 0;
	size_t end = 0, at = 0;
	enum run_kind kind;
	struct storm_in body;

	while (n < 40) {
		len[n] = below(&x, below(&x, 8) ? 50 : 70000);
		if (end + RUN_FRAME_HEADER + len[n] > sizeof(stream))
			break;
		run_frame_head(stream + end, RUN_SAY, len[n]);
		memset(stream + end + RUN_FRAME_HEADER, (int) n, len[n]);
		end += RUN_FRAME_HEADER + len[n++];
	}
	while (at < end) {
		size_t room, some = 1 + below(&x, 30000);
		uint8_t *to = run_reader_room(&r, &room);

		must(to && room);
		some = some < room ? some : room;
		some = some < end - at ? some : end - at;
		memcpy(to, stream + at, some);
		r.have += some;
		at += some;
		while (run_reader_next(&r, &kind, &body) == 1) {
			size_t got = (size_t) (body.end - body.p);

			must(kind == RUN_SAY && got == len[seen]);
			must(!got || (body.p[0] == (uint8_t) seen &&
				      body.end[-1] == (uint8_t) seen));
			seen++;
		}
	}
	must(seen == n);
	run_reader_fini(&r);
}
END_TEST

START_TEST(test_frame_too_long)
{
	struct run_reader r = { 0 };
	struct storm_in body;
	enum run_kind kind;
	size_t room;
	uint8_t *to = run_reader_room(&r, &room);

	run_frame_head(to, RUN_SAY, RUN_FRAME_MAX + 1);
	r.have = RUN_FRAME_HEADER;
	must(run_reader_next(&r, &kind, &body) == -1);
	must(run_reader_room(&r, &room) && room < 1 << 20);
	run_reader_fini(&r);
}
END_TEST

static void ask_is(const struct run_ask *a, const uint8_t *buf, size_t len)
{
	struct storm_in in = { buf, buf + len, false };
	struct run_ask b;

	must(run_ask_get(&in, &b) && storm_in_done(&in));
	must(b.gpus == a->gpus && b.node_gpus == a->node_gpus &&
	     b.mem == a->mem && b.cpu_mem == a->cpu_mem);
	must(b.nodes == a->nodes && b.tasks == a->tasks && b.cpus == a->cpus &&
	     b.limit == a->limit && b.wait == a->wait && b.kill == a->kill &&
	     b.keep == a->keep && b.whole == a->whole &&
	     !strcmp(b.with, a->with) && !strcmp(b.without, a->without) &&
	     !strcmp(b.journal, a->journal));
}

START_TEST(test_ask)
{
	const struct run_ask a = { .nodes = 1,
				   .tasks = 2,
				   .cpus = 3,
				   .gpus = 6,
				   .node_gpus = 7,
				   .mem = 1ull << 40,
				   .cpu_mem = 8,
				   .limit = 4,
				   .wait = 5,
				   .kill = true,
				   .whole = true,
				   .with = "n1,m[2-3]",
				   .without = "",
				   .journal = "/tmp/j" };
	uint8_t buf[100];
	struct storm_out o = { buf, buf + sizeof(buf), false };
	size_t len = run_ask_len(&a);

	run_ask_put(&o, &a);
	must(!o.bad && len == (size_t) (o.p - buf));
	ask_is(&a, buf, len);
	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = exact(buf, n);
		struct storm_in in = { cut, cut + n, false };
		struct run_ask b;

		must(!run_ask_get(&in, &b));
		free(cut);
	}
}
END_TEST

START_TEST(test_listed)
{
	const struct run_listed l = { 7,	RUN_LIST_ENDS, 5, 4, 3, 2,
				      "n[1-4]", "a \033[1m b" };
	uint8_t buf[100];
	struct storm_out o = { buf, buf + sizeof(buf), false };
	size_t len = run_listed_len(&l);
	struct storm_in in = { buf, buf + len, false };
	struct run_listed b;

	run_listed_put(&o, &l);
	must(!o.bad && len == (size_t) (o.p - buf));
	must(run_listed_get(&in, &b));
	must(b.number == 7 && b.state == RUN_LIST_ENDS && b.age == 5 &&
	     b.tasks == 4 && b.ended == 3 && b.cpus == 2 &&
	     !strcmp(b.nodes, l.nodes) && !strcmp(b.command, l.command));
	for (size_t n = 0; n < len; n++) {
		uint8_t *cut = exact(buf, n);

		in = (struct storm_in) { cut, cut + n, false };
		must(!run_listed_get(&in, &b));
		free(cut);
	}
	buf[8] = RUN_LIST_ENDS + 1;
	in = (struct storm_in) { buf, buf + len, false };
	must(!run_listed_get(&in, &b));
}
END_TEST

/* ---------------------------------------------------------------------- peers --- */

#define SCOPE "0::/system.slice/slurmstepd.scope"

START_TEST(test_peer)
{
	static const struct {
		const char *own, *other;
		bool same;
		unsigned long job;
	} t[] = {
		/* two steps; another job, also one whose number begins so */
		{ SCOPE "/job_12/step_1/user/task_0\n",
		  SCOPE "/job_12/step_batch/user\n", true, 12 },
		{ SCOPE "/job_12/step_1\n", SCOPE "/job_12\n", true, 12 },
		{ SCOPE "/job_12/step_1\n", SCOPE "/job_13/step_1\n", false,
		  12 },
		{ SCOPE "/job_12/step_1\n", SCOPE "/job_123/step_1\n", false,
		  12 },
		{ SCOPE "/job_123/step_1\n", SCOPE "/job_12/step_1\n", false,
		  123 },
		/* groups that a user can make */
		{ SCOPE "/job_12/step_1\n",
		  "0::/user.slice/user-1.slice/job_12/step_1\n", false, 12 },
		{ SCOPE "/job_12/step_1\n",
		  SCOPE "/job_13/step_1/user/job_12\n", false, 12 },
		{ SCOPE "/job_12/step_1\n", "0::/x" SCOPE "/job_12/step_1\n",
		  false, 12 },
		/* one of several hierarchies */
		{ "9:name=systemd:/\n6:freezer:/slurm_n1/uid_7/job_4/step_0\n0::/\n",
		  "6:freezer:/slurm_n1/uid_7/job_4/step_batch\n0::/\n", true,
		  4 },
		{ "9:name=systemd:/\n6:freezer:/slurm_n1/uid_7/job_4/step_0\n0::/\n",
		  "5:freezer:/slurm_n1/uid_7/job_4/step_batch\n0::/\n", false,
		  4 },
		{ "6:freezer:/slurm/job_4", "6:freezer:/slurm/job_4", true, 4 },
		/* not by Slurm */
		{ "9:name=systemd:/\n0::/user.slice\n", SCOPE "/job_4\n", true,
		  0 },
		{ "0::/job_/job_x/job_3y\n0::/\n", "", true, 0 },
		{ SCOPE "/job_0/job_5\n", SCOPE "/job_0/job_6\n", false, 5 },
		{ SCOPE "/job_12/step_1\n", "", false, 12 },
	};

	for (size_t k = 0; k < sizeof(t) / sizeof(*t); k++) {
		unsigned long job = 77;

		if (run_peer_is_of_job(t[k].own, t[k].other, &job) !=
			    t[k].same ||
		    job != t[k].job)
			ck_abort_msg("case %zu: job %lu", k, job);
	}
}
END_TEST

/* ---------------------------------------------------------------------- names --- */

static const struct storm_node named[] = {
	{ .name = "n08" },    { .name = "n09" },   { .name = "n10" },
	{ .name = "n12" },    { .name = "login" }, { .name = "r1-g9" },
	{ .name = "r1-g10" }, { .name = "n1x" },
};
#define NAMED (sizeof(named) / sizeof(*named))

/* "why", or the nodes' text behind what is unknown. */
static const char *read_as(const char *list)
{
	static char got[500];
	char unknown[STORM_NAME_MAX + 1], *text;
	struct storm_idset set = { 0 };
	const char *why;

	if (!run_names_read(list, named, NAMED, &set, &unknown, &why)) {
		must(!set.count);
		return why;
	}
	text = run_names_text(named, &set);
	snprintf(got, sizeof(got), "%s:%s", unknown, text);
	free(text);
	storm_idset_clear(&set);
	return got;
}

START_TEST(test_names)
{
	char longest[400];

	ck_assert_str_eq(read_as("n08"), ":n08");
	ck_assert_str_eq(read_as("login,n[09-10,12]"), ":n[09-10,12],login");
	ck_assert_str_eq(read_as("n[08-12]"), "n11:n[08-10,12]");
	ck_assert_str_eq(read_as("n[8-10]"), "n8:n10");
	ck_assert_str_eq(read_as("r[1-1]-g[9-10]"), ":r1-g[9-10]");
	ck_assert_str_eq(read_as("n[1]x,n08"), ":n08,n1x");
	ck_assert_str_eq(read_as("n1,n08,n2"), "n1:n08");
	ck_assert_str_eq(read_as("n[1-999999999]"), "it has too many names");
	for (const char *const *bad =
		     (const char *const[]) { "", ",", "n08,", "n[", "n[]",
					     "n[1", "n[1-]", "n[2-1]", "n[a]",
					     "n[1,]", "n]1", "n[1][", "/file",
					     "n[0000000001]", NULL };
	     *bad; bad++)
		ck_assert_msg(!strcmp(read_as(*bad), "it is no list of names"),
			      "%s: %s", *bad, read_as(*bad));
	memset(longest, 'n', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	ck_assert_str_eq(read_as(longest), "a name is too long");
}
END_TEST

/* Any list: no read outside of it. */
/* A job that goes on without some of its nodes. */
START_TEST(test_job_nodes)
{
	static const struct storm_node nodes[] = { { .name = "n1" },
						   { .name = "n2" },
						   { .name = "n3" },
						   { .name = "m1" } };
	char text[] = "JobId=7 ReqNodeList=n9 ExcNodeList=(null) "
		      "NodeList=n[1,3],m1 BatchHost=n1";
	char none[] = "JobId=7 ReqNodeList=n9 NodeList=(null)";
	char other[] = "JobId=7 ReqNodeList=n9";
	uint32_t cpus[] = { 10, 20, 30, 40 };
	const char *list;

	must(!job_nodes_read(none, &list) && !job_nodes_read(other, &list));
	must(job_nodes_read(text, &list));
	ck_assert_str_eq(list, "n[1,3],m1");
	must(job_nodes_keep(list, nodes, 4, cpus) == 3);
	must(cpus[0] == 10 && cpus[1] == 30 && cpus[2] == 40);
	must(!job_nodes_keep("n1,n7", nodes, 4, cpus));
	must(!job_nodes_keep("n[", nodes, 4, cpus));
}
END_TEST

START_TEST(test_names_hostile)
{
	static const char some[] = "nn001129[[]],,--x";
	struct rnd x = rnd_of(_i);

	for (int k = 0; k < 2000; k++) {
		size_t n = below(&x, 20);
		char *list = malloc(n + 1);

		must(list);
		for (size_t at = 0; at < n; at++)
			list[at] = some[below(&x, sizeof(some) - 1)];
		list[n] = '\0';
		read_as(list);
		free(list);
	}
}
END_TEST

START_TEST(test_counts)
{
	const uint32_t rank[] = { 0, 2, 4, 6, 7, 9 };
	char *text = run_counts_text(rank, 5);

	ck_assert_str_eq(text, "2(x3),1,2");
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("runs");
	TCase *t = tcase_create("decisions"), *b = tcase_create("bytes");

	tcase_add_test(t, test_cpus);
	tcase_add_loop_test(t, test_layout, 0, unit_runs(20));
	tcase_add_test(t, test_uneven);
	tcase_add_test(t, test_one_run);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_wants);
	tcase_add_test(t, test_queue);
	tcase_add_test(t, test_past);
	tcase_add_test(t, test_codes);
	tcase_add_test(t, test_lost_node);
	tcase_add_test(t, test_leave_and_close);
	tcase_add_test(t, test_slurm_ends_launchers);
	tcase_add_loop_test(t, test_random, 0, unit_runs(50));
	tcase_add_loop_test(t, test_random_faults, 0, unit_runs(50));
	suite_add_tcase(s, t);
	tcase_add_test(b, test_what);
	tcase_add_loop_test(b, test_what_hostile, 0, unit_runs(5));
	tcase_add_test(b, test_ask);
	tcase_add_test(b, test_listed);
	tcase_add_test(b, test_peer);
	tcase_add_test(b, test_names);
	tcase_add_test(b, test_job_nodes);
	tcase_add_loop_test(b, test_names_hostile, 0, unit_runs(5));
	tcase_add_test(b, test_counts);
	tcase_add_test(b, test_start);
	tcase_add_test(b, test_step);
	tcase_add_test(b, test_key);
	tcase_add_loop_test(b, test_frames, 0, unit_runs(20));
	tcase_add_test(b, test_frame_too_long);
	suite_add_tcase(s, b);
	return unit_main(s);
}
