/*
 * agent.c - storm_agent, the node agent: main loop and sessions.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/slurm_auth.h"

#include "agent.h"
#include "agent_ask.h"
#include "src/common/child_log.h"
#include "src/common/gang_map.h"
#include "src/common/step_protocol.h"
#include "src/libstorm/clock.h"
#include "src/libstorm/idset.h"

#define OLD_AFTER STORM_SEC

/* --------------------------------------------------------------- sessions --- */

static void _session_open(void *host, uint64_t session,
			  const struct storm_open_info *info, void **ctx)
{
	struct agent *a = host;
	struct agent_session *s = agent_session_create(a, session, info,
						       a->admitting);

	a->admitting = NULL;
	*ctx = s;
	debug("session %016" PRIx64 " of uid %u for step %u.%u is open, node %u of %u",
	      session, info->uid, info->job_id, info->step_id, info->self,
	      info->count);
	if (s->cluster)
		agent_gang_session_open(s);
}

static void _session_close(void *host, void *ctx)
{
	struct agent_session *s = ctx;

	(void) host;
	if (!s)
		return;
	debug("session %016" PRIx64 " is closed", s->id);
	agent_gang_session_close(s);
	agent_launch_session_close(s);
	agent_local_session_close(s);
	agent_file_session_close(s);
	agent_session_destroy(s);
}

static void _event(void *host, void *ctx, uint64_t session,
		   uint32_t remote_event, const void *buf, size_t len)
{
	struct agent_session *s = ctx;

	(void) host;
	if (s->cluster)
		agent_gang_event(s, remote_event, buf, len);
	else if (remote_event == STEP_EVENT_LAUNCH)
		agent_launch(s, buf, len, storm_now());
	else
		debug("session %016" PRIx64 ": event %u means nothing here",
		      session, remote_event);
}

static void _strobe(void *host, void *ctx, uint64_t session, uint64_t number,
		    const void *buf, size_t len)
{
	(void) session;
	agent_gang_strobe(host, ctx, number, buf, len);
}

static void _acked(void *host, void *ctx, uint8_t kind,
		   const struct storm_idset *ids)
{
	(void) host;
	agent_local_acked(ctx, kind, ids);
}

static const struct storm_nm_ops nm_ops = {
	.authenticate = agent_auth_open,
	.session_open = _session_open,
	.session_close = _session_close,
	.file_begin = agent_file_begin,
	.file_write = agent_file_write,
	.file_read = agent_file_read,
	.file_stage = agent_file_stage,
	.file_commit = agent_file_commit,
	.file_end = agent_file_end,
	.event = _event,
	.strobe = _strobe,
	.acked = _acked,
};

/* ---------------------------------------------------------------- network --- */

static void _datagrams(void *arg, struct storm_rx *rx, size_t n)
{
	struct agent *a = arg;

	storm_nm_datagrams(a->nm, rx, n, storm_now());
}

static void _stream(void *arg, uint64_t stream, const void *buf, size_t len)
{
	struct agent *a = arg;

	storm_nm_stream(a->nm, stream, buf, len, storm_now());
}

static void _stream_failed(void *arg, uint64_t session, uint32_t node,
			   enum storm_err why, int sys)
{
	struct agent *a = arg;

	storm_nm_stream_failed(a->nm, session, node, why, sys, storm_now());
}

static void _net_ready(struct agent *a, struct agent_io *io, uint32_t events)
{
	(void) io;
	(void) events;
	a->driver->poll(a->net);
}

static void _signal_ready(struct agent *a, struct agent_io *io,
			  uint32_t events)
{
	struct signalfd_siginfo si;

	(void) events;
	while (read(io->fd, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		info("signal %u from process %u, ending", si.ssi_signo,
		     si.ssi_pid);
		a->stop = true;
	}
}

/* -------------------------------------------------------------- main loop --- */

static uint64_t _tick(struct agent *a, uint64_t now)
{
	uint64_t next = storm_nm_tick(a->nm, now), t;

	t = agent_launch_tick(a, now);
	if (t < next)
		next = t;
	t = agent_libdir_tick(a, now);
	if (t < next)
		next = t;
	t = agent_gang_tick(a, now);
	if (t < next)
		next = t;
	if (!a->lifelines) {
		if (!a->orphan_until)
			a->orphan_until = now + a->conf.agent_linger;
		if (now >= a->orphan_until) {
			info("no slurmd for %.1f s, ending",
			     a->conf.agent_linger / 1e9);
			a->stop = true;
		}
		if (a->orphan_until < next)
			next = a->orphan_until;
	}
	if (a->answers.first)
		next = 0;
	return next;
}

/*
 * What waits to be read when this process has stood still was sent meanwhile: all
 * of it is read, and no strobe of it is acted upon.  Where data come so fast that
 * there is no end of it, what is read a second later is new.
 */
static void _read_old(struct agent *a, uint64_t now)
{
	struct pollfd p = { .fd = a->net_io.fd, .events = POLLIN };
	sig_atomic_t returns = a->returns;

	if (!a->back_at)
		a->back_at = now;
	agent_gang_returned(a);
	a->driver->poll(a->net);
	if (poll(&p, 1, 0) > 0 && now < a->back_at + OLD_AFTER)
		return;
	a->returned = returns;
	a->back_at = 0;
}

static void _loop(struct agent *a)
{
	uint64_t due = STORM_NEVER - GANG_AWAY;

	while (!a->stop) {
		uint64_t now = storm_now(), next;
		int ms;

		/* the host was, or this process, by whatever */
		if (now > due + GANG_AWAY)
			a->returns++;
		if (agent_is_back(a))
			_read_old(a, now);
		next = _tick(a, now);
		now = storm_now();
		if (next <= now)
			ms = 0;
		else if (next - now > 3600 * STORM_SEC)
			ms = 3600000;
		else
			ms = (next - now + STORM_MS - 1) / STORM_MS;
		due = now + ms * STORM_MS;
		/* a frozen group of processes gets no SIGCONT */
		if (agent_io_serve(&a->ios, a, ms)) {
			if (errno != EINTR) {
				error("epoll_wait: %m");
				return;
			}
			a->returns++;
		}
		agent_answer_give(&a->answers, a->nm);
		agent_io_bury(&a->ios);
	}
}

/* Whom it is to be told to. */
static struct agent *continued;

static void _continued(int sig)
{
	(void) sig;
	continued->returns++;
}

/* To the main loop's thread, and to no other: so it is the first thing that happens
 * there after a stop. */
static void _hear_of_stops(struct agent *a)
{
	struct sigaction act = { .sa_handler = _continued,
				 .sa_flags = SA_RESTART };
	sigset_t set;

	continued = a;
	sigaction(SIGCONT, &act, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static int _signals(struct agent *a)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCONT);	/* _hear_of_stops() */
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	/* before any thread: all of them leave the signals to signalfd */
	if (pthread_sigmask(SIG_BLOCK, &set, NULL))
		return -1;
	a->signal_io.ready = _signal_ready;
	a->signal_io.fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (a->signal_io.fd < 0)
		return -1;
	return agent_io_add(&a->ios, &a->signal_io, EPOLLIN);
}

static void _limits(void)
{
	struct rlimit r;

	/* a descriptor or two per file and launch under way */
	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
	r.rlim_cur = r.rlim_max = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &r);
	/* session keys are in here */
	prctl(PR_SET_DUMPABLE, 0);
}

static int _start(struct agent *a)
{
	const struct storm_net_handler h = {
		.datagrams = _datagrams, .stream = _stream,
		.stream_failed = _stream_failed, .arg = a
	};
	int err, rc;

	a->driver = storm_driver_of(&a->conf.set);
	a->net = a->driver->create(&a->conf.set, STORM_ROLE_NODE, NULL, &h,
				   &err);
	if (!a->net) {
		error("cannot use port %u: %s: %m", a->conf.set.port,
		      storm_strerror(err));
		return -1;
	}
	a->nm = storm_nm_create(&a->conf.set, a->driver->transport(a->net),
				&nm_ops, a, &err);
	if (!a->nm) {
		error("cannot start: %s", storm_strerror(err));
		return -1;
	}
	a->net_io.fd = a->driver->fd(a->net);
	a->net_io.ready = _net_ready;
	if (agent_io_add(&a->ios, &a->net_io, EPOLLIN)) {
		error("epoll: %m");
		return -1;
	}
	if (agent_auth_start(a))
		return -1;
	rc = agent_worker_start(&a->controller, &a->ios, "storm_ctl", 16);
	if (rc) {
		error("cannot start a thread: %s", strerror(rc));
		return -1;
	}
	agent_libdir_load(a);
	if (agent_gang_start(a))
		return -1;
	/* last: who can connect is served */
	return agent_local_start(a);
}

static void _stop(struct agent *a)
{
	agent_auth_stop(a);
	storm_nm_destroy(a->nm);	/* closes every session */
	agent_gang_stop(a);
	agent_worker_stop(&a->controller, a);
	agent_local_stop(a);
	agent_poll_stop(a);
	agent_io_bury(&a->ios);
	if (a->net)
		a->driver->destroy(a->net);
	close(a->nursery);
}

static int _run(const char *node, uint16_t slurmd_port)
{
	static struct agent a;
	log_options_t opts = LOG_OPTS_STDERR_ONLY;
	char *why = NULL;

	a.node = node;
	a.slurmd_port = slurmd_port;
	agent_answer_init(&a.answers);
	agent_io_init(&a.ios);
	log_init("storm_agent", opts, 0, NULL);
	slurm_conf_init(NULL);
	agent_container_init(node);
	/* before there is anything that it should not inherit */
	a.nursery = file_nursery_start(agent_container_join);
	if (a.ios.epoll < 0 || a.nursery < 0 || _signals(&a)) {
		error("cannot start: %m");
		return AGENT_EXIT_FAILED;
	}
	if (slurm_conf.slurmd_debug > LOG_LEVEL_INFO) {
		opts.stderr_level = slurm_conf.slurmd_debug;
		log_alter(opts, 0, NULL);
	}
	storm_log_set(child_log);
	storm_conf_stamp(a.conf_stamp);
	if (storm_conf_load(&a.conf, &why)) {
		error("%s", why);
		return AGENT_EXIT_CONF;
	}
	if (!a.slurmd_port)
		a.slurmd_port = slurm_conf_get_port(node);
	_limits();
	agent_poll_start(&a);
	if (_start(&a))
		return errno == EADDRINUSE ? AGENT_EXIT_BUSY :
			AGENT_EXIT_FAILED;
	info("version %s serves node %s on port %u, pid %d", AGENT_BUILD, node,
	     a.conf.set.port, getpid());
	_hear_of_stops(&a);
	_loop(&a);
	_stop(&a);
	return 0;
}

/* ----------------------------------------------------- the command's face --- */

static const char usage[] =
"Usage: storm_agent [--node NAME] --stats | --trace [FROM] |\n"
"                   --drop PERCENT [SEED]\n"
"       storm_agent --version\n"
"       storm_agent --node NAME --run [--slurmd-port PORT]\n"
"\n"
"The node agent of STORM for Slurm.  slurmd runs it (--run); these ask a\n"
"running one:\n"
"  --stats                 print its counters as JSON\n"
"  --trace [FROM]          print what gang scheduling did on the node, one JSON\n"
"                          object on each line, from event number FROM on;\n"
"                          also when no agent runs\n"
"  --drop PERCENT [SEED]   tests: drop this share of the datagrams that it\n"
"                          receives\n"
"  --node NAME             which one; may be left out if there is one only\n"
"  --version               print the version\n";

int main(int argc, char **argv)
{
	enum { NODE = 1, RUN, PORT, STATS, TRACE, DROP, VERSION_, HELP };
	static const struct option options[] = {
		{ "node", required_argument, NULL, NODE },
		{ "run", no_argument, NULL, RUN },
		{ "slurmd-port", required_argument, NULL, PORT },
		{ "stats", no_argument, NULL, STATS },
		{ "trace", no_argument, NULL, TRACE },
		{ "drop", required_argument, NULL, DROP },
		{ "version", no_argument, NULL, VERSION_ },
		{ "help", no_argument, NULL, HELP },
		{ 0 }
	};
	const char *node = NULL, *percent = NULL;
	unsigned long port = 0;
	int opt, verb = 0;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case NODE:
			node = optarg;
			break;
		case PORT:
			port = strtoul(optarg, NULL, 10);
			break;
		case DROP:
			percent = optarg;
			/* fall through */
		case RUN:
		case STATS:
		case TRACE:
			verb = opt;
			break;
		case VERSION_:
			puts("storm_agent " AGENT_BUILD);
			return 0;
		case HELP:
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (verb == RUN && node && optind == argc && port < 65536)
		return _run(node, port);
	if (verb == STATS && optind == argc)
		return agent_ask_stats(node);
	if (verb == TRACE && argc - optind <= 1)
		return agent_ask_trace(node, argv[optind]);
	if (verb == DROP && argc - optind <= 1)
		return agent_ask_drop(node, percent, argv[optind]);
	fputs(usage, stderr);
	return 2;
}
