/*
 * head.c - see head.h.  One loop owns everything; libstorm's thread hands it reports and
 * faults.  What follows from them is decided in runs.c.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "head.h"
#include "head_private.h"
#include "launcher_base.h"
#include "run_pieces.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"

#define LOOK 100	    /* ms, while the domain works on something */
#define STRANGERS_LOOK 1000 /* ms */
#define PROOF_MAX 4096	    /* bytes of a credential */
#define BYE_LIMIT 2000	    /* ms, for clients to take their last words */

/* ----------------------------------------------------------------- frames --- */

static void head_new_run(struct conn *c, struct storm_in *body)
{
	const struct user_run *run = head_ask(c, body);

	if (!run)
		return;
	head_flush();
	head_begin_runs();
	if (run->state == RUN_WAITS)
		head_say_queued(c, 1);
}

/* Is this frame one that may come now? */
static void head_take(struct conn *c, enum run_kind kind, struct storm_in *body)
{
	if (c->tcp && c->kind == CONN_NEW && kind == RUN_PROOF) {
		head_prove(c, false, body);
	} else if (c->tcp && c->kind == CONN_NEW && kind == RUN_PMI_PROOF) {
		head_prove(c, true, body);
	} else if (c->tcp && c->kind == CONN_NEW && kind == RUN_DOOR) {
		head_door_open(c, body);
	} else if (c->kind == CONN_INLET && kind == RUN_OUTPUT) {
		head_output(c, body);
	} else if (c->kind == CONN_INLET && kind == RUN_OUTPUT_OF) {
		head_output_of(c, body);
	} else if (c->kind == CONN_INLET && kind == RUN_FOLDED) {
		head_folded(c, body);
	} else if (c->kind == CONN_INLET && kind == RUN_USED) {
		head_usage(c, body);
	} else if (c->kind == CONN_INLET && kind == RUN_ROOM) {
		head_room(c, body);
	} else if (c->kind == CONN_PMI && kind == RUN_PMI) {
		head_pmi(c, body);
	} else if (c->tcp) {
		conn_close(c);
	} else if (c->kind == CONN_NEW && kind == RUN_ASK) {
		head_new_run(c, body);
	} else if (c->kind == CONN_NEW && kind == RUN_STOP) {
		c->kind = CONN_WAITS;
		runs_close(&head.runs, true);
	} else if (c->kind == CONN_NEW && kind == RUN_STAY) {
		head_stay(c);
	} else if (c->kind == CONN_NEW && kind == RUN_LIST) {
		head_list(c);
	} else if (c->kind == CONN_CLIENT && kind == RUN_SIGNAL) {
		head_signal(c, storm_get8(body));
	} else if (c->kind == CONN_CLIENT && kind == RUN_RECALL) {
		head_recall(c);
	} else if (c->kind == CONN_CLIENT && kind == RUN_INPUT) {
		head_input(c, body);
	} else if (c->kind == CONN_CLIENT && kind == RUN_WINDOW) {
		head_resize(c, body);
	} else if (c->kind == CONN_CLIENT && kind == RUN_DEAF) {
		head_deafen(c, storm_get8(body));
	} else {
		conn_close(c);
	}
}

/* ------------------------------------------------------------ connections --- */

static void head_serve_conn(struct conn *c)
{
	enum run_kind kind;
	struct storm_in body;
	int got = 0;

	conn_read(c);
	if (c->tcp && c->kind != CONN_INLET && c->kind != CONN_PMI &&
	    run_reader_body(&c->in) > PROOF_MAX)
		conn_close(c);
	while (conn_is_open(c) &&
	       (got = run_reader_next(&c->in, &kind, &body)) > 0)
		head_take(c, kind, &body);
	head_say_taken(c);
	if (conn_is_open(c) && got < 0)
		conn_close(c);
}

static void head_serve_door(struct conn *door)
{
	struct conn *c;

	conn_read(door);
	while ((c = head_door_next(door)))
		head_serve_conn(c);
}

/* Clients that wait get half of the descriptors: those before them end only if their
 * output can come in. */
static bool head_has_files(void)
{
	struct rlimit l = { .rlim_cur = RLIM_INFINITY };
	uint64_t n = 0;

	for (const struct conn *c = head.conns; c; c = c->next)
		if (c->fd >= 0 && !c->tcp)
			n += 1 + (c->file[0] >= 0 ? RUN_SOCK_FDS : 0);
	getrlimit(RLIMIT_NOFILE, &l);
	return n + 1 + RUN_SOCK_FDS <= l.rlim_cur / 2;
}

static void head_accept(int listener, bool tcp)
{
	int fd = tcp ? accept4(listener, NULL, NULL,
			       SOCK_CLOEXEC | SOCK_NONBLOCK) :
		       run_sock_accept(listener);
	struct conn *c = fd < 0 ? NULL : conn_create(fd, tcp);
	const int one = 1;

	/* a word behind another one would wait 40 ms for an acknowledgement */
	if (fd >= 0 && tcp)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (fd < 0 && (errno == EMFILE || errno == ENFILE))
		head.full = true;
	if (!c)
		return;
	c->since = storm_now();
	c->serial = ++head.serial;
	c->next = head.conns;
	head.conns = c;
}

/* Forget connections that are closed; a client that is gone leaves its run, and
 * with the keeper the step ends. */
static void head_drop_conns(void)
{
	struct conn **at = &head.conns, *c;

	for (c = head.conns; c; c = c->next)
		if (c->carries && c->fd < 0)
			head_door_lost(c);
	while ((c = *at)) {
		struct user_run *run = NULL;

		if (conn_is_open(c)) {
			at = &c->next;
			continue;
		}
		if (c->kind == CONN_CLIENT && c->run)
			run = runs_find(&head.runs, c->run);
		if (run)
			runs_leave(&head.runs, run);
		if (c->kind == CONN_KEEPER)
			head_step_over();
		*at = c->next;
		conn_destroy(c);
		head.full = false;
	}
}

/* ------------------------------------------------------------------- loop --- */

enum {
	POLL_EVENT,
	POLL_SIGNALS,
	POLL_MUNGE,
	POLL_WRITER,
	POLL_LISTENER,
	POLL_INLETS,
	POLLS
};

/* Where the connections' ends begin after these.  NULL: no memory. */
static struct pollfd *head_polls(size_t *count)
{
	size_t n = POLLS;
	struct pollfd *p;

	for (struct conn *c = head.conns; c; c = c->next)
		n++;
	p = calloc(n, sizeof(*p));
	if (!p)
		return NULL;
	p[POLL_EVENT] = (struct pollfd) { head.event, POLLIN, 0 };
	p[POLL_SIGNALS] = (struct pollfd) { head.signals, POLLIN, 0 };
	p[POLL_MUNGE] = (struct pollfd) { head.munge.fd, POLLIN, 0 };
	p[POLL_WRITER] = (struct pollfd) { head.writes ? head.writer.fd : -1,
					   POLLIN, 0 };
	/* without a descriptor to spare poll(2) would return for ever */
	p[POLL_LISTENER] = (struct pollfd) {
		head.full || !head_has_files() ? -1 : head.listener, POLLIN, 0
	};
	p[POLL_INLETS] = (struct pollfd) {
		head.full || !head_has_room() ? -1 : head.inlets, POLLIN, 0
	};
	*count = n;
	n = POLLS;
	for (struct conn *c = head.conns; c; c = c->next) {
		p[n].fd = c->fd;
		p[n].events = (short) ((head_may_read(c) ? POLLIN : 0) |
				       (conn_waits(c) ? POLLOUT : 0));
		n++;
	}
	return p;
}

static void head_decide(void)
{
	head_check_casts();
	head_fold_serve();
	head_input_serve();
	head_drop_conns(); /* before: a client that is gone begins nothing */
	head_end_early();
	head_pmi_check();
	head_kill_runs();
	head_end_runs();
	head_begin_runs();
	head_end_runs();
	head_flush();
	head_drop_conns();
	head_kill_runs();
	head_end_runs();
	head_expire_idle();
}

/* What its signal ends is reported by the launchers, which have it, too. */
static void head_hear_signal(void)
{
	struct signalfd_siginfo si;

	if (read(head.signals, &si, sizeof(si)) == sizeof(si))
		runs_end(&head.runs);
}

static void head_turn(void)
{
	size_t count = 0, n = POLLS;
	struct pollfd *p = head_polls(&count);
	int wait = head.casts			 ? LOOK :
		   head.full || head_strangers() ? STRANGERS_LOOK :
						   -1;
	int came;

	wait = head_fold_wait(head_idle_wait(head_limits_wait(wait)));
	came = p ? poll(p, count, wait) : -1;
	if (came < 0) {
		free(p);
		return;
	}
	if (!came)
		head.full = false; /* it is tried again */
	head_expire_limits();
	for (struct conn *c = head.conns; c; c = c->next, n++)
		if (c->fd >= 0 && p[n].revents & ~POLLOUT) {
			if (c->carries)
				head_serve_door(c);
			else
				head_serve_conn(c);
		}
	/* after what they have said, which may be old if the job stood */
	head_expire_strangers();
	if (p[POLL_EVENT].revents)
		head_hear_notes();
	if (p[POLL_SIGNALS].revents)
		head_hear_signal();
	if (p[POLL_MUNGE].revents)
		storm_worker_finish(&head.munge, NULL);
	if (p[POLL_WRITER].revents)
		storm_worker_finish(&head.writer, NULL);
	if (p[POLL_LISTENER].revents)
		head_accept(head.listener, false);
	if (p[POLL_INLETS].revents)
		head_accept(head.inlets, true);
	free(p);
	head_decide();
}

/* ------------------------------------------------------------------- life --- */

/* Slurm signals all processes of a step, for the tasks.  The head ends with its runs, or
 * with the first launcher. */
static void head_take_signals(void)
{
	static const int all[] = { SIGHUP,  SIGINT,  SIGQUIT,
				   SIGUSR1, SIGUSR2, SIGPIPE };
	sigset_t term;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		signal(all[i], SIG_IGN);
	signal(SIGTERM, SIG_DFL); /* what is ignored is not queued */
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	sigprocmask(SIG_SETMASK, &term, NULL);
	head.signals = signalfd(-1, &term, SFD_NONBLOCK | SFD_CLOEXEC);
}

/* Clients have a moment to take what was sent to them. */
static void head_say_bye(void)
{
	for (int left = BYE_LIMIT; left > 0; left -= 10) {
		bool waits = false;

		head_flush();
		for (struct conn *c = head.conns; c; c = c->next)
			waits |= conn_is_open(c) && conn_waits(c);
		if (!waits)
			return;
		poll(NULL, 0, 10);
	}
}

/* The keeper, and through it the client that started it. */
static void head_tell(bool good, const char *why)
{
	struct conn *k = head_of_kind(CONN_KEEPER);

	if (!good)
		storm_log(STORM_LOG_ERROR, "%s", why);
	if (!k) /* it was not reached: the launcher tells srun */
		k = head_of_kind(CONN_PARENT);
	if (!k)
		return;
	if (good)
		conn_put(k, RUN_READY, NULL, 0);
	else
		conn_put_text(k, RUN_REFUSED, why);
	head_flush();
}

/* Clients that nobody has accepted go to the next head. */
static void head_send_waiting_away(void)
{
	for (int fd; (fd = run_sock_accept(head.listener)) >= 0;) {
		struct conn *c = head_add_conn(fd, CONN_NEW);

		if (c)
			head_refuse(c, RUN_AGAIN, "");
	}
}

/* A keeper that was killed, as with the batch step of a job that ends, leaves its files.
 * One that lives, or the next one, has the lock.  If the keeper is on another host, the
 * head has it. */
static void head_clean(const char *socket)
{
	char path[RUN_SOCK_PATH];
	int fd = head.keep;

	run_sock_beside(socket, "keep", &path);
	if (fd < 0 && !head_of_kind(CONN_KEEPER))
		fd = run_sock_lock(path, false);
	if (fd < 0)
		return;
	run_sock_remove(socket, true);
	close(fd);
}

int head_serve(const char *socket, int parent, const struct head_keeper *k)
{
	struct conn *keeper;
	char why[600] = "no memory";
	bool good;

	fcntl(parent, F_SETFD, FD_CLOEXEC);
	launcher_log_as("head");
	head_take_signals();
	launcher_many_files();
	good = head_add_conn(parent, CONN_PARENT) &&
	       head_begin(socket, k, why, sizeof(why));
	/* once the keeper knows, it has Slurm kill the step */
	if (!good && head.keep >= 0)
		head_clean(socket);
	head_tell(good, why);
	while (good && !(head.runs.closing && !runs_any(&head.runs)))
		head_turn();
	if (good) {
		unlink(socket);
		head_clean(socket);
		head_send_waiting_away();
	}
	storm_domain_destroy(head.domain);
	head.domain = NULL;
	keeper = head_of_kind(CONN_KEEPER);
	if (keeper)
		conn_put(keeper, RUN_END, NULL, 0);
	head_say_bye();
	return !good;
}
