/*
 * step_failed.c - see step_failed.h.
 *
 * A connection is all that is asked for: slurmd answers no question of a user's.  A
 * host whose kernel lives and whose slurmd hangs accepts it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/common/slurm_xlator.h"

#include "src/common/hostlist.h"
#include "src/common/macros.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/clock.h"
#include "step_domain.h"
#include "step_failed.h"

#define ANSWER_WITHIN STORM_SEC
#define BEGUN_WITHIN (250 * STORM_MS) /* the first and the last question */
#define ASKED_AT_ONCE 512	      /* a process may have 1024 descriptors */

struct failed_asked {
	uint32_t node;
	bool agent; /* its agent is asked, not its slurmd */
	uint16_t port;
	int fd;	 /* -1: it is settled */
	int err; /* an errno; 0: it answers, or was not asked */
	uint64_t until;
};

/* Where it listens.  False: Slurm has no address for it. */
static bool step_failed_addr(const struct step_domain *sd,
			     const struct failed_asked *a, slurm_addr_t *addr)
{
	const struct storm_addr *known = &sd->nodes[a->node].addr;
	uint16_t port = a->agent ? known->port : slurm_conf.slurmd_port;
	struct sockaddr_in6 *v6 = (void *) addr;
	struct sockaddr_in *v4 = (void *) addr;

	if (!a->agent && !slurm_conf_get_addr(sd->names[a->node], addr, 0))
		return true;
	memset(addr, 0, sizeof(*addr));
	if (storm_addr_is_v4(known)) { /* a kernel may have no IPv6 */
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, known->ip + 12, sizeof(v4->sin_addr));
	} else {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		memcpy(&v6->sin6_addr, known->ip, sizeof(v6->sin6_addr));
	}
	return known->port;
}

static void step_failed_settle(struct failed_asked *a, int err)
{
	if (a->fd >= 0)
		close(a->fd);
	a->fd = -1;
	a->err = err;
}

static void step_failed_connect(const struct step_domain *sd,
				struct failed_asked *a)
{
	slurm_addr_t addr = { 0 };
	socklen_t len;

	a->fd = -1;
	a->until = storm_now() + ANSWER_WITHIN;
	if (!step_failed_addr(sd, a, &addr)) {
		a->err = EADDRNOTAVAIL;
		return;
	}
	/* family, then port: at the same place in both */
	a->port = ntohs(((struct sockaddr_in *) &addr)->sin_port);
	len = addr.ss_family == AF_INET ? sizeof(struct sockaddr_in) :
					  sizeof(struct sockaddr_in6);
	a->fd = socket(addr.ss_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (a->fd < 0)
		a->err = 0; /* this host's fault says nothing of the node */
	else if (!connect(a->fd, (struct sockaddr *) &addr, len))
		step_failed_settle(a, 0);
	else if (errno != EINPROGRESS)
		step_failed_settle(a, errno);
}

static void step_failed_look(struct failed_asked *a)
{
	socklen_t len = sizeof(int);
	int err = 0;

	if (getsockopt(a->fd, SOL_SOCKET, SO_ERROR, &err, &len))
		err = errno;
	step_failed_settle(a, err);
}

/* Wait for some of these n to be settled, which are in the order of their starts.  Returns
 * how many are left. */
static uint32_t step_failed_wait(struct failed_asked **open, uint32_t n)
{
	struct pollfd p[ASKED_AT_ONCE];
	uint64_t now = storm_now(), end = open[0]->until;
	uint32_t left = 0;

	for (uint32_t i = 0; i < n; i++)
		p[i] = (struct pollfd) { open[i]->fd, POLLOUT, 0 };
	poll(p, n, now < end ? (int) ((end - now) / STORM_MS) + 1 : 0);
	now = storm_now();
	for (uint32_t i = 0; i < n; i++) {
		if (p[i].revents)
			step_failed_look(open[i]);
		else if (now >= open[i]->until)
			step_failed_settle(open[i], ETIMEDOUT);
		if (open[i]->fd >= 0)
			open[left++] = open[i];
	}
	return left;
}

/* "node n3 (TCP port 6818: Connection refused)", of all with the same cause. */
static void step_failed_tell(char **text, const struct step_domain *sd,
			     const struct failed_asked *a, uint32_t n)
{
	struct hostlist *hl = hostlist_create(NULL);
	char *names;

	for (uint32_t i = 0; i < n; i++)
		if (a[i].err == a->err && a[i].port == a->port)
			hostlist_push_host(hl, sd->names[a[i].node]);
	hostlist_sort(hl);
	names = hostlist_ranged_string_xmalloc(hl);
	xstrfmtcat(*text, "%s%s %s (", *text ? ", " : "",
		   hostlist_count(hl) > 1 ? "nodes" : "node", names);
	if (a->err == EADDRNOTAVAIL)
		xstrcat(*text, "Slurm has no address for it)");
	else if (a->err == ETIMEDOUT)
		xstrfmtcat(*text, "TCP port %u: no answer within 1 s)",
			   a->port);
	else
		xstrfmtcat(*text, "TCP port %u: %s)", a->port,
			   strerror(a->err));
	hostlist_destroy(hl);
	xfree(names);
}

static char *step_failed_text(const struct step_domain *sd,
			      const struct failed_asked *a, uint32_t n)
{
	char *text = NULL;
	bool first;

	for (uint32_t i = 0; i < n; i++) {
		first = a[i].err;
		for (uint32_t j = 0; first && j < i; j++)
			first = a[j].err != a[i].err || a[j].port != a[i].port;
		if (first)
			step_failed_tell(&text, sd, &a[i], n - i);
	}
	return text;
}

/* Ask as many as are begun in time.  The others count as if they answer. */
static void step_failed_ask_these(const struct step_domain *sd,
				  struct failed_asked *a, uint32_t n)
{
	struct failed_asked *open[ASKED_AT_ONCE];
	uint64_t end = storm_now() + BEGUN_WITHIN;
	uint32_t begun = 0, count = 0;

	do {
		while (begun < n && count < ASKED_AT_ONCE &&
		       storm_now() < end) {
			step_failed_connect(sd, &a[begun]);
			if (a[begun].fd >= 0)
				open[count++] = &a[begun];
			begun++;
		}
		if (count)
			count = step_failed_wait(open, count);
	} while (count || (begun < n && storm_now() < end));
}

/* Add the nodes that have no fault, and whose agents do not answer, to these n.
 * Returns how many there are then. */
static uint32_t step_failed_add_others(const struct step_domain *sd,
				       struct failed_asked *a, uint32_t n)
{
	struct failed_asked *b = xcalloc(sd->count + 1, sizeof(*b));
	bool *known = xcalloc(sd->count + 1, sizeof(*known));
	uint32_t others = 0;

	for (uint32_t i = 0; i < n; i++)
		known[a[i].node] = true;
	for (uint32_t i = 0; i < sd->count; i++)
		if (!known[i])
			b[others++] = (struct failed_asked) { .node = i,
							      .agent = true };
	step_failed_ask_these(sd, b, others);
	for (uint32_t i = 0; i < others; i++)
		if (b[i].err)
			a[n++] = (struct failed_asked) { .node = b[i].node };
	xfree(known);
	xfree(b);
	return n;
}

/* Those that do not answer, or NULL. */
static struct hostlist *step_failed_bad(const struct step_domain *sd,
					const struct failed_asked *a,
					uint32_t n)
{
	struct hostlist *bad = NULL;

	for (uint32_t i = 0; i < n; i++) {
		if (!a[i].err)
			continue;
		if (!bad)
			bad = hostlist_create(NULL);
		hostlist_push_host(bad, sd->names[a[i].node]);
	}
	if (bad)
		hostlist_uniq(bad);
	return bad;
}

struct hostlist *step_failed_ask(const struct step_domain *sd,
				 const struct storm_outcome *out, bool all,
				 char **why)
{
	struct failed_asked *a =
		xcalloc(out->faults_kept + sd->count + 1, sizeof(*a));
	struct hostlist *bad;
	uint32_t n = 0, more;

	for (uint32_t i = 0; i < out->faults_kept; i++)
		if (out->faults[i].node < sd->count &&
		    (!n || a[n - 1].node != out->faults[i].node))
			a[n++].node = out->faults[i].node;
	step_failed_ask_these(sd, a, n);
	bad = step_failed_bad(sd, a, n);
	if (bad && all) {
		hostlist_destroy(bad);
		more = step_failed_add_others(sd, a, n);
		step_failed_ask_these(sd, &a[n], more - n);
		n = more;
		bad = step_failed_bad(sd, a, n);
	}
	if (bad) {
		xfree(*why);
		*why = step_failed_text(sd, a, n);
	}
	xfree(a);
	return bad;
}
