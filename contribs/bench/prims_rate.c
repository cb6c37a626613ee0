/*
 * prims_rate.c - how long the three primitives take: XFER-AND-SIGNAL, TEST-EVENT
 * and COMPARE-AND-WRITE, by storm.h alone; and, to compare, a round trip of
 * datagrams between two hosts.
 *
 *	prims_rate [KEY=VALUE...] node [NAME]
 *	prims_rate [KEY=VALUE...] owner TIMES NAME=ADDRESS...
 *	prims_rate pong
 *	prims_rate ping TIMES ADDRESS
 *
 * Each host of the domain runs a node, in a step of Slurm by its name there.  It
 * serves one owner after the other until a signal ends it.  Both sides have the same
 * user.  Keys: radix, bytes (of a
 * transfer), transport (udp, verbs), interface, patience (s, on a slow machine).
 * ping sends datagrams to the host that runs pong, each after the reply to the
 * last one.  They have the length of a sealed STATUS, but are not sealed.
 *
 * owner and ping print a line for each measurement: its name and TIMES values, in
 * microseconds.
 *	compare	COMPARE-AND-WRITE of an own variable: a reduction
 *	write	COMPARE-AND-WRITE of a global variable, with a write: ordered
 *	issue	XFER-AND-SIGNAL, which does not block
 *	xfer	the same until TEST-EVENT, which blocks, says that all have it
 *	poll	TEST-EVENT of an event that is no longer pending
 *	answer	all of them: each node tests the event of a transfer and raises
 *		an own variable, which the owner compares until all have
 *	trip	the round trip of ping
 *
 * storm_bench prims runs it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "node_arg.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/storm.h"

#define NODE_PORT 8390
#define PING_PORT 8391
#define PING_BYTES 150
#define WARM_UP 20 /* not counted */
#define TIMES_MAX 1000000
#define BYTES_MAX (1 << 20)
#define ANSWERED (STORM_VAR_USER + 1)
enum { DATA_SEGMENT };
enum { QUIET_EVENT = 1, ANSWER_EVENT };

static uint64_t took[TIMES_MAX]; /* ns */
static struct storm_settings set;
static uint64_t bytes = 256;
static char data[BYTES_MAX];

static int usage(void)
{
	fprintf(stderr,
		"usage: prims_rate [KEY=VALUE...] node [NAME]\n"
		"       prims_rate [KEY=VALUE...] owner TIMES NAME=ADDRESS...\n"
		"       prims_rate pong\n"
		"       prims_rate ping TIMES ADDRESS\n"
		"keys:  radix, bytes, transport, interface, patience\n");
	return 2;
}

static int fail(const char *what)
{
	fprintf(stderr, "prims_rate: %s\n", what);
	return 1;
}

static void print(const char *name, uint32_t times)
{
	printf("%s", name);
	for (uint32_t i = 0; i < times; i++)
		printf(" %.2f", (double) took[i] / 1e3);
	printf("\n");
}

static uint32_t times_of(const char *word)
{
	int n = atoi(word);

	return n < 1 || n > TIMES_MAX ? 0 : (uint32_t) n;
}

/* ---------------------------------------------------------------- settings --- */

static void be_patient(uint64_t s)
{
	set.multicast_timeout = s * STORM_SEC;
	set.open_timeout = s * STORM_SEC;
	set.dead_timeout = s * STORM_SEC;
	set.op_timeout = s * STORM_SEC;
}

/* False: not a key. */
static bool set_key(const char *word)
{
	const char *value = strchr(word, '=');
	size_t len = value ? (size_t) (value++ - word) : 0;
	uint64_t n = value ? strtoull(value, NULL, 10) : 0;

#define IS(key) (len == sizeof(key) - 1 && !strncmp(word, key, len))
	if (IS("radix") && n >= 2 && n <= 64)
		set.radix = (uint32_t) n;
	else if (IS("bytes") && n >= 1 && n <= BYTES_MAX)
		bytes = n;
	else if (IS("transport") && !strcmp(value, "verbs")) {
		set.transport = STORM_TRANSPORT_VERBS;
		set.transport_fallback = false;
	} else if (IS("transport") && !strcmp(value, "udp"))
		set.transport = STORM_TRANSPORT_UDP;
	else if (IS("interface"))
		snprintf(set.interface, sizeof(set.interface), "%s", value);
	else if (IS("patience") && n >= 1)
		be_patient(n);
	else
		return false;
	return true;
#undef IS
}

/* -------------------------------------------------------------------- a node --- */

/* Answer each transfer that asks for it, until the owner closes. */
static void serve(storm_member_t *m)
{
	uint64_t answers = 0;

	while (storm_member_test_event(m, ANSWER_EVENT, true, 0) == STORM_OK)
		storm_member_own_set(m, ANSWERED, ++answers);
}

static int node(const char *name)
{
	const struct storm_node_conf conf = {
		.name = name,
		.set = set,
		.owner_uid = getuid(),
	};
	storm_member_t *m;
	storm_node_t *n;
	int err;

	if (!name)
		return usage();
	n = storm_node_create(&conf, &err);
	if (!n)
		return fail(storm_strerror(err));
	storm_node_segment(n, DATA_SEGMENT, data, sizeof(data));
	printf("ready\n");
	fflush(stdout);
	while ((m = storm_node_accept(n, true, 0))) {
		serve(m);
		storm_member_release(m);
	}
	storm_node_destroy(n);
	return fail("the node has ended");
}

/* ----------------------------------------------------------------- the owner --- */

static storm_domain_t *open_domain(const struct storm_node *nodes,
				   uint32_t count)
{
	struct storm_domain_conf conf = {
		.nodes = nodes,
		.count = count,
		.set = set,
		.agent_uid = getuid(),
	};
	int err;
	storm_domain_t *d = storm_domain_create(&conf, &err);

	if (!err)
		err = storm_domain_open(d);
	if (!err)
		err = storm_domain_wait_open(d, NULL);
	if (!err)
		return d;
	fprintf(stderr, "prims_rate: cannot open the domain: %s\n",
		storm_strerror(err));
	storm_domain_destroy(d);
	return NULL;
}

static storm_event_t *xfer(storm_domain_t *d, uint32_t event)
{
	const struct storm_target to = {
		.kind = STORM_TARGET_SEGMENT,
		.remote_event = event,
		.segment = DATA_SEGMENT,
	};

	return storm_xfer_and_signal(d, NULL, &to, data, bytes);
}

static bool done(storm_event_t *e)
{
	struct storm_outcome out = { 0 };
	bool ok = e && storm_test_event(e, true, 0, &out) &&
		  out.state == STORM_DONE;

	storm_outcome_clear(&out);
	return ok;
}

/* Each measures itself once: false if it fails. */

static bool compare(storm_domain_t *d, uint64_t *ns)
{
	uint64_t start = storm_now();
	bool ok = storm_compare_and_write(d, NULL, STORM_VAR_USER, STORM_EQ, 0,
					  NULL, NULL) == STORM_TRUE;

	*ns = storm_now() - start;
	return ok;
}

static bool compare_and_write(storm_domain_t *d, uint64_t *ns)
{
	static uint64_t value;
	const struct storm_assign next = { STORM_GLOBAL(0), value + 1 };
	uint64_t start = storm_now();
	bool ok = storm_compare_and_write(d, NULL, STORM_GLOBAL(0), STORM_EQ,
					  value++, &next, NULL) == STORM_TRUE;

	*ns = storm_now() - start;
	return ok;
}

static bool issue(storm_domain_t *d, uint64_t *ns)
{
	uint64_t start = storm_now();
	storm_event_t *e = xfer(d, QUIET_EVENT);
	bool ok;

	*ns = storm_now() - start;
	ok = done(e);
	storm_event_destroy(e);
	return ok;
}

static bool xfer_and_test(storm_domain_t *d, uint64_t *ns)
{
	uint64_t start = storm_now();
	storm_event_t *e = xfer(d, QUIET_EVENT);
	bool ok = done(e);

	*ns = storm_now() - start;
	storm_event_destroy(e);
	return ok;
}

static bool poll_event(storm_domain_t *d, uint64_t *ns)
{
	storm_event_t *e = xfer(d, QUIET_EVENT);
	bool ok = done(e);
	uint64_t start = storm_now();

	ok = ok && storm_test_event(e, false, 0, NULL);
	*ns = storm_now() - start;
	storm_event_destroy(e);
	return ok;
}

static bool answer(storm_domain_t *d, uint64_t *ns)
{
	static uint64_t answers;
	uint64_t start = storm_now();
	enum storm_compare c;
	storm_event_t *e = xfer(d, ANSWER_EVENT);
	bool ok = done(e);

	answers++;
	do
		c = storm_compare_and_write(d, NULL, ANSWERED, STORM_GE,
					    answers, NULL, NULL);
	while (ok && c == STORM_FALSE);
	*ns = storm_now() - start;
	storm_event_destroy(e);
	return ok && c == STORM_TRUE;
}

static const struct {
	const char *name;
	bool (*once)(storm_domain_t *d, uint64_t *ns);
} measurements[] = {
	{ "compare", compare }, { "write", compare_and_write },
	{ "issue", issue },	{ "xfer", xfer_and_test },
	{ "poll", poll_event }, { "answer", answer },
};

static bool measure(storm_domain_t *d, uint32_t times)
{
	uint64_t ns;

	for (size_t k = 0; k < sizeof(measurements) / sizeof(*measurements);
	     k++) {
		for (uint32_t i = 0; i < WARM_UP; i++)
			if (!measurements[k].once(d, &ns))
				return false;
		for (uint32_t i = 0; i < times; i++)
			if (!measurements[k].once(d, &took[i]))
				return false;
		print(measurements[k].name, times);
	}
	return true;
}

static int owner_over(uint32_t times, const struct storm_node *nodes,
		      uint32_t count)
{
	storm_domain_t *d = open_domain(nodes, count);
	bool ok;

	if (!d)
		return 1;
	ok = measure(d, times);
	storm_domain_destroy(d);
	return ok ? 0 : fail("a primitive failed");
}

static int owner(uint32_t times, int count, char **names)
{
	struct storm_node *nodes = calloc((size_t) count, sizeof(*nodes));
	int rc;

	if (!nodes)
		return fail("out of memory");
	for (int i = 0; i < count; i++)
		if (!node_of(names[i], set.port, &nodes[i]))
			times = 0;
	rc = times ? owner_over(times, nodes, (uint32_t) count) : usage();
	free(nodes);
	return rc;
}

/* ------------------------------------------------------------ the round trip --- */

/* Bind this process to a processor.  Real nodes never share one.  On one machine
 * ping and pong could, and then a round trip would take half as long. */
static void keep_to(int which)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all) || CPU_COUNT(&all) < 2)
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &all) && which-- == 0)
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static int udp_socket(struct sockaddr_in *a)
{
	struct timeval limit = { .tv_sec = 5 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	a->sin_family = AF_INET;
	a->sin_port = htons(PING_PORT);
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return fd;
}

/* Return every datagram; runs until a signal ends it. */
static int pong(void)
{
	struct sockaddr_in a = { 0 };
	int fd = udp_socket(&a);
	char buf[PING_BYTES];

	keep_to(0);
	if (fd < 0 || bind(fd, (struct sockaddr *) &a, sizeof(a)))
		return fail("cannot bind the UDP socket");
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		socklen_t len = sizeof(a);
		ssize_t n = recvfrom(fd, buf, sizeof(buf), 0,
				     (struct sockaddr *) &a, &len);

		if (n < 0 || sendto(fd, buf, (size_t) n, 0,
				    (struct sockaddr *) &a, len) != n)
			return fail("cannot receive or send a datagram");
	}
}

static bool round_trip(int fd)
{
	char buf[PING_BYTES] = { 0 };

	return send(fd, buf, sizeof(buf), 0) == sizeof(buf) &&
	       recv(fd, buf, sizeof(buf), 0) == sizeof(buf);
}

static int ping(uint32_t times, const char *to)
{
	struct timeval limit = { .tv_sec = 5 };
	struct sockaddr_in a = { 0 };
	int fd = udp_socket(&a);
	bool ok;

	keep_to(1);
	if (!times || inet_pton(AF_INET, to, &a.sin_addr) != 1)
		return usage();
	ok = fd >= 0 && !connect(fd, (struct sockaddr *) &a, sizeof(a)) &&
	     !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	for (int i = 0; ok && i < WARM_UP; i++)
		ok = round_trip(fd);
	for (uint32_t i = 0; ok && i < times; i++) {
		uint64_t start = storm_now();

		ok = round_trip(fd);
		took[i] = storm_now() - start;
	}
	close(fd);
	if (!ok)
		return fail("no reply within 5 s: is pong running?");
	print("trip", times);
	return 0;
}

int main(int argc, char **argv)
{
	const char *role;

	storm_settings_default(&set);
	set.port = NODE_PORT;
	while (argc > 1 && set_key(argv[1])) {
		argc--;
		argv++;
	}
	role = argc > 1 ? argv[1] : "";
	if (!strcmp(role, "node") && argc <= 3)
		return node(argc > 2 ? argv[2] : getenv("SLURMD_NODENAME"));
	if (!strcmp(role, "owner") && argc > 3)
		return owner(times_of(argv[2]), argc - 3, argv + 3);
	if (!strcmp(role, "pong") && argc == 2)
		return pong();
	if (!strcmp(role, "ping") && argc == 4)
		return ping(times_of(argv[2]), argv[3]);
	return usage();
}
