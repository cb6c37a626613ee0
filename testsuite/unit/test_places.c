/*
 * test_places.c - storm run: which CPUs and GPUs tasks have, and how the head counts them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "src/libstorm/base/idset.h"
#include "src/storm_launcher/oom.h"
#include "src/storm_launcher/places.h"
#include "src/storm_launcher/run_bind.h"
#include "src/storm_launcher/runs.h"
#include "unit.h"

/* "0-1,4", in two buffers by turns. */
static const char *text_of(const struct storm_idset *s)
{
	static char text[2][200];
	static int turn;
	char *out = text[turn = !turn];
	size_t len = 0;

	*out = '\0';
	for (uint32_t k = 0; k < s->count; k++) {
		len += (size_t) sprintf(out + len, "%s%u", k ? "," : "",
					s->r[k].first);
		if (s->r[k].last > s->r[k].first)
			len += (size_t) sprintf(out + len, "-%u", s->r[k].last);
	}
	return out;
}

/* CPUs from 10 on: two threads of each core, as many kernels number them: those of the
 * first threads come first. */
static struct places node_of(uint32_t sockets, uint32_t ldoms, uint32_t cores)
{
	uint32_t all = sockets * ldoms * cores;
	struct storm_range r = { 10, 10 + 2 * all - 1 };
	const struct storm_idset cpus = { &r, 1, 1 };
	struct places p;

	must(!places_init(&p, &cpus, 4) && p.count == 2 * all);
	for (uint32_t k = 0; k < 2 * all; k++) {
		must(p.cpus[k].cpu == 10 + k);
		p.cpus[k].core = k % all;
		p.cpus[k].ldom = k % all / cores;
		p.cpus[k].socket = k % all / cores / ldoms;
	}
	return p;
}

static struct storm_idset take(struct places *p, uint32_t n)
{
	struct storm_idset s = { 0 };

	must(places_take_cpus(p, n, &s) && storm_idset_size(&s) == n);
	return s;
}

static void takes(struct places *p, uint32_t n, enum run_bind unit,
		  const char *own, const char *bound)
{
	struct storm_idset s = take(p, n), b = { 0 };

	ck_assert_str_eq(text_of(&s), own);
	must(places_widen(p, &s, unit, &b));
	ck_assert_str_eq(text_of(&b), bound);
	storm_idset_clear(&s);
	storm_idset_clear(&b);
}

/* Tasks of one CPU have cores of their own while there are some; one of two has a core. */
START_TEST(test_cores)
{
	struct places p = node_of(1, 1, 4);
	struct storm_idset none = { 0 };

	takes(&p, 1, RUN_BIND_THREADS, "10", "10");
	takes(&p, 1, RUN_BIND_CORES, "11", "11,15");
	takes(&p, 2, RUN_BIND_CORES, "12,16", "12,16");
	takes(&p, 2, RUN_BIND_SOCKETS, "13,17", "10-17");
	takes(&p, 1, RUN_BIND_CORES, "14", "14");
	must(!places_take_cpus(&p, 2, &none) && !none.count);
	takes(&p, 1, RUN_BIND_THREADS, "15", "15");
	must(!places_take_cpus(&p, 1, &none) && !none.count);
	places_fini(&p);
}
END_TEST

/* A task is within one domain if that has room, else within a socket.  Large rooms stay,
 * but nobody gets a part of a core while a domain has whole ones. */
START_TEST(test_domains)
{
	struct places p =
		node_of(2, 2, 2); /* 4 CPUs in a domain, 8 in a socket */
	struct storm_idset s;

	takes(&p, 3, RUN_BIND_LDOMS, "10-11,18", "10-11,18-19");
	takes(&p, 2, RUN_BIND_CORES, "12,20", "12,20");
	takes(&p, 1, RUN_BIND_CORES, "13", "13,21");
	takes(&p, 1, RUN_BIND_THREADS, "14", "14");
	/* of no domain, and of the whole second socket */
	takes(&p, 6, RUN_BIND_SOCKETS, "15-17,23-25", "14-17,22-25");
	takes(&p, 1, RUN_BIND_CORES, "19", "19");
	s = take(&p, 2);
	ck_assert_str_eq(text_of(&s), "21-22");
	places_give_cpus(&p, &s);
	storm_idset_clear(&s);
	s = take(&p, 1);
	ck_assert_str_eq(text_of(&s), "21");
	storm_idset_clear(&s);
	places_fini(&p);
}
END_TEST

/* Runs that come and go: no CPU and no GPU is two tasks', and all that is there serves. */
START_TEST(test_by_chance)
{
	struct rnd x = rnd_of(_i);
	struct places p =
		node_of(1 + below(&x, 2), 1 + below(&x, 2), 1 + below(&x, 4));
	struct storm_idset own[8] = { { 0 } }, gpu[8] = { { 0 } }, all = { 0 };
	uint32_t left = p.count, gpus = 4;

	for (int turn = 0; turn < 300; turn++) {
		uint32_t k = below(&x, 8), n = 1 + below(&x, 5);

		if (own[k].count || gpu[k].count) {
			places_give_cpus(&p, &own[k]);
			places_give_gpus(&p, &gpu[k]);
			left += (uint32_t) storm_idset_size(&own[k]);
			gpus += (uint32_t) storm_idset_size(&gpu[k]);
			storm_idset_clear(&own[k]);
			storm_idset_clear(&gpu[k]);
		}
		if (below(&x, 3) == 0)
			continue;
		must(places_take_cpus(&p, n, &own[k]) == (n <= left));
		left -= n <= left ? n : 0;
		n = below(&x, 3);
		must(places_take_gpus(&p, n, &gpu[k]) == (n <= gpus));
		gpus -= n <= gpus ? n : 0;
		for (int a = 0; a < 8; a++) {
			must(!storm_idset_union(&all, &own[a]));
			for (uint32_t i = 0; i < gpu[a].count; i++)
				must(!storm_idset_add(&all,
						      1000 + gpu[a].r[i].first,
						      1000 + gpu[a].r[i].last));
		}
		must(storm_idset_size(&all) == p.count - left + 4 - gpus);
		storm_idset_clear(&all);
	}
	for (int a = 0; a < 8; a++) {
		storm_idset_clear(&own[a]);
		storm_idset_clear(&gpu[a]);
	}
	places_fini(&p);
}
END_TEST

START_TEST(test_names)
{
	struct storm_idset s = { 0 }, part = { 0 };
	char out[32];

	must(!places_names(NULL) && !places_names("") &&
	     !places_names("NoDevFiles"));
	must(places_names("0") == 1 && places_names("GPU-a,GPU-b,2") == 3);
	must(!storm_idset_add(&s, 0, 0) && !storm_idset_add(&s, 2, 3));
	must(places_pick("GPU-a,1,GPU-c", &s, out, sizeof(out)) == 11);
	ck_assert_str_eq(out, "GPU-a,GPU-c");
	must(places_pick("0,1", &part, out, sizeof(out)) == 0 && !*out);
	/* cut short, and no byte behind it */
	must(places_pick("GPU-a,1,GPU-c", &s, out, 8) == 11 && !out[7]);
	must(places_part(&s, 1, 2, &part));
	ck_assert_str_eq(text_of(&part), "2-3");
	storm_idset_clear(&part);
	must(!places_part(&s, 2, 2, &part));
	storm_idset_clear(&part);
	storm_idset_clear(&s);
}
END_TEST

static void lists(const char *list, bool masks, uint32_t local,
		  const char *cpus, const char *mask)
{
	struct storm_idset s = { 0 };
	char text[64];

	must(run_bind_list_valid(list, masks) &&
	     run_bind_list(list, masks, local, &s));
	ck_assert_str_eq(text_of(&s), cpus);
	must(run_bind_mask(&s, text, sizeof(text)) == strlen(mask));
	ck_assert_str_eq(text, mask);
	must(!run_bind_mask(&s, text, strlen(mask)));
	storm_idset_clear(&s);
}

START_TEST(test_lists)
{
	static const char *const bad[] = {
		"",    ",",    "0,", "1*", "1*0",  "*2", "0x",
		"0xg", "1*2x", "-1", "1 ", "1,,2", "z",	 "99999999999999",
		"0*-1"
	};

	lists("0,2*2,0x11", false, 0, "0", "0x1");
	lists("0,2*2,0x11", false, 2, "2", "0x4");
	lists("0,2*2,0x11", false, 3, "17", "0x20000");
	lists("0,2*2,0x11", false, 4, "0", "0x1");
	lists("0x3,f0*2", true, 0, "0-1", "0x3");
	lists("0x3,f0*2", true, 2, "4-7", "0xF0");
	lists("0x3,f0*2", true, 4000000001u, "4-7", "0xF0");
	for (size_t k = 0; k < sizeof(bad) / sizeof(*bad); k++) {
		struct storm_idset s = { 0 };

		must(!run_bind_list_valid(bad[k], false) &&
		     !run_bind_list(bad[k], false, 1, &s));
		storm_idset_clear(&s);
		must(!run_bind_list_valid(bad[k], true) ||
		     !strcmp(bad[k], "99999999999999"));
	}
	must(!run_bind_list_valid("0", true)); /* a mask of nothing */
}
END_TEST

/* Where the kernel counts what it kills for memory. */
START_TEST(test_oom)
{
	static const char mounts[] =
		"25 1 0:22 / /proc rw - proc proc rw\n"
		"30 1 0:25 /a /run/a rw shared:3 - cgroup cgroup rw,cpu\n"
		"31 1 0:26 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
		"32 1 0:27 /part /sys/fs/cgroup/unified rw - cgroup2 none rw\n";
	char out[100], shorter[20];

	must(oom_path("5:cpu:/x\n4:pids,memory:/job_1/task_0\n0::/part/y\n",
		      mounts, out, sizeof(out)));
	ck_assert_str_eq(
		out, "/sys/fs/cgroup/memory/job_1/task_0/memory.oom_control");
	must(oom_path("5:cpu:/x\n0::/part/y\n", mounts, out, sizeof(out)));
	ck_assert_str_eq(out, "/sys/fs/cgroup/unified/y/memory.events");
	must(!oom_path("0::/part/y\n", mounts, shorter, sizeof(shorter)));
	must(!oom_path("0::/other\n", mounts, out, sizeof(out)));
	must(!oom_path("5:cpu:/x\n", mounts, out, sizeof(out)));
	must(!oom_path("", mounts, out, sizeof(out)));
	must(!oom_path("4:memory:/x\n", "", out, sizeof(out)));
	must(oom_count("low 1\noom 7\noom_kill 12\noom_group_kill 3\n") == 12);
	must(oom_count("oom_kill_disable 0\nunder_oom 0\noom_kill 2\n") == 2);
	must(!oom_count("oom_kill_disable 1\n") && !oom_count(""));
}
END_TEST

/* ------------------------------------------------------------------- the head --- */

static struct user_run *add(struct runs *r, const struct run_want *want)
{
	char why[200];
	struct user_run *run = runs_add(r, want, r, why, sizeof(why));

	ck_assert_msg(run != NULL, "refused: %s", why);
	return run;
}

static void refused(struct runs *r, const struct run_want *want,
		    const char *expected)
{
	char why[200];

	must(!runs_add(r, want, r, why, sizeof(why)));
	ck_assert_str_eq(why, expected);
}

static void has_free(const struct runs *r, uint64_t cpus, uint64_t gpus,
		     uint64_t mem)
{
	struct run_stocks s;

	runs_sum(r, &s);
	ck_assert_uint_eq(s.free_cpus, cpus);
	ck_assert_uint_eq(s.free_gpus, gpus);
	ck_assert_uint_eq(s.free_mem, mem);
}

static void all_end(struct runs *r, struct user_run *run)
{
	struct storm_range ids = { run->first, run->first + run->tasks - 1 };
	const struct storm_idset s = { &ids, 1, 1 };

	must(runs_report(r, 0, &s) && runs_over(r) == run);
	runs_drop(r, run);
}

/* Of three nodes the first has no GPUs; memory of the last one is not known. */
static void stocked(struct runs *r)
{
	const uint32_t cpus[] = { 8, 8, 8 }, gpus[] = { 0, 2, 4 };
	const uint64_t mem[] = { 1000, 1000, 0 };

	must(!runs_init(r, 3, cpus));
	runs_stock(r, gpus, mem);
	has_free(r, 24, 6, 2000);
}

/* A run waits until all that it asks for is free, and none overtakes it. */
START_TEST(test_gpus)
{
	struct user_run *one, *two, *three;
	struct runs r;

	stocked(&r);
	/* without a number of nodes those with GPUs count */
	one = add(&r, &(struct run_want) { .tasks = 4, .gpus = 1 });
	must(runs_begin(&r) == one && !storm_idset_has(&one->nodes, 0));
	must(one->rank[1] == 2);
	has_free(&r, 20, 2, 2000);
	two = add(&r, &(struct run_want) { .tasks = 1, .gpus = 3 });
	three = add(&r, &(struct run_want) { .tasks = 1 });
	must(!runs_begin(&r));
	all_end(&r, one);
	must(runs_begin(&r) == two && storm_idset_has(&two->nodes, 2));
	must(runs_begin(&r) == three);
	has_free(&r, 22, 3, 2000);
	all_end(&r, two);
	all_end(&r, three);
	/* tasks of a node share them */
	one = add(&r, &(struct run_want) {
			      .nodes = 1, .tasks = 5, .node_gpus = 4 });
	must(runs_begin(&r) == one && storm_idset_has(&one->nodes, 2));
	has_free(&r, 19, 2, 2000);
	all_end(&r, one);
	has_free(&r, 24, 6, 2000);
	runs_fini(&r);
}
END_TEST

START_TEST(test_memory)
{
	struct user_run *one, *two;
	struct runs r;

	stocked(&r);
	one = add(&r,
		  &(struct run_want) {
			  .nodes = 2, .tasks = 4, .cpus = 2, .cpu_mem = 200 });
	must(runs_begin(&r) == one);
	has_free(&r, 16, 6, 400);
	/* where it is not known it is not counted */
	two = add(&r, &(struct run_want) { .tasks = 1, .mem = 900 });
	must(runs_begin(&r) == two && storm_idset_has(&two->nodes, 2));
	has_free(&r, 15, 6, 400);
	all_end(&r, two);
	two = add(&r, &(struct run_want) { .nodes = 3, .mem = 300 });
	must(!runs_begin(&r));
	all_end(&r, one);
	must(runs_begin(&r) == two);
	has_free(&r, 21, 6, 1400);
	all_end(&r, two);
	has_free(&r, 24, 6, 2000);
	runs_fini(&r);
}
END_TEST

START_TEST(test_never)
{
	struct runs r;

	stocked(&r);
	refused(&r, &(struct run_want) { .tasks = 7, .gpus = 1 },
		"7 tasks with 1 GPUs each on 2 nodes are asked for, the job has 6 GPUs on 3 nodes");
	refused(&r, &(struct run_want) { .nodes = 2, .node_gpus = 3 },
		"2 tasks with 3 GPUs on each on 2 nodes are asked for, the job has 6 GPUs on 3 nodes");
	refused(&r, &(struct run_want) { .nodes = 3, .mem = 1001 },
		"3 tasks with 1001 MB on each on 3 nodes are asked for, the job has at most 1000 MB on 3 nodes");
	refused(&r,
		&(struct run_want) { .nodes = 3, .cpus = 2, .cpu_mem = 501 },
		"3 tasks with 501 MB for a CPU on 3 nodes are asked for, the job has at most 1000 MB on 3 nodes");
	refused(&r, &(struct run_want) { .tasks = 25, .gpus = 1 },
		"25 tasks on 2 nodes are asked for, the job has 24 CPUs on 3 nodes");
	runs_fini(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("places");
	TCase *t = tcase_create("places");

	suite_add_tcase(s, t);
	tcase_add_test(t, test_cores);
	tcase_add_test(t, test_domains);
	tcase_add_loop_test(t, test_by_chance, 0, 50);
	tcase_add_test(t, test_names);
	tcase_add_test(t, test_lists);
	tcase_add_test(t, test_oom);
	tcase_add_test(t, test_gpus);
	tcase_add_test(t, test_memory);
	tcase_add_test(t, test_never);
	return unit_main(s);
}
