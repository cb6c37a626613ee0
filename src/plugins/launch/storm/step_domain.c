/*
 * step_domain.c - a libstorm domain over nodes that Slurm names.  It takes
 * Slurm's node list and addresses, and returns errors that name nodes.  The
 * owner of a step's domain is the command (doc/protocol.md, "Domains").
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/common/slurm_xlator.h"

#include "src/common/hostlist.h"
#include "src/common/log.h"
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "known_check.h"
#include "src/storm_common/node_addr.h"
#include "src/storm_common/step_protocol.h"
#include "step_domain.h"
#include "step_health.h"

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

/* Fill in names and addresses.  NULL, or the reason (xfree). */
static char *step_domain_take_nodes(struct step_domain *sd,
				    const char *nodelist, uint16_t port,
				    const struct step_addrs *addrs)
{
	char *why = step_domain_take_names(sd, nodelist, 0);
	uint32_t failed;

	if (why)
		return why;
	step_addrs_fill(addrs, sd->nodes, sd->count, port);
	sd->unsigned_addrs = addrs->count && !addrs->proof;
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

struct step_domain *step_domain_create(const char *nodelist,
				       const struct step_domain_conf *sdc,
				       char **why)
{
	struct step_domain *sd = xmalloc(sizeof(*sd));
	const struct step_addrs *addrs = sdc->addrs;
	struct storm_domain_conf dc = { 0 };
	struct step_addrs asked = { 0 };
	struct storm_addr self = { 0 };
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
	sd->health = sdc->health;
	if ((sd->odd = sdc->odd))
		step_odd_remove(sd->odd, sd);
	dc.nodes = sd->nodes;
	dc.count = sd->count;
	dc.set = sdc->set;
	dc.agent_uid = slurm_conf.slurmd_user_id;
	dc.job_id = sdc->step_id.job_id;
	dc.step_id = sdc->step_id.step_id;
	dc.step_het = sdc->step_id.step_het_comp;
	/* Slurm serves the command, or the nodes in question, and the path is
	 * tried beside that */
	if ((*why = step_domain_known(sd))) {
		known_check_begin(&dc, sd->nodelist);
		xfree(*why);
		if ((*why = step_domain_leave_known(sd)))
			goto free_sd;
		dc.count = sd->count;
	}
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
		storm_domain_self(sd->d, &self);
		sd->own_port = self.port;
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
		if (why)
			(void) step_odd_leave(sd->odd, sd, &out, why);
		else
			why = step_domain_no_open(err, NULL);
	}
	storm_outcome_clear(&out);
	if (!why && sd->health)
		step_health_look(sd);
	return why;
}

char *step_domain_open(struct step_domain *sd)
{
	char *why = step_domain_begin(sd);

	return why ? why : step_domain_await(sd);
}

void step_domain_destroy(struct step_domain *sd)
{
	if (!sd)
		return;
	storm_domain_destroy(sd->d);
	step_domain_drop_names(sd);
	xfree(sd);
}

bool step_domain_covers(const struct step_domain *sd, const char *nodelist)
{
	struct hostlist *hl;
	uint32_t i, found = 0;
	char *odd = NULL;
	bool same;

	if (!xstrcmp(nodelist, sd->nodelist))
		return true;
	if (!(hl = hostlist_create(nodelist)))
		return false;
	hostlist_uniq(hl);
	if (sd->odd && (odd = step_odd_of(sd->odd, nodelist)))
		hostlist_delete(hl, odd);
	xfree(odd);
	same = (uint32_t) hostlist_count(hl) == sd->count;
	for (i = 0; same && i < sd->count; i++)
		found += hostlist_find(hl, sd->names[i]) >= 0;
	hostlist_destroy(hl);
	return same && found == sd->count;
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
