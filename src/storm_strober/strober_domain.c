/*
 * strober_domain.c - the cluster domain's life: see strober_domain.h.
 *
 * While a domain exists, its threads may call strober_domain_save() and
 * strober_domain_on_...().  What these read changes only while there is no
 * domain, and `joined` and `opened` are atomic.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "held.h"
#include "missed.h"
#include "node_table.h"
#include "outside.h"
#include "src/libstorm/base/auth_reason.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/program/domain_private.h"
#include "src/storm_common/gang_map.h"
#include "src/storm_common/no_gang.h"
#include "strobe_clock.h"
#include "strober_domain.h"
#include "strober_state.h"
#include "unwell.h"
#include "witness.h"

/* SCHED_FIFO, as the agents' (main/agent_pulse.c). */
#define PULSE_PRIORITY 14
/* A map is on its way, as a rule for milliseconds. */
#define ASK_AFTER STORM_SEC
/* However rarely nodes check themselves, a change is soon known. */
#define HEALTH_ASK (10 * STORM_SEC)
#define CUT_AFTER (3 * STORM_SEC)

static struct {
	const char *state; /* file */
	uint64_t cluster;
	struct storm_settings set;
	uint64_t health; /* ns between two questions whether all are well; 0: none */
	void (*wake)(void);
	storm_domain_t *open; /* NULL: not open */
	uint32_t epoch;	      /* the last one saved */
	char *failed;	      /* the reason that was logged last */
	uint64_t open_at;     /* when to try again */
	bool joined;	      /* a node has */
	bool opened;	      /* all faults of the opening were told */
} dom;

void strober_domain_init(const char *state, const struct storm_conf *conf,
			 void (*wake)(void))
{
	dom.state = state;
	dom.cluster = gang_cluster_number(slurm_conf.cluster_name);
	dom.set = conf->set;
	dom.health = storm_min(conf->health.period, HEALTH_ASK);
	dom.wake = wake;
	witness_init();
}

void strober_domain_nodes(const char *names, size_t len)
{
	node_table_set(names, len);
	dom.open_at = 0;
}

uint32_t strober_domain_count(void)
{
	return node_table_count();
}

storm_domain_t *strober_domain_get(void)
{
	return dom.open;
}

bool strober_domain_joined(void)
{
	return __atomic_exchange_n(&dom.joined, false, __ATOMIC_ACQ_REL);
}

/* The last strobe's; 0: none are sent now. */
static uint64_t strober_domain_number(void)
{
	return strobe_clock_is_strobing() ? strobe_clock_number() : 0;
}

/* ----------------------------------------------- the domain's callbacks --- */

static int strober_domain_save(void *arg, uint32_t was, uint32_t epoch,
			       const struct storm_idset *excluded)
{
	struct strober_saved now = { .epoch = epoch };
	uint64_t n = storm_idset_size(excluded);
	int rc;

	(void) arg;
	now.excluded = calloc(n + 1, sizeof(*now.excluded));
	if (!now.excluded)
		return -1;
	for (uint32_t i = 0; i < excluded->count; i++)
		for (uint32_t k = excluded->r[i].first;
		     k <= excluded->r[i].last && k < node_table_count(); k++)
			now.excluded[now.nexcluded++] = node_table_get(k)->name;
	rc = strober_state_save(dom.state, was, &now);
	free(now.excluded);
	missed_epoch_begins();
	if (!rc)
		dom.epoch = epoch;
	return rc;
}

static void strober_domain_suspect(const struct storm_fault *f)
{
	bool opening = !__atomic_load_n(&dom.opened, __ATOMIC_ACQUIRE);
	uint64_t now = storm_now(), heard;
	enum suspects_kind kind;

	if (suspects_fault(f, opening, now, &kind, &heard))
		witness_find(f->node, kind, heard, now);
}

static void strober_domain_on_fault(void *arg, const struct storm_fault *f)
{
	bool lacks = f->why == STORM_EBUSY && f->sys;
	bool deaf = f->why == STORM_ELOST && f->sys == ENOLINK;
	/* with another version sys is that version */
	int sys = f->why == STORM_EVERSION ? 0 : f->sys;
	bool news = f->node < node_table_count() &&
		    outside_excluded(f->node, lacks ? f->sys : 0, deaf);
	char auth[STORM_AUTH_TEXT];
	const char *what = lacks && sys == NO_GANG_SLURMD ?
				   "slurmd, which has ended or is stopped" :
			   sys ? strerror(sys) :
				 "";

	(void) arg;
	strober_domain_suspect(f);
	if (f->why == STORM_EAUTH && storm_auth_text(sys, auth, sizeof(auth)))
		what = auth;
	else if (f->why == STORM_ETIME && sys == ENODATA)
		what = "its agent is stopped, or hangs";
	if (news && !node_table_get(f->node)->shares)
		debug("node %s is excluded from the cluster domain: %s%s%s",
		      node_table_get(f->node)->name, storm_strerror(f->why),
		      sys ? ": " : "", what);
	else if (news && deaf)
		info("node %s is excluded from gang scheduling, its jobs run all the time: no datagram from this host comes to UDP port %u there (is a firewall in between?)",
		     node_table_get(f->node)->name, dom.set.port);
	else if (news)
		info("node %s is excluded from gang scheduling, its jobs run all the time: %s%s%s",
		     node_table_get(f->node)->name,
		     lacks ? "it lacks what its agent needs for that" :
			     storm_strerror(f->why),
		     sys ? ": " : "", what);
	dom.wake();
}

/* What is new of it.  Another line says where a node is that has left. */
static void strober_domain_say_deaf(uint32_t node, enum missed_what what)
{
	const char *name = node_table_get(node)->name;

	if (!node_table_get(node)->shares)
		return;
	if (what == MISSED_BACK)
		info("strobes come to node %s again, at UDP port %u", name,
		     dom.set.port);
	if (what == MISSED_MUTE)
		info("node %s takes no turns, its jobs run all the time: it gives signs of life, and no datagram from this host comes to UDP port %u there (is a firewall in between?)",
		     name, dom.set.port);
	if (what == MISSED_DEAF)
		info("node %s takes no turns, its jobs run all the time: it answers, and no strobe from this host comes to UDP port %u there (is a firewall in between?)",
		     name, dom.set.port);
}

/* No strobe comes to a member, or does so again.  That none comes is said at each look;
 * only the first time is news. */
static void strober_domain_on_deaf(uint32_t node, enum missed_what what)
{
	bool deaf = what == MISSED_DEAF || what == MISSED_MUTE;
	bool over = what == MISSED_BACK && !strober_domain_number();

	if (outside_deaf(node, deaf, over))
		strober_domain_say_deaf(node, what);
	else if (deaf)
		return;
	dom.wake();
}

/* The node's guards let its jobs run before the node is excluded. */
static void strober_domain_on_overdue(void *arg, uint32_t node, bool back)
{
	uint64_t now = storm_now();

	(void) arg;
	outside_overdue(node, back);
	missed_node_moved(node);
	if (!dom.set.pulse) /* else on_finding() has said it */
		witness_find(node, back ? SUSPECTS_BACK : SUSPECTS_SILENT, now,
			     now);
	dom.wake();
}

/* It is known long before the node is overdue. */
static void strober_domain_on_finding(void *arg, const struct storm_finding *f)
{
	static const char *const said[STORM_FINDING_END] = {
		[STORM_FINDING_SILENT] = "gives no sign of life",
		[STORM_FINDING_HUNG] =
			"gives signs of life, and its agent does nothing else",
		[STORM_FINDING_DEAF] =
			"gives signs of life, and hears nothing of this host",
		[STORM_FINDING_PATH] =
			"is heard here, and not by its neighbour in the tree",
		[STORM_FINDING_BACK] = "is back",
	};
	uint64_t now = storm_now();

	(void) arg;
	info("node %s %s (last heard %lu ms ago)",
	     node_table_get(f->node)->name, said[f->what],
	     (unsigned long) (f->silence / STORM_MS));
	if (f->what == STORM_FINDING_SILENT)
		witness_find(f->node, SUSPECTS_SILENT, now - f->silence, now);
	else if (f->what == STORM_FINDING_HUNG)
		witness_find(f->node, SUSPECTS_HUNG, now - f->silence, now);
	else if (f->what == STORM_FINDING_DEAF)
		witness_find(f->node, SUSPECTS_CUT, now - f->silence, now);
	else /* also if its neighbour alone does not hear it */
		witness_find(f->node, SUSPECTS_BACK, 0, now);
}

static void strober_domain_on_joined(void *arg, uint32_t node)
{
	(void) arg;
	if (node < node_table_count() && node_table_get(node)->shares)
		info("node %s takes part in gang scheduling",
		     node_table_get(node)->name);
	else if (node < node_table_count())
		debug("node %s is a member of the cluster domain",
		      node_table_get(node)->name);
	outside_joined(node);
	witness_find(node, SUSPECTS_BACK, storm_now(), storm_now());
	__atomic_store_n(&dom.joined, true, __ATOMIC_RELEASE);
	dom.wake();
}

/* -------------------------------------------------------------- open --- */

/* Log the reason, unless it was logged last, and try again in a second. */
static void strober_domain_complain(const char *why)
{
	if (!dom.failed || strcmp(dom.failed, why))
		error(node_table_shares() ?
			      "no gang scheduling, retrying: %s" :
			      "nodes are not watched, retrying: %s",
		      why);
	xfree(dom.failed);
	dom.failed = xstrdup(why);
	dom.open_at = storm_now() + STORM_SEC;
}

/* Load the epoch, and those excluded nodes that are still in the list. */
static int strober_domain_load(struct storm_idset *excluded)
{
	struct strober_saved saved;
	int rc = strober_state_load(dom.state, &saved);

	if (rc)
		return rc;
	dom.epoch = saved.epoch;
	for (uint32_t i = 0; i < node_table_count(); i++)
		for (uint32_t k = 0; k < saved.nexcluded; k++)
			if (!strcmp(node_table_get(i)->name, saved.excluded[k]))
				rc |= storm_idset_add(excluded, i, i);
	strober_state_clear(&saved);
	return rc;
}

static const char *strober_domain_name(uint32_t node)
{
	return node_table_get(node)->name;
}

static storm_domain_t *strober_domain_create(const struct storm_node *nodes,
					     const struct storm_idset *excluded)
{
	struct storm_domain_conf dc = {
		.nodes = nodes,
		.count = node_table_count(),
		.set = dom.set,
		.agent_uid = slurm_conf.slurmd_user_id,
		.cluster = dom.cluster,
		.epoch = dom.epoch,
		.excluded = excluded,
		.save = strober_domain_save,
		.on_fault = strober_domain_on_fault,
		.on_joined = strober_domain_on_joined,
		.on_overdue = strober_domain_on_overdue,
		.on_finding = strober_domain_on_finding,
		.priority = PULSE_PRIORITY,
	};
	storm_domain_t *d;
	int err;

	if (outside_begin(node_table_count(), strober_domain_name)) {
		strober_domain_complain(storm_strerror(STORM_ENOMEM));
		return NULL;
	}
	err = witness_start(dom.wake);
	if (err)
		error("cannot ask nodes that are silent: %s", strerror(err));
	for (uint32_t i = 0; i < excluded->count; i++)
		for (uint32_t k = excluded->r[i].first;
		     k <= excluded->r[i].last; k++) {
			outside_excluded(k, 0, false);
			witness_find(k, SUSPECTS_SILENT, 0, storm_now());
		}
	__atomic_store_n(&dom.opened, false, __ATOMIC_RELEASE);
	d = storm_domain_create(&dc, &err);
	if (!d) {
		strober_domain_complain(storm_strerror(err));
		return NULL;
	}
	err = storm_domain_open(d);
	if (!err)
		err = storm_domain_wait_open(d, NULL);
	if (!err) {
		domain_told(d);
		outside_opened();
		__atomic_store_n(&dom.opened, true, __ATOMIC_RELEASE);
		return d;
	}
	strober_domain_complain(storm_strerror(err));
	storm_domain_destroy(d);
	return NULL;
}

static struct storm_node *strober_domain_addresses(void)
{
	struct storm_node *nodes;
	uint32_t failed;
	char *why = NULL;

	nodes = node_table_addresses(dom.set.port, &failed);
	if (nodes)
		return nodes;
	xstrfmtcat(
		why,
		"Slurm has no address for node %s: check NodeAddr in slurm.conf",
		node_table_get(failed)->name);
	strober_domain_complain(why);
	xfree(why);
	return NULL;
}

uint64_t strober_domain_due(void)
{
	return dom.open || !node_table_count() ? STORM_NEVER : dom.open_at;
}

void strober_domain_open(void)
{
	const struct missed_ops missed = { .number = strober_domain_number,
					   .inside = outside_others,
					   .tell = strober_domain_on_deaf };
	struct storm_idset excluded = { 0 };
	struct storm_node *nodes = strober_domain_addresses();
	storm_domain_t *d = NULL;
	int err;

	if (!nodes)
		return;
	if (strober_domain_load(&excluded))
		strober_domain_complain(
			"cannot read the cluster domain's saved state");
	else
		d = strober_domain_create(nodes, &excluded);
	storm_idset_clear(&excluded);
	xfree(nodes);
	if (!d)
		return;
	info("the cluster domain is open: %u nodes", node_table_count());
	xfree(dom.failed);
	err = missed_start(d, node_table_count(), &missed);
	if (err)
		error("cannot count missed strobes: %s", strerror(err));
	err = held_start(d, strobe_clock_number, dom.wake);
	if (err)
		error("cannot find out whether held jobs stand: %s",
		      strerror(err));
	err = dom.health ? unwell_start(d, node_table_count(), dom.health,
					outside_others, dom.wake) :
			   0;
	if (err)
		error("cannot find out whether nodes are well: %s",
		      strerror(err));
	dom.open = d;
	strobe_clock_open(d);
}

/* A relay is asked once more: no map waits for it, and if it only answers late, it would
 * join and be cut again and again. */
static void strober_domain_cut(bool relays)
{
	struct storm_idset mute = { 0 };

	missed_mute(relays, &mute);
	if (mute.count)
		domain_cut(dom.open, &mute, relays);
	storm_idset_clear(&mute);
}

void strober_domain_cut_relays(void)
{
	strober_domain_cut(true);
}

void strober_domain_map_waits(uint64_t since)
{
	missed_map_waits(since > ASK_AFTER);
	if (since > CUT_AFTER)
		strober_domain_cut(false);
}

void strober_domain_confirm(void)
{
	uint64_t now = storm_now();
	int err;

	if (!strobe_clock_is_away())
		return;
	err = storm_domain_confirm(dom.open);
	if (err) {
		strober_domain_complain(storm_strerror(err));
		return;
	}
	strobe_clock_resume(now);
	held_again();
}

void strober_domain_close(void)
{
	strobe_clock_close();
	held_stop();
	missed_stop();
	unwell_stop();
	storm_domain_destroy(dom.open);
	dom.open = NULL;
	witness_stop();
}
