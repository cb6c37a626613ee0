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
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "head.h"
#include "launcher.h"
#include "launcher_base.h"
#include "launcher_private.h"
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
	printf(LAUNCHER_READY " %s %s 0.0.0.0 0\n", proc, launcher.name);
	fflush(stdout);
}

/* Says where it listens. */
void launcher_say_ready(const char *proc)
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

const char *launcher_begin_serving(const char *socket, uint16_t port)
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
