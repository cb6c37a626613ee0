/*
 * launcher_pmi1.c - ranks that speak PMI-1 (pmi1.h).  See launcher_pmi.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "launcher_pmi.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/minmax.h"

static void launcher_pmi1_hang_up(struct pmi_rank *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

static void launcher_pmi1_write(struct pmi_rank *r)
{
	if (r->fd >= 0 && !run_sock_put(r->fd, r->out, &r->at, r->len))
		launcher_pmi1_hang_up(r);
	else if (r->fd < 0 || r->at == r->len)
		r->at = r->len = 0;
}

/* It fits: a rank is answered when it has taken what came before. */
static void launcher_pmi1_answer(struct pmi_rank *r, const char *line)
{
	size_t n = strlen(line);

	if (n > sizeof(r->out) - r->len)
		return;
	memcpy(r->out + r->len, line, n);
	r->len += n;
	launcher_pmi1_write(r);
}

/* All have come, with these pairs. */
static void launcher_pmi1_release(struct launched_pmi *p, const uint8_t *pairs,
				  size_t len)
{
	if (!pmi1_release(p->server, pairs, len)) {
		launcher_pmi_say(p, PMI_END, 0, 1,
				 "what other nodes have put cannot be read");
		return;
	}
	for (uint32_t k = 0; k < p->here; k++)
		launcher_pmi1_answer(&p->rank[k], PMI1_BARRIER_OUT);
}

/* A rank that has ended never comes to the barrier. */
void launcher_pmi1_check(struct launched_pmi *p)
{
	if (!pmi1_any_waits(p->server) || pmi1_all_wait(p->server))
		return;
	for (uint32_t k = 0; k < p->here; k++)
		if (p->rank[k].ended && !pmi1_waits(p->server, k)) {
			launcher_pmi_say_vain(p, k);
			return;
		}
}

static void launcher_pmi1_barrier(struct launched_pmi *p)
{
	struct storm_range all = { 0, p->run->start.tasks - 1 };
	struct pmi_msg m = { .kind = PMI_FENCE, .ranks = { &all, 1, 1 } };

	if (!pmi1_all_wait(p->server)) {
		launcher_pmi1_check(p);
		return;
	}
	m.data = pmi1_fresh(p->server, &m.len);
	if (p->alone)
		launcher_pmi1_release(p, m.data, m.len);
	else
		launcher_pmi_send(p, &m);
}

static void launcher_pmi1_line(struct launched_pmi *p, struct pmi_rank *r,
			       char *line, size_t len)
{
	uint32_t k = (uint32_t) (r - p->rank);
	struct pmi1_said said;

	pmi1_take(p->server, k, line, len, &said);
	if (*said.answer)
		launcher_pmi1_answer(r, said.answer);
	r->joined |= said.news == PMI1_JOINED;
	r->left |= said.news == PMI1_LEFT || said.news == PMI1_ABORT;
	if (said.news == PMI1_BARRIER) {
		launcher_pmi1_barrier(p);
	} else if (said.news == PMI1_ABORT) {
		launcher_pmi_say(p, PMI_END, k,
				 said.code & 0xff ? (uint32_t) said.code : 1,
				 "MPI_Abort with code %d%s%s", said.code,
				 *said.text ? ": " : "", said.text);
	} else if (said.news == PMI1_BAD) {
		launcher_pmi_say(p, PMI_END, k, 1, "PMI: %s", said.text);
		launcher_pmi1_hang_up(r);
	} else if (said.news == PMI1_SPAWN && !r->spawned) {
		r->spawned = true;
		launcher_pmi_say(
			p, PMI_SAY, k, 0,
			"MPI_Comm_spawn is refused: storm run starts no more tasks in a run");
	}
}

/* The lines that are whole, one after the other is answered. */
static void launcher_pmi1_lines(struct launched_pmi *p, struct pmi_rank *r)
{
	char *end;

	while (r->fd >= 0 && !r->len && (end = memchr(r->in, '\n', r->have))) {
		char line[PMI1_LINE];
		size_t len = (size_t) (end - r->in);

		memcpy(line, r->in, len);
		r->have -= len + 1;
		memmove(r->in, end + 1, r->have);
		launcher_pmi1_line(p, r, line, len);
	}
	if (r->fd >= 0 && !r->len && r->have == sizeof(r->in)) {
		launcher_pmi_say(p, PMI_END, (uint32_t) (r - p->rank), 1,
				 "PMI: a line of more than %d bytes",
				 PMI1_LINE);
		launcher_pmi1_hang_up(r);
	}
}

void launcher_pmi1_serve(struct pmi_rank *r)
{
	struct launched_pmi *p = r->pmi;
	struct epoll_event e = { .data.ptr = r };

	launcher_pmi1_write(r);
	launcher_pmi1_lines(p, r);
	while (r->fd >= 0 && !r->len) {
		ssize_t n = recv(r->fd, r->in + r->have,
				 sizeof(r->in) - r->have, MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0) {
			launcher_pmi1_hang_up(r);
			break;
		}
		r->have += (size_t) n;
		launcher_pmi1_lines(p, r);
	}
	/* what has not taken its answer is not heard */
	e.events = r->len ? EPOLLOUT : EPOLLIN;
	if (r->fd >= 0)
		epoll_ctl(launcher_pmi_poll, EPOLL_CTL_MOD, r->fd, &e);
}

void launcher_pmi1_ended(struct pmi_rank *r)
{
	launcher_pmi1_serve(r);
	launcher_pmi1_hang_up(r);
}

void launcher_pmi1_fenced(struct launched_pmi *p, const struct pmi_fenced *f)
{
	if (!f->at) {
		free(p->fenced);
		p->fenced = malloc(f->all ? f->all : 1);
		p->come = 0;
	}
	if (!p->fenced)
		return;
	if (f->at == p->come) {
		if (f->len)
			memcpy(p->fenced + f->at, f->data, f->len);
		p->come += f->len;
	}
	if (p->come == f->all) {
		launcher_pmi1_release(p, p->fenced, p->come);
		free(p->fenced);
		p->fenced = NULL;
	}
}

bool launcher_pmi1_open(struct launched_pmi *p)
{
	const struct run_start *s = &p->run->start;
	char mapping[PMI1_VALUE];

	pmi1_mapping(s->rank, (uint32_t) storm_idset_size(&s->nodes), &mapping);
	p->server = pmi1_create(s->tasks, p->here, mapping);
	return p->server != NULL;
}

void launcher_pmi1_close(struct launched_pmi *p)
{
	for (uint32_t k = 0; p->rank && k < p->here; k++)
		launcher_pmi1_hang_up(&p->rank[k]);
	pmi1_destroy(p->server);
	free(p->fenced);
}

bool launcher_pmi1_pair(struct pmi_rank *r, int *theirs)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = r };
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		return false;
	r->fd = s[0];
	*theirs = s[1];
	return !epoll_ctl(launcher_pmi_poll, EPOLL_CTL_ADD, s[0], &e);
}
