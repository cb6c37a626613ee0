/*
 * test_hwloc.c - storm run: what the module storm_hwloc.so tells of machines that hwloc
 * makes up, and of this one; and which CPUs tasks then have.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>

#include "src/libstorm/base/idset.h"
#include "src/storm_launcher/places_table.h"
#include "unit.h"

static char module[4096];
static places_table *table;

/* As a launcher does; what Check forks has an hwloc of its own. */
static void load(void)
{
	void *handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);

	ck_assert_msg(handle != NULL, "%s", dlerror());
	table = (places_table *) dlsym(handle, PLACES_TABLE);
	must(table);
}

/* The first CPUs of such a machine. */
static struct places machine(const char *synthetic, uint32_t cpus)
{
	struct storm_range r = { 0, cpus - 1 };
	const struct storm_idset all = { &r, 1, 1 };
	struct places p;

	must(!setenv("HWLOC_SYNTHETIC", synthetic, 1));
	must(!places_init(&p, &all, 0));
	ck_assert_int_eq(table(p.cpus, p.count), 0);
	for (uint32_t k = 0; k < cpus; k++)
		must(p.cpus[k].cpu == k);
	return p;
}

/* Which CPUs belong together: "0,0,1,1" by the order in which parts come. */
static const char *parts(const struct places *p, size_t of)
{
	static char text[300];
	uint32_t known[64], n = 0;
	size_t len = 0;

	for (uint32_t k = 0; k < p->count; k++) {
		uint32_t value, at = 0;

		memcpy(&value, (const char *) &p->cpus[k] + of, sizeof(value));
		while (at < n && known[at] != value)
			at++;
		if (at == n)
			known[n++] = value;
		len += (size_t) sprintf(text + len, "%s%u", k ? "," : "", at);
	}
	return text;
}

#define PARTS(p, what) parts(p, offsetof(struct place_cpu, what))

static void takes(struct places *p, uint32_t n, enum run_bind unit,
		  const char *bound)
{
	struct storm_idset s = { 0 }, b = { 0 };
	char text[200];
	size_t len = 0;

	must(places_take_cpus(p, n, &s) && places_widen(p, &s, unit, &b));
	for (uint32_t k = 0; k < p->count; k++)
		if (storm_idset_has(&b, p->cpus[k].cpu))
			len += (size_t) sprintf(text + len, "%s%u",
						len ? "," : "", p->cpus[k].cpu);
	ck_assert_str_eq(text, bound);
	storm_idset_clear(&s);
	storm_idset_clear(&b);
}

/* Two threads of each core, numbered as many kernels do: first threads first. */
START_TEST(test_threads)
{
	struct places p = machine(
		"pack:2 numa:2 core:2 pu:2(indexes=0,8,1,9,2,10,3,11,4,12,5,13,6,14,7,15)",
		16);

	ck_assert_str_eq(PARTS(&p, core), "0,1,2,3,4,5,6,7,0,1,2,3,4,5,6,7");
	ck_assert_str_eq(PARTS(&p, ldom), "0,0,1,1,2,2,3,3,0,0,1,1,2,2,3,3");
	ck_assert_str_eq(PARTS(&p, socket), "0,0,0,0,1,1,1,1,0,0,0,0,1,1,1,1");
	takes(&p, 1, RUN_BIND_CORES, "0,8");
	takes(&p, 1, RUN_BIND_CORES, "1,9");
	takes(&p, 2, RUN_BIND_CORES, "2,10");
	takes(&p, 1, RUN_BIND_LDOMS, "2,3,10,11");
	takes(&p, 1, RUN_BIND_SOCKETS, "4,5,6,7,12,13,14,15");
	takes(&p, 1, RUN_BIND_THREADS, "5");
	places_fini(&p);
}
END_TEST

/* A launcher may have some CPUs of a core alone: others' are not told of. */
START_TEST(test_some)
{
	struct places p = machine("pack:2 core:4 pu:2", 5);

	ck_assert_str_eq(PARTS(&p, core), "0,0,1,1,2");
	ck_assert_str_eq(PARTS(&p, socket), "0,0,0,0,0");
	takes(&p, 1, RUN_BIND_CORES, "0,1");
	takes(&p, 1, RUN_BIND_CORES, "2,3");
	takes(&p, 1, RUN_BIND_CORES, "4");
	takes(&p, 1, RUN_BIND_SOCKETS, "0,1,2,3,4");
	places_fini(&p);
}
END_TEST

/* Where it knows neither cores nor sockets each CPU is a core, and all are of a socket. */
START_TEST(test_flat)
{
	struct places p = machine("numa:2 pu:2", 4);

	ck_assert_str_eq(PARTS(&p, core), "0,1,2,3");
	ck_assert_str_eq(PARTS(&p, ldom), "0,0,1,1");
	ck_assert_str_eq(PARTS(&p, socket), "0,0,0,0");
	places_fini(&p);
}
END_TEST

/* A CPU that it does not know: all stays as it was. */
START_TEST(test_unknown)
{
	struct place_cpu cpus[] = { { 1, 7, 7, 7 }, { 4, 8, 8, 8 } };

	must(!setenv("HWLOC_SYNTHETIC", "pack:1 core:4 pu:1", 1));
	ck_assert_int_eq(table(cpus, 2), ENODATA);
	must(cpus[0].core == 7 && cpus[1].socket == 8);
	ck_assert_int_eq(table(cpus, 1), 0);
	must(cpus[0].core == 1);
}
END_TEST

/* What the kernel says of a CPU; false: it says nothing. */
static bool kernels(uint32_t cpu, const char *what, char (*text)[200])
{
	char path[100];
	FILE *f;
	bool good;

	snprintf(path, sizeof(path),
		 "/sys/devices/system/cpu/cpu%u/topology/%s", cpu, what);
	f = fopen(path, "r");
	good = f && fgets(*text, sizeof(*text), f);
	if (f)
		fclose(f);
	return good;
}

/* CPUs of this machine are of one core, or socket, where the kernel says so; to look at
 * them binds this process to none of them. */
START_TEST(test_here)
{
	struct storm_idset all = { 0 };
	cpu_set_t before, after;
	struct places p;
	char one[200], other[200];

	must(!sched_getaffinity(0, sizeof(before), &before));
	for (uint32_t k = 0; k < CPU_SETSIZE; k++)
		must(!CPU_ISSET(k, &before) || !storm_idset_add(&all, k, k));
	must(!places_init(&p, &all, 0));
	ck_assert_int_eq(table(p.cpus, p.count), 0);
	must(!sched_getaffinity(0, sizeof(after), &after) &&
	     CPU_EQUAL(&before, &after));
	for (uint32_t a = 0; a < p.count; a++)
		for (uint32_t b = 0; b < p.count; b++) {
			if (kernels(p.cpus[a].cpu, "thread_siblings", &one) &&
			    kernels(p.cpus[b].cpu, "thread_siblings", &other))
				must(!strcmp(one, other) ==
				     (p.cpus[a].core == p.cpus[b].core));
			if (kernels(p.cpus[a].cpu, "physical_package_id",
				    &one) &&
			    kernels(p.cpus[b].cpu, "physical_package_id",
				    &other))
				must(!strcmp(one, other) ==
				     (p.cpus[a].socket == p.cpus[b].socket));
		}
	places_fini(&p);
	storm_idset_clear(&all);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hwloc");
	TCase *t = tcase_create("hwloc");
	const char *build = getenv("top_builddir");

	snprintf(module, sizeof(module),
		 "%s/src/storm_hwloc/.libs/storm_hwloc.so",
		 build ? build : "../..");
	if (access(module, F_OK)) {
		puts("SKIP: STORM is built without hwloc; apt-get install libhwloc-dev");
		return 77;
	}
	unsetenv("HWLOC_SYNTHETIC");
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(t, load, NULL);
	tcase_add_test(t, test_here);
	tcase_add_test(t, test_threads);
	tcase_add_test(t, test_some);
	tcase_add_test(t, test_flat);
	tcase_add_test(t, test_unknown);
	return unit_main(s);
}
