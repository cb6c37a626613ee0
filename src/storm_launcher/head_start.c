/*
 * head_start.c - how the head comes to be: the first launcher executes it, the keeper says
 * where the launchers are, and their domain opens.  See head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "head.h"
#include "head_private.h"
#include "launcher_base.h"
#include "src/libstorm/base/idset.h"

static void head_note(struct note *n)
{
	uint64_t one = 1;

	n->next = NULL;
	pthread_mutex_lock(&head.lock);
	*head.notes_tail = n;
	head.notes_tail = &n->next;
	pthread_mutex_unlock(&head.lock);
	if (write(head.event, &one, sizeof(one)) < 0)
		return; /* the counter is full: it wakes anyway */
}

static void head_on_report(void *arg, const struct storm_report *r)
{
	struct note *n = calloc(1, sizeof(*n));

	(void) arg;
	if (!n || storm_idset_union(&n->ids, &r->ids)) {
		/* its run would never end: a head that ends ends all */
		storm_log(STORM_LOG_ERROR, "no memory for a report");
		_exit(1);
	}
	n->code = r->code;
	head_note(n);
}

static void head_on_fault(void *arg, const struct storm_fault *f)
{
	struct note *n = calloc(1, sizeof(*n));

	(void) arg;
	if (!n)
		_exit(1);
	n->fault = true;
	n->why = *f;
	head_note(n);
}

static int head_listen_tcp(struct storm_addr *at)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);

	if (fd < 0 || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *) &sin, &len)) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	storm_domain_self(head.domain, at);
	at->port = ntohs(sin.sin_port);
	return fd;
}

static bool head_open(char *why, size_t size)
{
	struct storm_domain_conf conf = {
		.nodes = head.step.nodes,
		.count = head.step.count,
		.agent_uid = geteuid(),
		.job_id = head.step.job,
		.on_report = head_on_report,
		.on_fault = head_on_fault,
	};
	struct storm_outcome out = { 0 };
	int err;

	launcher_settings(&conf.set);
	conf.set.port = head.step.nodes[0].addr.port;
	head.domain = storm_domain_create(&conf, &err);
	if (head.domain)
		err = storm_domain_open(head.domain);
	if (!err)
		err = storm_domain_wait_open(head.domain, &out);
	if (err)
		snprintf(why, size, "the launcher on node %s: %s",
			 head_node_name(NULL, out.faults_kept ?
						      out.faults[0].node :
						      STORM_NO_NODE),
			 storm_strerror(err));
	storm_outcome_clear(&out);
	return !err;
}

/* A connection by which the keeper says where launchers are. */
static bool head_hear_step(int fd)
{
	struct conn *c = fd < 0 ? NULL : head_add_conn(fd, CONN_KEEPER);
	struct storm_in body;
	enum run_kind kind;

	if (!c)
		return false;
	if (run_sock_wait(fd, &c->in, &kind, &body) && kind == RUN_STEP &&
	    head_take_step(&body))
		return true;
	c->kind = CONN_NEW;
	conn_close(c);
	return false;
}

/* Beside the clients' path, so that none comes before the domain is open. */
static bool head_await_keeper(const char *path, const struct head_keeper *k,
			      char *why, size_t size)
{
	struct conn *parent = head_of_kind(CONN_PARENT);
	struct pollfd p;

	head.listener = run_sock_listen(path);
	if (head.listener < 0) {
		snprintf(why, size, "%s: %s", path, strerror(errno));
		return false;
	}
	if (k->ip && !head_call(k, why, size))
		return false;
	conn_put(parent, RUN_READY, NULL, 0);
	conn_flush(parent);
	if (k->ip)
		return head_called(why, size);
	p = (struct pollfd) { .fd = head.listener, .events = POLLIN };
	do
		poll(&p, 1, -1);
	while (!head_hear_step(run_sock_accept(head.listener)));
	return true;
}

bool head_begin(const char *socket, const struct head_keeper *k, char *why,
		size_t size)
{
	char path[RUN_SOCK_PATH];
	int err;

	head.notes_tail = &head.notes;
	head.listener = head.inlets = head.keep = -1;
	head.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (head.event < 0 || getrandom(head.life, RUN_LIFE, 0) != RUN_LIFE ||
	    getrandom(head.doors, STORM_KEY_LEN, 0) != STORM_KEY_LEN)
		err = errno;
	else /* head_has_room() bounds what waits */
		err = storm_worker_start(&head.munge, "storm_munge", UINT_MAX);
	if (err) {
		snprintf(why, size, "cannot begin: %s", strerror(err));
		return false;
	}
	/* a keeper on this host has the lock itself */
	if (k->ip && (head.keep = launcher_lock(socket, why, size)) < 0)
		return false;
	run_sock_beside(socket, "new", &path);
	if (!head_await_keeper(path, k, why, size))
		return false;
	if (runs_init(&head.runs, head.step.count, head.step.cpus)) {
		snprintf(why, size, "no memory");
		return false;
	}
	runs_stock(&head.runs, head.step.gpus, head.step.mem);
	if (!head_open(why, size))
		return false;
	head.inlets = head_listen_tcp(&head.relay);
	if (head.inlets < 0) {
		snprintf(why, size, "no port for output: %s", strerror(errno));
		return false;
	}
	if (!head_greet()) {
		snprintf(why, size, "no memory");
		return false;
	}
	if (!rename(path, socket))
		return true;
	snprintf(why, size, "%s: %s", socket, strerror(errno));
	return false;
}

__attribute__((noreturn)) static void head_exec(pid_t parent,
						const char *socket,
						const struct head_keeper *k,
						int conn)
{
	char port[8];

	snprintf(port, sizeof(port), "%u", k->port);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* launchers' stdout is the keeper's */
	if (getppid() == parent && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 &&
	    (conn == 3 ? fcntl(3, F_SETFD, 0) : dup2(conn, 3)) >= 0)
		execl(PKGLIBEXECDIR "/storm_launcher", "storm_launcher",
		      "--head", socket, "3", k->ip, port, (char *) NULL);
	_exit(127);
}

const char *head_end(int status)
{
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ?
		       HEAD_KILLED :
		       "the head has died";
}

pid_t head_start(const char *socket, const struct head_keeper *k, int *conn,
		 char *why, size_t size)
{
	struct run_reader r = { 0 };
	struct storm_in body;
	enum run_kind kind;
	pid_t self = getpid(), pid;
	int s[2];
	int status = 0;
	bool said, ready;

	*conn = -1;
	snprintf(why, size, "the head has died");
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		return 0;
	pid = fork();
	if (!pid)
		head_exec(self, socket, k, s[1]);
	close(s[1]);
	said = pid > 0 && run_sock_wait(s[0], &r, &kind, &body);
	ready = said && kind == RUN_READY;
	if (said && kind == RUN_REFUSED)
		snprintf(why, size, "%.*s", (int) (body.end - body.p),
			 (const char *) body.p);
	run_reader_fini(&r);
	if (ready) {
		*conn = s[0];
		return pid;
	}
	close(s[0]);
	if (!said && pid > 0 && waitpid(pid, &status, 0) == pid)
		snprintf(why, size, "%s", head_end(status));
	return 0;
}
