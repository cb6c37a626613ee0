/*
 * launcher_pmi.c - ranks of MPI on this node: what they and the head tell each other.  Each
 * has a socket pair, by which it speaks PMI-1 (pmi1.h); a connection to the head is the
 * run's.  See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher_private.h"
#include "pmi1.h"
#include "pmi_wire.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

#define EVENTS 64 /* at a time */

/* A rank here. */
struct pmi_rank {
	struct launched_pmi *pmi;
	int fd; /* -1: it has none, or has closed it */
	bool joined, left, ended;
	bool spawned; /* it asked for processes, and the client knows */
	char in[PMI1_LINE];
	size_t have;
	char out[PMI1_LINE + sizeof(PMI1_BARRIER_OUT)];
	size_t at, len; /* [at, len) is to be written */
};

struct launched_pmi {
	struct launched *run;
	uint32_t first, here; /* ranks */
	bool alone;	      /* no other node has any */
	bool ending;	      /* the head was told that the run is to end */
	struct relay *relay;
	struct pmi1 *server;
	struct pmi_rank *rank;
	uint8_t *fenced; /* what came of a fence, `come` bytes of it */
	size_t come;
};

static int launcher_pmi_poll = -1; /* epoll(7): all ranks' sockets */

/* ------------------------------------------------------------------- to the head --- */

static void launcher_pmi_send(struct launched_pmi *p, const struct pmi_msg *m)
{
	size_t len = pmi_msg_len(m);
	uint8_t *buf = malloc(len);
	struct storm_out o = { buf, buf ? buf + len : NULL, false };

	if (buf)
		pmi_msg_put(&o, m);
	/* one that is lost is found by launcher_pmi_lost() */
	if (!buf || !relay_put_pmi(p->relay, buf, len))
		storm_log(STORM_LOG_ERROR, "run %llu: PMI is not sent",
			  (unsigned long long) p->run->start.number);
	free(buf);
}

/* In the words of a rank, to the client. */
__attribute__((format(printf, 5, 6))) static void
launcher_pmi_say(struct launched_pmi *p, enum pmi_kind kind, uint32_t k,
		 uint32_t code, const char *fmt, ...)
{
	char text[PMI_TEXT_MAX];
	struct pmi_msg m = { .kind = kind, .rank = p->first + k, .code = code };
	va_list ap;
	int n;

	if (kind == PMI_END && p->ending)
		return;
	p->ending |= kind == PMI_END;
	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	m.data = (uint8_t *) text;
	m.len = storm_min(n > 0 ? (size_t) n : 0, sizeof(text) - 1);
	launcher_pmi_send(p, &m);
}

/* ------------------------------------------------------------------------ ranks --- */

static void launcher_pmi_hang_up(struct pmi_rank *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

static void launcher_pmi_write(struct pmi_rank *r)
{
	if (r->fd >= 0 && !run_sock_put(r->fd, r->out, &r->at, r->len))
		launcher_pmi_hang_up(r);
	else if (r->fd < 0 || r->at == r->len)
		r->at = r->len = 0;
}

/* It fits: a rank is answered when it has taken what came before. */
static void launcher_pmi_answer(struct pmi_rank *r, const char *line)
{
	size_t n = strlen(line);

	if (n > sizeof(r->out) - r->len)
		return;
	memcpy(r->out + r->len, line, n);
	r->len += n;
	launcher_pmi_write(r);
}

/* All have come, with these pairs. */
static void launcher_pmi_release(struct launched_pmi *p, const uint8_t *pairs,
				 size_t len)
{
	if (!pmi1_release(p->server, pairs, len)) {
		launcher_pmi_say(p, PMI_END, 0, 1,
				 "what other nodes have put cannot be read");
		return;
	}
	for (uint32_t k = 0; k < p->here; k++)
		launcher_pmi_answer(&p->rank[k], PMI1_BARRIER_OUT);
}

/* A rank that has ended never comes to the barrier. */
static void launcher_pmi_check(struct launched_pmi *p)
{
	if (!pmi1_any_waits(p->server) || pmi1_all_wait(p->server))
		return;
	for (uint32_t k = 0; k < p->here; k++)
		if (p->rank[k].ended && !pmi1_waits(p->server, k)) {
			launcher_pmi_say(
				p, PMI_END, k, 0,
				"it has ended, and others wait for it in MPI");
			return;
		}
}

static void launcher_pmi_barrier(struct launched_pmi *p)
{
	struct storm_range all = { 0, p->run->start.tasks - 1 };
	struct pmi_msg m = { .kind = PMI_FENCE, .ranks = { &all, 1, 1 } };

	if (!pmi1_all_wait(p->server)) {
		launcher_pmi_check(p);
		return;
	}
	m.data = pmi1_fresh(p->server, &m.len);
	if (p->alone)
		launcher_pmi_release(p, m.data, m.len);
	else
		launcher_pmi_send(p, &m);
}

static void launcher_pmi_line(struct launched_pmi *p, struct pmi_rank *r,
			      char *line, size_t len)
{
	uint32_t k = (uint32_t) (r - p->rank);
	struct pmi1_said said;

	pmi1_take(p->server, k, line, len, &said);
	if (*said.answer)
		launcher_pmi_answer(r, said.answer);
	r->joined |= said.news == PMI1_JOINED;
	r->left |= said.news == PMI1_LEFT || said.news == PMI1_ABORT;
	if (said.news == PMI1_BARRIER) {
		launcher_pmi_barrier(p);
	} else if (said.news == PMI1_ABORT) {
		launcher_pmi_say(p, PMI_END, k,
				 said.code & 0xff ? (uint32_t) said.code : 1,
				 "MPI_Abort with code %d%s%s", said.code,
				 *said.text ? ": " : "", said.text);
	} else if (said.news == PMI1_BAD) {
		launcher_pmi_say(p, PMI_END, k, 1, "PMI: %s", said.text);
		launcher_pmi_hang_up(r);
	} else if (said.news == PMI1_SPAWN && !r->spawned) {
		r->spawned = true;
		launcher_pmi_say(
			p, PMI_SAY, k, 0,
			"MPI_Comm_spawn is refused: storm run starts no more tasks in a run");
	}
}

/* The lines that are whole, one after the other is answered. */
static void launcher_pmi_lines(struct launched_pmi *p, struct pmi_rank *r)
{
	char *end;

	while (r->fd >= 0 && !r->len && (end = memchr(r->in, '\n', r->have))) {
		char line[PMI1_LINE];
		size_t len = (size_t) (end - r->in);

		memcpy(line, r->in, len);
		r->have -= len + 1;
		memmove(r->in, end + 1, r->have);
		launcher_pmi_line(p, r, line, len);
	}
	if (r->fd >= 0 && !r->len && r->have == sizeof(r->in)) {
		launcher_pmi_say(p, PMI_END, (uint32_t) (r - p->rank), 1,
				 "PMI: a line of more than %d bytes",
				 PMI1_LINE);
		launcher_pmi_hang_up(r);
	}
}

static void launcher_pmi_rank(struct pmi_rank *r)
{
	struct launched_pmi *p = r->pmi;
	struct epoll_event e = { .data.ptr = r };

	launcher_pmi_write(r);
	launcher_pmi_lines(p, r);
	while (r->fd >= 0 && !r->len) {
		ssize_t n = recv(r->fd, r->in + r->have,
				 sizeof(r->in) - r->have, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			launcher_pmi_hang_up(r);
			break;
		}
		r->have += (size_t) n;
		launcher_pmi_lines(p, r);
	}
	/* what has not taken its answer is not heard */
	e.events = r->len ? EPOLLOUT : EPOLLIN;
	if (r->fd >= 0)
		epoll_ctl(launcher_pmi_poll, EPOLL_CTL_MOD, r->fd, &e);
}

void launcher_pmi_ended(struct local_task *t)
{
	struct launched_pmi *p = t->run->pmi;
	struct pmi_rank *r;
	uint32_t k;

	if (!p)
		return;
	k = t->id - t->run->start.first - p->first;
	r = &p->rank[k];
	launcher_pmi_rank(r); /* its last words */
	launcher_pmi_hang_up(r);
	r->ended = true;
	if (r->joined && !r->left && t->code)
		launcher_pmi_say(p, PMI_END, k, 0,
				 "it has ended without MPI_Finalize");
	launcher_pmi_check(p);
}

void launcher_pmi_not_started(struct local_task *t, uint32_t rank)
{
	if (t->run->pmi)
		t->run->pmi->rank[rank - t->run->pmi->first].ended = true;
}

/* --------------------------------------------------------------------- from the head --- */

void launcher_pmi_fenced(struct storm_in *in)
{
	struct pmi_fenced f;
	struct launched *run = launcher.runs;
	struct launched_pmi *p;

	if (!pmi_fenced_get(in, &f)) {
		storm_log(STORM_LOG_ERROR, "a fence cannot be read");
		return;
	}
	while (run && run->start.number != f.run)
		run = run->next;
	p = run ? run->pmi : NULL;
	if (p && !f.at) {
		free(p->fenced);
		p->fenced = malloc(f.all ? f.all : 1);
		p->come = 0;
	}
	if (p && p->fenced && f.at == p->come) {
		if (f.len)
			memcpy(p->fenced + f.at, f.data, f.len);
		p->come += f.len;
	}
	if (p && p->fenced && p->come == f.all) {
		launcher_pmi_release(p, p->fenced, p->come);
		free(p->fenced);
		p->fenced = NULL;
	}
	pmi_fenced_free(&f);
}

/* ------------------------------------------------------------------------ the run --- */

bool launcher_pmi_open(struct launched *run, uint32_t first, uint32_t n)
{
	uint32_t nodes = (uint32_t) storm_idset_size(&run->start.nodes);
	char mapping[PMI1_VALUE];
	struct launched_pmi *p;

	if (run->what.mpi == RUN_MPI_NONE)
		return true;
	if (launcher_pmi_poll < 0)
		launcher_pmi_poll = epoll_create1(EPOLL_CLOEXEC);
	p = calloc(1, sizeof(*p));
	if (!p || launcher_pmi_poll < 0) {
		free(p);
		return false;
	}
	run->pmi = p; /* launcher_pmi_close() has the rest */
	p->run = run;
	p->first = first;
	p->here = n;
	p->alone = nodes == 1;
	pmi1_mapping(run->start.rank, nodes, &mapping);
	p->server = pmi1_create(run->start.tasks, n, mapping);
	p->rank = calloc(n, sizeof(*p->rank));
	p->relay = relay_create(&run->start, launcher.self, &launcher.munge);
	if (!p->server || !p->rank || !p->relay)
		return false;
	for (uint32_t k = 0; k < n; k++) {
		p->rank[k].pmi = p;
		p->rank[k].fd = -1;
	}
	relay_is_of_pmi(p->relay);
	return true;
}

void launcher_pmi_close(struct launched *run)
{
	struct launched_pmi *p = run->pmi;

	if (!p)
		return;
	for (uint32_t k = 0; p->rank && k < p->here; k++)
		launcher_pmi_hang_up(&p->rank[k]);
	relay_destroy(p->relay);
	pmi1_destroy(p->server);
	free(p->rank);
	free(p->fenced);
	free(p);
	run->pmi = NULL;
}

bool launcher_pmi_pair(struct local_task *t, uint32_t rank, int *theirs)
{
	struct launched_pmi *p = t->run->pmi;
	struct epoll_event e = { .events = EPOLLIN };
	int s[2];

	if (!p)
		return true;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		return false;
	p->rank[rank - p->first].fd = s[0];
	*theirs = s[1];
	e.data.ptr = &p->rank[rank - p->first];
	return !epoll_ctl(launcher_pmi_poll, EPOLL_CTL_ADD, s[0], &e);
}

/* Without the head its ranks would wait for ever. */
int launcher_pmi_lost(const struct launched *run)
{
	return run->pmi && !run->pmi->alone ? relay_failed(run->pmi->relay) : 0;
}

bool launcher_pmi_must_end(struct launched *run)
{
	bool must = launcher_pmi_lost(run) && !run->pmi->ending;

	if (must)
		run->pmi->ending = true;
	return must;
}

int launcher_pmi_fd(void)
{
	return launcher_pmi_poll;
}

struct relay *launcher_pmi_relay(const struct launched *run)
{
	return run->pmi ? run->pmi->relay : NULL;
}

void launcher_pmi_serve(bool came)
{
	struct epoll_event e[EVENTS];
	int n = came ? epoll_wait(launcher_pmi_poll, e, EVENTS, 0) : 0;

	for (int k = 0; k < n; k++)
		launcher_pmi_rank(e[k].data.ptr);
}
