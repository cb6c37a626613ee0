/*
 * launcher_start.c - how a launcher comes to be, and tells the keeper.  See
 * launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "head.h"
#include "launcher.h"
#include "launcher_base.h"
#include "launcher_private.h"
#include "oom.h"
#include "src/libstorm/transport/udp/udp_port.h"

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

/* srun brings it to the keeper.  Port 0: it is taken. */
void launcher_say_taken(const char *proc)
{
	printf(LAUNCHER_READY " %s %s 0.0.0.0 0 0\n", proc, launcher.name);
	fflush(stdout);
}

/* Says where it listens, and how many GPUs Slurm has given. */
void launcher_say_ready(const char *proc)
{
	struct storm_addr a;
	char ip[INET6_ADDRSTRLEN];

	storm_node_address(launcher.node, &a);
	inet_ntop(AF_INET, a.ip + STORM_ADDR_LEN - 4, ip, sizeof(ip));
	printf(LAUNCHER_READY " %s %s %s %u %u\n", proc, launcher.name, ip,
	       a.port, task_gpus());
	fflush(stdout);
}

/* All others wait for it. */
int launcher_say_fault(const char *proc, const char *what)
{
	printf(LAUNCHER_READY " %s %s cannot begin: %s\n", proc, launcher.name,
	       what);
	fflush(stdout);
	return 1;
}

bool launcher_port_free(uint16_t port)
{
	struct storm_udp_port p;

	if (storm_udp_port_open(&p, port))
		return false;
	storm_udp_port_close(&p);
	return true;
}

/* A keeper on this host has the same path for clients. */
const char *launcher_begin_head(const char *socket, uint16_t call)
{
	static char why[600]; /* is returned */
	struct head_keeper k = { .port = call };
	const char *job = getenv("SLURM_JOB_ID");

	if (call &&
	    (!job || !run_sock_path(job, &launcher.socket, why, sizeof(why))))
		return job ? why : "no SLURM_JOB_ID";
	if (!strcmp(launcher.socket, socket))
		*launcher.socket = '\0';
	/* where srun is, as Slurm reaches it from here */
	if (*launcher.socket) {
		socket = launcher.socket;
		k.ip = getenv("SLURM_LAUNCH_NODE_IPADDR");
	}
	if (*launcher.socket && !k.ip)
		return "no SLURM_LAUNCH_NODE_IPADDR";
	launcher.head_pid =
		head_start(socket, &k, &launcher.head, why, sizeof(why));
	return launcher.head_pid ? NULL : why;
}

/* One that ends by itself has last words for clients. */
void launcher_end_head(void)
{
	char path[RUN_SOCK_PATH];
	int fd;

	if (launcher.head_pid && launcher.ending && *launcher.socket)
		kill(launcher.head_pid, SIGKILL);
	if (launcher.head_pid && (!launcher.ending || *launcher.socket))
		waitpid(launcher.head_pid, NULL, 0);
	if (!*launcher.socket)
		return;
	run_sock_beside(launcher.socket, "keep", &path);
	fd = run_sock_lock(path, false);
	if (fd < 0)
		return;
	run_sock_remove(launcher.socket, true);
	close(fd);
}

const char *launcher_begin_serving(uint16_t port)
{
	struct storm_node_conf conf = {
		.name = launcher.name,
		.owner_uid = geteuid(),
		.stands = true,
		.on_signal = launcher_on_signal,
		.on_close = launcher_on_close,
	};
	int err;

	launcher_settings(&conf.set);
	conf.set.port = port;
	launcher.said_tail = &launcher.said;
	launcher.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	launcher.null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (launcher.event < 0 || launcher.null < 0 || !launcher_take_signals())
		return strerror(errno);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	oom_open();
	/* a run asks once at a time */
	err = storm_worker_start(&launcher.munge, "storm_munge", UINT_MAX);
	if (err)
		return strerror(err);
	launcher.node = storm_node_create(&conf, &err);
	return launcher.node ? NULL : storm_strerror(err);
}
