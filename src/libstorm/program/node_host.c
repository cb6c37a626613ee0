/*
 * node_host.c - the Node Manager's host in a program that serves as a node:
 * sessions, files, remote events and the check of OPENs.  It writes files below
 * one directory, with the program's own rights.  The node agent for Slurm is
 * another host; it writes files as the user of the session.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event.h"
#include "node_private.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/wire/gather.h"
#include "src/libstorm/wire/open.h"

#define ROOM_SIZE (256u << 10) /* bytes written at once */

typedef void (*node_answer_fn)(struct storm_nm *nm, uint64_t session,
			       uint64_t op, int err, int sys, uint64_t now);

/* A file, and the answer that the Manager waits for.  The loop gives the
 * answer, because the Manager must not be called from its own callback. */
struct node_file {
	struct node_file *next;
	struct storm_staged f;
	uint64_t session, op;
	node_answer_fn answer;
	int err, sys;
	struct node_piece {
		uint64_t off;
		size_t len;
		int sys;
		bool read; /* else written */
	} * piece;	   /* done, not answered yet */
	uint32_t pieces, pieces_room;
};

/* A pending call of on_signal(), after which it is counted, of on_strobe(),
 * on_gather(), or on_close(). */
struct node_signal {
	struct node_signal *next;
	struct storm_member *m;
	uint64_t strobe; /* its number, or 0 */
	uint64_t gather; /* its number, or 0 */
	uint32_t event;	 /* of a signal */
	bool close;
	const void *buf; /* after this struct, or in a segment */
	size_t len;
};

/* It is a use of its member. */
static void node_host_tell_later(storm_node_t *n, struct node_signal *s)
{
	s->m->users++;
	*n->told_end = s;
	n->told_end = &s->next;
}

/* ---------------------------------------------------------------- members --- */

/* Locked.  Release one use of the member. */
void node_member_leave(struct storm_member *m)
{
	if (--m->users)
		return;
	m->sh->users--; /* never the last user: the caller is one */
	free(m);
}

static void node_host_session_open(void *host, uint64_t session,
				   const struct storm_open_info *info,
				   void **ctx)
{
	storm_node_t *n = host;
	struct storm_member *m = calloc(1, sizeof(*m)), **p = &n->members;
	/* now, as the program would wait for an end that nobody tells */
	struct node_signal *close =
		n->conf.on_close ? calloc(1, sizeof(*close)) : NULL;

	*ctx = NULL; /* a member that the program cannot accept */
	if (!m || (n->conf.on_close && !close)) {
		storm_log(STORM_LOG_ERROR, "no memory for a session");
		free(m);
		free(close);
		return;
	}
	*ctx = m;
	if (close)
		*close = (struct node_signal) { .m = m, .close = true };
	m->close = close;
	m->sh = n->sh;
	m->sh->users++;
	m->node = n;
	m->session = session;
	m->users = 1;
	m->info = (struct storm_member_info) {
		.node = info->self,
		.count = info->count,
		.uid = info->uid,
		.job_id = info->job_id,
		.step_id = info->step_id,
		.step_het = info->step_het,
	};
	m->staging = (struct storm_staging) { n->root, -1 };
	while (*p) /* append: the oldest is accepted first */
		p = &(*p)->next;
	*p = m;
	pthread_cond_broadcast(&n->sh->cond);
}

static void node_host_session_close(void *host, void *ctx)
{
	storm_node_t *n = host;
	struct storm_member *m = ctx, **p = &n->members;

	if (!m)
		return;
	while (*p != m)
		p = &(*p)->next;
	*p = m->next;
	m->node = NULL;
	if (m->staging.libdir >= 0)
		close(m->staging.libdir);
	pthread_cond_broadcast(&n->sh->cond);
	if (m->close)
		node_host_tell_later(n, m->close);
	node_member_leave(m);
}

/* ------------------------------------------------------------------ files --- */

static void node_host_answer_later(struct node_file *f, node_answer_fn answer,
				   int err)
{
	f->answer = answer;
	f->err = err;
}

static void node_host_file_begin(void *host, void *ctx, uint64_t session,
				 uint64_t op, const struct storm_target *to,
				 uint64_t size, void **file)
{
	storm_node_t *n = host;
	struct storm_member *m = ctx;
	struct node_file *f = calloc(1, sizeof(*f));

	*file = f;
	if (!f) { /* no answer: the owner will abort */
		storm_log(STORM_LOG_ERROR, "no memory for a file");
		return;
	}
	f->session = session;
	f->op = op;
	f->f.dir = f->f.fd = -1;
	f->next = n->files;
	n->files = f;
	if (!m || n->root < 0)
		node_host_answer_later(f, storm_nm_begun, STORM_EACCES);
	else
		node_host_answer_later(f, storm_nm_begun,
				       storm_staged_begin(&f->f, &m->staging,
							  to, size, &f->sys));
}

/* The room is free again at once: what is in it is written at once. */
static uint8_t *node_host_file_room(void *host, void *file, size_t *size)
{
	storm_node_t *n = host;

	(void) file;
	if (!n->room)
		n->room = malloc(ROOM_SIZE);
	*size = ROOM_SIZE;
	return n->room;
}

static bool node_host_done(struct node_file *f, struct node_piece p)
{
	if (f->pieces == f->pieces_room) {
		uint32_t room = f->pieces_room ? 2 * f->pieces_room : 8;
		void *more = realloc(f->piece, room * sizeof(p));

		if (!more)
			return false;
		f->piece = more;
		f->pieces_room = room;
	}
	f->piece[f->pieces++] = p;
	return true;
}

static void node_host_file_write(void *host, void *file, uint64_t off,
				 size_t len, uint64_t below)
{
	storm_node_t *n = host;
	struct node_file *f = file;
	int sys = storm_staged_write(f->f.fd, off, n->room, len);

	if (!sys)
		storm_staged_wrote(&f->f, off, n->room, len);
	storm_staged_catch_up(&f->f, below);
	/* without memory it is never answered, and the owner will abort */
	node_host_done(f, (struct node_piece) { off, len, sys, false });
}

static bool node_host_file_read(void *host, void *file, uint64_t off,
				size_t len)
{
	(void) host;
	return len <= ROOM_SIZE &&
	       node_host_done(file, (struct node_piece) { off, len, 0, true });
}

static void node_host_file_stage(void *host, void *file, uint64_t session,
				 uint64_t op, const uint8_t *digest)
{
	struct node_file *f = file;

	(void) host;
	(void) session;
	(void) op;
	node_host_answer_later(f, storm_nm_staged,
			       storm_staged_check(&f->f, digest, &f->sys));
}

static void node_host_file_commit(void *host, void *file, uint64_t session,
				  uint64_t op)
{
	struct node_file *f = file;

	(void) host;
	(void) session;
	(void) op;
	node_host_answer_later(f, storm_nm_applied,
			       storm_staged_commit(&f->f, &f->sys));
}

static void node_host_file_end(void *host, void *file)
{
	storm_node_t *n = host;
	struct node_file *f = file, **p = &n->files;

	if (!f)
		return;
	while (*p != f)
		p = &(*p)->next;
	*p = f->next;
	storm_staged_drop(&f->f);
	free(f->piece);
	free(f);
}

static void node_host_answer_piece(storm_node_t *n, struct node_file *f)
{
	struct node_piece p = f->piece[0];
	uint64_t now = storm_shared_now(n->sh);
	int err;

	memmove(f->piece, f->piece + 1, --f->pieces * sizeof(p));
	if (!p.read) {
		storm_nm_written(n->nm, f->session, f->op, p.off, p.len,
				 p.sys ? STORM_ESYS : STORM_OK, p.sys, now);
		return;
	}
	err = storm_staged_read(f->f.fd, p.off, n->room, p.len);
	storm_nm_read(n->nm, f->session, f->op, p.off, err ? NULL : n->room,
		      p.len);
}

static bool node_host_answer_one(storm_node_t *n)
{
	for (struct node_file *f = n->files; f; f = f->next) {
		node_answer_fn answer = f->answer;

		if (f->pieces) { /* they come first */
			node_host_answer_piece(n, f);
			return true;
		}
		if (!answer)
			continue;
		f->answer = NULL;
		answer(n->nm, f->session, f->op, f->err, f->sys,
		       storm_shared_now(n->sh));
		return true; /* answer() may have changed the list */
	}
	return false;
}

void node_host_answer(storm_node_t *n)
{
	while (node_host_answer_one(n))
		;
}

/* ---------------------------------------------------------------- signals --- */

static bool node_host_in_segment(const storm_node_t *n, const void *buf)
{
	uintptr_t at = (uintptr_t) buf;

	for (int i = 0; i < STORM_SEGMENTS; i++) {
		uintptr_t base = (uintptr_t) n->segment[i].base;

		if (base && at >= base && at - base <= n->segment[i].len)
			return true;
	}
	return false;
}

static void node_host_count(struct storm_member *m, uint32_t event)
{
	if (!event || event >= STORM_EVENTS)
		return;
	m->signals[event]++;
	pthread_cond_broadcast(&m->sh->cond);
}

static struct node_signal *node_host_notify_later(storm_node_t *n,
						  struct storm_member *m,
						  const void *buf, size_t len,
						  bool copy)
{
	struct node_signal *s = malloc(sizeof(*s) + (copy ? len : 0));

	if (!s)
		return NULL;
	*s = (struct node_signal) { .m = m, .buf = buf, .len = len };
	if (copy)
		s->buf = memcpy(s + 1, buf, len);
	node_host_tell_later(n, s);
	return s;
}

static void node_host_event(void *host, void *ctx, uint64_t session,
			    uint32_t event, const void *buf, size_t len)
{
	storm_node_t *n = host;
	struct storm_member *m = ctx;
	bool copy = n->conf.on_signal && len && !node_host_in_segment(n, buf);
	struct node_signal *s;

	(void) session;
	if (!m)
		return;
	if (!n->conf.on_signal) {
		node_host_count(m, event);
		return;
	}
	s = node_host_notify_later(n, m, buf, len, copy);
	if (!s) {
		storm_log(STORM_LOG_ERROR, "no memory to report event %u",
			  event);
		node_host_count(m, event);
		return;
	}
	s->event = event;
}

static void node_host_strobe(void *host, void *ctx, uint64_t session,
			     uint64_t number, const struct storm_rx *rx,
			     const void *buf, size_t len)
{
	storm_node_t *n = host;
	struct node_signal *s;

	(void) session;
	(void) rx;
	if (!ctx || !n->conf.on_strobe)
		return;
	s = node_host_notify_later(n, ctx, buf, len, true);
	if (s) /* without memory: the next one replaces it */
		s->strobe = number;
}

static bool node_host_gather(void *host, void *ctx, uint64_t session,
			     uint64_t id, const void *query, size_t len,
			     struct storm_gather_own *own)
{
	storm_node_t *n = host;
	struct node_signal *s;

	(void) session;
	(void) own;
	if (!ctx || !n->conf.on_gather)
		return true;
	s = node_host_notify_later(n, ctx, query, len, true);
	if (s) /* without memory this node is missing */
		s->gather = id;
	return false;
}

/* The lock is not held while the program puts what it has. */
static void node_host_put(storm_node_t *n, const struct node_signal *s)
{
	struct storm_gather_own own = { .self = s->m->info.node };

	n->conf.on_gather(n->conf.arg, s->m, s->buf, s->len, &own);
	pthread_mutex_lock(&n->sh->lock);
	if (s->m->node)
		storm_nm_gathered(n->nm, s->m->session, s->gather, &own,
				  storm_shared_now(n->sh));
	storm_runner_wake(&n->runner); /* there are other timers now */
	pthread_mutex_unlock(&n->sh->lock);
	storm_gathered_clear(&own.t);
}

/* Call on_signal() before counting the event: a thread that tests for the event
 * then finds the work of on_signal() done. */
void node_host_notify(storm_node_t *n)
{
	struct node_signal *s;

	while ((s = n->told)) {
		n->told = s->next;
		if (!n->told)
			n->told_end = &n->told;
		pthread_mutex_unlock(&n->sh->lock);
		if (s->close)
			n->conf.on_close(n->conf.arg, s->m);
		else if (s->gather)
			node_host_put(n, s);
		else if (s->strobe)
			n->conf.on_strobe(n->conf.arg, s->m, s->strobe, s->buf,
					  s->len);
		else
			n->conf.on_signal(n->conf.arg, s->m, s->event, s->buf,
					  s->len);
		pthread_mutex_lock(&n->sh->lock);
		node_host_count(s->m, s->event); /* 0 is ignored */
		node_member_leave(s->m);
		free(s);
	}
}

static void node_host_acked(void *host, void *ctx, uint8_t kind,
			    const struct storm_idset *ids)
{
	(void) host; /* no thread waits for it */
	(void) ctx;
	(void) kind;
	(void) ids;
}

/* An operation that this node requested has ended.  The token is its event. */
static void node_host_requested(void *host, void *ctx, void *token,
				enum storm_compare result,
				struct storm_outcome *out)
{
	storm_event_t *e = token;

	(void) host;
	(void) ctx;
	e->result = result;
	storm_event_end(e, out);
}

/* -------------------------------------------------------------- check of OPENs --- */

struct node_check {
	struct storm_job job;
	struct node_check *next;
	storm_node_t *n;
	uint64_t ticket;
	void *buf;
	size_t len;
	struct storm_open *open;
	int err;
};

static void node_host_check_work(struct storm_job *j)
{
	struct node_check *c = (struct node_check *) j;
	struct storm_log_source from = { 0 };
	struct storm_open_info info;

	c->err = storm_open_verify(c->buf, c->len, &c->open);
	if (c->err) {
		c->open = NULL;
		return;
	}
	storm_open_info(c->open, &info);
	from.uid = info.uid;
	if (strcmp(info.self_name, c->n->conf.name)) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"OPEN refused: uid %u named node %s, but this is node %s",
			info.uid, info.self_name, c->n->conf.name);
		c->err = STORM_EAUTH;
	} else if (info.uid != c->n->conf.owner_uid) {
		storm_log_from(
			&from, STORM_LOG_ERROR,
			"OPEN refused: uid %u may not open a domain, only uid %u may",
			info.uid, c->n->conf.owner_uid);
		c->err = STORM_EACCES;
	}
}

static void node_host_check_done(void *host, struct storm_job *j)
{
	storm_node_t *n = host;
	struct node_check *c = (struct node_check *) j;

	if (!j->worked)
		c->err = STORM_EBUSY;
	storm_nm_admit(n->nm, c->ticket, c->open, c->err,
		       storm_shared_now(n->sh));
	free(c->buf);
	free(c);
}

static void node_host_authenticate(void *host, uint64_t ticket,
				   const struct storm_addr *from_addr,
				   void *buf, size_t len)
{
	storm_node_t *n = host;
	struct node_check *c = calloc(1, sizeof(*c));
	struct storm_log_source from = { 0 };

	(void) from_addr; /* its owner is the program's own user */
	if (!c) {
		free(buf);
		storm_nm_admit(n->nm, ticket, NULL, STORM_ENOMEM,
			       storm_shared_now(n->sh));
		return;
	}
	c->job.work = node_host_check_work;
	c->job.done = node_host_check_done;
	c->n = n;
	c->ticket = ticket;
	c->buf = buf;
	c->len = len;
	if (n->driver->now) { /* a simulation: no threads */
		node_host_check_work(&c->job);
		c->job.worked = true;
		c->next = n->checks;
		n->checks = c;
	} else if (!storm_worker_add(&n->auth, &c->job)) {
		storm_log_from(
			&from, STORM_LOG_WARN,
			"%u OPENs are waiting for their check already, one more is refused",
			OPENS_WAITING);
		node_host_check_done(n, &c->job);
	}
}

void node_host_admit(storm_node_t *n)
{
	struct node_check *c;

	if (!n->driver->now)
		storm_worker_finish(&n->auth, n);
	while ((c = n->checks)) {
		n->checks = c->next;
		node_host_check_done(n, &c->job);
	}
}

/* Only its own user can open a domain with it. */
static bool node_host_trusted(void *host, uint32_t uid)
{
	(void) host;
	(void) uid;
	return true;
}

const struct storm_nm_ops node_host_ops = {
	.authenticate = node_host_authenticate,
	.session_open = node_host_session_open,
	.session_close = node_host_session_close,
	.file_begin = node_host_file_begin,
	.file_room = node_host_file_room,
	.file_write = node_host_file_write,
	.file_read = node_host_file_read,
	.file_stage = node_host_file_stage,
	.file_commit = node_host_file_commit,
	.file_end = node_host_file_end,
	.event = node_host_event,
	.acked = node_host_acked,
	.requested = node_host_requested,
	.strobe = node_host_strobe,
	.gather = node_host_gather,
	.trusted = node_host_trusted,
};
