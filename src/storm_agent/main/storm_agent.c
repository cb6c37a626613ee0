/*
 * storm_agent.c - the node agent's main program: its command line, and the
 * start and stop of its parts.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent_ask.h"
#include "agent_local.h"
#include "agent_loop.h"
#include "agent_nm.h"
#include "agent_place.h"
#include "agent_pulse.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/transport/udp/udp_port.h"
#include "src/libstorm/wire/credential.h"
#include "src/storm_agent/agent.h"
#include "src/storm_agent/agent_auth.h"
#include "src/storm_agent/agent_health.h"
#include "src/storm_agent/agent_launch.h"
#include "src/storm_agent/agent_libdir.h"
#include "src/storm_agent/agent_nursery.h"
#include "src/storm_agent/turns/agent_gang.h"
#include "src/storm_agent/turns/agent_poll.h"
#include "src/storm_common/agent_contract.h"
#include "src/storm_common/caps.h"
#include "src/storm_common/child_log.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/node_list.h"
#include "src/storm_common/slurm_build.h"
#include "src/storm_common/slurm_conf_kept.h"

/* ------------------------------------------------------------ start and stop --- */

/* What root may do to others that the agent needs; storm_agent(8) says what for.
 * It stays root's uid: the files below /run, the control groups and the local
 * socket are root's. */
#define STORM_AGENT_CAPS                                           \
	(CAPS_BIT(CAP_IPC_LOCK) | CAPS_BIT(CAP_KILL) |             \
	 CAPS_BIT(CAP_NET_BIND_SERVICE) | CAPS_BIT(CAP_SYS_NICE) | \
	 CAPS_BIT(CAP_SYS_PTRACE))

static void storm_agent_limits(void)
{
	struct rlimit r;

	/* each file and launch under way needs one or two descriptors */
	if (!getrlimit(RLIMIT_NOFILE, &r)) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
	r.rlim_cur = r.rlim_max = RLIM_INFINITY;
	setrlimit(RLIMIT_FSIZE, &r);
	/* a core file would hold session keys */
	prctl(PR_SET_DUMPABLE, 0);
}

/* Before there are threads, which inherit what is kept.  Large buffers of sockets
 * need CAP_NET_ADMIN, so over UDP the sockets come first.  RDMA's device files
 * refuse a process whose capabilities changed after it opened them: there they
 * come later, and net.core.rmem_max limits the buffers. */
static int storm_agent_open_network(struct agent *a)
{
	bool verbs = a->conf.set.transport == STORM_TRANSPORT_VERBS;

	if (!verbs && agent_nm_start(a))
		return -1;
	if (caps_keep(STORM_AGENT_CAPS)) {
		error("cannot drop capabilities: %m");
		return -1;
	}
	return verbs ? agent_nm_start(a) : 0;
}

static int storm_agent_start(struct agent *a)
{
	int rc;

	if (storm_agent_open_network(a) || agent_auth_start(a))
		return -1;
	rc = agent_worker_start(&a->controller, &a->ios, "storm_ctl", 16);
	if (rc) {
		error("cannot start a thread: %s", strerror(rc));
		return -1;
	}
	agent_pulse_start(a);
	agent_launch_look(a);
	agent_libdir_load(a);
	if (agent_gang_start(a))
		return -1;
	/* last: this accepts connections */
	return agent_local_start(a);
}

static void storm_agent_stop(struct agent *a)
{
	agent_auth_stop(a);
	agent_health_stop(a);
	agent_pulse_stop(a);
	agent_nm_stop(a);
	agent_gang_stop(a);
	agent_worker_stop(&a->controller, a);
	agent_local_stop(a);
	agent_poll_stop(a);
	agent_io_bury(&a->ios);
	agent_nm_close(a);
	agent_nursery_stop(a);
}

/* Take over the sockets that slurmd keeps open.  The agent's own copies are for
 * the next slurmd. */
static void storm_agent_inherit(struct agent *a, const int sockets[2])
{
	struct storm_udp_port p = { sockets[0], sockets[1], 0 };

	for (int i = 0; i < 2; i++)
		a->net.port[i] = sockets[i] < 0 ?
					 -1 :
					 fcntl(sockets[i], F_DUPFD_CLOEXEC, 3);
	storm_udp_port_inherit(&p);
}

/* False: there is nothing to run with, which is logged.  A key that only this
 * node lacks, Port for example, would part it from all others: so it is not run
 * with defaults. */
static bool storm_agent_read_conf(struct agent *a, const char *dir,
				  char **lines)
{
	enum storm_conf_state state;
	char *why;

	storm_conf_stamp(&a->conf_stamp);
	state = storm_conf_load_kept(dir, &a->conf, lines, &why);
	if (state == STORM_CONF_KEPT)
		error("%s; this agent uses the settings that the last one had: correct the line, then \"scontrol reconfigure\"",
		      why);
	else if (state == STORM_CONF_NONE)
		error("%s; no agent runs here until the line is correct", why);
	xfree(why);
	return state != STORM_CONF_NONE;
}

/* With auth/slurm Slurm works without munged.  STORM does not. */
static void storm_agent_try_munge(void)
{
	char *cred = NULL;

	if (!xstrcmp(slurm_conf.authtype, "auth/munge"))
		return;
	if (storm_credential_encode(geteuid(), "", 0, &cred))
		error("AuthType=%s, but STORM needs MUNGE: until munged runs on all hosts, Slurm launches steps and sends files",
		      slurm_conf.authtype);
	free(cred);
}

static int storm_agent_run(const char *node, uint16_t slurmd_port,
			   const int sockets[2])
{
	static struct agent a;
	log_options_t opts = LOG_OPTS_STDERR_ONLY;
	slurm_addr_t addr;
	char *dir, *lines, *slurm_lines;

	a.node = node;
	a.began_at = storm_now();
	a.slurmd.port = slurmd_port;
	agent_answer_init(&a.answers);
	agent_io_init(&a.ios);
	log_init("storm_agent", opts, 0, NULL);
	if (slurm_build_refusal()) {
		error("%s", slurm_build_refusal());
		return AGENT_EXIT_CONF;
	}
	dir = xstrdup_printf("%s/%s", STORM_RUNDIR, node);
	slurm_lines = slurm_conf_kept_init(dir);
	a.slurmd.own_address =
		xstrcasestr(slurm_conf.comm_params, "NoInAddrAny");
	if (a.ios.epoll < 0 || agent_loop_signals(&a)) {
		error("cannot start: %m");
		return AGENT_EXIT_FAILED;
	}
	child_log_wanted(CONF_LOG_SLURM, slurm_conf.slurmd_debug);
	storm_log_set(child_log);
	if (!storm_agent_read_conf(&a, dir, &lines))
		return AGENT_EXIT_CONF;
	child_log_wanted(a.conf.log, slurm_conf.slurmd_debug);
	storm_agent_try_munge();
	if (!a.slurmd.port && !slurm_conf_get_addr(node, &addr, 0))
		a.slurmd.port = slurm_get_port(&addr);
	storm_agent_limits();
	storm_agent_inherit(&a, sockets);
	a.net.has_place = !a.conf.set.interface[0] &&
			  agent_place_find(node, &a.net.place);
	if (agent_nursery_start(&a))
		return AGENT_EXIT_FAILED;
	agent_health_start(&a);
	agent_poll_start(&a);
	if (storm_agent_start(&a))
		return errno == EADDRINUSE ? AGENT_EXIT_BUSY :
					     AGENT_EXIT_FAILED;
	/* now the directory is there, and the keys have served to start */
	storm_conf_keep(dir, lines);
	slurm_conf_kept_save(dir, slurm_lines);
	xfree(dir);
	info("version %s serves node %s on port %u, pid %d", AGENT_BUILD, node,
	     a.conf.set.port, getpid());
	agent_loop_run(&a);
	storm_agent_stop(&a);
	return 0;
}

/* ------------------------------------------------------------ command line --- */

static const char storm_agent_usage[] =
	"Usage: storm_agent [--node NAME] --stats | --trace [FROM] |\n"
	"                   --drop PERCENT [SEED]\n"
	"       storm_agent --version\n"
	"       storm_agent --node NAME --run [--slurmd-port PORT] [--sockets]\n"
	"       storm_agent --node NAME --nursery\n"
	"       storm_agent --node NAME --health [--slurmd-port PORT]\n"
	"       storm_agent --nodes\n"
	"\n"
	"The node agent of STORM for Slurm.  slurmd runs it (--run).  These options\n"
	"query a running agent:\n"
	"  --stats                 print its counters as JSON\n"
	"  --trace [FROM]          print the trace of gang scheduling, one JSON object on\n"
	"                          each line, from event number FROM on; works without\n"
	"                          a running agent, too\n"
	"  --drop PERCENT [SEED]   for tests: discard this share of the datagrams that\n"
	"                          it receives\n"
	"  --node NAME             the agent's node; needed if this host has several\n"
	"  --version               print the version, and what Slurm it was built for\n";

int main(int argc, char **argv)
{
	enum {
		NODE = 1,
		RUN,
		PORT,
		SOCKETS,
		NURSERY,
		HEALTH,
		NODES,
		STATS,
		TRACE,
		DROP,
		VERSION_,
		HELP
	};
	static const struct option options[] = {
		{ "node", required_argument, NULL, NODE },
		{ "run", no_argument, NULL, RUN },
		{ "slurmd-port", required_argument, NULL, PORT },
		{ "sockets", no_argument, NULL, SOCKETS },
		{ "nursery", no_argument, NULL, NURSERY },
		{ "health", no_argument, NULL, HEALTH },
		{ "nodes", no_argument, NULL, NODES },
		{ "stats", no_argument, NULL, STATS },
		{ "trace", no_argument, NULL, TRACE },
		{ "drop", required_argument, NULL, DROP },
		{ "version", no_argument, NULL, VERSION_ },
		{ "help", no_argument, NULL, HELP },
		{ 0 }
	};
	const char *node = NULL, *percent = NULL;
	unsigned long port = 0;
	int opt, verb = 0, sockets[2] = { -1, -1 };

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case NODE:
			node = optarg;
			break;
		case PORT:
			port = strtoul(optarg, NULL, 10);
			break;
		case SOCKETS:
			sockets[0] = AGENT_SOCKET_UDP;
			sockets[1] = AGENT_SOCKET_TCP;
			break;
		case DROP:
			percent = optarg;
			/* fall through */
		case RUN:
		case NURSERY:
		case HEALTH:
		case STATS:
		case TRACE:
			verb = opt;
			break;
		case NODES:
			node_list_run();
		case VERSION_:
			printf("storm_agent " STORM_VERSION ", %s\n",
			       slurm_build_describe());
			return 0;
		case HELP:
			fputs(storm_agent_usage, stdout);
			return 0;
		default:
			fputs(storm_agent_usage, stderr);
			return 2;
		}
	}
	if (verb == RUN && node && optind == argc && port < 65536)
		return storm_agent_run(node, port, sockets);
	if (verb == NURSERY && node && optind == argc)
		agent_nursery_run(node);
	if (verb == HEALTH && node && optind == argc && port < 65536)
		agent_health_run(node, (uint16_t) port);
	if (verb == STATS && optind == argc)
		return agent_ask_stats(node);
	if (verb == TRACE && argc - optind <= 1)
		return agent_ask_trace(node, argv[optind]);
	if (verb == DROP && argc - optind <= 1)
		return agent_ask_drop(node, percent, argv[optind]);
	fputs(storm_agent_usage, stderr);
	return 2;
}
