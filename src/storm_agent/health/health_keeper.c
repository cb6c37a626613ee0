/*
 * health_keeper.c - see health_keeper.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "health_keeper.h"
#include "health_round.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"

#define DISKS_MAX 32
#define FIXED 5 /* checks but those of disks and the program */
#define PATIENCE (5 * STORM_SEC)
#define SLURMD_PATIENCE (15 * STORM_SEC) /* it may be starting many steps */
#define BEGIN (5 * STORM_SEC)
/* A node that is not well is looked at so often, at least. */
#define AGAIN (10 * STORM_SEC)

static struct {
	const struct storm_health_conf *conf;
	const struct health_place *at;
	int sock, parent;
	int lifeline; /* readable: one of both is */
	char paths[STORM_CONF_PATHS_MAX];
	struct health_check check[DISKS_MAX + FIXED + 1];
	size_t checks; /* but for the program, which is behind them */
	bool has_program;
	struct health_clock clock;
	struct health_report report;
} keeper;

uint64_t health_round_limit(const struct storm_health_conf *c)
{
	return storm_min(SLURMD_PATIENCE, c->timeout) + c->timeout;
}

static void health_keeper_add(enum health_kind kind, const char *name,
			      uint64_t patience)
{
	keeper.check[keeper.checks++] = (struct health_check) {
		.kind = kind,
		.name = name,
		.patience = storm_min(patience, keeper.conf->timeout),
		.pidfd = -1,
		.out = -1,
	};
}

static void health_keeper_list(const char *program)
{
	char *save = NULL;
	int disks = 0;

	strcpy(keeper.paths, keeper.conf->paths);
	for (char *p = strtok_r(keeper.paths, ":", &save);
	     p && disks < DISKS_MAX; p = strtok_r(NULL, ":", &save), disks++)
		health_keeper_add(HEALTH_CHECK_DISK, p, PATIENCE);
	health_keeper_add(HEALTH_CHECK_MEMORY, "", PATIENCE);
	health_keeper_add(HEALTH_CHECK_MUNGE, "", PATIENCE);
	health_keeper_add(HEALTH_CHECK_SLURMD, "", SLURMD_PATIENCE);
	health_keeper_add(HEALTH_CHECK_DESCRIPTORS, "", PATIENCE);
	health_keeper_add(HEALTH_CHECK_INOTIFY, "", PATIENCE);
	keeper.has_program = program;
	if (program) {
		health_keeper_add(HEALTH_CHECK_PROGRAM, program,
				  keeper.conf->timeout);
		keeper.checks--;
	}
}

/* A slurmstepd that was killed leaves its socket behind, and slurmd leaves it there.  The
 * kernel refuses that one.  If somebody listens it says that the type is another one, and
 * slurmstepd does not notice. */
static bool health_keeper_is_open(const char *spool, const char *name)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int len = snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/%s", spool,
			   name);
	bool open = true; /* if in doubt */

	if (fd >= 0 && len < (int) sizeof(addr.sun_path) &&
	    connect(fd, (struct sockaddr *) &addr, sizeof(addr)))
		open = errno != ECONNREFUSED && errno != ENOENT;
	if (fd >= 0)
		close(fd);
	return open;
}

/* Does a step run here?  Its socket is <node>_<job>.<step>. */
static bool health_keeper_busy(const char *spool)
{
	size_t len = strlen(keeper.at->node);
	DIR *d = opendir(spool);
	const struct dirent *e;
	bool busy = false;

	while (d && !busy && (e = readdir(d)))
		busy = !strncmp(e->d_name, keeper.at->node, len) &&
		       e->d_name[len] == '_' &&
		       isdigit((unsigned char) e->d_name[len + 1]) &&
		       strchr(e->d_name + len, '.') &&
		       health_keeper_is_open(spool, e->d_name);
	if (d)
		closedir(d);
	return busy;
}

/* The most serious cause of these checks, and of what is known already. */
static void health_keeper_judge(size_t first, size_t n)
{
	char text[HEALTH_LINE];

	for (size_t i = first; i < first + n; i++) {
		const struct health_check *c = &keeper.check[i];
		enum health_cause cause = health_judge(keeper.conf, c->kind,
						       c->name, &c->got, &text);

		if (cause && (!keeper.report.cause ||
			      (uint32_t) cause < keeper.report.cause)) {
			keeper.report.cause = (uint32_t) cause;
			memcpy(keeper.report.text, text, sizeof(text));
		}
	}
}

static void health_keeper_judge_clock(void)
{
	const int64_t s = (int64_t) STORM_SEC, half = s / 2;
	struct timespec ts;
	int64_t jump;

	clock_gettime(CLOCK_REALTIME, &ts);
	jump = health_clock_look(&keeper.clock, storm_now(),
				 ts.tv_sec * s + ts.tv_nsec);
	if (!jump ||
	    (keeper.report.cause && keeper.report.cause < HEALTH_CLOCK))
		return;
	keeper.report.cause = HEALTH_CLOCK;
	snprintf(keeper.report.text, sizeof(keeper.report.text),
		 "the clock has jumped by %lld s",
		 (long long) ((jump + (jump < 0 ? -half : half)) / s));
}

/* False: the agent is gone, or the parent. */
static bool health_keeper_look(void)
{
	struct health_check *program = &keeper.check[keeper.checks];

	keeper.report = (struct health_report) { 0 };
	if (!health_round(keeper.check, keeper.checks, keeper.at,
			  keeper.lifeline))
		return false;
	health_keeper_judge(0, keeper.checks);
	health_keeper_judge_clock();
	/* it may take long, and what it needs may be what is wrong */
	if (keeper.has_program && !keeper.report.cause) {
		if (!health_round(program, 1, keeper.at, keeper.lifeline))
			return false;
		health_keeper_judge(keeper.checks, 1);
	}
	return true;
}

/* False: the agent is gone, or the parent. */
static bool health_keeper_wait(uint64_t ns)
{
	struct pollfd p = { .fd = keeper.lifeline, .events = POLLIN };
	uint64_t until = storm_now() + ns, now;

	while ((now = storm_now()) < until)
		if (poll(&p, 1, (int) ((until - now) / STORM_MS) + 1) > 0)
			return false;
	return true;
}

/* Without a lifeline it looks whether the agent is there only as it reports. */
static void health_keeper_hold(void)
{
	struct epoll_event e = { .events = EPOLLIN };

	keeper.lifeline = epoll_create1(EPOLL_CLOEXEC);
	epoll_ctl(keeper.lifeline, EPOLL_CTL_ADD, keeper.sock, &e);
	epoll_ctl(keeper.lifeline, EPOLL_CTL_ADD, keeper.parent, &e);
}

/* Has the parent ended, and not the agent? */
static bool health_keeper_is_orphan(void)
{
	struct pollfd p = { .fd = keeper.parent, .events = POLLIN };
	char byte;

	return poll(&p, 1, 0) == 1 && recv(keeper.sock, &byte, sizeof(byte),
					   MSG_PEEK | MSG_DONTWAIT) != 0;
}

void health_keep(int sock, int parent, const struct storm_health_conf *c,
		 const struct health_place *at, const char *spool,
		 const char *program)
{
	bool alive = true;

	keeper.sock = sock;
	keeper.parent = parent;
	health_keeper_hold();
	keeper.conf = c;
	keeper.at = at;
	health_keeper_list(program);
	/* slurmd is just being started */
	alive = health_keeper_wait(storm_min(c->period, BEGIN));
	while (alive) {
		keeper.report.busy = !c->busy && health_keeper_busy(spool);
		if (!keeper.report.busy)
			alive = health_keeper_look();
		if (alive && send(sock, &keeper.report, sizeof(keeper.report),
				  MSG_NOSIGNAL) < 0)
			break;
		alive = alive &&
			health_keeper_wait(keeper.report.cause ?
						   storm_min(c->period, AGAIN) :
						   c->period);
	}
	if (!health_keeper_is_orphan())
		_exit(0);
}
