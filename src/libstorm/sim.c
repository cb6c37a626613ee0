/*
 * sim.c - see sim.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "credential.h"
#include "idset.h"
#include "sim.h"
#include "wire.h"

enum kind { EV_DATAGRAM, EV_STREAM, EV_REFUSED, EV_AUTH, EV_BEGUN, EV_STAGED,
	    EV_APPLIED };

struct event {
	uint64_t at, order;
	enum kind kind;
	uint32_t to, life;	/* endpoint, and which life of it */
	bool group;
	uint64_t session, op, ticket;	/* ticket: a stream's number too */
	uint32_t node;
	int err, sys;
	uint8_t *buf;
	size_t len;
};

struct file {
	char *path;
	uint8_t *data;
	uint64_t size;
	bool shown;
};

#define SEND_BUFFER (208 << 10)

struct stream {			/* who waits for what becomes of it */
	uint32_t from, life, node;
	uint64_t session;
	bool over;
};

struct endpoint {
	struct storm_transport t;	/* first */
	struct storm_sim *sim;
	uint32_t index;			/* n: the owner */
	uint32_t life;
	bool down, foreign;
	int disk_error;
	uint64_t paused_until, busy_until, tick_at, sent;
	struct storm_nm *nm;
	uint64_t session;
	struct storm_sim_file *files;
	uint32_t nfiles;
	uint32_t temporaries;
	struct storm_sim_seen *seen;
	uint32_t nseen;
	struct storm_idset acked[STORM_REPORT_KINDS];
};

struct storm_sim {
	struct storm_sim_conf conf;
	struct endpoint *ep;		/* nodes, then the owner */
	struct storm_owner *owner;
	char (*names)[16];
	uint64_t now, random, order;
	struct event *heap;
	size_t count, room;
	struct stream *stream;
	size_t streams;
};

/* ------------------------------------------------------------------- chance --- */

static uint64_t chance(struct storm_sim *sim)
{
	uint64_t z = sim->random += 0x9e3779b97f4a7c15ULL;	/* splitmix64 */

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static bool happens(struct storm_sim *sim, uint32_t ppm)
{
	return ppm && chance(sim) % 1000000 < ppm;
}

static uint64_t upto(struct storm_sim *sim, uint64_t ns)
{
	return ns ? chance(sim) % (ns + 1) : 0;
}

/* -------------------------------------------------------------------- queue --- */

static bool before(const struct event *a, const struct event *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void push(struct storm_sim *sim, struct event e)
{
	size_t i;

	if (sim->count == sim->room) {
		sim->room = sim->room ? sim->room * 2 : 1024;
		sim->heap = realloc(sim->heap, sim->room * sizeof(e));
		if (!sim->heap)
			abort();	/* a simulation without memory is none */
	}
	e.order = sim->order++;
	for (i = sim->count++; i && before(&e, &sim->heap[(i - 1) / 2]);
	     i = (i - 1) / 2)
		sim->heap[i] = sim->heap[(i - 1) / 2];
	sim->heap[i] = e;
}

static struct event pop(struct storm_sim *sim)
{
	struct event top = sim->heap[0], last = sim->heap[--sim->count];
	size_t i = 0, c;

	while ((c = 2 * i + 1) < sim->count) {
		if (c + 1 < sim->count &&
		    before(&sim->heap[c + 1], &sim->heap[c]))
			c++;
		if (!before(&sim->heap[c], &last))
			break;
		sim->heap[i] = sim->heap[c];
		i = c;
	}
	if (sim->count)
		sim->heap[i] = last;
	return top;
}

/* ------------------------------------------------------------------ network --- */

static void address(uint32_t index, struct storm_addr *a)
{
	memset(a, 0, sizeof(*a));
	a->ip[0] = 0xfd;
	for (int i = 0; i < 4; i++)
		a->ip[15 - i] = (uint8_t) (index >> 8 * i);
	a->port = 1;
}

static uint32_t index_of(const struct storm_addr *a)
{
	return (uint32_t) a->ip[12] << 24 | (uint32_t) a->ip[13] << 16 |
	       (uint32_t) a->ip[14] << 8 | a->ip[15];
}

/* The copy of a datagram comes this much later: when it does no good. */
#define DUP_LATE (50 * STORM_MS)

static void deliver(struct storm_sim *sim, uint32_t to, bool group,
		    const uint8_t *buf, size_t len, uint64_t at)
{
	struct event e = { .kind = EV_DATAGRAM, .to = to, .group = group,
			   .life = sim->ep[to].life, .len = len };

	if (happens(sim, sim->conf.loss_ppm))
		return;
	for (int copy = happens(sim, sim->conf.dup_ppm); copy >= 0; copy--) {
		e.at = at + upto(sim, copy ? DUP_LATE : sim->conf.jitter);
		e.buf = malloc(len);
		if (!e.buf)
			abort();
		memcpy(e.buf, buf, len);
		push(sim, e);
	}
}

/* Every node has joined the groups of the pool, and no others. */
static bool joined(const struct storm_sim *sim, const struct storm_addr *to)
{
	struct storm_in base = { sim->conf.set.group.ip + 12,
				 sim->conf.set.group.ip + 16, false };
	struct storm_in group = { to->ip + 12, to->ip + 16, false };
	uint32_t first = storm_get32(&base);

	return storm_get32(&group) - first < sim->conf.set.groups;
}

static int sim_send(struct storm_transport *t, enum storm_class c,
		    const struct storm_addr *to, const void *buf, size_t len,
		    size_t seg)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct storm_sim *sim = ep->sim;
	bool group = to->ip[0] == 0;	/* v4-mapped: the pool of groups */
	const uint8_t *p = buf;

	/* as over UDP: the owner's bulk data wait in a socket of that size,
	 * what a node passes on is kept until it can go */
	if (c == STORM_BULK && ep->index == sim->conf.nodes &&
	    sim->conf.bandwidth > 0 && ep->busy_until > sim->now &&
	    (double) (ep->busy_until - sim->now) * sim->conf.bandwidth / 1e9 >
	    SEND_BUFFER)
		return -EAGAIN;
	for (size_t off = 0; off < len; off += seg) {
		size_t n = len - off < seg ? len - off : seg;
		uint64_t at;

		if (ep->busy_until < sim->now)
			ep->busy_until = sim->now;
		if (sim->conf.bandwidth > 0)
			ep->busy_until += (uint64_t) ((double) n * 1e9 /
						      sim->conf.bandwidth);
		at = ep->busy_until + sim->conf.latency;
		ep->sent++;
		if (!group) {
			uint32_t i = index_of(to);

			if (i <= sim->conf.nodes)
				deliver(sim, i, false, p + off, n, at);
			continue;
		}
		for (uint32_t i = 0; sim->conf.multicast && joined(sim, to) &&
		     i < sim->conf.nodes; i++)
			if (i != ep->index)
				deliver(sim, i, true, p + off, n, at);
	}
	return 0;
}

static int sim_stream(struct storm_transport *t, const struct storm_addr *to,
		      uint64_t session, uint32_t node, const void *buf,
		      size_t len)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct storm_sim *sim = ep->sim;
	uint32_t i = index_of(to);
	struct event e = {
		.at = sim->now + 3 * sim->conf.latency +
		      upto(sim, sim->conf.jitter),
		.kind = EV_STREAM, .to = i, .life = sim->ep[i].life,
		.len = len, .session = session, .node = node,
	};

	if (sim->ep[i].down) {
		e.kind = EV_REFUSED;
		e.to = ep->index;
		e.life = ep->life;
		e.err = STORM_ENOAGENT;
		e.sys = ECONNREFUSED;
	} else {
		e.buf = malloc(len);
		sim->stream = realloc(sim->stream, (sim->streams + 1) *
				      sizeof(*sim->stream));
		if (!e.buf || !sim->stream)
			abort();
		memcpy(e.buf, buf, len);
		/* to another version, ours is another */
		if (sim->ep[i].foreign)
			e.buf[5]++;
		sim->stream[sim->streams++] = (struct stream) {
			ep->index, ep->life, node, session, false };
		e.ticket = sim->streams;
	}
	push(sim, e);
	return 0;
}

static void sim_end_stream(struct storm_transport *t, uint64_t number,
			   enum storm_err err)
{
	struct endpoint *ep = (struct endpoint *) t;
	struct storm_sim *sim = ep->sim;
	const struct stream *s = &sim->stream[number - 1];
	struct event e = {
		.kind = EV_REFUSED, .to = s->from, .life = s->life,
		.session = s->session, .node = s->node,
	};

	if (!number || number > sim->streams)
		abort();
	if (!err)
		return;
	e.err = err == STORM_EAUTH ? STORM_ELOST : err;
	e.sys = err == STORM_EAUTH ? ECONNRESET :
		err == STORM_EVERSION ? STORM_WIRE_VERSION + 1 : 0;
	e.at = sim->now + sim->conf.latency + upto(sim, sim->conf.jitter);
	push(sim, e);
}

/* Who hangs up is heard at once: that is no message. */
static bool sim_stream_waits(struct storm_transport *t, uint64_t number)
{
	struct storm_sim *sim = ((struct endpoint *) t)->sim;
	const struct stream *s = &sim->stream[number - 1];

	return !s->over && s->life == sim->ep[s->from].life;
}

static void sim_drop_streams(struct storm_transport *t, uint64_t session)
{
	struct endpoint *ep = (struct endpoint *) t;

	for (size_t i = 0; i < ep->sim->streams; i++)
		if (ep->sim->stream[i].from == ep->index &&
		    ep->sim->stream[i].session == session)
			ep->sim->stream[i].over = true;
}

static size_t sim_mtu(struct storm_transport *t)
{
	return ((struct endpoint *) t)->sim->conf.mtu;
}

static const struct storm_transport_ops sim_ops = {
	.name = "sim", .send = sim_send, .send_stream = sim_stream,
	.end_stream = sim_end_stream, .stream_waits = sim_stream_waits,
	.drop_streams = sim_drop_streams, .mtu = sim_mtu,
};

/* -------------------------------------------------------------- credentials --- */

static int hex_encode(uint32_t agent_uid, const void *payload, size_t len,
		      char **cred)
{
	(void) agent_uid;
	*cred = malloc(2 * len + 1);
	if (!*cred)
		return STORM_ENOMEM;
	for (size_t i = 0; i < len; i++)
		sprintf(*cred + 2 * i, "%02x", ((const uint8_t *) payload)[i]);
	return STORM_OK;
}

static int hex_decode(const char *cred, void **payload, size_t *len,
		      uint32_t *uid, uint32_t *gid)
{
	size_t n = strlen(cred) / 2;
	uint8_t *p = malloc(n + 1);

	if (!p)
		return STORM_ENOMEM;
	for (size_t i = 0; i < n; i++) {
		unsigned int b;

		if (sscanf(cred + 2 * i, "%2x", &b) != 1) {
			free(p);
			return STORM_EAUTH;
		}
		p[i] = (uint8_t) b;
	}
	*payload = p;
	*len = n;
	*uid = *gid = 1000;
	return STORM_OK;
}

/* -------------------------------------------------------------- nodes' hosts --- */

static void later(struct endpoint *ep, struct event e)
{
	e.at = ep->sim->now + upto(ep->sim, ep->sim->conf.disk_jitter);
	e.to = ep->index;
	e.life = ep->life;
	push(ep->sim, e);
}

static void host_authenticate(void *host, uint64_t ticket, void *buf,
			      size_t len)
{
	later(host, (struct event) { .kind = EV_AUTH, .ticket = ticket,
				     .buf = buf, .len = len });
}

static void host_session_open(void *host, uint64_t session,
			      const struct storm_open_info *info, void **ctx)
{
	struct endpoint *ep = host;

	(void) info;
	ep->session = session;
	*ctx = NULL;
}

static void host_session_close(void *host, void *ctx)
{
	(void) ctx;
	((struct endpoint *) host)->session = 0;
}

static void host_begin(void *host, void *ctx, uint64_t session, uint64_t op,
		       const struct storm_target *to, uint64_t size,
		       void **out)
{
	struct endpoint *ep = host;
	struct file *f = calloc(1, sizeof(*f));

	(void) ctx;
	if (!f)
		abort();
	f->path = strdup(to->path);
	f->data = malloc(size + 1);
	f->size = size;
	if (!f->path || !f->data)
		abort();
	memset(f->data, 0xee, size);
	ep->temporaries++;
	*out = f;
	later(ep, (struct event) { .kind = EV_BEGUN, .session = session,
				   .op = op });
}

static int host_write(void *host, void *file, uint64_t off, const void *buf,
		      size_t len)
{
	struct endpoint *ep = host;
	struct file *f = file;

	if (ep->disk_error)
		return ep->disk_error;
	memcpy(f->data + off, buf, len);
	return 0;
}

static int host_read(void *host, void *file, uint64_t off, void *buf,
		     size_t len)
{
	struct file *f = file;

	(void) host;
	memcpy(buf, f->data + off, len);
	return 0;
}

static void host_stage(void *host, void *file, uint64_t session, uint64_t op)
{
	(void) file;
	later(host, (struct event) { .kind = EV_STAGED, .session = session,
				     .op = op });
}

static void host_commit(void *host, void *file, uint64_t session, uint64_t op)
{
	struct endpoint *ep = host;
	struct file *f = file;
	struct storm_sim_file *s;

	ep->files = realloc(ep->files, (ep->nfiles + 1) * sizeof(*ep->files));
	if (!ep->files)
		abort();
	s = &ep->files[ep->nfiles++];
	s->path = strdup(f->path);
	s->size = f->size;
	s->data = malloc(f->size + 1);
	memcpy(s->data, f->data, f->size);
	f->shown = true;
	later(ep, (struct event) { .kind = EV_APPLIED, .session = session,
				   .op = op });
}

static void host_end(void *host, void *file)
{
	struct endpoint *ep = host;
	struct file *f = file;

	ep->temporaries--;
	free(f->path);
	free(f->data);
	free(f);
}

static void host_event(void *host, void *ctx, uint64_t session, uint32_t event,
		       const void *buf, size_t len)
{
	struct endpoint *ep = host;
	struct storm_sim_seen *s;

	(void) ctx;
	(void) session;
	ep->seen = realloc(ep->seen, (ep->nseen + 1) * sizeof(*ep->seen));
	if (!ep->seen)
		abort();
	s = &ep->seen[ep->nseen++];
	s->event = event;
	s->len = len;
	s->data = malloc(len + 1);
	memcpy(s->data, buf, len);
}

static void host_acked(void *host, void *ctx, uint8_t kind,
		       const struct storm_idset *ids)
{
	struct endpoint *ep = host;

	(void) ctx;
	storm_idset_union(&ep->acked[kind], ids);
}

static const struct storm_nm_ops nm_ops = {
	.authenticate = host_authenticate,
	.session_open = host_session_open,
	.session_close = host_session_close,
	.file_begin = host_begin, .file_write = host_write,
	.file_read = host_read, .file_stage = host_stage,
	.file_commit = host_commit, .file_end = host_end,
	.event = host_event, .acked = host_acked,
};

/* ---------------------------------------------------------------------- run --- */

static void input(struct storm_sim *sim, struct event *e)
{
	struct endpoint *ep = &sim->ep[e->to];
	struct storm_rx rx = { e->buf, e->len, e->group };
	struct storm_open *o = NULL;
	int err;

	if (e->life != ep->life || ep->down)
		return;
	if (e->to == sim->conf.nodes) {
		if (e->kind == EV_DATAGRAM)
			storm_owner_datagrams(sim->owner, &rx, 1, sim->now);
		else if (e->kind == EV_REFUSED)
			storm_owner_stream_failed(sim->owner, e->session,
						  e->node, e->err, e->sys,
						  sim->now);
		return;
	}
	switch (e->kind) {
	case EV_DATAGRAM:
		storm_nm_datagrams(ep->nm, &rx, 1, sim->now);
		break;
	case EV_STREAM:
		storm_nm_stream(ep->nm, e->ticket, e->buf, e->len, sim->now);
		break;
	case EV_REFUSED:
		storm_nm_stream_failed(ep->nm, e->session, e->node,
				       e->err, e->sys, sim->now);
		break;
	case EV_AUTH:
		err = storm_open_verify(e->buf, e->len, &o);
		storm_nm_admit(ep->nm, e->ticket, o, err, sim->now);
		break;
	case EV_BEGUN:
		storm_nm_begun(ep->nm, e->session, e->op, e->err, e->sys,
			       sim->now);
		break;
	case EV_STAGED:
		storm_nm_staged(ep->nm, e->session, e->op, e->err, e->sys,
				sim->now);
		break;
	case EV_APPLIED:
		storm_nm_applied(ep->nm, e->session, e->op, e->err, e->sys,
				 sim->now);
		break;
	}
}

static void tick(struct storm_sim *sim, struct endpoint *ep)
{
	uint64_t next;

	if (ep->down)
		ep->tick_at = STORM_NEVER;
	else if (ep->paused_until > sim->now)
		ep->tick_at = ep->paused_until;
	else {
		next = ep->nm ? storm_nm_tick(ep->nm, sim->now) :
				storm_owner_tick(sim->owner, sim->now);
		/* a state machine that wants to run again at once still
		 * takes time to do so */
		ep->tick_at = next <= sim->now ? sim->now + STORM_US : next;
	}
}

bool storm_sim_run(struct storm_sim *sim, uint64_t ns,
		   bool (*done)(void *arg), void *arg)
{
	uint64_t end = sim->now + ns;

	for (;;) {
		uint64_t next = sim->count ? sim->heap[0].at : STORM_NEVER;
		struct endpoint *who = NULL;

		if (done && done(arg))
			return true;
		for (uint32_t i = 0; i <= sim->conf.nodes; i++)
			if (sim->ep[i].tick_at < next) {
				next = sim->ep[i].tick_at;
				who = &sim->ep[i];
			}
		if (next > end) {
			sim->now = end;
			return false;
		}
		if (next > sim->now)
			sim->now = next;
		if (who) {
			tick(sim, who);
		} else {
			struct event e = pop(sim);
			struct endpoint *ep = &sim->ep[e.to];

			if (ep->paused_until > sim->now && !ep->down) {
				e.at = ep->paused_until;
				push(sim, e);
				continue;
			}
			input(sim, &e);
			free(e.buf);
			tick(sim, ep);
		}
	}
}

/* ------------------------------------------------------------------- faults --- */

static void nm_start(struct endpoint *ep)
{
	int err;

	ep->nm = storm_nm_create(&ep->sim->conf.set, &ep->t, &nm_ops, ep,
				 &err);
	if (!ep->nm)
		abort();
	ep->tick_at = STORM_NEVER;
}

void storm_sim_crash(struct storm_sim *sim, uint32_t node)
{
	struct endpoint *ep = &sim->ep[node];

	if (ep->down)
		return;
	ep->down = true;
	ep->life++;
	storm_nm_destroy(ep->nm);
	ep->nm = NULL;
	ep->tick_at = STORM_NEVER;
	ep->session = 0;
}

void storm_sim_restart(struct storm_sim *sim, uint32_t node)
{
	struct endpoint *ep = &sim->ep[node];

	if (!ep->down)
		return;
	ep->down = false;
	nm_start(ep);
}

void storm_sim_foreign(struct storm_sim *sim, uint32_t node)
{
	sim->ep[node].foreign = true;
}

void storm_sim_pause(struct storm_sim *sim, uint32_t node, uint64_t ns)
{
	sim->ep[node].paused_until = sim->now + ns;
}

void storm_sim_loss(struct storm_sim *sim, uint32_t loss_ppm)
{
	sim->conf.loss_ppm = loss_ppm;
}

void storm_sim_disk(struct storm_sim *sim, uint32_t node, int sys)
{
	sim->ep[node].disk_error = sys;
}

/* -------------------------------------------------------------------- whole --- */

struct storm_sim *storm_sim_create(const struct storm_sim_conf *conf,
				   const struct storm_owner_ops *ops,
				   void *arg)
{
	static const struct storm_credential_ops cred = {
		hex_encode, hex_decode
	};
	struct storm_sim *sim = calloc(1, sizeof(*sim));
	uint32_t n = conf->nodes;
	struct storm_node *nodes = calloc(n, sizeof(*nodes));
	struct storm_domain_conf dc = { .nodes = nodes, .count = n,
					.set = conf->set };
	struct storm_addr self;
	int err;

	if (!sim || !nodes)
		abort();
	storm_credential_use(&cred);
	sim->conf = *conf;
	sim->random = conf->seed;
	sim->now = STORM_SEC;
	sim->ep = calloc(n + 1, sizeof(*sim->ep));
	sim->names = calloc(n, sizeof(*sim->names));
	if (!sim->ep || !sim->names)
		abort();
	for (uint32_t i = 0; i <= n; i++) {
		sim->ep[i].t.ops = &sim_ops;
		sim->ep[i].sim = sim;
		sim->ep[i].index = i;
		if (i == n)
			break;
		snprintf(sim->names[i], sizeof(sim->names[i]), "n%u", i + 1);
		nodes[i].name = sim->names[i];
		address(i, &nodes[i].addr);
		nm_start(&sim->ep[i]);
	}
	address(n, &self);
	sim->owner = storm_owner_create(&dc, &sim->ep[n].t, &self, ops, arg,
					&err);
	free(nodes);
	if (!sim->owner) {
		storm_sim_destroy(sim);
		return NULL;
	}
	sim->ep[n].tick_at = sim->now;
	return sim;
}

void storm_sim_destroy(struct storm_sim *sim)
{
	if (!sim)
		return;
	storm_owner_destroy(sim->owner);
	/* whose sessions hang up their streams */
	for (uint32_t i = 0; i < sim->conf.nodes; i++)
		storm_nm_destroy(sim->ep[i].nm);
	while (sim->count)
		free(pop(sim).buf);
	free(sim->heap);
	free(sim->stream);
	for (uint32_t i = 0; i < sim->conf.nodes; i++) {
		struct endpoint *ep = &sim->ep[i];

		for (uint32_t k = 0; k < ep->nfiles; k++) {
			free(ep->files[k].path);
			free(ep->files[k].data);
		}
		for (uint32_t k = 0; k < ep->nseen; k++)
			free(ep->seen[k].data);
		for (int k = 0; k < STORM_REPORT_KINDS; k++)
			storm_idset_clear(&ep->acked[k]);
		free(ep->files);
		free(ep->seen);
	}
	free(sim->ep);
	free(sim->names);
	free(sim);
}

struct storm_owner *storm_sim_owner(struct storm_sim *sim)
{
	return sim->owner;
}

struct storm_nm *storm_sim_nm(struct storm_sim *sim, uint32_t node)
{
	return sim->ep[node].nm;
}

uint64_t storm_sim_now(const struct storm_sim *sim)
{
	return sim->now;
}

uint64_t storm_sim_session(const struct storm_sim *sim, uint32_t node)
{
	return sim->ep[node].session;
}

const struct storm_sim_file *storm_sim_files(const struct storm_sim *sim,
					     uint32_t node, uint32_t *count)
{
	*count = sim->ep[node].nfiles;
	return sim->ep[node].files;
}

uint32_t storm_sim_temporaries(const struct storm_sim *sim, uint32_t node)
{
	return sim->ep[node].temporaries;
}

const struct storm_sim_seen *storm_sim_events(const struct storm_sim *sim,
					      uint32_t node, uint32_t *count)
{
	*count = sim->ep[node].nseen;
	return sim->ep[node].seen;
}

const struct storm_idset *storm_sim_acked(const struct storm_sim *sim,
					  uint32_t node, uint8_t kind)
{
	return &sim->ep[node].acked[kind];
}

uint64_t storm_sim_sent(const struct storm_sim *sim, uint32_t node)
{
	return sim->ep[node == STORM_NO_NODE ? sim->conf.nodes : node].sent;
}
