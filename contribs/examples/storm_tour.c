/*
 * storm_tour.c - all primitives of libstorm in one small program.
 *
 *	cc storm_tour.c -o storm_tour $(pkg-config --cflags --libs libstorm)
 *	./storm_tour
 *
 * If STORM is in a folder of its own, such as P=/opt/slurm-storm, say so to both:
 *
 *	export PKG_CONFIG_PATH=$P/lib/pkgconfig
 *	cc storm_tour.c -o storm_tour $(pkg-config --cflags --libs libstorm) -Wl,-rpath,$P/lib
 *
 * A domain has an owner and nodes.  On a cluster the owner is a process on the
 * head node, for example, and each node runs a process of its own.  Here this
 * process plays both sides: each node has its own port on the loopback interface.
 * munged must run: owner and nodes authenticate each other by MUNGE credentials.
 *
 * Read main() first, then the functions that it calls, from top to bottom.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <storm.h>

#define NODES 4
#define PORT 18383

/* Owner and nodes must agree on these.  A segment is memory that every node
 * registers under the same number.  An event is a number that a transfer signals. */
enum { GREETING_SEGMENT, WORK_SEGMENT };
enum { GREETING_EVENT = 1, WORK_EVENT, FILE_EVENT };
#define GREETED STORM_VAR_USER /* an own variable of each node */
#define PHASE STORM_GLOBAL(0)  /* a global variable: the owner writes it */

/* A remote queue: slots in a segment.  Both sides use the same parameters. */
static const struct storm_queue_conf work_queue = {
	.segment = WORK_SEGMENT,
	.slots = 3,
	.slot_size = 32,
	.event = WORK_EVENT,
	.dequeued = STORM_VAR_USER + 1,
};

static char dir[] = "/tmp/storm_tour.XXXXXX";

/* The deadline of every wait: 20 s from now.  Deadlines are absolute. */
static uint64_t soon(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t) (ts.tv_sec + 20) * 1000000000 + (uint64_t) ts.tv_nsec;
}

static void need(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "storm_tour: %s failed\n", what);
	exit(1);
}

/* ------------------------------------------------------------ a node's side --- */

struct node {
	char name[16], root[64], file[96];
	struct storm_settings set;
	storm_node_t *storm;
	pthread_t thread;
	char greeting[64]; /* GREETING_SEGMENT */
	char work[1024];   /* WORK_SEGMENT */
};

/* Take part in one domain until the owner closes it. */
static void serve(struct node *n, storm_member_t *m)
{
	struct storm_member_info info;
	char item[32];
	uint64_t phase;
	size_t len;

	storm_member_info(m, &info);

	/* TEST-EVENT: a transfer signals its event after its data are in place */
	need(!storm_member_test_event(m, GREETING_EVENT, true, soon()),
	     "waiting for the greeting");
	printf("%s: node %u of %u received \"%s\"\n", n->name, info.node,
	       info.count, n->greeting);
	/* an own variable: only this node writes it, and it never decreases */
	storm_member_own_set(m, GREETED, 1);

	/* DEQUEUE until the last item */
	do {
		need(!storm_dequeue(m, &work_queue, n->work, true, soon(), item,
				    &len),
		     "DEQUEUE");
		printf("%s: work: %.*s\n", n->name, (int) len, item);
	} while (strncmp(item, "the end", len));

	/* a global variable: read this node's copy */
	storm_member_variable(m, PHASE, &phase);

	need(!storm_member_test_event(m, FILE_EVENT, true, soon()),
	     "waiting for the file");
	need(!access(n->file, X_OK), "finding the file");
	printf("%s: in phase %llu, with the file\n", n->name,
	       (unsigned long long) phase);

	/* this node's work is done */
	need(!storm_announce_termination(m, 1), "ANNOUNCE-TERMINATION");

	/* no transfer signals this event: wait until the owner closes */
	need(storm_member_test_event(m, STORM_EVENTS - 1, true, 0) ==
		     STORM_ECLOSED,
	     "waiting for the end");
}

static void *node_main(void *arg)
{
	struct node *n = arg;
	storm_member_t *m = storm_node_accept(n->storm, true, soon());

	need(m != NULL, "waiting for a domain");
	serve(n, m);
	storm_member_release(m);
	return NULL;
}

/* A gather asks what this node has, and equal answers become one. */
static void answer(void *arg, storm_member_t *m, const void *query, size_t len,
		   storm_gather_t *g)
{
	struct node *n = arg;
	struct storm_member_info info;

	storm_member_info(m, &info);
	if (len != 8 || memcmp(query, "greeting", 8))
		return;
	storm_gather_value(g, "greeting", 8, n->greeting, strlen(n->greeting));
	storm_gather_count(g, "numbers", 7, info.node);
}

static void node_start(struct node *n, int i)
{
	struct storm_node_conf conf = { 0 };
	int err;

	snprintf(n->name, sizeof(n->name), "node%d", i);
	snprintf(n->root, sizeof(n->root), "%.40s/node%d", dir, i);
	snprintf(n->file, sizeof(n->file), "%s/program", n->root);
	need(!mkdir(n->root, 0700), "mkdir");
	conf.name = n->name;
	conf.set = n->set;
	conf.set.port = (uint16_t) (PORT + i);
	conf.owner_uid = getuid(); /* accept only this user's domains */
	conf.on_gather = answer;
	conf.arg = n;
	conf.root = n->root; /* accept files only below this directory */
	n->storm = storm_node_create(&conf, &err);
	need(n->storm != NULL, storm_strerror(err));
	storm_node_segment(n->storm, GREETING_SEGMENT, n->greeting,
			   sizeof(n->greeting));
	need(storm_queue_bytes(&work_queue) <= sizeof(n->work),
	     "fitting the queue into its segment");
	storm_node_segment(n->storm, WORK_SEGMENT, n->work, sizeof(n->work));
	need(!pthread_create(&n->thread, NULL, node_main, n),
	     "creating a thread");
}

/* ---------------------------------------------------------- the owner's side --- */

/* Wait for the end of a transfer, and report the nodes at fault if it fails. */
static void finish(storm_event_t *e, const char *what)
{
	struct storm_outcome out;

	need(e != NULL, what);
	need(storm_test_event(e, true, soon(), &out), what);
	for (uint32_t i = 0; i < out.faults_kept; i++)
		fprintf(stderr, "storm_tour: node %u: %s\n", out.faults[i].node,
			storm_strerror(out.faults[i].why));
	need(out.state == STORM_DONE, what);
	storm_outcome_clear(&out);
	storm_event_destroy(e);
}

/* XFER-AND-SIGNAL: write to the same place on all nodes, or on none. */
static void greet(storm_domain_t *d)
{
	static const char words[] = "hello from the owner";
	struct storm_target to = {
		.kind = STORM_TARGET_SEGMENT,
		.segment = GREETING_SEGMENT,
		.remote_event = GREETING_EVENT,
	};

	finish(storm_xfer_and_signal(d, NULL, &to, words, sizeof(words)),
	       "XFER-AND-SIGNAL");
}

/* COMPARE-AND-WRITE: if all nodes have been greeted, and only then, set the phase
 * to 2 on all of them. */
static void next_phase(storm_domain_t *d)
{
	struct storm_assign write = { .var = PHASE, .value = 2 };
	enum storm_compare c;

	while ((c = storm_compare_and_write(d, NULL, GREETED, STORM_GE, 1,
					    &write, NULL)) == STORM_FALSE)
		usleep(1000);
	need(c == STORM_TRUE, "COMPARE-AND-WRITE");
	puts("owner: all nodes have been greeted, and are in phase 2");
}

/* What do the nodes have?  However many they are, the answer is as long as there
 * are different values. */
static void ask(storm_domain_t *d)
{
	storm_event_t *e = storm_gather(d, NULL, "greeting", 8, soon());
	struct storm_gathered t;

	need(e && storm_test_event(e, true, 0, NULL), "gather");
	need(!storm_event_gathered(e, &t), "the gathered table");
	for (uint32_t i = 0; i < t.count; i++)
		if (t.entry[i].kind == STORM_GATHER_VALUE)
			printf("owner: %u nodes have \"%.*s\"\n",
			       (unsigned int) storm_idset_size(
				       &t.entry[i].nodes),
			       t.entry[i].value_len,
			       (const char *) t.entry[i].value);
		else
			printf("owner: their numbers add up to %u\n",
			       (unsigned int) t.entry[i].sum);
	storm_gathered_clear(&t);
	storm_event_destroy(e);
}

/* ENQUEUE waits while a node has no free slot. */
static void give_work(storm_domain_t *d)
{
	static const char *const items[] = {
		"fetch water", "chop wood", "make fire", "cook", "the end",
	};
	storm_queue_t *q = storm_queue_create(d, NULL, &work_queue);
	storm_event_t *last = NULL;

	need(q != NULL, "creating the queue");
	for (size_t i = 0; i < sizeof(items) / sizeof(*items); i++)
		need(!storm_enqueue(q, items[i], strlen(items[i]), soon(),
				    &last),
		     "ENQUEUE");
	need(storm_test_event(last, true, soon(), NULL), "the last ENQUEUE");
	storm_queue_destroy(q);
}

/* TRANSFER-FILE: send this program to all nodes but the first, then to the first.
 * Every operation has a node set. */
static void send_file(storm_domain_t *d)
{
	struct storm_target to = {
		.kind = STORM_TARGET_FILE,
		.path = "/program",
		.mode = 0700,
		.remote_event = FILE_EVENT,
	};
	struct storm_idset first = { 0 }, others = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	need(fd >= 0, "opening this program");
	need(!storm_idset_add(&first, 0, 0), "making a node set");
	need(!storm_idset_add(&others, 1, NODES - 1), "making a node set");
	finish(storm_transfer_file(d, &others, fd, &to), "TRANSFER-FILE");
	finish(storm_transfer_file(d, &first, fd, &to), "TRANSFER-FILE");
	storm_idset_clear(&first);
	storm_idset_clear(&others);
	close(fd);
}

static void own(struct node *nodes)
{
	struct storm_domain_conf conf = { 0 };
	struct storm_node list[NODES];
	storm_domain_t *d;
	int err;

	for (int i = 0; i < NODES; i++) {
		list[i].name = nodes[i].name;
		storm_addr_set(&list[i].addr, "127.0.0.1",
			       (uint16_t) (PORT + i));
	}
	conf.nodes = list;
	conf.count = NODES;
	conf.set = nodes[0].set;
	conf.agent_uid = getuid(); /* the user that the nodes run as */
	d = storm_domain_create(&conf, &err);
	need(d != NULL, storm_strerror(err));
	need(!storm_domain_open(d), "opening the domain");
	need(!storm_domain_wait_open(d, NULL),
	     "opening the domain (is munged running?)");
	greet(d);
	next_phase(d);
	ask(d);
	give_work(d);
	send_file(d);
	need(!storm_detect_termination(d, NULL, 1, soon(), NULL),
	     "DETECT-TERMINATION");
	puts("owner: all nodes are done");
	storm_domain_destroy(d); /* closes the domain on the nodes, too */
}

int main(void)
{
	static struct node nodes[NODES];
	struct storm_settings set;

	storm_settings_default(&set);
	strcpy(set.interface, "lo");
	set.multicast = false; /* a group has one port for all nodes */
	need(mkdtemp(dir) != NULL, "mkdtemp");
	for (int i = 0; i < NODES; i++) {
		nodes[i].set = set;
		node_start(&nodes[i], i);
	}
	own(nodes);
	for (int i = 0; i < NODES; i++) {
		pthread_join(nodes[i].thread, NULL);
		storm_node_destroy(nodes[i].storm);
		unlink(nodes[i].file);
		rmdir(nodes[i].root);
	}
	rmdir(dir);
	puts("owner: done");
	return 0;
}
