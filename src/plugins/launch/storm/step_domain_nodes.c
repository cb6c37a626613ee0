/*
 * step_domain_nodes.c - the nodes of a step's domain, and what is wrong with them.
 * srun does this without libstorm, too, and so nothing here calls what is above its
 * base.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "src/common/slurm_xlator.h"

#include "src/common/hostlist.h"
#include "src/common/macros.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "known_paths.h"
#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/auth_reason.h"
#include "src/libstorm/base/tree.h"
#include "src/libstorm/transport/udp/udp_neighbours.h"
#include "step_domain.h"

#define NAMES_MAX 100 /* characters of a list of nodes in a bar */

char *step_domain_take_names(struct step_domain *sd, const char *nodelist,
			     uint16_t port)
{
	struct hostlist *hl = hostlist_create(nodelist);
	char *name;
	int n;

	if (!hl)
		return xstrdup_printf("cannot parse node list \"%s\"",
				      nodelist);
	hostlist_uniq(hl);
	n = hostlist_count(hl);
	sd->names = xcalloc(n + 1, sizeof(*sd->names));
	sd->nodes = xcalloc(n + 1, sizeof(*sd->nodes));
	while ((name = hostlist_shift(hl))) {
		uint32_t i = sd->count++;

		sd->nodes[i].name = sd->names[i] = xstrdup(name);
		sd->nodes[i].addr.port = port;
		free(name);
	}
	hostlist_destroy(hl);
	return sd->count ? NULL : xstrdup("no nodes");
}

void step_domain_drop_names(struct step_domain *sd)
{
	for (uint32_t i = 0; i < sd->count; i++)
		xfree(sd->names[i]);
	xfree(sd->names);
	xfree(sd->nodes);
	xfree(sd->nodelist);
}

/* "storm port 10.0.0.13:8383" */
static void step_domain_addr_text(const struct storm_addr *a, char *buf,
				  size_t len)
{
	char ip[INET6_ADDRSTRLEN] = "?";

	if (storm_addr_is_v4(a)) {
		inet_ntop(AF_INET, a->ip + 12, ip, sizeof(ip));
		snprintf(buf, len, "storm port %s:%u", ip, a->port);
	} else {
		inet_ntop(AF_INET6, a->ip, ip, sizeof(ip));
		snprintf(buf, len, "storm port [%s]:%u", ip, a->port);
	}
}

uint32_t step_domain_find(const struct step_domain *sd, const char *name)
{
	uint32_t i;

	for (i = 0; i < sd->count; i++)
		if (!xstrcmp(sd->names[i], name))
			return i;
	return STORM_NO_NODE;
}

uint32_t step_domain_above(const struct step_domain *sd, uint32_t node)
{
	struct storm_tree tree;

	storm_tree_init(&tree, sd->count, sd->radix);
	return storm_tree_parent(&tree, node);
}

/* What is wrong with a path; strerror() would mislead. */
static const char *step_domain_path_text(int sys)
{
	switch (sys) {
	case EINVAL:
		return "it must be absolute and without \"..\"";
	case ELOOP:
		return "it is a symbolic link";
	case ENXIO:
		return "it is not a regular file";
	default:
		return strerror(sys);
	}
}

/* A path that does not carry what STORM sends (xfree); NULL: another fault.  Most
 * firewalls say nothing, so the line says where to look. */
static char *step_domain_path_cause(const struct step_domain *sd,
				    const struct storm_fault *f)
{
	uint32_t above = step_domain_above(sd, f->node);
	unsigned int port = sd->nodes[f->node].addr.port;
	char *host, *text, own[8] = "...", theirs[8] = "";

	/* each command has a port of its own */
	if (sd->own_port)
		snprintf(own, sizeof(own), "%u", sd->own_port);
	if (above != STORM_NO_NODE)
		snprintf(theirs, sizeof(theirs), "%u",
			 sd->nodes[above].addr.port);
	host = above == STORM_NO_NODE ?
		       xstrdup("this host") :
		       xstrdup_printf("node %s", sd->names[above]);
	switch (f->sys) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case EACCES:
		text = xstrdup_printf(
			"no connection from %s to TCP port %u: %s (is a firewall in between?)",
			host, port, strerror(f->sys));
		break;
	case ECOMM:
		text = xstrdup_printf(
			"no datagram comes from there to UDP port %s of %s (is a firewall in between?)",
			above == STORM_NO_NODE ? own : theirs, host);
		break;
	case ENOLINK:
		text = xstrdup_printf(
			"no datagram from %s comes to UDP port %u there (is a firewall in between?)",
			host, port);
		break;
	case EMSGSIZE:
		text = xstrdup_printf(
			"only short datagrams come to UDP port %u there (is a smaller MTU or a firewall in between?)",
			port);
		break;
	default:
		text = NULL;
	}
	xfree(host);
	return text;
}

/* What went wrong, without the node's name (xfree).  together: other nodes
 * have the same fault, so leave out this node's address. */
static char *step_domain_cause(const struct step_domain *sd,
			       const struct storm_fault *f, bool together)
{
	char at[INET6_ADDRSTRLEN + 24], auth[STORM_AUTH_TEXT], *text;

	if ((f->why == STORM_ELOST || f->why == STORM_ETOOBIG) &&
	    f->node < sd->count && (text = step_domain_path_cause(sd, f)))
		return text;
	if (f->why == STORM_ENOAGENT && f->node < sd->count) {
		step_domain_addr_text(&sd->nodes[f->node].addr, at, sizeof(at));
		if (together)
			snprintf(at, sizeof(at), "storm port %u",
				 sd->nodes[f->node].addr.port);
		if (f->sys == EPROTO)
			return xstrdup_printf(
				"the program that listens on %s is not a STORM agent",
				at);
		return xstrdup_printf("nothing listens on %s", at);
	}
	/* The protocol is the same; then what differs is Slurm's, in which the
	 * credential for the file is. */
	if (f->why == STORM_EVERSION && f->sys == storm_protocol_version())
		return xstrdup(
			"its Slurm is older than this host's, and cannot read the credential for the file; upgrade slurmd there first");
	if (f->why == STORM_EVERSION && f->sys)
		return xstrdup_printf(
			"its agent speaks protocol version %d, this host version %d; install the same STORM on both and restart slurmd there",
			f->sys, storm_protocol_version());
	if (f->why == STORM_EAUTH &&
	    storm_auth_text(f->sys, auth, sizeof(auth)))
		return xstrdup(auth);
	/* At OPEN.  An agent returns no reason to a sender that it cannot
	 * authenticate. */
	if (f->why == STORM_ELOST && f->sys == ECONNRESET)
		return xstrdup(
			"its agent closed the connection; slurmd's log there has the reason");
	if (f->why == STORM_ETIME && f->sys == ENODATA)
		return xstrdup(
			"its agent gives no answer: it is stopped, or hangs; run storm check there");
	/* The errno is the cause; "system error" adds nothing. */
	if (f->sys && f->why == STORM_ESYS)
		return xstrdup(strerror(f->sys));
	if (f->why == STORM_EPATH)
		return xstrdup_printf("%s: %s", storm_strerror(f->why),
				      step_domain_path_text(f->sys));
	if (f->why == STORM_EEXIST)
		return xstrdup("file exists (use --force to replace it)");
	if (f->sys && f->why != STORM_EACCES)
		return xstrdup_printf("%s: %s", storm_strerror(f->why),
				      strerror(f->sys));
	return xstrdup(storm_strerror(f->why));
}

/* Which node's address it is that others refuse; STORM_NO_NODE: no node's. */
static uint32_t step_domain_disbelieved(const struct step_domain *sd,
					const struct storm_fault *f)
{
	if (f->why != STORM_EACCES || f->sys < 1 ||
	    (uint32_t) f->sys > sd->count)
		return STORM_NO_NODE;
	return (uint32_t) f->sys - 1;
}

/* by: the nodes that refuse. */
static char *step_domain_disbelief(const struct step_domain *sd, uint32_t node,
				   const char *by)
{
	char at[INET6_ADDRSTRLEN + 24];

	step_domain_addr_text(&sd->nodes[node].addr, at, sizeof(at));
	if (sd->unsigned_addrs)
		return xstrdup_printf(
			"node %s: %s does not find it at %s, and slurmctld has not signed that for this command: run a step by srun --launch=storm on these nodes first, from which agents learn it",
			sd->names[node], by, at);
	return xstrdup_printf(
		"node %s: %s does not find it at %s: slurm.conf (NodeAddr, BcastAddr), storm.conf or the name service there differs from this host's",
		sd->names[node], by, at);
}

char *step_domain_fault(const struct step_domain *sd,
			const struct storm_fault *f)
{
	uint32_t of = step_domain_disbelieved(sd, f);
	char *what, *text;

	if (of != STORM_NO_NODE && f->node < sd->count)
		return step_domain_disbelief(sd, of, sd->names[f->node]);
	what = step_domain_cause(sd, f, false);

	if (f->node < sd->count)
		text = xstrdup_printf("node %s: %s", sd->names[f->node], what);
	else
		text = xstrdup_printf("this host: %s", what);
	xfree(what);
	return text;
}

static bool step_domain_same_fault(const struct step_domain *sd,
				   const struct storm_fault *a,
				   const struct storm_fault *b)
{
	return a->why == b->why && a->sys == b->sys && a->node < sd->count &&
	       b->node < sd->count &&
	       (a->why != STORM_ELOST || !a->sys ||
		step_domain_above(sd, a->node) ==
			step_domain_above(sd, b->node));
}

/* Is a node silent, and it may be this host that does not reach it? */
static bool step_domain_no_neighbours(const struct storm_outcome *out,
				      struct storm_neighbours *n)
{
	bool silent = false;

	for (uint32_t i = 0; i < out->faults_kept; i++)
		silent |= out->faults[i].why == STORM_ETIME ||
			  out->faults[i].why == STORM_ELOST;
	return silent && !storm_udp_neighbours(n) &&
	       storm_udp_neighbours_short(n);
}

char *step_domain_faults(const struct step_domain *sd,
			 const struct storm_outcome *out)
{
	struct storm_neighbours n;
	char *text = NULL;
	uint32_t i, j, of;

	for (i = 0; i < out->faults_kept; i++) {
		const struct storm_fault *f = &out->faults[i];
		char *one = NULL, *list, *what;
		struct hostlist *hl;

		/* It is in the text already, with an earlier one. */
		for (j = 0;
		     j < i && !step_domain_same_fault(sd, &out->faults[j], f);
		     j++)
			;
		if (j < i)
			continue;
		if (f->node >= sd->count) {
			one = step_domain_fault(sd, f);
		} else {
			hl = hostlist_create(NULL);
			for (j = i; j < out->faults_kept; j++)
				if (j == i || step_domain_same_fault(
						      sd, f, &out->faults[j]))
					hostlist_push_host(
						hl,
						sd->names[out->faults[j].node]);
			hostlist_sort(hl);
			list = hostlist_ranged_string_xmalloc(hl);
			of = step_domain_disbelieved(sd, f);
			what = step_domain_cause(sd, f, hostlist_count(hl) > 1);
			one = of != STORM_NO_NODE ?
				      step_domain_disbelief(sd, of, list) :
				      xstrdup_printf("%s %s: %s",
						     hostlist_count(hl) > 1 ?
							     "nodes" :
							     "node",
						     list, what);
			hostlist_destroy(hl);
			xfree(list);
			xfree(what);
		}
		xstrfmtcat(text, "%s%s", text ? "; " : "", one);
		xfree(one);
	}
	if (text && out->nfaults > out->faults_kept)
		xstrfmtcat(text, "; and %u more",
			   out->nfaults - out->faults_kept);
	if (step_domain_no_neighbours(out, &n))
		xstrfmtcat(
			text,
			"; this host's kernel has room for %u neighbours, and needed more: raise net.ipv4.neigh.default.gc_thresh3",
			n.most);
	return text;
}

char *step_domain_names(const struct step_domain *sd,
			const struct storm_idset *nodes)
{
	struct hostlist *hl = hostlist_create(NULL);
	char *text;

	for (uint32_t i = 0; i < nodes->count; i++)
		for (uint32_t n = nodes->r[i].first;
		     n <= nodes->r[i].last && n < sd->count; n++)
			hostlist_push_host(hl, sd->names[n]);
	hostlist_sort(hl);
	text = hostlist_ranged_string_xmalloc(hl);
	if (strlen(text) > NAMES_MAX) {
		xfree(text);
		text = xstrdup_printf("%d nodes", hostlist_count(hl));
	}
	hostlist_destroy(hl);
	return text;
}
