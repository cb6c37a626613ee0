/*
 * metrics_listen.c - see metrics_listen.h.
 *
 * A reader gets the last answer at once: so many readers cost the nodes nothing.
 * A slow one keeps nobody waiting.  When there are too many, the oldest goes, and
 * Prometheus, which is quick, is answered.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics_child.h"
#include "metrics_count.h"
#include "metrics_http.h"
#include "metrics_listen.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/show_options.h"

#define PEERS 10
#define PEER_LIMIT (5 * STORM_SEC)   /* from its begin to its end */
#define QUERY_LIMIT (30 * STORM_SEC) /* status_ask() takes less */
#define BACKLOG 64
#define DRAINED 65536 /* bytes that a request may have in all */

/* A connection. */
struct metrics_peer {
	int fd; /* -1: none */
	uint64_t until;
	char request[METRICS_REQUEST];
	size_t got;
	char *answer; /* (free); NULL: the request is not whole */
	size_t len, sent;
};

struct metrics_server {
	int listener, signals;
	struct metrics_peer peer[PEERS];
	struct metrics_child child;
	uint64_t child_began, next; /* when it began; when the next begins */
	struct metrics last;	    /* at 0: none so far */
	struct metrics_count count;
};

/* ------------------------------------------------------------------ who reads --- */

static void metrics_peer_end(struct metrics_peer *p)
{
	close(p->fd);
	free(p->answer);
	p->answer = NULL;
	p->fd = -1;
}

/* Make the answer.  No memory: false. */
static bool metrics_peer_answer(const struct metrics_server *s,
				struct metrics_peer *p,
				enum metrics_status status,
				enum metrics_form form)
{
	const struct metrics_shown shown =
		metrics_count_shown(&s->count, &s->last);
	char head[METRICS_HEAD], *body = NULL;
	size_t len = 0;
	int n;
	FILE *f = open_memstream(&body, &len);

	if (!f)
		return false;
	if (status == METRICS_FINE && !s->last.at)
		status = METRICS_NOT_YET;
	if (status == METRICS_FINE)
		metrics_text(f, &shown, form);
	else
		fprintf(f, "%s\n", metrics_http_says(status));
	if (fclose(f)) {
		free(body);
		return false;
	}
	metrics_http_head(status, form, len, &head);
	n = asprintf(&p->answer, "%s%s", head, body);
	free(body);
	if (n < 0) {
		p->answer = NULL;
		return false;
	}
	p->len = (size_t) n;
	p->sent = 0;
	return true;
}

/* What comes behind a request is thrown away: a close with unread bytes would reset the
 * connection, and the answer could be lost. */
static bool metrics_peer_drain(struct metrics_peer *p)
{
	ssize_t n = recv(p->fd, p->request, sizeof(p->request), 0);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	p->got += (size_t) n;
	return p->got < DRAINED;
}

static bool metrics_peer_read(const struct metrics_server *s,
			      struct metrics_peer *p)
{
	enum metrics_status status;
	enum metrics_form form;
	ssize_t n = recv(p->fd, p->request + p->got,
			 sizeof(p->request) - p->got, 0);

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	p->got += (size_t) n;
	status = metrics_http_judge(p->request, p->got, &form);
	return status == METRICS_MORE ||
	       metrics_peer_answer(s, p, status, form);
}

static bool metrics_peer_send(struct metrics_peer *p)
{
	ssize_t n = send(p->fd, p->answer + p->sent, p->len - p->sent,
			 MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	p->sent += (size_t) n;
	if (p->sent == p->len)
		shutdown(p->fd, SHUT_WR);
	return true;
}

static short metrics_peer_waits(const struct metrics_peer *p)
{
	return p->answer && p->sent < p->len ? POLLOUT : POLLIN;
}

static void metrics_peer_go_on(const struct metrics_server *s,
			       struct metrics_peer *p)
{
	bool fine = !p->answer	     ? metrics_peer_read(s, p) :
		    p->sent < p->len ? metrics_peer_send(p) :
				       metrics_peer_drain(p);

	if (!fine)
		metrics_peer_end(p);
}

static void metrics_accept(struct metrics_server *s)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct metrics_peer *p = &s->peer[0];

	if (fd < 0)
		return;
	for (unsigned int i = 0; i < PEERS && p->fd >= 0; i++)
		if (s->peer[i].fd < 0 || s->peer[i].until < p->until)
			p = &s->peer[i];
	if (p->fd >= 0)
		metrics_peer_end(p);
	p->fd = fd;
	p->got = 0;
	p->until = storm_now() + PEER_LIMIT;
}

/* ---------------------------------------------------------------- what is asked --- */

/* It could not be asked.  When, and of how many nodes, is told all the same. */
static void metrics_query_failed(struct metrics_server *s)
{
	s->last = (struct metrics) { .at = storm_unix_ms(),
				     .took = storm_now() - s->child_began,
				     .nodes = s->last.nodes };
}

static void metrics_query(struct metrics_server *s, const char *list,
			  uint64_t interval)
{
	s->child_began = storm_now();
	s->next = s->child_began + interval;
	if (!metrics_child_start(&s->child, list))
		metrics_query_failed(s);
}

static void metrics_query_read(struct metrics_server *s)
{
	struct metrics is;
	char *names;

	if (!metrics_child_read(&s->child, &is, &names))
		return;
	if (!is.at) {
		fputs("storm: the query has died: look for it in the kernel's log\n",
		      stderr);
		metrics_query_failed(s);
		return;
	}
	if (!is.answered && !is.nodes) /* it could not find them */
		is.nodes = s->last.nodes;
	s->last = is;
	metrics_count_add(&s->count, &s->last, names);
}

static void metrics_query_give_up(struct metrics_server *s)
{
	fputs("storm: the agents have not been asked in 30 s: this query is given up\n",
	      stderr);
	metrics_child_end(&s->child);
	metrics_query_failed(s);
}

/* -------------------------------------------------------------------- the loop --- */

/* Wait for the first of these.  fds: listener, signals, child, peers. */
static void metrics_wait(const struct metrics_server *s, struct pollfd *fds)
{
	const uint64_t now = storm_now();
	uint64_t until = s->child.fd >= 0 ? s->child_began + QUERY_LIMIT :
					    s->next;

	fds[0] = (struct pollfd) { s->listener, POLLIN, 0 };
	fds[1] = (struct pollfd) { s->signals, POLLIN, 0 };
	fds[2] = (struct pollfd) { s->child.fd, POLLIN, 0 };
	for (unsigned int i = 0; i < PEERS; i++) {
		const struct metrics_peer *p = &s->peer[i];

		fds[3 + i] =
			(struct pollfd) { p->fd, metrics_peer_waits(p), 0 };
		if (p->fd >= 0)
			until = storm_min(until, p->until);
	}
	(void) poll(fds, 3 + PEERS,
		    until > now ? (int) ((until - now) / STORM_MS + 1) : 0);
}

static void metrics_serve(struct metrics_server *s, const char *list,
			  uint64_t interval)
{
	struct pollfd fds[3 + PEERS];

	do {
		if (s->child.fd < 0 && storm_now() >= s->next)
			metrics_query(s, list, interval);
		metrics_wait(s, fds);
		if (fds[2].revents)
			metrics_query_read(s);
		else if (s->child.fd >= 0 &&
			 storm_now() >= s->child_began + QUERY_LIMIT)
			metrics_query_give_up(s);
		for (unsigned int i = 0; i < PEERS; i++) {
			struct metrics_peer *p = &s->peer[i];

			if (p->fd >= 0 && fds[3 + i].revents)
				metrics_peer_go_on(s, p);
			if (p->fd >= 0 && storm_now() >= p->until)
				metrics_peer_end(p);
		}
		/* last: it may put another one in a peer's place */
		if (fds[0].revents)
			metrics_accept(s);
	} while (!fds[1].revents);
}

static int metrics_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* A socket, or -1, which was said. */
static int metrics_bind(const char *address)
{
	struct sockaddr_storage at;
	socklen_t len;
	const char *why = metrics_http_address(address, &at, &len);
	int on = 1, fd;

	if (why) {
		fprintf(stderr, "storm: --listen=%s: %s\n", address, why);
		return -1;
	}
	fd = socket(at.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC,
		    0);
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, (struct sockaddr *) &at, len) || listen(fd, BACKLOG)) {
		fprintf(stderr,
			"storm: --listen=%s: %s: give a port that nobody has\n",
			address, strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

int metrics_listen(const char *address, const char *list, unsigned int interval)
{
	static struct metrics_server server;
	struct metrics_server *s = &server;

	s->listener = metrics_bind(address);
	if (s->listener < 0)
		return SHOW_USAGE;
	s->signals = metrics_signals();
	if (s->signals < 0) {
		perror("storm: signalfd");
		close(s->listener);
		return SHOW_WRONG;
	}
	for (unsigned int i = 0; i < PEERS; i++)
		s->peer[i].fd = -1;
	s->child.fd = -1;
	s->next = storm_now();
	fprintf(stderr, "storm: metrics: GET /metrics at %s\n", address);
	metrics_serve(s, list, interval * STORM_SEC);
	for (unsigned int i = 0; i < PEERS; i++)
		if (s->peer[i].fd >= 0)
			metrics_peer_end(&s->peer[i]);
	metrics_child_end(&s->child);
	metrics_count_clear(&s->count);
	close(s->listener);
	close(s->signals);
	return SHOW_FINE;
}
