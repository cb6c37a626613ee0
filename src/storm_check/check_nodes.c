/*
 * check_nodes.c - storm_check_nodes, the part of storm check for which Slurm's
 * library is needed: is this node's address here, and what do the agents of other
 * nodes answer?
 *
 * An agent is asked as any launch asks it: by OPEN, in a domain that has no other
 * node.  So there is no message beside the protocol's, and nobody learns here what a
 * user may not.  A transfer that no agent heeds then shows whether packets of full
 * size arrive.  Last, all that are well are opened in one deep tree, in which agents
 * connect to each other.
 *
 * It prints lines for storm_check: WORD, tab, NODE, tab, TEXT; and "@interface",
 * tab, NAME: the one by which nodes reach this host.  "-" in the place of nodes: it
 * asks nobody.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/hostlist.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_defs.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "check_tell.h"
#include "check_verdict.h"
#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/auth_reason.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/tree.h"
#include "src/storm_common/node_addr.h"
#include "src/storm_common/node_place.h"
#include "src/storm_common/slurm_build.h"
#include "src/storm_common/storm_conf.h"

#define AT_ONCE 32	       /* agents that are asked */
#define ANSWER (3 * STORM_SEC) /* within which one answers OPEN */
#define ARRIVE (2 * STORM_SEC) /* within which an agent has all of a transfer */
#define ALIVE 1000	       /* ms */
#define CTLD_ANSWER 3	       /* s */
#define PACKETS 12	       /* of a transfer */
#define NO_EVENT 0x6b636863u   /* no agent knows it */
#define DEPTH_RADIX 2
#define TAG "storm:"

struct check_node {
	struct storm_node is;
	char *name;
	storm_domain_t *d;
	struct check_answer got;
	bool well;
};

static struct storm_conf conf;
static char *packets;
static unsigned int mtu;

/* ------------------------------------------------------------------- this host --- */

static bool nodes_addr_v4(const struct storm_addr *a, struct in_addr *out)
{
	memcpy(out, a->ip + 12, sizeof(*out));
	return storm_addr_is_v4(a);
}

/* The interface with this address; false: none. */
static bool nodes_interface_of(const struct in_addr *ip,
			       char (*name)[IF_NAMESIZE])
{
	struct ifaddrs *all = NULL;
	bool found = false;

	if (getifaddrs(&all))
		return false;
	for (const struct ifaddrs *i = all; i && !found; i = i->ifa_next) {
		const struct sockaddr_in *v4 = (const void *) i->ifa_addr;

		if (!v4 || v4->sin_family != AF_INET ||
		    v4->sin_addr.s_addr != ip->s_addr)
			continue;
		snprintf(*name, sizeof(*name), "%.*s",
			 (int) strcspn(i->ifa_name, ":"), i->ifa_name);
		found = true;
	}
	freeifaddrs(all);
	return found;
}

/* This host's name as a node (xfree); NULL: it is none. */
static char *nodes_own_name(void)
{
	char host[256], *dot, *name;

	if (gethostname(host, sizeof(host)))
		return NULL;
	name = slurm_conf_get_nodename(host);
	dot = strchr(host, '.');
	if (!name && dot) {
		*dot = '\0';
		name = slurm_conf_get_nodename(host);
	}
	return name;
}

/* Does slurm.conf itself have this address, for all hosts?  A name may have
 * another one here than elsewhere: Debian gives a host's own name 127.0.1.1. */
static bool nodes_is_literal(const char *name)
{
	char *text = slurm_conf_get_bcast_address(name);
	struct in_addr ip;
	bool is;

	if (!text)
		text = slurm_conf_get_address(name);
	is = text && inet_pton(AF_INET, text, &ip) == 1;
	xfree(text);
	return is;
}

/* slurmctld alone knows where a cloud node is. */
static bool nodes_is_cloud(const char *name)
{
	slurm_conf_node_t **line;
	int lines = slurm_conf_nodename_array(&line);
	bool is = false;

	for (int i = 0; i < lines && !is; i++) {
		struct hostlist *hl = hostlist_create(line[i]->nodenames);

		is = hl && hostlist_find(hl, name) >= 0 &&
		     xstrcasestr(line[i]->state, "CLOUD");
		if (hl)
			hostlist_destroy(hl);
	}
	return is;
}

/* Where others look for this node's agent, there it must be. */
static void nodes_check_address(const char *name)
{
	char text[INET_ADDRSTRLEN], on[IF_NAMESIZE];
	struct storm_node me = { .name = name };
	struct in_addr ip;

	if (node_addr_all(&me, 1, conf.set.port) != 1 ||
	    !nodes_addr_v4(&me.addr, &ip))
		return;
	inet_ntop(AF_INET, &ip, text, sizeof(text));
	if (storm_addr_is_loopback(&me.addr)) {
		if (nodes_is_literal(name))
			check_tell(
				CHECK_MISSING, "",
				"other hosts find node %s at %s, which is their own: set another NodeAddr in slurm.conf",
				name, text);
	} else if (!nodes_interface_of(&ip, &on) && !nodes_is_cloud(name)) {
		check_tell(
			CHECK_MISSING, "",
			"no interface has the address of node %s, %s: correct NodeAddr or BcastAddr in slurm.conf, or the name service",
			name, text);
	}
}

/* The interface is what the agent finds, or a command that sends to nodes. */
static void nodes_check_here(const char *name)
{
	char text[INET_ADDRSTRLEN], on[IF_NAMESIZE];
	struct storm_addr place;
	struct in_addr ip;

	if (name)
		nodes_check_address(name);
	if (!node_place_find(name, &place) || !nodes_addr_v4(&place, &ip) ||
	    !nodes_interface_of(&ip, &on))
		return;
	printf("@interface\t%s\n", on);
	inet_ntop(AF_INET, &ip, text, sizeof(text));
	if (name && *conf.set.interface && if_nametoindex(conf.set.interface) &&
	    strcmp(on, conf.set.interface))
		check_tell(
			CHECK_MISSING, "",
			"Interface=%s in storm.conf does not have the address of node %s, %s, which %s has: set Interface=%s, or correct NodeAddr",
			conf.set.interface, name, text, on, on);
}

/* --------------------------------------------------------------------- slurmctld --- */

static struct {
	node_info_msg_t *says;
	pthread_t thread;
	bool asked, heard;
} ctld;

static void *nodes_ask_ctld(void *arg)
{
	(void) arg;
	if (slurm_load_node(0, &ctld.says, SHOW_ALL))
		ctld.says = NULL;
	return NULL;
}

/* slurmctld may be down: nothing here waits for it for long.  NULL: it says nothing. */
static const node_info_msg_t *nodes_hear_ctld(void)
{
	struct timespec until;

	if (ctld.asked && !ctld.heard) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += CTLD_ANSWER;
		ctld.heard = !pthread_timedjoin_np(ctld.thread, NULL, &until);
		ctld.asked = ctld.heard;
	}
	return ctld.heard ? ctld.says : NULL;
}

/* Why the strober leaves a node out.  Whether it is lost its own answer shows. */
static void nodes_tell_out(const char *name, const char *extra)
{
	static const struct nodes_lack {
		const char *word, *what;
	} lacks[] = {
		{ "not-heard",
		  "slurmctld's host has not heard it yet: wait some seconds if the cluster or its agent has just started; else see storm-gang(7), and its agent's log" },
		{ "strobes-lost",
		  "no strobe of slurmctld's host comes there: let UDP at Port of storm.conf and its multicast groups pass to it (is a firewall in between?)" },
		{ "no-gang(descriptors)",
		  "its agent has no descriptor left: raise LimitNOFILE of slurmd's unit ('systemctl edit slurmd'), or 'sysctl -w fs.file-max=2097152'" },
		{ "no-gang(threads)",
		  "its agent may start no thread: raise TasksMax of slurmd's unit, pids.max, or 'sysctl -w kernel.threads-max=512000'" },
		{ "no-gang(memory)", "its memory is used up: free some" },
		{ "no-gang(disk)",
		  "the disk of /run/slurm-storm is full there: make room" },
		{ "no-gang(groups)",
		  "it lacks the control groups of Freezer in storm.conf: mount them, or correct Freezer" },
		{ "no-gang(slurmd)",
		  "its slurmd is stopped, or has ended: start it" },
		{ "no-gang(rights)",
		  "its agent may not write in /run/slurm-storm or its control groups: remount them rw there, or correct Freezer" },
	};
	const char *out = extra ? strstr(extra, TAG "out=") : NULL;
	const char *what = "see storm-gang(7), and its agent's log";
	char word[64];

	if (!out)
		return;
	out += strlen(TAG "out=");
	snprintf(word, sizeof(word), "%.*s", (int) strcspn(out, ", "), out);
	for (size_t i = 0; i < sizeof(lacks) / sizeof(*lacks); i++)
		if (!strcmp(word, lacks[i].word))
			what = lacks[i].what;
	check_tell(!strncmp(word, "no-gang", 7) ||
				   !strcmp(word, "strobes-lost") ?
			   CHECK_MISSING :
			   CHECK_NOTE,
		   name, "it takes no turns (%s): %s", word, what);
}

static void nodes_tell_ctld(const node_info_msg_t *says, const char *name)
{
	for (uint32_t i = 0; i < says->record_count; i++) {
		const node_info_t *n = &says->node_array[i];

		if (!n->name || strcmp(n->name, name))
			continue;
		if ((n->node_state & NODE_STATE_BASE) == NODE_STATE_DOWN ||
		    n->node_state & NODE_STATE_NO_RESPOND)
			check_tell(CHECK_NOTE, name,
				   "slurmctld has it as %s: %s",
				   node_state_string(n->node_state),
				   n->reason && *n->reason ? n->reason :
							     "no reason");
		nodes_tell_out(name, n->extra);
	}
}

static void nodes_tell_by_ctld(const struct check_node *nodes, uint32_t count)
{
	const node_info_msg_t *says = nodes_hear_ctld();

	for (uint32_t i = 0; says && i < count; i++)
		nodes_tell_ctld(says, nodes[i].name);
}

/* A cloud node that is not where slurm.conf has it.  Agents believe that only of what
 * slurmctld has signed for a step, so it cannot be asked. */
static bool nodes_is_elsewhere(const struct check_node *n, bool found)
{
	const node_info_msg_t *says =
		nodes_is_cloud(n->name) ? nodes_hear_ctld() : NULL;
	struct in_addr its, known = { 0 };

	for (uint32_t i = 0; says && i < says->record_count; i++) {
		const node_info_t *r = &says->node_array[i];

		if (!r->name || strcmp(r->name, n->name) || !r->node_addr ||
		    inet_pton(AF_INET, r->node_addr, &its) != 1)
			continue;
		if (found && nodes_addr_v4(&n->is.addr, &known) &&
		    known.s_addr == its.s_addr)
			return false;
		check_tell(
			CHECK_NOTE, n->name,
			"slurmctld alone knows that it is at %s, which agents believe for a step: it is not asked",
			r->node_addr);
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------- one agent --- */

static void nodes_quiet(enum storm_log_level level, const char *msg)
{
	if (level == STORM_LOG_ERROR)
		fprintf(stderr, "%s\n", msg);
}

static void nodes_open(struct check_node *n, bool multicast)
{
	struct storm_domain_conf dc = { .nodes = &n->is, .count = 1 };
	int err;

	dc.set = conf.set;
	dc.set.multicast = multicast;
	dc.set.open_timeout = storm_min(dc.set.open_timeout, ANSWER);
	dc.set.dead_timeout = storm_min(dc.set.dead_timeout, ANSWER);
	dc.set.op_timeout = storm_min(dc.set.op_timeout, ARRIVE);
	dc.set.heartbeat = storm_min(dc.set.heartbeat, dc.set.dead_timeout / 4);
	dc.agent_uid = slurm_conf.slurmd_user_id;
	dc.job_id = dc.step_id = dc.step_het = NO_VAL;
	n->d = storm_domain_create(&dc, &err);
	if (n->d)
		err = storm_domain_open(n->d);
	n->got.why = err;
}

/*
 * No answer came.  Is it TCP?  Does its agent run?  It resets at once what cannot be
 * an OPEN, and sends nothing; one that is stopped leaves that to the kernel, which
 * connects.
 */
static void nodes_ask_why(struct check_node *n)
{
	static const uint8_t no_open[4];
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(n->is.addr.port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(n->got.sys);

	if (fd < 0 || !nodes_addr_v4(&n->is.addr, &to.sin_addr))
		goto end;
	n->got.why = STORM_ELOST;
	n->got.sys = ETIMEDOUT;
	if (connect(fd, (struct sockaddr *) &to, sizeof(to)) &&
	    errno != EINPROGRESS) {
		n->got.sys = errno;
		goto end;
	}
	if (poll(&p, 1, ALIVE) != 1 ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &n->got.sys, &len) ||
	    n->got.sys)
		goto end;
	p.events = POLLIN;
	if (send(fd, no_open, sizeof(no_open), MSG_NOSIGNAL) > 0 &&
	    poll(&p, 1, ALIVE) == 1)
		n->got.sys = ECOMM;
	else
		n->got.why = STORM_ETIME;
end:
	if (fd >= 0)
		close(fd);
}

static void nodes_await_open(struct check_node *n)
{
	struct storm_outcome out = { 0 };

	if (n->got.why)
		return;
	n->got.why = storm_domain_wait_open(n->d, &out);
	if (out.faults_kept)
		n->got.sys = out.faults[0].sys;
	storm_outcome_clear(&out);
	if ((n->got.why == STORM_ETIME && n->got.sys != ENODATA) ||
	    (n->got.why == STORM_ELOST &&
	     (!n->got.sys || n->got.sys == ETIMEDOUT)))
		nodes_ask_why(n);
}

/* Did so many bytes arrive?  One packet's are short. */
static bool nodes_arrives(struct check_node *n, size_t bytes)
{
	const struct storm_target to = { .kind = STORM_TARGET_MEMORY,
					 .remote_event = NO_EVENT };
	struct storm_outcome out = { 0 };
	storm_event_t *e =
		storm_xfer_and_signal(n->d, NULL, &to, packets, bytes);
	bool done = e && storm_test_event(e, true, storm_now() + ARRIVE, &out);

	done &= out.state == STORM_DONE;
	if (done)
		storm_outcome_clear(&out);
	storm_event_destroy(e);
	return done;
}

static void nodes_close(struct check_node *n)
{
	storm_domain_destroy(n->d);
	n->d = NULL;
}

static void *nodes_try(void *arg)
{
	struct check_node *n = arg;
	struct storm_stats stats;
	char *text;

	nodes_open(n, false);
	nodes_await_open(n);
	if (n->got.why == STORM_ELOST && n->got.sys == ECONNRESET) {
		/* refused, or its agent was killed just now: it says that again */
		nodes_close(n);
		n->got.sys = 0;
		nodes_open(n, false);
		nodes_await_open(n);
	}
	if (!n->got.why) {
		n->got.small = nodes_arrives(n, 64);
		n->got.large = n->got.small && nodes_arrives(n, PACKETS * mtu);
	}
	nodes_close(n);
	text = check_verdict(&n->got, conf.set.port, mtu);
	n->well = !text;
	free(text);
	if (!n->well || !conf.set.multicast)
		return NULL;
	nodes_open(n, true);
	nodes_await_open(n);
	if (!n->got.why) {
		storm_domain_stats(n->d, &stats);
		n->got.group = stats.multicast;
		n->got.group_large = stats.multicast &&
				     nodes_arrives(n, PACKETS * mtu);
	}
	nodes_close(n);
	return NULL;
}

static void nodes_tell_one(const struct check_node *n)
{
	uint16_t port = conf.set.port;
	char *text = check_verdict(&n->got, port, mtu);
	char *group = text || !conf.set.multicast ?
			      NULL :
			      check_verdict_group(&n->got, port, mtu);

	if (text || group)
		check_tell(CHECK_MISSING, n->name, "%s", text ? text : group);
	if (!text)
		check_tell(
			CHECK_OK, n->name,
			"TCP port %u; UDP port %u and back%s, packets of %u bytes",
			port, port,
			conf.set.multicast && !group ? ", by the group too" :
						       "",
			mtu);
	free(text);
	free(group);
}

/* Side by side, as each may have to be waited for. */
static void nodes_try_all(struct check_node *nodes, uint32_t count)
{
	pthread_t thread[AT_ONCE];

	for (uint32_t at = 0; at < count; at += AT_ONCE) {
		uint32_t n = storm_min(count - at, AT_ONCE), started = 0;

		for (; started < n &&
		       !pthread_create(&thread[started], NULL, nodes_try,
				       &nodes[at + started]);)
			started++;
		for (uint32_t i = started; i < n; i++)
			nodes_try(&nodes[at + i]);
		while (started)
			pthread_join(thread[--started], NULL);
	}
	for (uint32_t i = 0; i < count; i++)
		nodes_tell_one(&nodes[i]);
}

/* ----------------------------------------------------------- this host's clock --- */

#define OTHERS 4  /* nodes that are asked, at most */
#define ANSWERS 2 /* enough of them */

/* The nodes next to this one in slurm.conf; how many. */
static uint32_t nodes_beside(const char *me, struct check_node (*out)[OTHERS])
{
	struct hostlist *all = hostlist_create(NULL);
	slurm_conf_node_t **line;
	int lines = slurm_conf_nodename_array(&line), at, count;
	uint32_t n = 0;

	for (int i = 0; i < lines; i++)
		hostlist_push(all, line[i]->nodenames);
	at = hostlist_find(all, me);
	count = hostlist_count(all);
	for (int i = 1; at >= 0 && i < count && n < OTHERS; i++) {
		struct check_node *o = &(*out)[n];
		char *name = hostlist_nth(all, (at + i) % count);

		*o = (struct check_node) { .name = xstrdup(name) };
		free(name);
		o->is.name = o->name;
		if (node_addr_all(&o->is, 1, conf.set.port) == 1)
			n++;
		else
			xfree(o->name);
	}
	hostlist_destroy(all);
	return n;
}

/* All that is made and read here may agree.  So others are asked, by what any step
 * sends; if one of them has no fault to find, nothing is wrong here. */
static void nodes_check_clock(const char *me)
{
	struct check_node other[OTHERS];
	uint32_t n = nodes_beside(me, &other);
	const char *name[OTHERS];
	size_t off = 0, fine = 0;
	char by[32], *names;
	bool behind = false;

	for (uint32_t i = 0; i < n && off + fine < ANSWERS; i++) {
		struct check_node *o = &other[i];

		nodes_open(o, false);
		nodes_await_open(o);
		nodes_close(o);
		fine += !o->got.why;
		if (o->got.why != STORM_EAUTH ||
		    !storm_auth_is_clock(o->got.sys))
			continue;
		behind = storm_auth_clock_off(o->got.sys, by, sizeof(by));
		name[off++] = o->name;
	}
	if (off && !fine && (names = check_names(name, off))) {
		check_tell(
			CHECK_MISSING, "",
			"this host's clock is %s %s that of %s, too much for MUNGE: run chrony or ntpd on all hosts",
			by, behind ? "ahead of" : "behind", names);
		free(names);
	}
	while (n)
		xfree(other[--n].name);
}

/* ------------------------------------------------------------- among the agents --- */

/* An OPEN of many goes from agent to agent. */
static void nodes_try_tree(const struct check_node *nodes, uint32_t count)
{
	struct storm_node *well = xcalloc(count + 1, sizeof(*well));
	struct storm_domain_conf dc = { .nodes = well };
	struct storm_outcome out = { 0 };
	struct storm_tree tree;
	storm_domain_t *d;
	int err;

	for (uint32_t i = 0; i < count; i++)
		if (nodes[i].well)
			well[dc.count++] = nodes[i].is;
	if (dc.count <= DEPTH_RADIX)
		goto end;
	dc.set = conf.set;
	dc.set.radix = DEPTH_RADIX;
	dc.set.open_timeout = storm_min(dc.set.open_timeout, ANSWER);
	dc.agent_uid = slurm_conf.slurmd_user_id;
	dc.job_id = dc.step_id = dc.step_het = NO_VAL;
	d = storm_domain_create(&dc, &err);
	if (!d || storm_domain_open(d) || !storm_domain_wait_open(d, &out)) {
		storm_domain_destroy(d);
		goto end;
	}
	storm_tree_init(&tree, dc.count, DEPTH_RADIX);
	for (uint32_t i = 0; i < out.faults_kept; i++) {
		uint32_t node = out.faults[i].node, up;

		if (node >= dc.count)
			continue;
		up = storm_tree_parent(&tree, node);
		check_tell(
			CHECK_MISSING, well[node].name,
			"this host reaches it, and node %s does not (%s): open TCP and UDP port %u between nodes in the firewalls",
			up < dc.count ? well[up].name : "?",
			out.faults[i].why == STORM_ELOST && out.faults[i].sys ?
				strerror(out.faults[i].sys) :
				storm_strerror(out.faults[i].why),
			conf.set.port);
	}
	storm_outcome_clear(&out);
	storm_domain_destroy(d);
end:
	xfree(well);
}

/* ----------------------------------------------------------------------- all --- */

static uint32_t nodes_list(const char *text, struct check_node **out)
{
	struct hostlist *hl = hostlist_create(text);
	struct check_node *nodes;
	uint32_t n = 0;
	char *name;

	if (!hl || !hostlist_count(hl)) {
		check_tell(CHECK_MISSING, "",
			   "%s is no list of nodes: correct it", text);
		*out = NULL;
		return 0;
	}
	hostlist_uniq(hl);
	nodes = xcalloc(hostlist_count(hl), sizeof(*nodes));
	while ((name = hostlist_shift(hl))) {
		struct check_node *i = &nodes[n];
		bool found;

		i->is.name = i->name = name;
		i->is.addr.port = 0;
		found = node_addr_all(&i->is, 1, conf.set.port) == 1;
		if (nodes_is_elsewhere(i, found))
			continue;
		if (found)
			n++;
		else
			check_tell(
				CHECK_MISSING, name,
				"Slurm has no address for it: correct the name, or slurm.conf");
	}
	hostlist_destroy(hl);
	*out = nodes;
	return n;
}

/* The size of the packets that a launch sends. */
static unsigned int nodes_mtu(const struct check_node *nodes, uint32_t count)
{
	unsigned int size = 1500;
	char name[IF_NAMESIZE];
	struct ifreq r = { 0 };
	struct storm_domain_conf dc = { .nodes = &nodes->is, .count = 1 };
	struct storm_addr self;
	struct in_addr ip;
	storm_domain_t *d;
	int err, fd;

	if (!count)
		return size;
	dc.set = conf.set;
	d = storm_domain_create(&dc, &err);
	if (!d)
		return size;
	storm_domain_self(d, &self);
	storm_domain_destroy(d);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (nodes_addr_v4(&self, &ip) && nodes_interface_of(&ip, &name)) {
		memcpy(r.ifr_name, name, sizeof(r.ifr_name));
		if (fd >= 0 && !ioctl(fd, SIOCGIFMTU, &r))
			size = (unsigned int) r.ifr_mtu;
	}
	if (fd >= 0)
		close(fd);
	if (conf.set.mtu)
		size = storm_min(size, conf.set.mtu);
	return storm_min(size, 9000u);
}

static void nodes_check(const char *text)
{
	struct check_node *nodes;
	uint32_t count;

	ctld.asked = !pthread_create(&ctld.thread, NULL, nodes_ask_ctld, NULL);
	count = nodes_list(text, &nodes);
	if (!count)
		return;
	mtu = nodes_mtu(nodes, count);
	packets = xmalloc(PACKETS * mtu);
	nodes_try_all(nodes, count);
	nodes_try_tree(nodes, count);
	nodes_tell_by_ctld(nodes, count);
}

int main(int argc, char **argv)
{
	char *why = NULL, *me;
	int rc;

	if (slurm_build_refusal()) /* storm_check has told it */
		return 0;
	slurm_init(NULL);
	storm_log_set(nodes_quiet);
	storm_conf_default(&conf);
	rc = argc > 2 ? storm_conf_load_file(argv[2], &conf, &why) :
			storm_conf_load(&conf, &why);
	if (rc) /* storm_check has told what is wrong: these are defaults */
		xfree(why);
	me = nodes_own_name();
	nodes_check_here(me);
	if (argc > 1 && *argv[1] && strcmp(argv[1], "-"))
		nodes_check(argv[1]);
	else if (me && argc > 1 && !*argv[1])
		nodes_check_clock(me);
	xfree(me);
	check_tell_raw(stdout, "");
	fflush(stdout);
	_exit(0); /* a thread may still wait for slurmctld */
}
