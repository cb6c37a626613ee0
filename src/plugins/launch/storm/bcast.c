/*
 * bcast.c - send a file to the nodes of a step by XFER-AND-SIGNAL (paper
 * section 2.3: the Machine Manager multicasts the binary in chunks).
 *
 * Slurm's file_bcast.c does everything around the data: it opens and maps the
 * source, asks slurmctld for the credential, finds libraries, prints what it
 * always prints.  It sends the file as a row of blocks, each by a
 * slurm_send_recv_msgs() that comes to us.  The first block starts the
 * transfer of the whole mapped file; the blocks between say nothing; the last
 * one waits for the outcome and answers with one return code per failed node,
 * as the slurmds would have done.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "src/common/slurm_xlator.h"
#include "src/common/forward.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/macros.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "bcast.h"

#define POLL_NS 100000000	/* progress and abort are looked at this often */

/* Slurm fills every block, and clears the room for one first, though nothing
 * of it is sent by storm: with its 8 MiB that takes milliseconds.
 * Large enough for Slurm's own broadcast, should it come to that. */
#define BLOCK_BYTES (512u << 10)

/* file_bcast.c keeps a broadcast in global variables and passes nothing to
 * slurm_send_recv_msgs() that could tell two apart. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct step_cast *cast;
	storm_event_t *event;
	char *path;
	bool gave_up;
} now;

void storm_warn_once(const char *why, const char *otherwise)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static bool warned;

	slurm_mutex_lock(&lock);
	if (warned)
		verbose("storm: %s; %s", why, otherwise);
	else
		info("warning: storm: %s; %s", why, otherwise);
	warned = true;
	slurm_mutex_unlock(&lock);
}

bool storm_fall_back(enum storm_fallback policy, const char *otherwise,
		     char *why, char **kept)
{
	xfree(*kept);
	*kept = why;
	if (policy == FALLBACK_NEVER) {
		error("storm: %s", why);
		return false;
	}
	storm_warn_once(why, otherwise);
	return true;
}

List storm_answer(List list, const char *node, int rc)
{
	ret_data_info_t *info = xmalloc(sizeof(*info));
	return_code_msg_t *msg = xmalloc(sizeof(*msg));

	msg->return_code = rc;
	info->type = RESPONSE_SLURM_RC;
	info->node_name = xstrdup(node);
	info->data = msg;
	if (!list)
		list = list_create(destroy_data_info);
	list_append(list, info);
	return list;
}

/* What slurmd would have returned: the errno of an open that failed, but
 * SLURM_ERROR for a write. */
static int bcast_slurmd_rc(const struct storm_fault *f)
{
	switch (f->why) {
	case STORM_ESYS:
		switch (f->sys) {
		case 0:
		case ENOSPC:
		case EDQUOT:
		case EFBIG:
		case EIO:
			return SLURM_ERROR;
		}
		return f->sys;
	case STORM_EEXIST:
		return EEXIST;
	case STORM_EPATH:
		return f->sys ? f->sys : EINVAL;
	case STORM_ENOMEM:
		return ENOMEM;
	case STORM_EAUTH:
	case STORM_EACCES:
		return ESLURMD_INVALID_JOB_CREDENTIAL;
	case STORM_ETIME:
		return SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT;
	case STORM_ENOAGENT:
	case STORM_ELOST:
		return SLURM_COMMUNICATIONS_CONNECTION_ERROR;
	case STORM_EVERSION:
		return SLURM_PROTOCOL_VERSION_ERROR;
	default:
		return SLURM_ERROR;
	}
}

static List bcast_answers(const struct step_domain *sd,
			  const struct storm_outcome *out)
{
	List list = NULL;
	uint32_t i;

	for (i = 0; i < out->faults_kept; i++) {
		const struct storm_fault *f = &out->faults[i];

		list = storm_answer(list, f->node < sd->count ?
				    sd->names[f->node] : "this host",
				    bcast_slurmd_rc(f));
	}
	return list ? list : storm_answer(NULL, sd->names[0], SLURM_ERROR);
}

/* Start the transfer; NULL, or why storm cannot (xfree). */
static char *bcast_start(struct step_cast *c, const char *nodelist,
			 const file_bcast_msg_t *msg,
			 int timeout)
{
	struct storm_target to = {
		.kind = STORM_TARGET_FILE,
		.path = msg->fname,
		.mode = msg->modes & STORM_FILE_MODE,
	};
	bool fresh = !c->domain;
	char *why = NULL;

	if (msg->flags & FILE_BCAST_FORCE)
		to.flags |= STORM_FILE_FORCE;
	if (msg->flags & FILE_BCAST_EXE)
		to.flags |= STORM_FILE_LIBDIR;
	if (msg->flags & FILE_BCAST_SO)
		to.flags |= STORM_FILE_IN_LIBDIR;
	if (msg->atime) {
		to.flags |= STORM_FILE_TIMES;
		to.atime = msg->atime;
		to.mtime = msg->mtime;
	}
	if (fresh) {
		c->sdc.sbcast_cred = stock_bcast_cred();
		if (c->sdc.step_id.job_id == NO_VAL)
			c->sdc.step_id.job_id = stock_bcast_job();
		if (timeout > 0)
			c->sdc.set.op_timeout = (uint64_t) timeout * 1000000;
		c->domain = step_domain_create(nodelist, &c->sdc, &why);
		if (!c->domain)
			return why;
	}
	/* Queued before OPEN, so it travels with it. */
	now.event = storm_xfer_and_signal(c->domain->d, NULL, &to,
					  stock_bcast_source(),
					  stock_bcast_size());
	if (!now.event)
		why = xstrdup(storm_strerror(STORM_ECLOSED));
	else if (fresh)
		why = step_domain_open(c->domain);
	if (why && fresh) {
		storm_event_destroy(now.event);
		now.event = NULL;
		step_domain_destroy(c->domain);
		c->domain = NULL;
	}
	xfree(now.path);
	now.path = xstrdup(msg->fname);
	return why;
}

/* Wait for the outcome and answer for the nodes. */
static List bcast_finish(struct step_cast *c)
{
	const uint64_t size = stock_bcast_size();
	struct storm_outcome out = { 0 };
	List list = NULL;
	char *text;

	while (!storm_test_event(now.event, true, storm_now() + POLL_NS,
				 &out)) {
		if (c->progress)
			c->progress(now.path,
				    storm_event_progress(now.event), size);
		if (c->abort && *c->abort) {
			/* Unless it is decided, no node shows it. */
			storm_event_destroy(now.event);
			now.event = NULL;
			list = storm_answer(NULL, c->domain->names[0],
					    ECANCELED);
			storm_record_domain(c->rec, c->domain->d);
			step_domain_destroy(c->domain);
			c->domain = NULL;
			return list;
		}
	}
	if (c->progress)
		c->progress(now.path, storm_event_progress(now.event), size);
	text = step_domain_faults(c->domain, &out);
	switch (out.state) {
	case STORM_DONE:
		storm_record_transfer(c->rec, now.path, size, c->domain->d);
		/* Complete everywhere, and then not shown by some nodes, or
		 * they went away before they could tell. */
		if (text)
			error("storm: %s is not on all nodes: %s", now.path,
			      text);
		list = text ? bcast_answers(c->domain, &out) :
			      list_create(destroy_data_info);
		break;
	case STORM_ABORTED:
		error("storm: %s: %s", now.path, text ? text : "aborted");
		list = bcast_answers(c->domain, &out);
		break;
	default:
		error("storm: %s: the nodes were lost before they answered%s%s",
		      now.path, text ? ": " : "", text ? text : "");
		list = bcast_answers(c->domain, &out);
	}
	xfree(text);
	storm_outcome_clear(&out);
	storm_event_destroy(now.event);
	now.event = NULL;
	return list;
}

List storm_bcast_send(const char *nodelist, slurm_msg_t *msg, int timeout)
{
	struct step_cast *c = now.cast;
	file_bcast_msg_t *block = msg->data;
	char *why;

	if (c->abort && *c->abort && !now.event)
		return storm_answer(NULL, nodelist, ECANCELED);
	if (c->fallback && !now.gave_up)
		return slurm_send_recv_msgs(nodelist, msg, timeout);
	if (block->block_no == 1 &&
	    (why = bcast_start(c, nodelist, block, timeout))) {
		if (storm_fall_back(c->conf->fallback, c->otherwise, why,
				    &c->fallback))
			return slurm_send_recv_msgs(nodelist, msg, timeout);
		now.gave_up = true;
		return storm_answer(NULL, nodelist,
				    SLURM_COMMUNICATIONS_CONNECTION_ERROR);
	}
	if (block->flags & FILE_BCAST_LAST_BLOCK)
		return bcast_finish(c);
	return list_create(destroy_data_info);
}

int storm_bcast(struct step_cast *c, struct bcast_parameters *params)
{
	size_t len = strlen(params->dst_fname);
	int rc;

	slurm_mutex_lock(&one_at_a_time);
	now.cast = c;
	now.gave_up = false;
	if (!c->fallback && (params->flags & BCAST_FLAG_SEND_LIBS) && len &&
	    params->dst_fname[len - 1] == '/') {
		/* The directory's name then differs from node to node, but
		 * LD_LIBRARY_PATH is one for all; slurmd alone can set it. */
		c->fallback = xstrdup("--send-libs into a directory");
		verbose("storm: %s: %s", c->fallback, c->otherwise);
	}
	if (!c->fallback) {
		if (params->compress)
			verbose("storm: sent uncompressed; compression is for Slurm's own broadcast");
		params->compress = COMPRESS_OFF;
		params->block_size = MIN(params->block_size, BLOCK_BYTES);
		if (params->fanout > 1)
			c->sdc.set.radix = MIN(params->fanout, 64);
	}
	rc = stock_bcast_file(params);
	storm_event_destroy(now.event);	/* it gave up half-way */
	now.event = NULL;
	xfree(now.path);
	now.cast = NULL;
	slurm_mutex_unlock(&one_at_a_time);
	return rc;
}
