/*
 * agent_auth.c - authenticates and authorizes the sender of an OPEN
 * (doc/protocol.md, Trust).  MUNGE's credential proves the uid.  Slurm's
 * sbcast credential, signed by slurmctld, permits files.  A worker thread
 * checks both, because munged and the name services may block.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/group_cache.h"
#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_common.h"
#include "src/common/xmalloc.h"

#include "agent.h"
#include "agent_allow.h"
#include "agent_auth.h"
#include "agent_cred.h"
#include "agent_peers.h"
#include "agent_session.h"
#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/shown.h"
#include "src/libstorm/base/step_name.h"
#include "src/libstorm/base/tree.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/wire/open.h"
#include "src/libstorm/wire/wire.h"
#include "src/storm_common/gang_map.h"
#include "src/storm_common/step_protocol.h"

/* At most so many OPENs wait to be checked.  More are refused, so a flood of
 * OPENs cannot exhaust the node's memory. */
#define OPENS_WAITING 256
/* Lines of a user's OPENs in the log, in a minute; a storm check has several, and
 * one line. */
#define AUDITS 60
#define AUDITS_CHECK 1
/* Only root can send from a lower port. */
#define PORT_OF_ROOT 1024

struct auth_job {
	struct storm_job job;
	struct agent *a;
	uint64_t ticket;
	struct storm_addr from;
	void *buf;
	size_t len;
	int err;
	struct storm_open *open;
	struct agent_creds *creds;
};

static bool agent_auth_names_node(const char *nodes, const char *node)
{
	struct hostset *set = hostset_create(nodes);
	bool yes = set && hostset_within(set, node);

	if (set)
		hostset_destroy(set);
	return yes;
}

/* The sbcast credential must be for the OPEN's user and job, and this node. */
static int agent_auth_compare(const struct agent *a,
			      const struct storm_open_info *info,
			      const struct agent_cred *arg)
{
	struct storm_log_source from = storm_log_uid(info->uid);

	if (info->uid && arg->uid != info->uid) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"uid %u presented the sbcast credential of uid %u",
			info->uid, arg->uid);
		return STORM_EACCES;
	}
	if (arg->job_id != info->job_id) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"uid %u presented the sbcast credential of job %u for job %u",
			info->uid, arg->job_id, info->job_id);
		return STORM_EACCES;
	}
	if (!agent_auth_names_node(arg->nodes, a->node)) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"the sbcast credential of uid %u is for %s, not for %s",
			info->uid, STORM_SHOWN(arg->nodes), a->node);
		return STORM_EACCES;
	}
	return STORM_OK;
}

static struct agent_creds *agent_creds_create(const struct agent_cred *arg)
{
	struct agent_creds *c = xmalloc(sizeof(*c));
	gid_t *gids = NULL;

	c->job_id = arg->job_id;
	c->step_id = arg->step_id;
	c->user.uid = arg->uid;
	c->user.gid = arg->gid;
	c->user.job_id = arg->job_id;
	if (arg->ngids > 0) {
		c->user.ngids = arg->ngids;
		gids = xcalloc(arg->ngids, sizeof(gid_t));
		memcpy(gids, arg->gids, arg->ngids * sizeof(gid_t));
	} else {
		c->user.ngids = group_cache_lookup(
			arg->uid, arg->gid, (char *) arg->user_name, &gids);
	}
	c->user.gids = gids;
	return c;
}

/* What the authority consists of. */
struct auth_parts {
	uint16_t version; /* of Slurm's protocol, of the credential */
	const char *cred; /* Slurm's, for files */
	uint32_t cred_len;
	const char *addrs; /* signed, of where nodes are */
	uint32_t addrs_len;
};

/* False: it is malformed.  Without authority all is 0. */
static bool agent_auth_parts(const struct storm_open_info *info,
			     struct auth_parts *out)
{
	const char *p = info->authority;
	size_t len = info->authority_len;
	uint32_t n;

	memset(out, 0, sizeof(*out));
	if (!len)
		return true;
	if (len <= STEP_AUTHORITY_HEAD)
		return false;
	memcpy(&out->version, p, sizeof(out->version));
	out->version = ntohs(out->version);
	p += STEP_AUTHORITY_HEAD;
	len -= STEP_AUTHORITY_HEAD;
	out->cred = p;
	out->cred_len = (uint32_t) len;
	if (!(out->version & STEP_AUTHORITY_ADDRS))
		return true;
	out->version &= (uint16_t) ~STEP_AUTHORITY_ADDRS;
	if (len < sizeof(n))
		return false;
	memcpy(&n, p, sizeof(n));
	out->cred = p + sizeof(n);
	out->cred_len = ntohl(n);
	len -= sizeof(n);
	if (out->cred_len > len)
		return false;
	out->addrs = out->cred + out->cred_len;
	out->addrs_len = (uint32_t) (len - out->cred_len);
	return true;
}

/* The content of a signed and unexpired credential.  False: it is none. */
static bool agent_auth_extract(const struct auth_parts *a,
			       struct agent_cred *out)
{
	char *copy = xmalloc(a->cred_len);

	memcpy(copy, a->cred, a->cred_len);
	return agent_cred_read(copy, a->cred_len, a->version, out);
}

/* Without them the OPEN may be good, too: then slurm.conf knows the nodes. */
static void agent_auth_take_addrs(const struct storm_open_info *info,
				  const struct auth_parts *a)
{
	struct storm_log_source from = storm_log_uid(info->uid);

	if (a->addrs_len &&
	    !agent_cred_addrs(a->addrs, a->addrs_len, agent_peers_believe))
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"uid %u presented addresses of nodes of job %u that slurmctld has not signed, or which have expired",
			info->uid, info->job_id);
}

static int agent_auth_authority(const struct agent *a,
				const struct storm_open_info *info,
				const struct auth_parts *parts,
				struct agent_creds **creds)
{
	struct storm_log_source from = storm_log_uid(info->uid);
	struct agent_cred arg;
	int err;

	if (!parts->cred_len)
		return STORM_OK; /* may launch, may send no file */
	if (parts->version > SLURM_PROTOCOL_VERSION) {
		storm_log_from(
			&from, STORM_LOG_WARN,
			"uid %u presented an sbcast credential of a newer Slurm than this node's for job %u: upgrade slurmd here",
			info->uid, info->job_id);
		return STORM_EVERSION;
	}
	if (!agent_auth_extract(parts, &arg)) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"uid %u presented an invalid or expired sbcast credential for job %u",
			info->uid, info->job_id);
		return STORM_EAUTH;
	}
	err = agent_auth_compare(a, info, &arg);
	if (!err)
		*creds = agent_creds_create(&arg);
	agent_cred_free(&arg);
	return err;
}

static bool agent_auth_trusts(uint32_t uid)
{
	return !uid || uid == slurm_conf.slurm_user_id;
}

/* True: this user may open the cluster domain. */
static bool agent_auth_may_own_cluster(const struct storm_open_info *info)
{
	return agent_auth_trusts(info->uid) &&
	       info->cluster == gang_cluster_number(slurm_conf.cluster_name);
}

/* ---------------------------------------------------------------- addresses --- */

static void agent_auth_text(const struct storm_addr *a,
			    char (*out)[INET6_ADDRSTRLEN])
{
	if (storm_addr_is_v4(a))
		inet_ntop(AF_INET, a->ip + 12, *out, sizeof(*out));
	else
		inet_ntop(AF_INET6, a->ip, *out, sizeof(*out));
}

static int agent_auth_node(const struct agent *a, const struct storm_open *o,
			   uint32_t node)
{
	struct storm_log_source from = storm_log_uid(o->uid);
	struct storm_addr addr = storm_nodes_addr(&o->nodes, node);
	char name[STORM_NAME_MAX + 1], text[INET6_ADDRSTRLEN];

	storm_nodes_name(&o->nodes, node, &name);
	if (addr.port == a->conf.set.port && !agent_peers_look(name, &addr))
		return STORM_OK;
	agent_auth_text(&addr, &text);
	storm_log_from(
		&from, STORM_LOG_ERROR,
		"uid %u gives %s port %u as the address of node %s, slurmctld, slurm.conf and storm.conf do not",
		o->uid, text, addr.port, name);
	return STORM_EACCES;
}

/* Those to which this node sends at first; STORM_REFUSAL().  Others are looked up
 * when it is to send to them. */
static int agent_auth_nodes(const struct agent *a, const struct storm_open *o)
{
	uint32_t node[STORM_TREE_NEAR + 1], near = 0, n = 0;
	struct storm_tree t;
	int err;

	storm_tree_init(&t, o->count, o->radix);
	err = storm_tree_exclude(&t, &o->excluded);
	if (!err && storm_tree_member(&t, o->self)) {
		n = near = storm_tree_near(&t, o->self, node);
		node[n++] = storm_tree_successor(&t, o->self, &o->begin.p);
	}
	for (uint32_t i = 0; !err && i < n; i++) {
		if (node[i] != STORM_NO_NODE)
			err = agent_auth_node(a, o, node[i]);
		if (err && i < near)
			err = STORM_REFUSAL(STORM_EACCES, (int) i + 1);
	}
	storm_tree_free(&t);
	return err;
}

/* The owner is where its OPEN comes from; or the OPEN comes from the agent of one
 * of the nodes, which has checked that, or knows one that has. */
static int agent_auth_owner(const struct auth_job *j)
{
	const struct storm_open *o = j->open;
	struct storm_log_source from = storm_log_uid(o->uid);
	char text[INET6_ADDRSTRLEN], came[INET6_ADDRSTRLEN];
	uint32_t node;

	if (!memcmp(o->owner.ip, j->from.ip, sizeof(j->from.ip)))
		return STORM_OK;
	node = storm_nodes_find(&o->nodes, j->from.ip);
	if (node != STORM_NO_NODE && j->from.port &&
	    j->from.port < PORT_OF_ROOT)
		return agent_auth_node(j->a, o, node);
	agent_auth_text(&o->owner, &text);
	agent_auth_text(&j->from, &came);
	storm_log_from(
		&from, STORM_LOG_ERROR,
		"uid %u gives %s as its own address, but its OPEN came from %s",
		o->uid, text, came);
	return STORM_EACCES;
}

/* -------------------------------------------------------------------- verdict --- */

static int agent_auth_allowed(const struct auth_job *j)
{
	const struct storm_conf *conf = &j->a->conf;
	const struct storm_open *o = j->open;
	struct storm_log_source from = storm_log_uid(o->uid);
	char text[INET6_ADDRSTRLEN];

	if (!agent_allow_user(conf->allow_users, o->uid, o->gid)) {
		storm_log_from(&from, STORM_LOG_WARN,
			       "OPEN refused: AllowUsers does not have uid %u",
			       o->uid);
		return STORM_EACCES;
	}
	if (agent_allow_host(conf->allow_hosts, &o->owner))
		return STORM_OK;
	agent_auth_text(&o->owner, &text);
	storm_log_from(&from, STORM_LOG_WARN,
		       "OPEN of uid %u refused: AllowHosts does not have %s",
		       o->uid, text);
	return STORM_EACCES;
}

static int agent_auth_judge(struct auth_job *j)
{
	struct storm_log_source from = storm_log_uid(j->open->uid);
	struct storm_open_info info;
	struct auth_parts parts;
	int err;

	storm_open_info(j->open, &info);
	if (!agent_auth_parts(&info, &parts))
		return STORM_EINVAL;
	if (strcmp(info.self_name, j->a->node)) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"uid %u opened a session with node %s, but this is node %s",
			info.uid, info.self_name, j->a->node);
		return STORM_EACCES;
	}
	if (info.cluster && !agent_auth_may_own_cluster(&info)) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"refused a cluster domain of uid %u: only SlurmUser and root may open it, and only for ClusterName=%s",
			info.uid, slurm_conf.cluster_name);
		return STORM_EACCES;
	}
	if (!agent_auth_trusts(info.uid)) {
		agent_auth_take_addrs(&info, &parts);
		err = agent_auth_allowed(j);
		/* this one can say which node it is */
		if (!err)
			err = agent_auth_nodes(j->a, j->open);
		if (!err)
			err = agent_auth_owner(j);
		if (err)
			return err;
	}
	return agent_auth_authority(j->a, &info, &parts, &j->creds);
}

static void agent_auth_work(struct storm_job *job)
{
	struct auth_job *j = (struct auth_job *) job;

	j->err = storm_open_verify(j->buf, j->len, &j->open);
	if (j->err)
		j->open = NULL;
	else
		j->err = agent_auth_judge(j);
}

/* One line for an OPEN that MUNGE has vouched for. */
static void agent_auth_audit(const struct storm_open_info *info,
			     const struct storm_addr *owner, int err)
{
	static const char *const cause = "audit", *const check = "storm check";
	struct storm_log_source from = storm_log_uid(info->uid);
	char text[INET6_ADDRSTRLEN], step[STORM_STEP_NAME], more[40] = "";
	bool of_job = info->job_id != NO_VAL, checks = !of_job && !err;
	uint32_t left;

	if (checks)
		memcpy(from.host, owner->ip, sizeof(from.host));
	if (!storm_log_due(checks ? check : cause, &from,
			   checks ? AUDITS_CHECK : AUDITS, storm_now(), &left))
		return;
	agent_auth_text(owner, &text);
	if (left)
		snprintf(more, sizeof(more), " (%u not shown)", left);
	storm_log(STORM_LOG_INFO,
		  "audit: OPEN by uid %u at %s for %s on %u nodes: %s%s",
		  info->uid, text,
		  of_job ? storm_step_name(&step, info->job_id, info->step_id) :
			   check,
		  info->count, err ? storm_strerror(err) : "accepted", more);
}

static void agent_auth_done(void *host, struct storm_job *job)
{
	struct agent *a = host;
	struct auth_job *j = (struct auth_job *) job;
	struct storm_open_info info;
	struct storm_addr owner = { 0 };
	bool known = j->open != NULL;

	if (!job->worked)
		j->err = STORM_EBUSY;
	if (known) {
		storm_open_info(j->open, &info);
		owner = j->open->owner;
	}
	a->auth.admitting = j->creds;
	j->err = storm_nm_admit(a->nm, j->ticket, j->open, j->err, storm_now());
	if (known)
		agent_auth_audit(&info, &owner, j->err);
	if (j->err) {
		a->count.opens_bad++;
		debug("OPEN refused: %s", storm_strerror(j->err));
	}
	/* NULL if agent_nm_session_open() has taken them */
	agent_creds_destroy(a->auth.admitting);
	a->auth.admitting = NULL;
	free(j->buf);
	xfree(j);
}

void agent_auth_open(void *host, uint64_t ticket, const struct storm_addr *from,
		     void *buf, size_t len)
{
	struct storm_log_source all = { 0 };
	struct agent *a = host;
	struct auth_job *o = xmalloc(sizeof(*o));

	o->job.work = agent_auth_work;
	o->job.done = agent_auth_done;
	o->a = a;
	o->ticket = ticket;
	o->from = *from;
	o->buf = buf;
	o->len = len;
	if (!storm_worker_add(&a->auth.worker.w, &o->job)) {
		storm_log_from(
			&all, STORM_LOG_ERROR,
			"%u OPENs are waiting for their check already, one more is refused",
			OPENS_WAITING);
		agent_auth_done(a, &o->job);
	}
}

/* ----------------------------------------------------------------- a look-up --- */

struct auth_look {
	struct storm_job job;
	char name[STORM_NAME_MAX + 1];
	struct storm_addr addr;
};

static void agent_auth_look_work(struct storm_job *job)
{
	struct auth_look *l = (struct auth_look *) job;

	agent_peers_look(l->name, &l->addr);
}

static void agent_auth_look_done(void *host, struct storm_job *job)
{
	struct agent *a = host;

	a->auth.looking = false;
	xfree(job);
}

int agent_auth_route(void *host, const char *name,
		     const struct storm_addr *addr)
{
	struct agent *a = host;
	struct auth_look *l;
	int err;

	if (addr->port != a->conf.set.port)
		return STORM_EACCES;
	err = agent_peers_know(name, addr);
	if (err != STORM_EBUSY || a->auth.looking)
		return err;
	l = xmalloc(sizeof(*l));
	l->job.work = agent_auth_look_work;
	l->job.done = agent_auth_look_done;
	snprintf(l->name, sizeof(l->name), "%s", name);
	l->addr = *addr;
	a->auth.looking = storm_worker_add(&a->auth.worker.w, &l->job);
	if (!a->auth.looking)
		xfree(l);
	return err;
}

int agent_auth_start(struct agent *a)
{
	int rc;

	if (!agent_cred_start()) {
		error("cannot verify credentials: Slurm's cred plugin is not loaded");
		return -1;
	}
	rc = agent_worker_start(&a->auth.worker, &a->ios, "storm_auth",
				OPENS_WAITING);
	if (rc)
		error("cannot start a thread: %s", strerror(rc));
	return rc ? -1 : 0;
}

void agent_auth_stop(struct agent *a)
{
	agent_worker_stop(&a->auth.worker, a);
	agent_cred_stop();
	agent_peers_forget();
}
