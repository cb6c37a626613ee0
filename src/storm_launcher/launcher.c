/*
 * launcher.c - see launcher.h.  One loop owns everything; libstorm's thread hands it
 * what the head sends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "head.h"
#include "keeper.h"
#include "launcher.h"
#include "launcher_base.h"
#include "relay.h"
#include "run_sock.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/base/thread.h"
#include "src/libstorm/base/worker.h"
#include "src/libstorm/transport/udp/udp_port.h"
#include "task.h"

#define OPEN_LIMIT (60 * STORM_SEC) /* until the head has said something */
#define OPEN_LOOK 1000		    /* ms */
/* Reports of one launch are some tenths of a millisecond apart. */
#define HOLD (STORM_MS / 2)
/* Descriptors of a run were sent before the run itself. */
#define FILES_LIMIT 5000 /* ms */
/* After SIGTERM and the last task, for reports to arrive: a launcher that stays keeps
 * its job's node. */
#define LINGER 200 /* ms */
#define NO_SIGNAL (STORM_EVENTS - 1)

/* A run that has tasks here. */
struct launched {
	struct launched *next;
	uint8_t *msg; /* what the rest points into */
	struct run_start start;
	struct run_what what;
	struct task_form form;
	int fd[2];	     /* the client's own 1 and 2; -1: elsewhere */
	struct relay *relay; /* NULL: not needed */
	uint32_t tasks;	     /* that are not reported yet */
};

struct local_task {
	struct local_task *next;
	struct launched *run;
	uint32_t id;
	pid_t pid;
	int pipe[2];	   /* its output; -1: none, or it is read to its end */
	bool ended, wrote; /* to the relay */
	uint32_t code;
};

/* Descriptors for a run; -1: none were left here to receive them. */
struct files {
	struct files *next;
	uint64_t number;
	int fd[2];
};

/* What the head sent, from libstorm's thread. */
struct said {
	struct said *next;
	size_t len;
	uint8_t msg[];
};

static struct {
	storm_node_t *node;
	storm_member_t *member; /* NULL: the head has not said anything yet */
	uint32_t self;
	uint8_t key[RUN_KEY];
	const char *name, *step;
	int event, signals;
	struct storm_worker munge;
	int head;	/* a connection to it, if it is a child; or -1 */
	pid_t head_pid; /* or 0 */
	int null;
	pthread_mutex_t lock;
	struct said *said, **said_tail; /* under the lock */
	storm_member_t *heard;		/* likewise: what member will be */
	bool refused;			/* of libstorm's thread: it is said */
	struct launched *runs;
	struct local_task *tasks;
	struct files *files;
	struct run_reader from_head;
	bool ending;   /* Slurm ends the step: with the last task it is over */
	bool headless; /* the head has ended */
} launcher = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void launcher_wake(void)
{
	uint64_t one = 1;

	if (write(launcher.event, &one, sizeof(one)) < 0)
		return; /* the counter is full: it wakes anyway */
}

/* Whose message has the key is the head.  Other processes of the user can open a domain
 * here, also before it. */
static bool launcher_is_head(storm_member_t *m)
{
	storm_member_t *one = NULL;

	if (!launcher.heard) {
		do {
			storm_member_release(one);
			one = storm_node_accept(launcher.node, false, 0);
		} while (one && one != m);
		launcher.heard = one;
	}
	return launcher.heard == m;
}

static void launcher_refuse(void)
{
	if (!launcher.refused)
		storm_log(
			STORM_LOG_ERROR,
			"a message is refused: another process of this user sends it");
	launcher.refused = true;
}

static void launcher_on_signal(void *arg, storm_member_t *m, uint32_t event,
			       const void *buf, size_t len)
{
	struct said *s;
	bool good;

	(void) arg;
	(void) event;
	if (!buf || len < RUN_KEY || memcmp(buf, launcher.key, RUN_KEY)) {
		launcher_refuse();
		return;
	}
	len -= RUN_KEY;
	s = malloc(sizeof(*s) + len);
	if (!s) { /* the head would wait for its tasks in vain */
		storm_log(STORM_LOG_ERROR, "no memory for a run");
		_exit(1);
	}
	s->next = NULL;
	s->len = len;
	memcpy(s->msg, (const uint8_t *) buf + RUN_KEY, len);
	pthread_mutex_lock(&launcher.lock);
	good = launcher_is_head(m);
	if (good) {
		*launcher.said_tail = s;
		launcher.said_tail = &s->next;
	}
	pthread_mutex_unlock(&launcher.lock);
	if (good) {
		launcher_wake();
		return;
	}
	free(s);
	launcher_refuse();
}

/* ------------------------------------------------------------------ reports --- */

static void launcher_report(uint32_t id, uint32_t code)
{
	struct storm_range r = { id, id };
	const struct storm_idset ids = { &r, 1, 1 };
	int err = storm_member_report(launcher.member, RUN_REPORT, code, &ids);

	if (!err || err == STORM_ECLOSED)
		return;
	/* the head would wait for it in vain: the loss of a node ends the run */
	storm_log(STORM_LOG_ERROR, "the end of a task is lost: %s",
		  storm_strerror(err));
	_exit(1);
}

static void launcher_run_drop(struct launched *run)
{
	struct launched **at = &launcher.runs;

	while (*at != run)
		at = &(*at)->next;
	*at = run->next;
	for (int k = 0; k < 2; k++)
		if (run->fd[k] >= 0)
			close(run->fd[k]);
	relay_destroy(run->relay);
	run_what_free(&run->what);
	run_start_free(&run->start);
	free(run->msg);
	free(run);
}

/* Its task is reported. */
static void launcher_run_less(struct launched *run)
{
	if (!--run->tasks)
		launcher_run_drop(run);
}

static void launcher_task_close(struct local_task *t)
{
	for (int k = 0; k < 2; k++) {
		if (t->pipe[k] >= 0)
			close(t->pipe[k]);
		t->pipe[k] = -1;
	}
}

/* Read what is in its pipe.  True: nobody needs the pipe any more.  What it wrote
 * before its end is there; others that still have the pipe are not waited for. */
static bool launcher_pipe_read(struct local_task *t, int k)
{
	struct relay *relay = t->run->relay;
	uint8_t fd = (uint8_t) (k + 1);

	if (relay_is_deaf(relay, fd))
		return true; /* a task that writes gets SIGPIPE */
	errno = 0;
	return !relay_read(relay, t->pipe[k], fd) &&
	       (errno != EAGAIN || t->ended);
}

static void launcher_task_read(struct local_task *t)
{
	uint64_t before = relay_sent(t->run->relay);

	for (int k = 0; k < 2; k++) {
		if (t->pipe[k] < 0 || !launcher_pipe_read(t, k))
			continue;
		close(t->pipe[k]);
		t->pipe[k] = -1;
	}
	t->wrote |= relay_sent(t->run->relay) > before;
}

/* Report the tasks that have ended and whose output the client has. */
static void launcher_tasks_report(void)
{
	struct local_task **at = &launcher.tasks, *t;

	while ((t = *at)) {
		struct launched *run = t->run;

		if (t->ended && run->relay)
			launcher_task_read(t);
		if (!t->ended || t->pipe[0] >= 0 || t->pipe[1] >= 0 ||
		    (run->relay &&
		     !relay_has_taken(run->relay, relay_sent(run->relay)))) {
			at = &t->next;
			continue;
		}
		/* whatever it was, output that is missing is worse */
		if (t->wrote && relay_failed(run->relay))
			t->code = run_code(RUN_OUTPUT_LOST,
					   relay_failed(run->relay));
		launcher_report(t->id, t->code);
		*at = t->next;
		free(t);
		launcher_run_less(run);
	}
}

static void launcher_reap(void)
{
	int status;
	pid_t pid;

	/* orphans are ours, too: nobody waits for them */
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		struct local_task *t = launcher.tasks;

		if (pid == launcher.head_pid) {
			launcher.head_pid = 0;
			launcher.headless = true;
		}
		while (t && (t->pid != pid || t->ended))
			t = t->next;
		if (!t)
			continue;
		t->ended = true;
		t->code = WIFEXITED(status) ?
				  run_code(RUN_EXITED, WEXITSTATUS(status)) :
				  run_code(RUN_SIGNALED,
					   WTERMSIG(status) |
						   (WCOREDUMP(status) ? 0x80 :
									0));
	}
}

/* -------------------------------------------------------------------- files --- */

static void launcher_files_close(uint64_t run)
{
	struct files **at = &launcher.files, *f;

	while (*at && (*at)->number != run)
		at = &(*at)->next;
	f = *at;
	if (!f)
		return;
	*at = f->next;
	for (int k = 0; k < 2; k++)
		if (f->fd[k] >= 0)
			close(f->fd[k]);
	free(f);
}

static void launcher_files_add(uint64_t run, const int fd[RUN_SOCK_FDS])
{
	struct files *f =
		launcher_copy(&(struct files) { .number = run }, sizeof(*f));

	memcpy(f->fd, fd, sizeof(f->fd));
	f->next = launcher.files;
	launcher.files = f;
}

/* Descriptors come with one frame, and with them the kernel ends what it returns at
 * once; frames without any may be before it. */
static void launcher_files_receive(void)
{
	static const int none[RUN_SOCK_FDS] = { -1, -1 };
	enum run_kind kind;
	struct storm_in body;
	int fd[RUN_SOCK_FDS],
		n = run_sock_receive(launcher.head, &launcher.from_head, &fd);

	while (run_reader_next(&launcher.from_head, &kind, &body) > 0)
		if (kind == RUN_FILES && n == RUN_SOCK_FDS) {
			launcher_files_add(storm_get64(&body), fd);
			n = 0;
		} else if (kind == RUN_FILES) {
			launcher_files_add(storm_get64(&body), none);
		} else if (kind == RUN_NO_FILES) {
			launcher_files_close(storm_get64(&body));
		}
	if (n < 0) { /* the head is gone, and the domain will be */
		close(launcher.head);
		launcher.head = -1;
	}
	while (n > 0)
		close(fd[--n]);
}

/* 0, or an errno. */
static int launcher_files_take(struct launched *run)
{
	uint64_t until = storm_now() + FILES_LIMIT * STORM_MS;

	for (;;) {
		struct files **at = &launcher.files, *f;
		struct pollfd p = { .fd = launcher.head, .events = POLLIN };

		while (*at && (*at)->number != run->start.number)
			at = &(*at)->next;
		f = *at;
		if (f) {
			memcpy(run->fd, f->fd, sizeof(f->fd));
			*at = f->next;
			free(f);
			return run->fd[0] < 0 ? EMFILE : 0;
		}
		if (launcher.head < 0 || storm_now() > until)
			return EPIPE;
		if (poll(&p, 1, FILES_LIMIT) > 0)
			launcher_files_receive();
	}
}

/* ---------------------------------------------------------------------- runs --- */

/* The descriptors of a task: fd[], of which theirs[] are to be closed here, and
 * what the launcher reads.  False: none are left. */
static bool launcher_fds(struct launched *run, struct local_task *t,
			 int (*fd)[3], int (*theirs)[2])
{
	(*fd)[0] = launcher.null;
	(*theirs)[0] = (*theirs)[1] = -1;
	if (!run->relay) {
		(*fd)[1] = run->fd[0];
		(*fd)[2] = run->fd[1];
		return true;
	}
	for (int k = 0; k < 2; k++) {
		int p[2];

		if (pipe2(p, O_CLOEXEC))
			return false;
		fcntl(p[0], F_SETFL, O_NONBLOCK);
		t->pipe[k] = p[0];
		(*fd)[1 + k] = (*theirs)[k] = p[1];
	}
	return true;
}

static void launcher_start_task(struct launched *run, uint32_t local,
				uint32_t rank)
{
	struct local_task *t = calloc(1, sizeof(*t));
	uint32_t id = run->start.first + rank;
	uint32_t code = run_code(RUN_NO_START, ENOMEM);
	int fd[3], theirs[2] = { -1, -1 };
	char **env = NULL;

	if (t) {
		t->run = run;
		t->id = id;
		t->pipe[0] = t->pipe[1] = -1;
		env = task_env(&run->form, local);
	}
	if (env && launcher_fds(run, t, &fd, &theirs))
		t->pid = task_start(&run->form, env, fd, &code);
	else if (env)
		code = run_code(RUN_NO_START, errno);
	for (int k = 0; k < 2; k++)
		if (theirs[k] >= 0)
			close(theirs[k]);
	free(env);
	if (t && t->pid) {
		t->next = launcher.tasks;
		launcher.tasks = t;
		return;
	}
	launcher_report(id, code);
	if (t)
		launcher_task_close(t);
	free(t);
	run->tasks--;
}

static void launcher_report_all(const struct launched *run, uint32_t first,
				uint32_t n, uint32_t code)
{
	for (uint32_t k = 0; k < n; k++)
		launcher_report(run->start.first + first + k, code);
}

/* Give it what its tasks write to.  False: all of them are reported. */
static bool launcher_run_files(struct launched *run, uint32_t first, uint32_t n)
{
	int err;

	if (run->start.local == launcher.self) {
		err = launcher_files_take(run);
	} else {
		run->relay = relay_create(&run->start, &launcher.munge);
		err = run->relay ? 0 : ENOMEM;
	}
	if (err)
		launcher_report_all(run, first, n, run_code(RUN_NO_START, err));
	return !err;
}

static void launcher_begin(struct storm_in *in, uint8_t *msg)
{
	struct launched *run = calloc(1, sizeof(*run));
	uint32_t first, n;

	if (!run || !run_start_get(in, &run->start)) {
		/* likewise */
		storm_log(STORM_LOG_ERROR, "a run cannot be read");
		_exit(1);
	}
	storm_member_forget(launcher.member, RUN_REPORT, run->start.floor);
	run->msg = msg;
	run->fd[0] = run->fd[1] = -1;
	run->next = launcher.runs;
	launcher.runs = run;
	run->form = (struct task_form) {
		.what = &run->what,
		.start = &run->start,
		.node = launcher.self,
		.nth = run_place(&run->start.nodes, launcher.self),
		.name = launcher.name,
		.step = launcher.step,
	};
	if (run->form.nth == UINT32_MAX) {
		launcher_run_drop(run);
		return;
	}
	first = run->start.rank[run->form.nth];
	n = run->start.rank[run->form.nth + 1] - first;
	run->tasks = n;
	if (!run_what_get(in, &run->what)) {
		launcher_report_all(run, first, n,
				    run_code(RUN_NO_START, EBADMSG));
		launcher_run_drop(run);
		return;
	}
	if (!launcher_run_files(run, first, n)) {
		launcher_run_drop(run);
		return;
	}
	for (uint32_t k = 0; k < n; k++)
		launcher_start_task(run, k, first + k);
	if (!run->tasks)
		launcher_run_drop(run);
}

/* A task can leave its group. */
static void launcher_kill_task(const struct local_task *t, int sig)
{
	if (kill(-t->pid, sig) || getpgid(t->pid) != t->pid)
		kill(t->pid, sig);
}

/* number 0: of all runs. */
static void launcher_kill(uint64_t number, int sig)
{
	for (struct local_task *t = launcher.tasks; t; t = t->next)
		if (!t->ended && (!number || t->run->start.number == number))
			launcher_kill_task(t, sig);
}

/* In a thread, until the domain is over: the loop waits for descriptors alone. */
static void *launcher_watch_domain(void *member)
{
	while (storm_member_test_event(member, NO_SIGNAL, true, 0) !=
	       STORM_ECLOSED)
		;
	launcher_wake();
	return NULL;
}

static bool launcher_watch(void)
{
	pthread_t thread;

	if (storm_thread_start(&thread, launcher_watch_domain, launcher.member))
		return false;
	pthread_detach(thread);
	return true;
}

/* This member is the head's. */
static void launcher_meet(storm_member_t *m)
{
	struct storm_member_info info;

	launcher.member = m;
	storm_member_info(m, &info);
	launcher.self = info.node;
	storm_member_hold(m, HOLD);
	if (launcher_watch())
		return;
	storm_log(STORM_LOG_ERROR, "no thread is left");
	_exit(1);
}

static void launcher_hear(struct said *s)
{
	uint8_t *msg = launcher_copy(s->msg, s->len);
	struct storm_in in = { msg, msg + s->len, false };
	uint8_t kind = storm_get8(&in);

	if (kind == RUN_START) {
		launcher_begin(&in, msg);
		return;
	}
	if (kind == RUN_KILL) {
		uint64_t number = storm_get64(&in);
		uint8_t sig = storm_get8(&in);

		if (storm_in_done(&in) && number && sig && sig < NSIG)
			launcher_kill(number, sig);
	} else if (kind == RUN_FLOOR) {
		storm_member_forget(launcher.member, RUN_REPORT,
				    storm_get32(&in));
	}
	free(msg);
}

static void launcher_hear_all(void)
{
	storm_member_t *heard;
	struct said *s, *next;
	uint64_t n;

	if (read(launcher.event, &n, sizeof(n)) < 0 && errno != EAGAIN)
		return;
	pthread_mutex_lock(&launcher.lock);
	s = launcher.said;
	launcher.said = NULL;
	launcher.said_tail = &launcher.said;
	heard = launcher.heard;
	pthread_mutex_unlock(&launcher.lock);
	if (heard && !launcher.member)
		launcher_meet(heard);
	for (; s; s = next) {
		next = s->next;
		launcher_hear(s);
		free(s);
	}
}

/* ---------------------------------------------------------------------- loop --- */

static void launcher_signals(void)
{
	struct signalfd_siginfo si;

	while (read(launcher.signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			launcher_reap();
		else /* Slurm's, for all that the step runs */
			launcher_kill(0, (int) si.ssi_signo);
		launcher.ending |= si.ssi_signo == SIGTERM;
	}
}

static bool launcher_take_signals(void)
{
	static const int all[] = { SIGCHLD, SIGTERM, SIGINT, SIGHUP,
				   SIGQUIT, SIGUSR1, SIGUSR2 };
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		sigaddset(&set, all[i]);
		signal(all[i], SIG_DFL); /* what is ignored is not queued */
	}
	signal(SIGPIPE, SIG_IGN);
	sigprocmask(SIG_SETMASK, &set, NULL);
	launcher.signals = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return launcher.signals >= 0;
}

/* What to wait for, rebuilt each time. */
struct launcher_polls {
	struct pollfd *p;
	size_t count, room;
};

static void launcher_poll_add(struct launcher_polls *l, int fd, short events)
{
	if (l->count == l->room) {
		size_t room = l->room ? 2 * l->room : 16;
		void *more = realloc(l->p, room * sizeof(*l->p));

		if (!more) {
			storm_log(STORM_LOG_ERROR, "no memory to wait");
			_exit(1);
		}
		l->p = more;
		l->room = room;
	}
	l->p[l->count++] = (struct pollfd) { .fd = fd, .events = events };
}

static void launcher_polls_fill(struct launcher_polls *l)
{
	l->count = 0;
	launcher_poll_add(l, launcher.event, POLLIN);
	launcher_poll_add(l, launcher.signals, POLLIN);
	launcher_poll_add(l, launcher.head, POLLIN);
	launcher_poll_add(l, launcher.munge.fd, POLLIN);
	for (struct launched *run = launcher.runs; run; run = run->next) {
		short events;
		int fd = run->relay ? relay_fd(run->relay, &events) : -1;

		if (fd >= 0)
			launcher_poll_add(l, fd, events);
	}
	for (struct local_task *t = launcher.tasks; t; t = t->next)
		for (int k = 0; k < 2; k++)
			if (t->pipe[k] >= 0 && relay_has_room(t->run->relay))
				launcher_poll_add(l, t->pipe[k], POLLIN);
}

/* How many ms to wait for events; -1: until there is one. */
static int launcher_patience(void)
{
	int wait = launcher.ending  ? LINGER / 4 :
		   !launcher.member ? OPEN_LOOK :
				      -1;

	for (struct launched *run = launcher.runs; run; run = run->next) {
		int again = run->relay ? relay_again(run->relay) : -1;

		if (again >= 0 && (wait < 0 || again < wait))
			wait = again;
	}
	return wait;
}

static short launcher_came(const struct launcher_polls *l, int fd)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->p[i].fd == fd)
			return l->p[i].revents;
	return 0;
}

static void launcher_turn(struct launcher_polls *l)
{
	launcher_polls_fill(l);
	if (poll(l->p, l->count, launcher_patience()) < 0)
		return;
	if (l->p[0].revents)
		launcher_hear_all();
	if (launcher.head >= 0 && l->p[2].revents)
		launcher_files_receive();
	if (l->p[1].revents)
		launcher_signals();
	if (l->p[3].revents)
		storm_worker_finish(&launcher.munge, NULL);
	for (struct local_task *t = launcher.tasks; t; t = t->next)
		if (t->run->relay)
			launcher_task_read(t);
	for (struct launched *run = launcher.runs; run; run = run->next) {
		short events;
		int fd = run->relay ? relay_fd(run->relay, &events) : -1;

		if (run->relay)
			relay_serve(run->relay,
				    fd < 0 ? 0 : launcher_came(l, fd));
	}
	launcher_tasks_report();
}

/* The head has opened the domain, or has time to, and has not closed it. */
static bool launcher_is_open(uint64_t until)
{
	if (launcher.member)
		return storm_member_test_event(launcher.member, NO_SIGNAL,
					       false, 0) != STORM_ECLOSED;
	if (storm_now() < until)
		return true;
	storm_log(STORM_LOG_ERROR,
		  "the head has not opened the domain in %llu s",
		  OPEN_LIMIT / STORM_SEC);
	return false;
}

/* srun brings it to the keeper.  Port 0: it is taken. */
static void launcher_say_taken(const char *proc)
{
	printf(LAUNCHER_READY " %s %s 0.0.0.0 0\n", proc, launcher.name);
	fflush(stdout);
}

/* Says where it listens. */
static void launcher_say_ready(const char *proc)
{
	struct storm_addr a;
	char ip[INET6_ADDRSTRLEN];

	storm_node_address(launcher.node, &a);
	inet_ntop(AF_INET, a.ip + STORM_ADDR_LEN - 4, ip, sizeof(ip));
	printf(LAUNCHER_READY " %s %s %s %u\n", proc, launcher.name, ip,
	       a.port);
	fflush(stdout);
}

/* All others wait for it. */
static int launcher_say_fault(const char *proc, const char *what)
{
	printf(LAUNCHER_READY " %s %s cannot begin: %s\n", proc, launcher.name,
	       what);
	fflush(stdout);
	return 1;
}

static bool launcher_port_free(uint16_t port)
{
	struct storm_udp_port p;

	if (storm_udp_port_open(&p, port))
		return false;
	storm_udp_port_close(&p);
	return true;
}

static const char *launcher_begin_serving(const char *socket, uint16_t port)
{
	struct storm_node_conf conf = {
		.name = launcher.name,
		.owner_uid = geteuid(),
		.stands = true,
		.on_signal = launcher_on_signal,
	};
	int err;

	launcher_settings(&conf.set);
	conf.set.port = port;
	launcher.said_tail = &launcher.said;
	launcher.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	launcher.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (launcher.event < 0 || launcher.null < 0 || !launcher_take_signals())
		return strerror(errno);
	/* before there is a thread that a fork would not copy */
	if (socket)
		launcher.head_pid = head_start(socket, &launcher.head);
	if (socket && !launcher.head_pid)
		return "the head has died";
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* a run asks once at a time */
	err = storm_worker_start(&launcher.munge, "storm_munge", UINT_MAX);
	if (err)
		return strerror(err);
	launcher.node = storm_node_create(&conf, &err);
	return launcher.node ? NULL : storm_strerror(err);
}

/* Slurm ends the step, and nothing is left to do. */
static bool launcher_is_done(void)
{
	static uint64_t until;

	if (!launcher.ending || launcher.tasks)
		return false;
	if (!until)
		until = storm_now() + LINGER * STORM_MS;
	return storm_now() >= until;
}

/* A head that ends takes the launchers with it.  It has last words for clients. */
static void launcher_await_head(void)
{
	if (launcher.head_pid && !launcher.ending)
		waitpid(launcher.head_pid, NULL, 0);
}

int launcher_serve(const char *socket, uint16_t port)
{
	uint64_t until = storm_now() + OPEN_LIMIT;
	const char *proc = getenv("SLURM_PROCID"), *fault;
	struct launcher_polls polls = { 0 };
	bool first;

	launcher.name = getenv("SLURMD_NODENAME");
	launcher.step = getenv("SLURM_STEP_ID");
	launcher.head = -1;
	if (!proc || !launcher.name || !launcher.step ||
	    !run_key_read(getenv(RUN_KEY_VARIABLE), launcher.key)) {
		storm_log(STORM_LOG_ERROR,
			  "not in a step of Slurm: storm run starts it");
		return 1;
	}
	launcher_log_as(launcher.name);
	launcher_many_files();
	if (!launcher_port_free(port)) {
		launcher_say_taken(proc);
		return 1;
	}
	first = !strcmp(proc, "0") && strcmp(socket, KEEPER_NO_HEAD) != 0;
	fault = launcher_begin_serving(first ? socket : NULL, port);
	if (fault && !launcher.node && !launcher_port_free(port)) {
		launcher_say_taken(proc); /* just now */
		return 1;
	}
	if (fault)
		return launcher_say_fault(proc, fault);
	launcher_say_ready(proc);
	while (launcher_is_open(until) && !launcher.headless &&
	       !launcher_is_done())
		launcher_turn(&polls);
	free(polls.p);
	launcher_kill(0, SIGKILL);
	launcher_await_head();
	return 0;
}
