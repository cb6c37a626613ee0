/*
 * step_domain.c - a libstorm domain over nodes that Slurm names.  It takes
 * Slurm's node list and addresses, and returns errors that name nodes.  The
 * owner of a step's domain is the command (doc/protocol.md, "Domains").
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
#include "src/common/log.h"
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "src/libstorm/base/tree.h"
#include "src/libstorm/transport/udp/udp_neighbours.h"
#include "src/storm_common/node_addr.h"
#include "src/storm_common/step_protocol.h"
#include "known_paths.h"
#include "step_domain.h"

#define NAMES_MAX 100 /* characters of a list of nodes in a bar */

/* The errors that this thread's call into libstorm logs.  The last one is the
 * cause that the caller reports; the others are at -v. */
static __thread struct {
	bool on;
	char *last;
} kept;

static void step_domain_keep_errors(void)
{
	xfree(kept.last);
	kept.on = true;
}

/* The last error since step_domain_keep_errors() (xfree), or NULL. */
static char *step_domain_kept_error(void)
{
	char *last = kept.last;

	kept.on = false;
	kept.last = NULL;
	return last;
}

static void step_domain_log_line(enum storm_log_level level, const char *msg)
{
	switch (level) {
	case STORM_LOG_ERROR:
		if (!kept.on) {
			error("storm: %s", msg);
			break;
		}
		if (kept.last)
			verbose("storm: %s", kept.last);
		xfree(kept.last);
		kept.last = xstrdup(msg);
		break;
	case STORM_LOG_WARN:
		info("warning: storm: %s", msg);
		break;
	case STORM_LOG_INFO:
		verbose("storm: %s", msg);
		break;
	default:
		debug2("storm: %s", msg);
	}
}

void step_domain_log(void)
{
	storm_log_set(step_domain_log_line);
}

/* "storm port 10.0.0.13:8383" */
static void step_domain_addr_text(const struct storm_addr *a, char *buf,
				  size_t len)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	char ip[INET6_ADDRSTRLEN] = "?";

	if (!memcmp(a->ip, mapped, sizeof(mapped))) {
		inet_ntop(AF_INET, a->ip + 12, ip, sizeof(ip));
		snprintf(buf, len, "storm port %s:%u", ip, a->port);
	} else {
		inet_ntop(AF_INET6, a->ip, ip, sizeof(ip));
		snprintf(buf, len, "storm port [%s]:%u", ip, a->port);
	}
}

/* Fill in names and addresses.  NULL, or the reason (xfree). */
static char *step_domain_take_nodes(struct step_domain *sd,
				    const char *nodelist, uint16_t port,
				    const struct step_addrs *addrs)
{
	struct hostlist *hl = hostlist_create(nodelist);
	uint32_t failed;
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
		free(name);
	}
	hostlist_destroy(hl);
	if (!sd->count)
		return xstrdup("no nodes");
	step_addrs_fill(addrs, sd->nodes, sd->count, port);
	failed = node_addr_all(sd->nodes, sd->count, port);
	return failed == sd->count ?
		       NULL :
		       xstrdup_printf("node %s: Slurm has no address for it",
				      sd->names[failed]);
}

/* NULL: nothing is to be proved.  step_protocol.h has the layout. */
static buf_t *step_domain_pack_authority(sbcast_cred_t *cred,
					 const struct step_addrs *addrs)
{
	buf_t *buf, *one;

	if (!cred && !addrs->proof)
		return NULL;
	buf = init_buf(1024);
	one = init_buf(1024);
	if (cred)
		pack_sbcast_cred(cred, one, SLURM_PROTOCOL_VERSION);
	if (addrs->proof) {
		pack16(SLURM_PROTOCOL_VERSION | STEP_AUTHORITY_ADDRS, buf);
		pack32(get_buf_offset(one), buf);
	} else {
		pack16(SLURM_PROTOCOL_VERSION, buf);
	}
	packmem_array(get_buf_data(one), get_buf_offset(one), buf);
	packmem_array(addrs->proof, addrs->proof_len, buf);
	free_buf(one);
	return buf;
}

/* The other end of a path, as a file keeps it. */
static const char *step_domain_from(const struct step_domain *sd,
				    const struct storm_fault *f)
{
	uint32_t above = step_domain_above(sd, f->node);

	return f->why == STORM_ETOOBIG || above == STORM_NO_NODE ?
		       "-" :
		       sd->names[above];
}

/* Is it of the path, and not of what is at its end? */
static bool step_domain_is_path(const struct storm_fault *f)
{
	switch (f->sys) {
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ECOMM:
	case ENOLINK:
		return f->why == STORM_ELOST;
	case EMSGSIZE:
		return f->why == STORM_ETOOBIG;
	}
	return false;
}

void step_domain_keep(const struct step_domain *sd,
		      const struct storm_outcome *out)
{
	struct known_path *known =
		xcalloc(out->faults_kept + 1, sizeof(*known));
	uint32_t n = 0;

	for (uint32_t i = 0; i < out->faults_kept; i++) {
		const struct storm_fault *f = &out->faults[i];
		struct known_path *k = &known[n];

		if (f->node >= sd->count || !step_domain_is_path(f))
			continue;
		k->since = (long) time(NULL);
		k->why = (int) f->why;
		k->sys = f->sys;
		k->port = sd->nodes[f->node].addr.port;
		snprintf(k->node, sizeof(k->node), "%s", sd->names[f->node]);
		snprintf(k->from, sizeof(k->from), "%s",
			 step_domain_from(sd, f));
		n++;
	}
	known_paths_add(known, n);
	xfree(known);
}

/* Is it of a node of the domain, and of the way by which that is reached here? */
static bool step_domain_applies(const struct step_domain *sd,
				const struct known_path *k,
				struct storm_fault *f)
{
	*f = (struct storm_fault) { step_domain_find(sd, k->node),
				    (enum storm_err) k->why, k->sys };
	return f->node != STORM_NO_NODE && step_domain_is_path(f) &&
	       k->port == sd->nodes[f->node].addr.port &&
	       !xstrcmp(k->from, step_domain_from(sd, f));
}

/* A path that did not work some minutes ago is not tried again here: Slurm serves
 * the command, and it is tried beside that.  NULL: none is known. */
static char *step_domain_known(const struct step_domain *sd,
			       const struct step_domain_conf *sdc)
{
	struct storm_domain_conf dc = {
		.nodes = sd->nodes,
		.count = sd->count,
		.set = sdc->set,
		.agent_uid = slurm_conf.slurmd_user_id,
		.job_id = sdc->step_id.job_id,
		.step_id = sdc->step_id.step_id,
		.step_het = sdc->step_id.step_het_comp,
	};
	struct storm_outcome out = { 0 };
	struct known_path *known;
	uint32_t n = known_paths_load(&known);
	char *why = NULL;
	long ago = 0;

	if (n)
		out.faults = xcalloc(n, sizeof(*out.faults));
	for (uint32_t i = 0; i < n; i++) {
		if (!step_domain_applies(sd, &known[i],
					 &out.faults[out.faults_kept]))
			continue;
		out.faults_kept++;
		ago = MAX(ago, (long) time(NULL) - known[i].since);
	}
	out.nfaults = out.faults_kept;
	if ((why = step_domain_faults(sd, &out))) {
		xstrfmtcat(why, ", %ld s ago", ago);
		known_paths_check(&dc, sd->nodelist);
	}
	xfree(out.faults);
	xfree(known);
	return why;
}

struct step_domain *step_domain_create(const char *nodelist,
				       const struct step_domain_conf *sdc,
				       char **why)
{
	struct step_domain *sd = xmalloc(sizeof(*sd));
	const struct step_addrs *addrs = sdc->addrs;
	struct storm_domain_conf dc = { 0 };
	struct step_addrs asked = { 0 };
	buf_t *authority;
	char *cause;
	int err = 0;

	if (!addrs) {
		step_addrs_of_nodes(&asked, nodelist);
		addrs = &asked;
	}
	sd->nodelist = xstrdup(nodelist);
	*why = step_domain_take_nodes(sd, nodelist, sdc->set.port, addrs);
	if (*why)
		goto free_sd;
	sd->radix = sdc->set.radix;
	if ((*why = step_domain_known(sd, sdc)))
		goto free_sd;
	dc.nodes = sd->nodes;
	dc.count = sd->count;
	dc.set = sdc->set;
	dc.agent_uid = slurm_conf.slurmd_user_id;
	dc.job_id = sdc->step_id.job_id;
	dc.step_id = sdc->step_id.step_id;
	dc.step_het = sdc->step_id.step_het_comp;
	dc.last_report = STEP_REPORT_EXITED;
	dc.on_report = sdc->on_report;
	dc.on_fault = sdc->on_fault;
	dc.arg = sdc->arg;
	authority = step_domain_pack_authority(sdc->sbcast_cred, addrs);
	if (authority) {
		dc.authority = get_buf_data(authority);
		dc.authority_len = get_buf_offset(authority);
	}
	step_domain_keep_errors();
	sd->d = storm_domain_create(&dc, &err);
	cause = step_domain_kept_error();
	if (authority)
		free_buf(authority);
	if (sd->d) {
		if (cause)
			error("storm: %s", cause);
		xfree(cause);
		step_addrs_clear(&asked);
		return sd;
	}
	*why = cause ? cause :
		       xstrdup_printf("cannot create the domain: %s",
				      storm_strerror(err));
free_sd:
	step_addrs_clear(&asked);
	step_domain_destroy(sd);
	return NULL;
}

/* OPEN was not even sent: only MUNGE refuses it with STORM_EAUTH. */
static char *step_domain_no_open(int err, const char *cause)
{
	if (err == STORM_EAUTH)
		return xstrdup_printf(
			"cannot open the domain: is munged running?%s%s%s",
			cause ? " (" : "", cause ? cause : "",
			cause ? ")" : "");
	return xstrdup_printf("cannot open the domain: %s",
			      cause ? cause : storm_strerror(err));
}

char *step_domain_begin(struct step_domain *sd)
{
	char *why = NULL, *cause;
	int err;

	step_domain_keep_errors();
	err = storm_domain_open(sd->d);
	cause = step_domain_kept_error();
	if (err)
		why = step_domain_no_open(err, cause);
	xfree(cause);
	sd->opening = !err;
	return why;
}

char *step_domain_await(struct step_domain *sd)
{
	struct storm_outcome out = { 0 };
	char *why = NULL;
	int err;

	if (!sd->opening)
		return NULL;
	sd->opening = false;
	if ((err = storm_domain_wait_open(sd->d, &out))) {
		step_domain_keep(sd, &out);
		why = step_domain_faults(sd, &out);
		if (!why)
			why = step_domain_no_open(err, NULL);
	}
	storm_outcome_clear(&out);
	return why;
}

char *step_domain_open(struct step_domain *sd)
{
	char *why = step_domain_begin(sd);

	return why ? why : step_domain_await(sd);
}

void step_domain_destroy(struct step_domain *sd)
{
	uint32_t i;

	if (!sd)
		return;
	storm_domain_destroy(sd->d);
	for (i = 0; i < sd->count; i++)
		xfree(sd->names[i]);
	xfree(sd->names);
	xfree(sd->nodes);
	xfree(sd->nodelist);
	xfree(sd);
}

bool step_domain_covers(const struct step_domain *sd, const char *nodelist)
{
	struct hostlist *hl;
	uint32_t i, found = 0;
	bool same;

	if (!xstrcmp(nodelist, sd->nodelist))
		return true;
	if (!(hl = hostlist_create(nodelist)))
		return false;
	hostlist_uniq(hl);
	same = (uint32_t) hostlist_count(hl) == sd->count;
	for (i = 0; same && i < sd->count; i++)
		found += hostlist_find(hl, sd->names[i]) >= 0;
	hostlist_destroy(hl);
	return same && found == sd->count;
}

uint32_t step_domain_find(const struct step_domain *sd, const char *name)
{
	uint32_t i;

	for (i = 0; i < sd->count; i++)
		if (!xstrcmp(sd->names[i], name))
			return i;
	return STORM_NO_NODE;
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

uint32_t step_domain_above(const struct step_domain *sd, uint32_t node)
{
	struct storm_tree tree;

	storm_tree_init(&tree, sd->count, sd->radix);
	return storm_tree_parent(&tree, node);
}

/* A path that does not carry what STORM sends (xfree); NULL: another fault.  Most
 * firewalls say nothing, so the line says where to look. */
static char *step_domain_path_cause(const struct step_domain *sd,
				    const struct storm_fault *f)
{
	uint32_t above = step_domain_above(sd, f->node);
	unsigned int port = sd->nodes[f->node].addr.port;
	struct storm_addr self = { 0 };
	char *host, *text, own[8] = "...", theirs[8] = "";

	if (sd->d)
		storm_domain_self(sd->d, &self);
	/* each command has a port of its own */
	if (self.port)
		snprintf(own, sizeof(own), "%u", self.port);
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
	char at[INET6_ADDRSTRLEN + 24], *text;

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
	/* At OPEN.  An agent returns no reason to a sender that it cannot
	 * authenticate. */
	if (f->why == STORM_ELOST && f->sys == ECONNRESET)
		return xstrdup(
			"its agent closed the connection; slurmd's log there has the reason");
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

char *step_domain_all_failed(const struct step_domain *sd,
			     const struct storm_outcome *out,
			     enum storm_err why)
{
	struct hostlist *hl = hostlist_create(NULL);
	char *list = NULL;
	uint32_t i;

	for (i = 0; i < out->faults_kept; i++) {
		const struct storm_fault *f = &out->faults[i];

		if (f->why != why || f->node >= sd->count)
			break;
		hostlist_push_host(hl, sd->names[f->node]);
	}
	if (i && i == out->nfaults) {
		hostlist_sort(hl);
		list = hostlist_ranged_string_xmalloc(hl);
	}
	hostlist_destroy(hl);
	return list;
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
