/*
 * test_check_tell.c - storm check's lines: names of nodes, as Slurm reads them; equal
 * lines are one; another host's text prints as text; what each symptom of a host with
 * Transport=verbs says.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "src/storm_check/check_rdma.h"
#include "src/storm_check/check_tell.h"
#include "src/storm_check/check_verdict.h"
#include "unit.h"

static void names_are(const char *want, const char *const *names, size_t n)
{
	char *got = check_names(names, n);

	must(!strcmp(got, want));
	free(got);
}
#define NAMES(want, ...)                                          \
	names_are(want, (const char *const[]) { __VA_ARGS__ },    \
		  sizeof((const char *const[]) { __VA_ARGS__ }) / \
			  sizeof(const char *))

START_TEST(test_names)
{
	NAMES("n1", "n1");
	NAMES("n1", "n1", "n1");
	NAMES("n[1-3,7]", "n7", "n2", "n1", "n3");
	NAMES("n[9-11]", "n10", "n9", "n11");
	NAMES("n[08-10]", "n10", "n08", "n09");
	NAMES("n[9-10,010,11]", "n010", "n9", "n11", "n10");
	NAMES("login,n[1-2]", "n1", "login", "n2");
	NAMES("a[1-2],a1-ib", "a2", "a1-ib", "a1");
	NAMES("", "");
	names_are("", NULL, 0);
}
END_TEST

static char *told_text(bool quiet, bool *missing)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	*missing = check_tell_all(f, quiet);
	fclose(f);
	return text;
}

START_TEST(test_lines)
{
	char line[] = "missing\tn2\tno agent runs\n";
	char evil[] = "missing\tn\033[2J3\tx[$(id)] %n\001\n";
	char bad[] = "reboot\tn3\tnow\n", worse[] = "missing n3 now\n";
	char *text;
	bool missing;

	check_tell(CHECK_OK, "", "fine");
	check_tell(CHECK_MISSING, "n1", "no agent %s", "runs");
	check_tell(CHECK_NOTE, "n1", "slow");
	check_tell(CHECK_NOTE, "", "slow");
	must(check_tell_line(line));
	must(check_tell_line(evil));
	must(!check_tell_line(bad) && !check_tell_line(worse));
	text = told_text(false, &missing);
	must(missing);
	must(!strcmp(text, "missing  n[1-2]: no agent runs\n"
			   "missing  n?[2J3: x[$(id)] %n?\n"
			   "note     here and n1: slow\n"
			   "ok       fine\n"));
	free(text);
	text = told_text(true, &missing);
	must(!strcmp(text, "missing  n[1-2]: no agent runs\n"
			   "missing  n?[2J3: x[$(id)] %n?\n"));
	free(text);
}
END_TEST

static bool verdict_has(struct check_answer a, const char *part)
{
	char *text = check_verdict(&a, 8383, 1500);
	bool yes = text ? part && strstr(text, part) : !part;

	free(text);
	return yes;
}

/* Each error says something, and the ones that administrators meet say what to do. */
START_TEST(test_verdicts)
{
	static const struct {
		int sys;
		const char *part;
	} lost[] = {
		{ ECONNRESET,
		  "has ended just now, or does not take this host's MUNGE credential" },
		{ ETIMEDOUT, "nothing answers on TCP port 8383" },
		{ ECOMM, "none of its datagrams reach this host" },
		{ ENOLINK, "none from here reach its UDP port 8383" },
		{ EMSGSIZE, "raise the MTU" },
	};
	struct check_answer a = { .why = STORM_ENOAGENT, .sys = ECONNREFUSED };

	must(verdict_has(a, "restart slurmd, and run storm check there"));
	for (size_t i = 0; i < sizeof(lost) / sizeof(*lost); i++)
		must(verdict_has((struct check_answer) { .why = STORM_ELOST,
							 .sys = lost[i].sys },
				 lost[i].part));
	for (int why = STORM_EINVAL; why < STORM_ERROR_END; why++)
		must(verdict_has((struct check_answer) { .why = why }, ": "));
	a = (struct check_answer) { .why = STORM_OK };
	must(verdict_has(a, "none from here reach its UDP port"));
	a.small = true;
	must(verdict_has(a, "no packets of 1500 bytes"));
	a.large = true;
	must(verdict_has(a, NULL));
}
END_TEST

/* A host on which nothing is missing. */
static struct rdma_host *verbs_host(bool roce, struct storm_settings *set)
{
	static struct rdma_host h;
	struct rdma_port *p = &h.port[0];

	storm_settings_default(set);
	set->transport = STORM_TRANSPORT_VERBS;
	h = (struct rdma_host) { .conf = "/x/storm.conf",
				 .conf_there = true,
				 .libibverbs = true,
				 .librdmacm = true,
				 .device = true,
				 .ports = 1,
				 .rdma_cm_mode = 020666,
				 .command = { .known = true,
					      .unlimited = true },
				 .slurmd = { .known = true, .kib = 16384 } };
	*p = (struct rdma_port) { .device = "mlx5_0",
				  .port = "1",
				  .there = true,
				  .state = "4: ACTIVE",
				  .rate = "100 Gb/sec",
				  .sm_lid = "0x1",
				  .pkeys = { 0xffff, 0x8012 },
				  .pkeys_n = 2,
				  .netdev = { { "net0", "10.0.0.1", 9000,
						"3" } },
				  .netdevs = 1,
				  .driver = "mlx5_core",
				  .provider = true,
				  .uverbs = "uverbs0",
				  .uverbs_mode = 020666 };
	strcpy(p->link, roce ? "Ethernet" : "InfiniBand");
	return &h;
}

START_TEST(test_verbs_fine)
{
	struct storm_settings set;
	struct rdma_host *h;
	bool missing;

	rdma_judge(verbs_host(true, &set), &set);
	rdma_judge(verbs_host(false, &set), &set);
	h = verbs_host(false, &set);
	h->port[0].pkey = 0x12;
	rdma_judge(h, &set);
	free(told_text(true, &missing));
	must(!missing);
}
END_TEST

static void no_driver(struct rdma_host *h)
{
	h->port[0].provider = false;
}
static void no_uverbs(struct rdma_host *h)
{
	*h->port[0].uverbs = '\0';
}
static void no_file(struct rdma_host *h)
{
	h->rdma_cm_mode = RDMA_NO_MODE;
}
static void for_root(struct rdma_host *h)
{
	h->port[0].uverbs_mode = 020660;
}
static void no_library(struct rdma_host *h)
{
	h->librdmacm = false;
}
static void port_down(struct rdma_host *h)
{
	strcpy(h->port[0].state, "1: DOWN");
}
static void port_init(struct rdma_host *h)
{
	strcpy(h->port[0].state, "2: INIT");
}
static void port_evil(struct rdma_host *h)
{
	strcpy(h->port[0].state, "%n\033");
}
static void port_none(struct rdma_host *h)
{
	h->port[0].there = false;
}
static void no_manager(struct rdma_host *h)
{
	strcpy(h->port[0].sm_lid, "0x0");
}
static void no_netdev(struct rdma_host *h)
{
	h->port[0].netdevs = 0;
}
static void no_gid(struct rdma_host *h)
{
	*h->port[0].netdev[0].gid = '\0';
}
static void other_pkey(struct rdma_host *h)
{
	h->port[0].pkey = 0x13;
}
static void no_address(struct rdma_host *h)
{
	*h->port[0].netdev[0].address = '\0';
}
static void small_lock(struct rdma_host *h)
{
	h->slurmd.kib = 16383;
}
static void no_device(struct rdma_host *h)
{
	h->device = false;
	h->ports = 0;
}
static void no_rail(struct rdma_host *h)
{
	h->unknown[h->unknowns++] = "ib7";
}

/* A symptom, on InfiniBand or Ethernet, and the line with its remedy. */
static const struct {
	void (*make)(struct rdma_host *);
	bool roce;
	const char *line;
} symptoms[] = {
	{ no_driver, true,
	  "mlx5_0: libibverbs lacks the provider mlx5: install the package ibverbs-providers (other distributions: libibverbs; or the vendor's rdma-core)" },
	{ no_uverbs, true,
	  "mlx5_0 cannot be used by programs: 'modprobe ib_uverbs'" },
	{ no_file, true,
	  "/dev/infiniband/rdma_cm is not there: 'modprobe rdma_ucm' (rdma-core does that at each boot)" },
	{ for_root, true,
	  "/dev/infiniband/uverbs0 has the mode 660, so users' sruns cannot use it: install rdma-core, whose udev rule sets 0666; until the next boot 'chmod 666'" },
	{ no_library, true,
	  "library librdmacm.so.1: install the package librdmacm1" },
	{ port_down, false,
	  "mlx5_0:1 is down: check the cable and the switch port; for Ethernet 'ip link set INTERFACE up'" },
	{ port_init, false,
	  "mlx5_0:1 is in state INIT: no subnet manager has configured it: start opensm on a host of the fabric, or the switch's subnet manager" },
	{ port_evil, false, "mlx5_0:1 is in state %n?: see ibstat and dmesg" },
	{ port_none, false,
	  "mlx5_0:1: the device has no such port: see ibv_devinfo" },
	{ no_manager, false,
	  "mlx5_0:1: no subnet manager is known: start opensm on a host of the fabric, or the switch's subnet manager" },
	{ no_netdev, false,
	  "mlx5_0:1 has no network interface: 'modprobe ib_ipoib' (rdma_cm resolves addresses by IPoIB), and give it an IPv4 address" },
	{ no_gid, true,
	  "mlx5_0:1: no RoCE v2 GID of 10.0.0.1: use an adapter with RoCE v2, and give its own interface, or a VLAN of it, the address" },
	{ other_pkey, false,
	  "mlx5_0:1 is not in the partition 0x13 of storm.conf: add it in opensm's partitions.conf, or set another PKey" },
	{ no_address, false,
	  "mlx5_0:1: none of its interfaces is up with an IPv4 address (net0): give one the address that NodeAddr or BcastAddr in slurm.conf names" },
	{ small_lock, true,
	  "a process of slurmd (srun in a batch script) may lock 16383 KiB of memory, 16 MiB are needed: 'LimitMEMLOCK=infinity' in slurmd.service (systemctl edit slurmd), then restart it" },
	{ no_device, true,
	  "no RDMA device: install an adapter and load its driver ('modprobe mlx5_ib', for example); to try without an adapter: 'modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth0'" },
	{ no_rail, true,
	  "ib7 is no RDMA device, and no interface of one: 'ibv_devices' lists the devices; correct DataRail or StrobeRail in storm.conf" },
};

/* Nothing else is missing then. */
START_TEST(test_verbs_symptom)
{
	struct storm_settings set;
	struct rdma_host *h = verbs_host(symptoms[_i].roce, &set);
	char want[1000];
	char *text;
	bool missing;

	symptoms[_i].make(h);
	rdma_judge(h, &set);
	text = told_text(true, &missing);
	snprintf(want, sizeof(want), "missing  %s\n", symptoms[_i].line);
	ck_assert_str_eq(text, want);
	free(text);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("check_tell");
	TCase *t = tcase_create("check_tell");

	tcase_add_test(t, test_names);
	tcase_add_test(t, test_lines);
	tcase_add_test(t, test_verdicts);
	tcase_add_test(t, test_verbs_fine);
	tcase_add_loop_test(t, test_verbs_symptom, 0,
			    sizeof(symptoms) / sizeof(*symptoms));
	suite_add_tcase(s, t);
	return unit_main(s);
}
