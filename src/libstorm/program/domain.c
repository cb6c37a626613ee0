/*
 * domain.c - the owner's side of storm.h: an owner, a network and the thread
 * that runs them (runner.h).  storm_event_destroy() is here, because it makes
 * the owner forget a pending event.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "domain_private.h"
#include "event.h"
#include "pulse_thread.h"
#include "runner.h"
#include "src/libstorm/base/addr.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/faults.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/owner/owner.h"

struct domain_note { /* a callback to make without the lock */
	struct domain_note *next;
	enum {
		NOTE_REPORT,
		NOTE_FAULT,
		NOTE_JOINED,
		NOTE_OVERDUE,
		NOTE_BACK,
		NOTE_FINDING
	} kind;
	struct storm_fault fault; /* of JOINED, OVERDUE, BACK: only the node */
	struct storm_finding finding;
	struct storm_report report;
};

struct storm_domain {
	struct storm_shared *sh;
	const struct storm_driver *driver;
	struct storm_runner runner;
	struct storm_domain_conf conf;
	struct storm_net *net;
	struct storm_owner *owner;
	struct storm_addr self;
	struct storm_outcome opened;
	uint32_t terminated; /* the last announced generation */
	bool lost;	     /* a node was lost */
	struct domain_note *notes, **notes_tail;
	bool telling; /* notes that were taken from there are delivered */
	/* The thread of signs of life, and the notes that it delivers itself.
	 * NULL: the runner does that. */
	struct storm_pulse_thread *pulse;
	struct domain_note *findings, **findings_tail;
	uint64_t created;
};

/* ------------------------------------------------ from the owner, locked --- */

static void domain_on_opened(void *arg, struct storm_outcome *out)
{
	storm_domain_t *d = arg;

	d->opened = *out;
	pthread_cond_broadcast(&d->sh->cond);
}

static void domain_on_xfer_done(void *arg, void *token,
				struct storm_outcome *out)
{
	(void) arg;
	storm_event_end(token, out);
}

static void domain_on_gathered(void *arg, void *token,
			       struct storm_gathered *table,
			       struct storm_outcome *out)
{
	storm_event_t *e = token;

	(void) arg;
	e->gathered = *table;
	e->has_gathered = out->state == STORM_DONE;
	storm_event_end(e, out);
}

/* A thread in storm_compare_and_write(). */
struct domain_comparer {
	bool done;
	enum storm_compare result;
	struct storm_outcome out;
};

static void domain_on_compare_done(void *arg, void *token,
				   enum storm_compare result,
				   struct storm_outcome *out)
{
	storm_domain_t *d = arg;
	struct domain_comparer *c = token;

	c->done = true;
	c->result = result;
	c->out = *out;
	pthread_cond_broadcast(&d->sh->cond);
}

static struct domain_note *domain_note_append(struct domain_note ***tail)
{
	struct domain_note *n = calloc(1, sizeof(*n));

	if (n) {
		**tail = n;
		*tail = &n->next;
	}
	return n;
}

static struct domain_note *domain_note_add(storm_domain_t *d)
{
	return domain_note_append(&d->notes_tail);
}

static void domain_on_report(void *arg, const struct storm_report *r)
{
	storm_domain_t *d = arg;
	struct domain_note *n;

	if (r->kind == STORM_REPORT_TERMINATED) {
		uint32_t last = r->ids.r[r->ids.count - 1].last;

		if (last > d->terminated)
			d->terminated = last;
		pthread_cond_broadcast(&d->sh->cond);
		return;
	}
	n = d->conf.on_report ? domain_note_add(d) : NULL;
	if (n) {
		n->report.kind = r->kind;
		n->report.code = r->code;
		storm_idset_union(&n->report.ids, &r->ids);
	}
}

static void domain_on_fault(void *arg, const struct storm_fault *f)
{
	storm_domain_t *d = arg;
	struct domain_note *n = d->conf.on_fault ? domain_note_add(d) : NULL;

	d->lost = true;
	pthread_cond_broadcast(&d->sh->cond);
	if (n) {
		n->kind = NOTE_FAULT;
		n->fault = *f;
	}
}

static void domain_on_joined(void *arg, uint32_t node)
{
	storm_domain_t *d = arg;
	struct domain_note *n = d->conf.on_joined ? domain_note_add(d) : NULL;

	if (n) {
		n->kind = NOTE_JOINED;
		n->fault.node = node;
	}
}

static void domain_on_overdue(void *arg, uint32_t node, bool back)
{
	storm_domain_t *d = arg;
	struct domain_note *n = d->conf.on_overdue ? domain_note_add(d) : NULL;

	if (n) {
		n->kind = back ? NOTE_BACK : NOTE_OVERDUE;
		n->fault.node = node;
	}
}

static void domain_on_finding(void *arg, const struct storm_finding *f)
{
	storm_domain_t *d = arg;
	struct domain_note *n =
		d->conf.on_finding ?
			domain_note_append(d->pulse ? &d->findings_tail :
						      &d->notes_tail) :
			NULL;

	if (n) {
		n->kind = NOTE_FINDING;
		n->finding = *f;
	}
}

static const struct storm_owner_ops domain_owner_ops = {
	.opened = domain_on_opened,
	.xfer_done = domain_on_xfer_done,
	.compare_done = domain_on_compare_done,
	.gathered = domain_on_gathered,
	.report = domain_on_report,
	.fault = domain_on_fault,
	.joined = domain_on_joined,
	.overdue = domain_on_overdue,
	.finding = domain_on_finding,
};

static void domain_datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	storm_domain_t *d = arg;

	storm_owner_datagrams(d->owner, rx, n, storm_shared_now(d->sh));
}

static void domain_stream(void *arg, uint64_t number, const void *buf,
			  size_t len)
{
	(void) arg; /* an owner accepts no streams */
	(void) number;
	(void) buf;
	(void) len;
}

static void domain_stream_failed(void *arg, uint64_t session, uint32_t node,
				 enum storm_err why, int sys)
{
	storm_domain_t *d = arg;

	storm_owner_stream_failed(d->owner, session, node, why, sys,
				  storm_shared_now(d->sh));
}

/* ------------------------------------------------------------------ thread --- */

static void domain_call_notes(storm_domain_t *d, struct domain_note *n)
{
	while (n) {
		struct domain_note *next = n->next;

		if (n->kind == NOTE_FAULT)
			d->conf.on_fault(d->conf.arg, &n->fault);
		else if (n->kind == NOTE_JOINED)
			d->conf.on_joined(d->conf.arg, n->fault.node);
		else if (n->kind == NOTE_FINDING)
			d->conf.on_finding(d->conf.arg, &n->finding);
		else if (n->kind == NOTE_OVERDUE || n->kind == NOTE_BACK)
			d->conf.on_overdue(d->conf.arg, n->fault.node,
					   n->kind == NOTE_BACK);
		else
			d->conf.on_report(d->conf.arg, &n->report);
		storm_idset_clear(&n->report.ids);
		free(n);
		n = next;
	}
}

static uint64_t domain_tick(void *arg, uint64_t now)
{
	return storm_owner_tick(((storm_domain_t *) arg)->owner, now);
}

static void domain_notify(void *arg)
{
	storm_domain_t *d = arg;
	struct domain_note *notes = d->notes;

	d->notes = NULL;
	d->notes_tail = &d->notes;
	d->telling = notes;
	pthread_mutex_unlock(&d->sh->lock);
	domain_call_notes(d, notes);
	pthread_mutex_lock(&d->sh->lock);
	d->telling = false;
	if (notes)
		pthread_cond_broadcast(&d->sh->cond);
}

static const struct storm_runner_ops domain_runner_ops = {
	.tick = domain_tick,
	.tell = domain_notify,
};

/* ---------------------------------------------------------- signs of life --- */

static bool domain_pulse_take(void *arg, const uint8_t *buf, size_t len,
			      uint64_t now)
{
	return storm_owner_pulse(((storm_domain_t *) arg)->owner, buf, len,
				 now);
}

static uint64_t domain_pulse_tick(void *arg, uint64_t now)
{
	return storm_owner_pulse_tick(((storm_domain_t *) arg)->owner, now);
}

/* The runner may be late when the host is busy: findings do not wait for it. */
static void domain_pulse_tell(void *arg)
{
	storm_domain_t *d = arg;
	struct domain_note *n;

	pthread_mutex_lock(&d->sh->lock);
	n = d->findings;
	d->findings = NULL;
	d->findings_tail = &d->findings;
	pthread_mutex_unlock(&d->sh->lock);
	domain_call_notes(d, n);
}

static const struct storm_pulse_thread_ops domain_pulse_ops = {
	.take = domain_pulse_take,
	.tick = domain_pulse_tick,
	.tell = domain_pulse_tell,
};

/* ------------------------------------------------------------------ domain --- */

/* Many hosts have a loopback address for their own name. */
static uint32_t domain_first_elsewhere(const struct storm_domain_conf *conf)
{
	uint32_t i = 0;

	while (i < conf->count && storm_addr_is_loopback(&conf->nodes[i].addr))
		i++;
	return i;
}

/* A copy of the nodes, for others to reach: what is at a loopback address is on
 * this host.  Without another host that address will do. */
static struct storm_node *domain_reachable(const storm_domain_t *d, bool others)
{
	size_t size = d->conf.count * sizeof(struct storm_node);
	struct storm_node *nodes = malloc(size);

	if (!nodes)
		return NULL;
	memcpy(nodes, d->conf.nodes, size);
	for (uint32_t i = 0; others && i < d->conf.count; i++)
		if (storm_addr_is_loopback(&nodes[i].addr))
			memcpy(nodes[i].addr.ip, d->self.ip,
			       sizeof(d->self.ip));
	return nodes;
}

static struct storm_owner *domain_owner(storm_domain_t *d, bool others,
					int *err)
{
	struct storm_domain_conf conf = d->conf;
	struct storm_node *nodes = domain_reachable(d, others);
	struct storm_owner *o = NULL;

	conf.nodes = nodes;
	*err = STORM_ENOMEM;
	if (nodes)
		o = storm_owner_create(&conf, d->driver->transport(d->net),
				       &d->self, &domain_owner_ops, d, err);
	free(nodes);
	return o;
}

storm_domain_t *storm_domain_create(const struct storm_domain_conf *conf,
				    int *err)
{
	static const struct storm_addr nowhere;
	uint32_t peer = domain_first_elsewhere(conf);
	bool others = peer < conf->count;
	struct storm_net_handler h = {
		.datagrams = domain_datagrams,
		.stream = domain_stream,
		.stream_failed = domain_stream_failed,
	};
	struct storm_settings set;
	storm_domain_t *d;

	*err = STORM_EINVAL;
	if (!conf->count)
		return NULL;
	*err = STORM_ENOMEM;
	d = calloc(1, sizeof(*d));
	if (!d)
		return NULL;
	d->sh = storm_shared_create(&conf->set);
	if (!d->sh)
		goto no_shared;
	d->notes_tail = &d->notes;
	d->findings_tail = &d->findings;
	d->conf = *conf;
	d->driver = d->sh->driver;
	d->created = storm_shared_now(d->sh);
	if (storm_runner_init(&d->runner, d->sh, &domain_runner_ops, d)) {
		*err = STORM_ESYS;
		goto no_runner;
	}
	h.arg = d;
	set = conf->set;
	/* over UDP the strobe rail carries multicasts only, and no file data */
	if (!conf->cluster && set.transport == STORM_TRANSPORT_UDP)
		set.strobe_device[0] = '\0';
	d->net = d->driver->create(&set, STORM_ROLE_OWNER,
				   &conf->nodes[others ? peer : 0].addr, &h,
				   err);
	if (!d->net)
		goto no_net;
	d->driver->self(d->net, &d->self);
	if (memcmp(conf->self.ip, nowhere.ip, sizeof(nowhere.ip)))
		memcpy(d->self.ip, conf->self.ip, sizeof(d->self.ip));
	d->owner = domain_owner(d, others, err);
	if (!d->owner)
		goto no_owner;
	storm_runner_net(&d->runner, d->net);
	d->conf.nodes = NULL;
	d->conf.authority = NULL;
	d->conf.excluded = NULL;
	*err = STORM_OK;
	return d;
no_owner:
	d->driver->destroy(d->net);
no_net:
	storm_runner_clear(&d->runner);
no_runner:
	pthread_mutex_lock(&d->sh->lock);
	storm_shared_leave(d->sh);
no_shared:
	free(d);
	return NULL;
}

/* Locked.  Without the thread, or without its priority, a loss is known later. */
static void domain_pulse_begin(storm_domain_t *d, uint64_t session)
{
	int refused;

	if (!d->conf.cluster || !d->conf.set.pulse || !d->driver->pulse)
		return;
	d->pulse = storm_pulse_thread_start(d->driver, d->net, &d->sh->lock,
					    &domain_pulse_ops, d,
					    d->conf.priority, &refused);
	if (!d->pulse)
		return;
	d->driver->pulse->steer(d->net, session);
	storm_owner_pulse_elsewhere(d->owner);
	if (refused)
		storm_log(
			STORM_LOG_INFO,
			"no real-time priority for signs of life (%s): on a busy host a lost node is known later",
			strerror(refused));
}

int storm_domain_open(storm_domain_t *d)
{
	uint64_t session;
	int err;

	pthread_mutex_lock(&d->sh->lock);
	err = d->runner.running ?
		      STORM_EINVAL :
		      storm_owner_open(d->owner, storm_shared_now(d->sh));
	session = storm_owner_session(d->owner);
	/* a sender that knows no session of this domain wakes nobody */
	if (!err && d->conf.cluster && d->driver->admit)
		d->driver->admit(d->net, &session, 1, true);
	if (!err && storm_runner_start(&d->runner, "storm_domain"))
		err = STORM_ESYS;
	if (!err)
		domain_pulse_begin(d, session);
	pthread_mutex_unlock(&d->sh->lock);
	return err;
}

int storm_domain_wait_open(storm_domain_t *d, struct storm_outcome *out)
{
	int err = STORM_OK;

	pthread_mutex_lock(&d->sh->lock);
	while (d->runner.running && d->opened.state == STORM_PENDING)
		storm_shared_wait(d->sh, 0);
	if (d->opened.state != STORM_DONE)
		err = d->opened.faults_kept ? (int) d->opened.faults[0].why :
					      STORM_ECLOSED;
	storm_outcome_copy(out, &d->opened);
	pthread_mutex_unlock(&d->sh->lock);
	return err;
}

void domain_told(storm_domain_t *d)
{
	pthread_mutex_lock(&d->sh->lock);
	while (d->runner.running && (d->notes || d->telling))
		storm_shared_wait(d->sh, 0);
	pthread_mutex_unlock(&d->sh->lock);
}

int storm_domain_confirm(storm_domain_t *d)
{
	int err;

	pthread_mutex_lock(&d->sh->lock);
	err = d->runner.running ?
		      storm_owner_confirm(d->owner, storm_shared_now(d->sh)) :
		      STORM_ECLOSED;
	pthread_mutex_unlock(&d->sh->lock);
	if (!err)
		storm_runner_wake(&d->runner);
	return err;
}

void storm_domain_destroy(storm_domain_t *d)
{
	if (!d)
		return;
	storm_pulse_thread_stop(d->pulse);
	domain_pulse_tell(d);
	storm_runner_stop(&d->runner);
	pthread_mutex_lock(&d->sh->lock);
	storm_owner_close(d->owner, storm_shared_now(d->sh));
	domain_notify(d);
	storm_owner_destroy(d->owner); /* ends what is pending, if anything */
	storm_shared_leave(d->sh);
	d->driver->destroy(d->net);
	storm_outcome_clear(&d->opened);
	storm_runner_clear(&d->runner);
	free(d);
}

void storm_domain_self(const storm_domain_t *d, struct storm_addr *self)
{
	*self = d->self;
}

/* -------------------------------------------------------------- primitives --- */

/* An operation was handed to the owner, or not: err.  Unlocks. */
static storm_event_t *domain_asked(storm_domain_t *d, storm_event_t *e, int err)
{
	if (err) {
		storm_event_drop(e);
		e = NULL;
	}
	pthread_mutex_unlock(&d->sh->lock);
	if (e)
		storm_runner_wake(&d->runner);
	return e;
}

/* The event takes from->arg, which is its source or NULL. */
static storm_event_t *domain_xfer(storm_domain_t *d,
				  const struct storm_idset *P,
				  const struct storm_target *to,
				  const struct storm_bytes *from, uint64_t len)
{
	int err = STORM_OK;
	storm_event_t *e;

	pthread_mutex_lock(&d->sh->lock);
	e = storm_event_create(d->sh, len);
	if (e) {
		e->domain = d;
		e->source = from->arg;
	} else {
		source_destroy(from->arg);
	}
	if (e)
		err = storm_owner_xfer_from(d->owner, P, to, from, len, e,
					    storm_shared_now(d->sh));
	return domain_asked(d, e, err);
}

storm_event_t *storm_xfer_and_signal(storm_domain_t *d,
				     const struct storm_idset *P,
				     const struct storm_target *to,
				     const void *buf, uint64_t len)
{
	struct storm_bytes from = { .buf = buf };

	return domain_xfer(d, P, to, &from, len);
}

storm_event_t *domain_xfer_source(storm_domain_t *d,
				  const struct storm_idset *P,
				  const struct storm_target *to,
				  struct source *source, uint64_t len)
{
	struct storm_bytes from = { .at = source_bytes, .arg = source };

	return domain_xfer(d, P, to, &from, len);
}

storm_event_t *storm_gather(storm_domain_t *d, const struct storm_idset *P,
			    const void *query, size_t len, uint64_t deadline)
{
	uint64_t now = storm_shared_now(d->sh), limit = STORM_NEVER;
	int err = STORM_OK;
	storm_event_t *e;

	if (deadline)
		limit = deadline > now ? deadline - now : 0;
	pthread_mutex_lock(&d->sh->lock);
	e = d->runner.running ? storm_event_create(d->sh, 0) : NULL;
	if (e)
		e->domain = d;
	if (e)
		err = storm_owner_gather(d->owner, P, query, len, limit, e,
					 now);
	return domain_asked(d, e, err);
}

void storm_event_destroy(storm_event_t *e)
{
	struct storm_shared *sh;

	if (!e)
		return;
	sh = e->sh;
	pthread_mutex_lock(&sh->lock);
	if (e->out.state == STORM_PENDING && !e->domain) {
		e->forgotten = true; /* free it when it ends */
		pthread_mutex_unlock(&sh->lock);
		return;
	}
	if (e->out.state == STORM_PENDING) {
		storm_owner_forget(e->domain->owner, e, storm_shared_now(sh));
		storm_runner_wake(&e->domain->runner);
	}
	storm_shared_leave(sh);
	storm_event_free(e);
}

bool storm_event_cancel(storm_event_t *e)
{
	struct storm_shared *sh = e->sh;
	bool yes;

	pthread_mutex_lock(&sh->lock);
	yes = e->out.state == STORM_ABORTED;
	if (e->out.state == STORM_PENDING && e->domain) {
		yes = storm_owner_cancel(e->domain->owner, e,
					 storm_shared_now(sh));
		storm_runner_wake(&e->domain->runner);
	}
	pthread_mutex_unlock(&sh->lock);
	return yes;
}

uint64_t storm_event_progress(storm_event_t *e)
{
	uint64_t n = e->len;

	pthread_mutex_lock(&e->sh->lock);
	if (e->out.state == STORM_PENDING)
		n = e->domain ? storm_owner_progress(e->domain->owner, e) : 0;
	pthread_mutex_unlock(&e->sh->lock);
	return n;
}

bool storm_event_behind(storm_event_t *e, struct storm_idset *out)
{
	bool some = false;

	memset(out, 0, sizeof(*out));
	pthread_mutex_lock(&e->sh->lock);
	if (e->out.state == STORM_PENDING && e->domain)
		some = storm_owner_behind(e->domain->owner, e, out);
	pthread_mutex_unlock(&e->sh->lock);
	return some;
}

int storm_domain_forget(storm_domain_t *d, uint8_t kind,
			const struct storm_idset *ids)
{
	int err;

	if (kind >= STORM_REPORT_TERMINATED)
		return STORM_EINVAL;
	pthread_mutex_lock(&d->sh->lock);
	err = storm_owner_report_forget(d->owner, kind, ids);
	pthread_mutex_unlock(&d->sh->lock);
	return err;
}

uint64_t domain_now(const storm_domain_t *d)
{
	return storm_shared_now(d->sh);
}

void domain_sleep(const storm_domain_t *d, uint64_t ns)
{
	storm_shared_sleep(d->sh, ns);
}

int domain_await_announcement(storm_domain_t *d, uint32_t generation,
			      uint64_t deadline)
{
	int err = STORM_OK;

	pthread_mutex_lock(&d->sh->lock);
	if (!d->runner.running)
		err = STORM_ECLOSED;
	while (!err && d->terminated < generation && !d->lost)
		if (!storm_shared_wait(d->sh, deadline))
			err = STORM_ETIME;
	pthread_mutex_unlock(&d->sh->lock);
	return err;
}

int domain_nodes(storm_domain_t *d, const struct storm_idset *P,
		 struct storm_idset *out)
{
	int err;

	pthread_mutex_lock(&d->sh->lock);
	err = storm_owner_nodes(d->owner, P, out);
	pthread_mutex_unlock(&d->sh->lock);
	return err;
}

/* Locked.  The owner has been asked, or err says why not. */
static enum storm_compare domain_compare_await(storm_domain_t *d,
					       struct domain_comparer *c,
					       int err,
					       struct storm_outcome *out)
{
	if (!err) {
		storm_runner_wake(&d->runner);
		while (!c->done)
			storm_shared_wait(d->sh, 0);
	}
	storm_outcome_copy(out, &c->out);
	storm_outcome_clear(&c->out);
	return c->result;
}

#define COMPARER                                                         \
	{                                                                \
		.result = STORM_FAILED, .out = {.state = STORM_ABORTED } \
	}

enum storm_compare
storm_compare_and_write(storm_domain_t *d, const struct storm_idset *P,
			uint32_t var, enum storm_relation rel, uint64_t value,
			const struct storm_assign *write,
			struct storm_outcome *out)
{
	struct domain_comparer c = COMPARER;
	enum storm_compare result;
	int err;

	pthread_mutex_lock(&d->sh->lock);
	err = d->runner.running ?
		      storm_owner_compare(d->owner, P, var, rel, value, write,
					  &c, storm_shared_now(d->sh)) :
		      STORM_ECLOSED;
	result = domain_compare_await(d, &c, err, out);
	pthread_mutex_unlock(&d->sh->lock);
	return result;
}

enum storm_compare domain_compare_within(storm_domain_t *d,
					 const struct storm_idset *P,
					 uint32_t var, enum storm_relation rel,
					 uint64_t value, uint64_t limit,
					 struct storm_outcome *out)
{
	struct domain_comparer c = COMPARER;
	enum storm_compare result;
	int err;

	pthread_mutex_lock(&d->sh->lock);
	err = d->runner.running ?
		      storm_owner_compare_within(d->owner, P, var, rel, value,
						 limit, &c,
						 storm_shared_now(d->sh)) :
		      STORM_ECLOSED;
	result = domain_compare_await(d, &c, err, out);
	pthread_mutex_unlock(&d->sh->lock);
	return result;
}

int domain_cut(storm_domain_t *d, const struct storm_idset *nodes, bool relays)
{
	int err;

	pthread_mutex_lock(&d->sh->lock);
	err = d->runner.running ? storm_owner_cut(d->owner, nodes, relays,
						  storm_shared_now(d->sh)) :
				  STORM_ECLOSED;
	storm_runner_wake(&d->runner);
	pthread_mutex_unlock(&d->sh->lock);
	return err;
}

uint64_t storm_strobe(storm_domain_t *d, const void *data, size_t len)
{
	uint64_t number;

	pthread_mutex_lock(&d->sh->lock);
	number = d->runner.running ? storm_owner_strobe(d->owner, data, len) :
				     0;
	pthread_mutex_unlock(&d->sh->lock);
	return number;
}

/* -------------------------------------------------------------- statistics --- */

void storm_domain_timeline(storm_domain_t *d, struct storm_timeline *out)
{
	pthread_mutex_lock(&d->sh->lock);
	storm_owner_timeline(d->owner, out);
	out->create = d->created;
	pthread_mutex_unlock(&d->sh->lock);
}

void storm_domain_stats(storm_domain_t *d, struct storm_stats *out)
{
	pthread_mutex_lock(&d->sh->lock);
	storm_owner_stats(d->owner, out);
	out->dropped_by_test = d->driver->dropped(d->net);
	pthread_mutex_unlock(&d->sh->lock);
}

void domain_counters(storm_domain_t *d, char *buf, size_t size)
{
	pthread_mutex_lock(&d->sh->lock);
	d->driver->counters(d->net, buf, size);
	pthread_mutex_unlock(&d->sh->lock);
}
