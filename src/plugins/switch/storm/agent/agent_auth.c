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
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_cred.h"
#include "src/common/xmalloc.h"

#include "agent.h"
#include "agent_auth.h"
#include "agent_session.h"
#include "src/storm_common/gang_map.h"
#include "src/storm_common/step_protocol.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/protocol/nm/nm.h"
#include "src/libstorm/wire/open.h"

/* At most so many OPENs wait to be checked.  More are refused, so a flood of
 * OPENs cannot exhaust the node's memory. */
#define OPENS_WAITING 256

struct auth_job {
	struct storm_job job;
	struct agent *a;
	uint64_t ticket;
	void *buf;
	size_t len;
	int err;
	struct storm_open *open;
	struct agent_creds *creds;
};

/* Slurm's context for verifying; only the worker thread uses it. */
static slurm_cred_ctx_t verifier;

static bool agent_auth_names_node(const char *nodes, const char *node)
{
	hostset_t set = hostset_create(nodes);
	bool yes = set && hostset_within(set, node);

	if (set)
		hostset_destroy(set);
	return yes;
}

/* The sbcast credential must be for the OPEN's user and job, and this node. */
static int agent_auth_compare(const struct agent *a,
			      const struct storm_open_info *info,
			      const sbcast_cred_arg_t *arg)
{
	if (info->uid && arg->uid != info->uid) {
		error("uid %u presented the sbcast credential of uid %u",
		      info->uid, arg->uid);
		return STORM_EACCES;
	}
	if (arg->job_id != info->job_id) {
		error("uid %u presented the sbcast credential of job %u for job %u",
		      info->uid, arg->job_id, info->job_id);
		return STORM_EACCES;
	}
	if (!agent_auth_names_node(arg->nodes, a->node)) {
		error("the sbcast credential of uid %u is for %s, not for %s",
		      info->uid, arg->nodes, a->node);
		return STORM_EACCES;
	}
	return STORM_OK;
}

static struct agent_creds *agent_creds_create(const sbcast_cred_arg_t *arg)
{
	struct agent_creds *c = xmalloc(sizeof(*c));
	gid_t *gids = NULL;

	c->job_id = arg->job_id;
	c->step_id = arg->step_id;
	c->user.uid = arg->uid;
	c->user.gid = arg->gid;
	c->user.job_id = arg->job_id;
	if (arg->ngids > 0 && arg->gids) {
		c->user.ngids = arg->ngids;
		gids = xcalloc(arg->ngids, sizeof(gid_t));
		memcpy(gids, arg->gids, arg->ngids * sizeof(gid_t));
	} else {
		c->user.ngids = group_cache_lookup(arg->uid, arg->gid,
						   arg->user_name, &gids);
	}
	c->user.gids = gids;
	return c;
}

/* The content of a signed and unexpired credential, or NULL. */
static sbcast_cred_arg_t *agent_auth_extract(const struct storm_open_info *info)
{
	uint32_t len = info->authority_len - STEP_AUTHORITY_HEAD;
	sbcast_cred_arg_t *arg = NULL;
	sbcast_cred_t *cred;
	uint16_t version;
	char *copy;
	buf_t *buf;

	memcpy(&version, info->authority, sizeof(version));
	version = ntohs(version);
	copy = xmalloc(len);
	memcpy(copy, (const char *) info->authority + STEP_AUTHORITY_HEAD, len);
	buf = create_buf(copy, len);
	cred = unpack_sbcast_cred(buf, version);
	if (cred && !remaining_buf(buf))
		arg = extract_sbcast_cred(verifier, cred, 1, 0, version);
	delete_sbcast_cred(cred);
	free_buf(buf);
	return arg;
}

static int agent_auth_authority(const struct agent *a,
				const struct storm_open_info *info,
				struct agent_creds **creds)
{
	sbcast_cred_arg_t *arg;
	int err;

	if (!info->authority_len)
		return STORM_OK; /* may launch, may send no file */
	if (info->authority_len <= STEP_AUTHORITY_HEAD)
		return STORM_EINVAL;
	arg = agent_auth_extract(info);
	if (!arg) {
		error("uid %u presented an invalid or expired sbcast credential for job %u",
		      info->uid, info->job_id);
		return STORM_EAUTH;
	}
	err = agent_auth_compare(a, info, arg);
	if (!err)
		*creds = agent_creds_create(arg);
	sbcast_cred_arg_free(arg);
	return err;
}

/* True: this user may open the cluster domain. */
static bool agent_auth_may_own_cluster(const struct storm_open_info *info)
{
	return (!info->uid || info->uid == slurm_conf.slurm_user_id) &&
	       info->cluster == gang_cluster_number(slurm_conf.cluster_name);
}

static void agent_auth_work(struct storm_job *j)
{
	struct auth_job *o = (struct auth_job *) j;
	struct storm_open_info info;

	o->err = storm_open_verify(o->buf, o->len, &o->open);
	if (o->err) {
		o->open = NULL;
		return;
	}
	storm_open_info(o->open, &info);
	if (strcmp(info.self_name, o->a->node)) {
		error("uid %u opened a session with node %s, but this is node %s",
		      info.uid, info.self_name, o->a->node);
		o->err = STORM_EAUTH;
		return;
	}
	if (info.cluster && !agent_auth_may_own_cluster(&info)) {
		error("refused a cluster domain of uid %u: only SlurmUser and root may open it, and only for ClusterName=%s",
		      info.uid, slurm_conf.cluster_name);
		o->err = STORM_EACCES;
		return;
	}
	o->err = agent_auth_authority(o->a, &info, &o->creds);
}

static void agent_auth_done(void *host, struct storm_job *j)
{
	struct agent *a = host;
	struct auth_job *o = (struct auth_job *) j;

	if (!j->worked)
		o->err = STORM_EBUSY;
	if (o->err) {
		a->count.opens_bad++;
		debug("OPEN refused: %s", storm_strerror(o->err));
	}
	a->auth.admitting = o->creds;
	storm_nm_admit(a->nm, o->ticket, o->open, o->err, storm_now());
	/* NULL if agent_nm_session_open() has taken them */
	agent_creds_destroy(a->auth.admitting);
	a->auth.admitting = NULL;
	free(o->buf);
	xfree(o);
}

void agent_auth_open(void *host, uint64_t ticket, void *buf, size_t len)
{
	struct agent *a = host;
	struct auth_job *o = xmalloc(sizeof(*o));

	o->job.work = agent_auth_work;
	o->job.done = agent_auth_done;
	o->a = a;
	o->ticket = ticket;
	o->buf = buf;
	o->len = len;
	if (!storm_worker_add(&a->auth.worker.w, &o->job)) {
		error("%u OPENs are waiting for their check already, one more is refused",
		      OPENS_WAITING);
		agent_auth_done(a, &o->job);
	}
}

int agent_auth_start(struct agent *a)
{
	int rc;

	/* cred/munge, the only verifier of 22.05, uses no key */
	verifier = slurm_cred_verifier_ctx_create(NULL);
	if (!verifier) {
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
	slurm_cred_ctx_destroy(verifier);
	slurm_cred_fini();
}
