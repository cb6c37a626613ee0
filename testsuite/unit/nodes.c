/*
 * nodes.c - see nodes.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nodes.h"
#include "src/storm_sim/engine/sim_private.h" /* its credentials: no MUNGE */

#define PORT 18400

struct storm_settings set;
struct storm_node list[NODES];
char names[NODES][8], dir[64];
storm_node_t *host[NODES];
storm_member_t *member[NODES];
uint8_t memory[NODES][SIZE];
storm_domain_t *domain;
enum world world;
static struct storm_sim *sim;

struct heard heard[NODES];

static void on_signal(void *arg, storm_member_t *m, uint32_t event,
		      const void *buf, size_t len)
{
	struct storm_member_info info;
	struct heard *h = arg;

	storm_member_info(m, &info);
	must(h == &heard[info.node] && info.count == NODES);
	h->count++;
	h->event = event;
	h->len = len;
	h->at = buf;
	if (buf && len < sizeof(h->text))
		memcpy(h->text, buf, len);
}

static void on_strobe(void *arg, storm_member_t *m, uint64_t number,
		      const void *buf, size_t len)
{
	struct storm_member_info info;
	struct heard *h = arg;

	storm_member_info(m, &info);
	must(h == &heard[info.node] && number > h->strobe &&
	     len < sizeof(h->said));
	h->strobe = number;
	memcpy(h->said, buf, len);
	h->said[len] = 0;
	h->strobes++;
}

static void on_close(void *arg, storm_member_t *m)
{
	struct storm_member_info info;
	struct heard *h = arg;

	storm_member_info(m, &info);
	must(h == &heard[info.node]);
	h->count_at_close = h->count;
	__atomic_add_fetch(&h->closes, 1, __ATOMIC_RELEASE);
}

/* The question is a key: a value that two of three have, and a number of each. */
static void on_gather(void *arg, storm_member_t *m, const void *query,
		      size_t len, storm_gather_t *g)
{
	struct storm_member_info info;
	struct heard *h = arg;

	storm_member_info(m, &info);
	must(h == &heard[info.node] && info.uid == OWNER_UID);
	__atomic_add_fetch(&h->gathers, 1, __ATOMIC_RELEASE);
	must(!storm_gather_value(g, query, len, info.node % 3 ? "1.1" : "1.0",
				 3));
	must(!storm_gather_count(g, "number", 6, info.node));
}

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

void nodes_start(uint32_t i)
{
	struct storm_node_conf conf = {
		.name = names[i],
		.set = set,
		.owner_uid = OWNER_UID,
		.on_signal = on_signal,
		.on_strobe = on_strobe,
		.on_gather = on_gather,
		.on_close = on_close,
		.arg = &heard[i],
	};
	char root[128];
	int err;

	snprintf(root, sizeof(root), "%s/%s", dir, names[i]);
	must(!mkdir(root, 0700) || errno == EEXIST);
	conf.root = root;
	conf.set.port = sim ? (uint16_t) (i + 1) : list[i].addr.port;
	host[i] = storm_node_create(&conf, &err);
	ck_assert_int_eq(err, STORM_OK);
	must(host[i]);
	if (set.transport == STORM_TRANSPORT_VERBS)
		storm_node_address(host[i], &list[i].addr);
	must(!storm_node_segment(host[i], 3, memory[i], SIZE));
}

storm_domain_t *nodes_domain(void)
{
	struct storm_domain_conf conf = {
		.nodes = list, .count = NODES, .set = set, .job_id = 42
	};
	int err;
	storm_domain_t *d = storm_domain_create(&conf, &err);

	must(d);
	return d;
}

static void simulate(void)
{
	bool bad = world != WORLD_SIM;
	struct storm_sim_conf conf = {
		.seed = 1,
		.nodes = NODES,
		.set = set,
		.guests = true,
		.latency = 50 * STORM_US,
		.jitter = 20 * STORM_US,
		.bandwidth = 1e8,
		.multicast = set.multicast,
		.mtu = 1472,
		.loss_ppm = bad ? 100000 : 0,
		.dup_ppm = bad ? 50000 : 0,
		.late_ppm = bad ? 50000 : 0,
		.late = 30 * STORM_MS,
	};

	sim = storm_sim_create(&conf, NULL, NULL);
	must(sim);
	storm_sim_drive(sim);
}

uint64_t nodes_now(void)
{
	return sim ? storm_sim_now(sim) : storm_now();
}

uint64_t nodes_sent(void)
{
	uint64_t n = 0;

	for (uint32_t i = 0; sim && i < NODES; i++)
		n += storm_sim_traffic(sim, i)->tx_control.datagrams;
	return n;
}

void nodes_pass(uint64_t ns)
{
	if (sim)
		storm_sim_run(sim, ns, NULL, NULL);
	else
		usleep((useconds_t) (ns / 1000));
}

void nodes_seed(int seed)
{
	if (sim)
		sim->random = (uint64_t) seed * 1000003;
}

const char *nodes_device(void)
{
	const char *transport = getenv("STORM_TRANSPORT"),
		   *device = getenv("STORM_DEVICE");

	if (!transport || strcmp(transport, "verbs"))
		return NULL;
	return device ? device : getenv("RXE_DEV");
}

/* UDP must not be used unnoticed. An emulated machine is slow to join. */
static void over_verbs(void)
{
	const char *device = nodes_device();

	set.transport = STORM_TRANSPORT_VERBS;
	set.transport_fallback = false;
	must(device && strlen(device) < sizeof(set.device));
	strcpy(set.device, device);
	set.interface[0] = 0;
	set.multicast = world != WORLD_VERBS_CHAIN;
	set.groups = 2;
	set.recv_depth = 256;
}

void nodes_setup(void)
{
	if (!getenv("STORM_TEST_LOG"))
		storm_log_set(quiet);
	storm_credential_use(&storm_sim_credential);
	storm_settings_default(&set);
	strcpy(set.interface, "lo");
	set.multicast = world == WORLD_SIM || world == WORLD_SIM_LOSS;
	set.radix = 2;
	set.open_timeout *= unit_slower();
	set.dead_timeout *= unit_slower();
	set.op_timeout *= unit_slower();
	if (world == WORLD_UDP_LOSS || world == WORLD_VERBS_LOSS)
		set.drop_ppm = 30000;
	if (world >= WORLD_VERBS && world <= WORLD_VERBS_CHAIN)
		over_verbs();
	if (world >= WORLD_SIM)
		simulate();
	strcpy(dir, "/tmp/storm-test-node-XXXXXX");
	must(mkdtemp(dir));
	memset(heard, 0, sizeof(heard));
	memset(memory, 0, sizeof(memory));
	for (uint32_t i = 0; i < NODES; i++) {
		sprintf(names[i], "n%u", i);
		list[i].name = names[i];
		must(!storm_addr_set(&list[i].addr, "127.0.0.1",
				     (uint16_t) (PORT + i)));
		if (sim)
			storm_sim_address(i, &list[i].addr);
		nodes_start(i);
	}
}

void nodes_open(void)
{
	domain = nodes_domain();
	must(!storm_domain_open(domain));
	ck_assert_int_eq(storm_domain_wait_open(domain, NULL), STORM_OK);
	for (uint32_t i = 0; i < NODES; i++) {
		struct storm_member_info info;

		member[i] = storm_node_accept(host[i], true, PATIENCE);
		must(member[i]);
		storm_member_info(member[i], &info);
		must(info.node == i && info.count == NODES &&
		     info.uid == OWNER_UID && info.job_id == 42);
		must(!storm_node_accept(host[i], false, 0));
	}
}

void nodes_teardown(void)
{
	char cmd[128];

	storm_domain_destroy(domain);
	domain = NULL;
	for (uint32_t i = 0; i < NODES; i++) {
		storm_node_destroy(host[i]);
		storm_member_release(member[i]);
		host[i] = NULL;
		member[i] = NULL;
	}
	storm_sim_drive(NULL);
	storm_sim_destroy(sim);
	sim = NULL;
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	must(!system(cmd));
}

enum storm_state transfer(const struct storm_idset *P,
			  const struct storm_target *to, const void *buf,
			  size_t len, struct storm_outcome *out)
{
	struct storm_outcome o = { 0 };
	storm_event_t *e = storm_xfer_and_signal(domain, P, to, buf, len);
	enum storm_state state;

	must(e && storm_test_event(e, true, PATIENCE, &o));
	storm_event_destroy(e);
	state = o.state;
	if (out)
		*out = o;
	else
		storm_outcome_clear(&o);
	return state;
}

struct storm_idset some(uint32_t first, uint32_t last)
{
	struct storm_idset s = { 0 };

	must(!storm_idset_add(&s, first, last));
	return s;
}

int nodes_main(Suite *s)
{
	if (!nodes_device() && !enter_namespace())
		fprintf(stderr,
			"SKIP: no network namespace: using the host's loopback interface\n");
	return unit_main(s);
}
