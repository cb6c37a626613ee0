/*
 * across.c - a domain across machines: each runs a node, one the owner, too.
 *
 *	across node [KEY=VALUE ...]	$RXE_ADDR is a node; files in directory root
 *	across owner FILE [KEY=VALUE ...]	sends it to $RXE_COUNT of them, as /f
 *
 * Each process reports what happens, one line for each event.  The lines are
 * "ready", "open", "quarter" (of the file is on all nodes), "outcome STATE",
 * "fault NODE SENTENCE", "lost NODE", "strobe NUMBER", "stat NAME NUMBER" and
 * "counters JSON".  A node ends with its domain.  After an outcome that is not
 * done, an owner with again=FILE waits until this file is there.  The owner
 * then sends to the nodes that are left.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/program/domain_private.h" /* and counters */
#include "src/libstorm/program/node_private.h"
#include "src/libstorm/storm.h"
#include "src/libstorm/transport/driver.h"
#include "src/storm_sim/engine/sim_private.h" /* its credentials: no MUNGE */

#define PORT 18400
#define OWNER_UID 1000 /* as in the simulator's credentials */
#define NODES_MAX 64

static struct storm_settings set;
static const char *root = "/tmp";
static uint64_t strobe_ms;
static const char *again;

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	printf("failed %s: %s\n", what, strerror(errno));
	exit(1);
}

static const char *env(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		fprintf(stderr,
			"across: %s is not set: it is the machines' to run\n",
			name);
		exit(2);
	}
	return value;
}

/* ------------------------------------------------------------------ settings --- */

static void say(enum storm_log_level level, const char *msg)
{
	fprintf(stderr, "%d: %s\n", level, msg);
}

static void set_word(const char *word)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t) (value - word) : 0;
	uint64_t number = value ? strtoull(value + 1, NULL, 0) : 0;

#define IS(key) (len == sizeof(key) - 1 && !strncmp(word, key, len))
	if (IS("transport"))
		set.transport = !strcmp(value + 1, "verbs") ?
					STORM_TRANSPORT_VERBS :
					STORM_TRANSPORT_UDP;
	else if (IS("fallback"))
		set.transport_fallback = number;
	else if (IS("depth"))
		set.recv_depth = (uint32_t) number;
	else if (IS("strobe_device"))
		snprintf(set.strobe_device, sizeof(set.strobe_device), "%s",
			 value + 1);
	else if (IS("mtu"))
		set.mtu = (uint32_t) number;
	else if (IS("multicast"))
		set.multicast = number;
	else if (IS("groups"))
		set.groups = (uint32_t) number;
	else if (IS("rate"))
		set.rate = number;
	else if (IS("dead_ms"))
		set.dead_timeout = number * STORM_MS;
	else if (IS("strobe_ms"))
		strobe_ms = number;
	else if (IS("again"))
		again = value + 1;
	else if (IS("root"))
		root = value + 1;
	else {
		fprintf(stderr, "across: %s: no such key\n", word);
		exit(2);
	}
#undef IS
}

static void settings(int argc, char **argv)
{
	storm_log_set(say);
	setvbuf(stdout, NULL, _IOLBF, 0);
	storm_credential_use(&storm_sim_credential);
	storm_settings_default(&set);
	strcpy(set.interface, "eth0");
	/* emulation is slow, and its processor may be shared */
	set.multicast_timeout = 20 * STORM_SEC;
	set.open_timeout = 60 * STORM_SEC;
	set.dead_timeout = 30 * STORM_SEC;
	set.op_timeout = 60 * STORM_SEC;
	set.port = PORT;
	for (int i = 0; i < argc; i++)
		set_word(argv[i]);
}

static void stat_number(const char *name, uint64_t number)
{
	printf("stat %s %" PRIu64 "\n", name, number);
}

/* They go over several lines. */
static void tell_counters(char *text)
{
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	printf("counters {%s}\n", text);
}

static uint64_t cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (uint64_t) (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	       (uint64_t) (u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* -------------------------------------------------------------------- a node --- */

static void on_strobe(void *arg, storm_member_t *m, uint64_t number,
		      const void *data, size_t len)
{
	(void) arg;
	(void) m;
	(void) data;
	(void) len;
	printf("strobe %" PRIu64 "\n", number);
}

static int node(void)
{
	char name[32];
	struct storm_node_conf conf = {
		.name = name,
		.set = set,
		.owner_uid = OWNER_UID,
		.root = root,
		.on_strobe = on_strobe,
	};
	char counters[STORM_NET_COUNTERS_MAX];
	storm_member_t *m;
	storm_node_t *n;
	uint64_t cpu, began = storm_now();
	int err;

	snprintf(name, sizeof(name), "rx%s", env("RXE_INDEX"));
	n = storm_node_create(&conf, &err);
	need(n, storm_strerror(err));
	stat_number("start_us", (storm_now() - began) / STORM_US);
	puts("ready");
	m = storm_node_accept(n, true, 0);
	need(m, "accept");
	cpu = cpu_us();
	/* never signalled: the domain has ended */
	storm_member_test_event(m, STORM_EVENTS - 1, true, 0);
	stat_number("cpu_us", cpu_us() - cpu);
	pthread_mutex_lock(&n->sh->lock);
	n->driver->counters(n->net, counters, sizeof(counters));
	pthread_mutex_unlock(&n->sh->lock);
	tell_counters(counters);
	storm_member_release(m);
	storm_node_destroy(n);
	return 0;
}

/* ----------------------------------------------------------------- the owner --- */

static void on_fault(void *arg, const struct storm_fault *f)
{
	(void) arg;
	printf("lost %u\n", f->node);
}

static storm_domain_t *open_domain(void)
{
	static char name[NODES_MAX][8], ip[NODES_MAX][16];
	uint32_t count = (uint32_t) atoi(env("RXE_COUNT"));
	struct storm_node list[NODES_MAX];
	struct storm_domain_conf conf = {
		.nodes = list,
		.count = count,
		.set = set,
		.job_id = 1,
		.on_fault = on_fault,
	};
	storm_domain_t *d;
	int err;

	for (uint32_t i = 0; i < count; i++) {
		sprintf(name[i], "rx%u", i);
		sprintf(ip[i], "10.77.0.%u", i + 1);
		list[i].name = name[i];
		storm_addr_set(&list[i].addr, ip[i], PORT);
	}
	d = storm_domain_create(&conf, &err);
	need(d, storm_strerror(err));
	need(!storm_domain_open(d), "open");
	err = storm_domain_wait_open(d, NULL);
	need(!err, storm_strerror(err));
	puts("open");
	return d;
}

static enum storm_state outcome(storm_event_t *e)
{
	static const char *const names[] = { "pending", "done", "aborted",
					     "unknown" };
	struct storm_outcome out;
	enum storm_state state;

	storm_test_event(e, true, 0, &out);
	state = out.state;
	for (uint32_t i = 0; i < out.faults_kept; i++)
		printf("fault %u %s\n", out.faults[i].node,
		       storm_strerror(out.faults[i].why));
	printf("outcome %s\n", names[state]); /* what tests wait for */
	storm_outcome_clear(&out);
	storm_event_destroy(e);
	return state;
}

/* Strobes meanwhile, if there are to be any. */
static enum storm_state send_file(storm_domain_t *d, const char *path)
{
	struct storm_target to = { .kind = STORM_TARGET_FILE,
				   .path = "/f",
				   .mode = 0600 };
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	uint64_t next = storm_now(), strobes = 0, number;
	storm_event_t *e;
	bool told = false;

	need(size > 0, path);
	e = storm_transfer_file(d, NULL, fd, &to);
	need(e, "transfer");
	while (!storm_test_event(e, true,
				 next += (strobe_ms ? strobe_ms : 5) * STORM_MS,
				 NULL)) {
		if (!told && storm_event_progress(e) >= (uint64_t) size / 4) {
			told = true;
			puts("quarter");
		}
		if (strobe_ms && (number = storm_strobe(d, "x", 1))) {
			printf("strobe %" PRIu64 "\n", number);
			strobes++;
		}
	}
	stat_number("strobes", strobes);
	close(fd);
	return outcome(e);
}

static int owner(const char *path)
{
	storm_domain_t *d = open_domain();
	uint64_t cpu = cpu_us(), then = storm_now();
	char counters[STORM_NET_COUNTERS_MAX];
	struct storm_stats s;
	enum storm_state state;

	state = send_file(d, path);
	if (state != STORM_DONE && again) {
		while (access(again, F_OK))
			usleep(20000);
		state = send_file(d, path);
	}
	stat_number("cpu_us", cpu_us() - cpu);
	stat_number("elapsed_us", (storm_now() - then) / STORM_US);
	storm_domain_stats(d, &s);
	stat_number("tx_datagrams", s.tx_datagrams);
	stat_number("tx_bytes", s.tx_bytes);
	stat_number("rx_datagrams", s.rx_datagrams);
	stat_number("tx_data", s.tx_data);
	stat_number("tx_repair", s.tx_repair);
	stat_number("nacks", s.nacks);
	stat_number("repaired", s.repaired);
	stat_number("multicast", s.multicast);
	domain_counters(d, counters, sizeof(counters));
	tell_counters(counters);
	storm_domain_destroy(d);
	return state == STORM_DONE ? 0 : 3;
}

int main(int argc, char **argv)
{
	if (argc >= 2 && !strcmp(argv[1], "node")) {
		settings(argc - 2, argv + 2);
		return node();
	}
	if (argc >= 3 && !strcmp(argv[1], "owner")) {
		settings(argc - 3, argv + 3);
		return owner(argv[2]);
	}
	fputs("usage: across node|owner FILE [KEY=VALUE ...]\n", stderr);
	return 2;
}
