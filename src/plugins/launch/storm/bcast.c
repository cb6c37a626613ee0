/*
 * bcast.c - send a file to the nodes of a step by XFER-AND-SIGNAL (paper
 * section 2.3: the Machine Manager multicasts the binary in chunks).
 *
 * Slurm's file_bcast.c does everything around the data: it opens the source,
 * asks slurmctld for the credential, finds libraries and prints its messages.  It
 * sends the file in blocks, each by a slurm_send_recv_msgs() that this file
 * replaces.  The first block starts the transfer of the whole file; the blocks
 * between do nothing.  The last one waits for the outcome and returns one code
 * for each failed node, as the slurmds do.
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
#include "src/common/proc_args.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "bcast.h"
#include "progress.h"

#define POLL_NS 100000000 /* how often to check progress and abort */

/* Slurm fills the first block, which STORM does not send: milliseconds at Slurm's
 * 8 MiB.  Large enough for a fallback to Slurm's own broadcast. */
#define BLOCK_BYTES (512u << 10)

/* file_bcast.c keeps a broadcast in global variables, and passes nothing to
 * slurm_send_recv_msgs() that distinguishes two of them. */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
static struct {
	struct step_cast *cast;
	storm_event_t *event;
	char *path;
	bool gave_up;
	bool told;  /* the failure of the nodes was logged */
	bool shown; /* a file is under its name on the nodes */
	bool again; /* nothing is: Slurm sends all of it, from the start */
	bool each;  /* it need not come to all nodes together */
	char *left; /* nodes that STORM did not reach: Slurm sends to these */
	bool rest;  /* and does it now */
} transfer;

bool storm_bcast_told(void)
{
	return transfer.told;
}

bool storm_bcast_sends(void)
{
	return transfer.event;
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

/* As bcast_start(), with the nodes that are odd by now. */
static char *bcast_try(struct step_cast *c, const char *nodelist,
		       const file_bcast_msg_t *msg, int timeout)
{
	struct storm_target to = {
		.kind = STORM_TARGET_FILE,
		.path = msg->fname,
		.mode = msg->modes & STORM_FILE_MODE,
	};
	bool fresh = !c->domain;
	char *why = NULL;

	xfree(transfer.path);
	transfer.path = xstrdup(msg->fname);
	if (transfer.each)
		to.flags |= STORM_FILE_EACH;
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
	/* Queued before OPEN, so that it travels with OPEN. */
	errno = 0;
	transfer.event =
		stock_bcast_size() ?
			storm_transfer_file(c->domain->d, NULL,
					    stock_bcast_fd(), &to) :
			storm_xfer_and_signal(c->domain->d, NULL, &to, NULL, 0);
	if (!transfer.event)
		why = xstrdup(errno ? strerror(errno) :
				      storm_strerror(STORM_ECLOSED));
	else if (fresh)
		why = step_domain_open(c->domain);
	if (why && fresh) {
		storm_event_destroy(transfer.event);
		transfer.event = NULL;
		step_domain_destroy(c->domain);
		c->domain = NULL;
	}
	return why;
}

/* Start the transfer, to all nodes but odd ones.  NULL, or why STORM cannot
 * (xfree). */
static char *bcast_start(struct step_cast *c, const char *nodelist,
			 const file_bcast_msg_t *msg, int timeout)
{
	struct step_odd *odd = c->sdc.odd;
	char *why;

	for (;;) {
		odd->again = false;
		why = bcast_try(c, nodelist, msg, timeout);
		if (!odd->again)
			return why;
		xfree(why);
	}
}

/* NULL: the source could be read. */
static const struct storm_fault *
bcast_source_fault(const struct storm_outcome *out)
{
	for (uint32_t i = 0; i < out->faults_kept; i++)
		if (out->faults[i].why == STORM_ESOURCE)
			return &out->faults[i];
	return NULL;
}

/* Nodes have failed, and FailedLaunch has the command end. */
static void bcast_log_stop(const struct step_odd *odd)
{
	char *why = step_odd_why_stop(odd);

	error("storm: %s; %s is not on all nodes, as FailedLaunch says; repair that, or use a job without %s",
	      why, transfer.path, odd->failed);
	xfree(why);
}

/* Log a transfer that no node has applied. */
static void bcast_log_failure(const struct step_domain *sd,
			      const struct storm_outcome *out,
			      const char *faults)
{
	char *nodes = step_domain_all_failed(sd, out, STORM_EEXIST);
	const struct storm_fault *source = bcast_source_fault(out);

	if (sd->odd && sd->odd->stop)
		bcast_log_stop(sd->odd);
	else if (source)
		stock_bcast_source_error(source->sys);
	else if (nodes)
		error("storm: %s exists on %s; use --force to replace it",
		      transfer.path, nodes);
	else
		error("storm: %s: %s", transfer.path,
		      faults ? faults : "aborted");
	xfree(nodes);
}

/* The nodes that the transfer waits for (xfree); NULL: not known, or all. */
static char *bcast_slow(const struct step_domain *sd)
{
	struct storm_idset behind;
	char *text = NULL;

	if (storm_event_behind(transfer.event, &behind) &&
	    (sd->count == 1 || storm_idset_size(&behind) < sd->count))
		text = step_domain_names(sd, &behind);
	storm_idset_clear(&behind);
	return text;
}

static void bcast_show(const struct step_cast *c, struct progress *p)
{
	char *slow = bcast_slow(c->domain);

	progress_show(p, storm_event_progress(transfer.event), slow);
	if (slow)
		storm_record_slow(c->rec, slow);
	xfree(slow);
}

/* Takes over why.  False: Fallback=never, and Slurm sends nothing. */
static bool bcast_fall_back(struct step_cast *c, char *why)
{
	return storm_fall_back(c->conf->fallback, c->otherwise,
			       step_odd_why_all(c->sdc.odd, why), &c->fallback);
}

/* Does STORM's way to the node fail, or STORM there? */
static bool bcast_is_path(const struct storm_fault *f)
{
	return f->why == STORM_ELOST || f->why == STORM_ETIME ||
	       (f->why == STORM_ETOOBIG && f->sys == EMSGSIZE);
}

/* No node has a trace of it, for no reason that Slurm's broadcast would meet as well:
 * nodes were not reached, or lost.  True: the file is sent from its beginning, by STORM
 * to the others if these are few, else by Slurm.  *why is taken over then. */
static bool bcast_falls_back(struct step_cast *c,
			     const struct storm_outcome *out, char **why)
{
	if (transfer.shown || !*why || c->conf->fallback == FALLBACK_NEVER)
		return false;
	for (uint32_t i = 0; i < out->faults_kept; i++)
		if (!bcast_is_path(&out->faults[i]))
			return false;
	step_domain_keep(c->domain, out);
	if (step_odd_leave(c->sdc.odd, c->domain, out, *why)) {
		transfer.again = true;
		xfree(*why);
		return true;
	}
	if (c->sdc.odd->stop)
		return false;
	transfer.again = bcast_fall_back(c, *why);
	*why = NULL;
	return true;
}

/* Most nodes have the file.  True: all others lack it for reasons of STORM's own way,
 * and Slurm sends it to these; *why is taken over then. */
static bool bcast_sends_rest(struct step_cast *c,
			     const struct storm_outcome *out, char **why)
{
	bool path = transfer.each && *why &&
		    c->conf->fallback != FALLBACK_NEVER;

	for (uint32_t i = 0; path && i < out->faults_kept; i++)
		path = bcast_is_path(&out->faults[i]) &&
		       out->faults[i].node < c->domain->count;
	if (!path)
		return false;
	step_domain_keep(c->domain, out);
	if (step_odd_leave(c->sdc.odd, c->domain, out, *why)) {
		c->sdc.odd->again = false; /* the others have it */
		xfree(*why);
		return true;
	}
	if (c->sdc.odd->stop)
		return false;
	for (uint32_t i = 0; i < out->faults_kept; i++)
		xstrfmtcat(transfer.left, "%s%s", transfer.left ? "," : "",
			   c->domain->names[out->faults[i].node]);
	transfer.again = bcast_fall_back(c, *why);
	*why = NULL;
	return true;
}

static void bcast_drop_domain(struct step_cast *c)
{
	storm_record_domain(c->rec, c->domain->d);
	step_domain_destroy(c->domain);
	c->domain = NULL;
}

/* Wait for the outcome; returns the nodes' answers. */
static list_t *bcast_finish(struct step_cast *c)
{
	const uint64_t size = stock_bcast_size();
	struct storm_outcome out = { 0 };
	struct progress p = { .bar = c->bar };
	list_t *list = NULL;
	char *text;

	progress_begin(&p, transfer.path, size);
	while (!storm_test_event(transfer.event, true, storm_now() + POLL_NS,
				 &out)) {
		bcast_show(c, &p);
		if (c->abort && *c->abort) {
			progress_end(&p, 0);
			/* No node shows the file unless all have it. */
			storm_event_destroy(transfer.event);
			transfer.event = NULL;
			list = storm_answer(NULL, c->domain->names[0],
					    ECANCELED);
			bcast_drop_domain(c);
			return list;
		}
	}
	progress_end(&p, out.state == STORM_DONE && !out.faults_kept ?
				 c->domain->count :
				 0);
	text = step_domain_faults(c->domain, &out);
	switch (out.state) {
	case STORM_DONE:
		transfer.shown = true;
		storm_record_transfer(c->rec, transfer.path, size,
				      c->domain->d);
		/* Some nodes have failed meanwhile, could not rename it, or were
		 * lost before they reported. */
		if (bcast_sends_rest(c, &out, &text)) {
			list = list_create(destroy_data_info);
			break;
		}
		if (text && c->sdc.odd->stop)
			bcast_log_stop(c->sdc.odd);
		else if (text)
			error("storm: %s is not on all nodes: %s",
			      transfer.path, text);
		list = text ? storm_answers(c->domain, &out) :
			      list_create(destroy_data_info);
		break;
	case STORM_ABORTED:
		if (bcast_falls_back(c, &out, &text)) {
			list = list_create(destroy_data_info);
			break;
		}
		bcast_log_failure(c->domain, &out, text);
		list = storm_answers(c->domain, &out);
		break;
	default:
		error("storm: %s: the nodes were lost before they answered%s%s",
		      transfer.path, text ? ": " : "", text ? text : "");
		list = storm_answers(c->domain, &out);
	}
	transfer.told = text || out.state != STORM_DONE;
	xfree(text);
	storm_outcome_clear(&out);
	storm_event_destroy(transfer.event);
	transfer.event = NULL;
	if (transfer.again)
		bcast_drop_domain(c);
	return list;
}

list_t *storm_bcast_send(const char *nodelist, slurm_msg_t *msg, int timeout)
{
	struct step_cast *c = transfer.cast;
	file_bcast_msg_t *block = msg->data;
	char *why;

	if (stock_bcast_source_failed())
		return storm_answer(NULL, nodelist, SLURM_ERROR);
	if (!c)
		return slurm_send_recv_msgs(nodelist, msg, timeout);
	if (c->abort && *c->abort && !transfer.event)
		return storm_answer(NULL, nodelist, ECANCELED);
	if (transfer.again) /* storm_bcast() has Slurm's code begin once more */
		return list_create(destroy_data_info);
	if (transfer.rest || (c->fallback && !transfer.gave_up))
		return storm_send_living(
			c->sdc.odd, transfer.left ? transfer.left : nodelist,
			msg, timeout);
	if (block->block_no == 1 &&
	    (why = bcast_start(c, nodelist, block, timeout))) {
		if (c->sdc.odd->stop) {
			bcast_log_stop(c->sdc.odd);
			xfree(why);
		} else if (bcast_fall_back(c, why))
			return storm_send_living(c->sdc.odd, nodelist, msg,
						 timeout);
		transfer.gave_up = transfer.told = true;
		return storm_answer(NULL, nodelist,
				    SLURM_COMMUNICATIONS_CONNECTION_ERROR);
	}
	if (block->flags & FILE_BCAST_LAST_BLOCK)
		return bcast_finish(c);
	return list_create(destroy_data_info);
}

/* The option that STORM does not support, or NULL. */
static const char *bcast_not_served(const struct bcast_parameters *params)
{
	size_t len = strlen(params->dst_fname);

	/* The directory's name then differs from node to node, but srun sets
	 * one LD_LIBRARY_PATH for all.  slurmd sets its own. */
	if ((params->flags & BCAST_FLAG_SEND_LIBS) && len &&
	    params->dst_fname[len - 1] == '/')
		return "--send-libs into a directory";
	/* The nodes' agents authorize a job. */
	if (file_bcast_without_job(params))
		return "--no-allocation";
	return NULL;
}

/* Is this what BcastParameters has for all, in place of a wish of the user's? */
static bool bcast_compress_is_default(uint16_t type)
{
	static const char key[] = "Compression=";
	const char *at = xstrcasestr(slurm_conf.bcast_parameters, key);
	char *name;
	bool same;

	if (!at)
		return false;
	name = xstrdup(at + strlen(key));
	name[strcspn(name, ",")] = '\0';
	same = parse_compress_type(name) == type;
	xfree(name);
	return same;
}

/* Slurm sends to the nodes that are left, or to all, as the user has asked. */
static int bcast_by_slurm(struct bcast_parameters *params,
			  const struct bcast_parameters *asked)
{
	transfer.again = transfer.told = false;
	transfer.rest = true;
	params->compress = asked->compress;
	params->block_size = asked->block_size;
	return stock_bcast_file(params);
}

/* Odd nodes are left when the others have the file, or if these do not need all
 * to have it. */
static void bcast_add_odd(const struct step_cast *c, int rc)
{
	struct step_odd *odd = c->sdc.odd;
	char *nodes;

	if ((rc && !transfer.each) || (c->abort && *c->abort))
		return;
	if (!c->fallback)
		step_odd_tell(odd);
	nodes = step_odd_served(odd, odd->nodes);
	if (nodes && (transfer.left || !c->fallback))
		xstrfmtcat(transfer.left, "%s%s", transfer.left ? "," : "",
			   nodes);
	xfree(nodes);
}

int storm_bcast(struct step_cast *c, struct bcast_parameters *params)
{
	const struct bcast_parameters asked = *params;
	const char *what;
	int rc, left;

	if (params->compress && !bcast_compress_is_default(params->compress)) {
		error("storm: --compress is not supported: STORM sends each byte once; send without it (and without SBCAST_COMPRESS, SLURM_COMPRESS), or by Slurm");
		return 1; /* as for an unknown option */
	}
	slurm_mutex_lock(&one_at_a_time);
	transfer.cast = c;
	transfer.gave_up = transfer.told = transfer.shown = transfer.again =
		transfer.rest = false;
	/* each library of a program goes where the program went */
	transfer.each = c->each && !(params->flags & BCAST_FLAG_SEND_LIBS);
	if (!c->fallback && (what = bcast_not_served(params))) {
		c->fallback = xstrdup(what);
		c->not_served = true;
		verbose("storm: %s is not supported; %s", c->fallback,
			c->otherwise);
	}
	if (!c->fallback) {
		params->compress = COMPRESS_OFF;
		params->block_size = MIN(params->block_size, BLOCK_BYTES);
		if (file_bcast_width(params) > 1)
			c->sdc.set.radix = MIN(file_bcast_width(params), 64);
	}
	do {
		transfer.again = false;
		rc = stock_bcast_file(params);
	} while (transfer.again && !c->fallback); /* with more odd nodes */
	bcast_add_odd(c, rc);
	if (transfer.again || transfer.left) {
		left = bcast_by_slurm(params, &asked);
		rc = rc ? rc : left;
	}
	storm_event_destroy(transfer.event); /* left if Slurm's code failed */
	transfer.event = NULL;
	xfree(transfer.path);
	xfree(transfer.left);
	transfer.cast = NULL;
	slurm_mutex_unlock(&one_at_a_time);
	return rc;
}
