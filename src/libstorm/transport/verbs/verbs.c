/*
 * verbs.c - helpers of all files of the verbs transport: logging of failures,
 * wake-ups of the poll loop, addresses.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <glob.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "verbs_private.h"

/* ------------------------------------------------------------- failures */

void storm_verbs_log(struct storm_verbs *v, const char *fmt, ...)
{
	enum storm_log_level level = v->set.transport_fallback || v->data ?
					     STORM_LOG_WARN :
					     STORM_LOG_ERROR;
	char msg[768];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	storm_log(v->retrying ? STORM_LOG_DEBUG : level, "%s", msg);
}

static const char *verbs_memory_reason(char *buf, size_t size)
{
	struct rlimit lim = { 0 };

	getrlimit(RLIMIT_MEMLOCK, &lim);
	if (lim.rlim_cur == RLIM_INFINITY)
		snprintf(buf, size,
			 "the device has no more such objects, or "
			 "the host has no memory");
	else
		snprintf(buf, size,
			 "locked memory is limited to %llu KiB: "
			 "raise ulimit -l (/etc/security/limits.conf for "
			 "users, LimitMEMLOCK= of slurmd's unit)",
			 (unsigned long long) lim.rlim_cur / 1024);
	return buf;
}

const char *storm_verbs_key(const struct storm_verbs *v, const char *data,
			    const char *strobe)
{
	return v->data ? strobe : data;
}

/* A file without permission, which the library reports by another errno. */
static bool verbs_permission_reason(char *buf, size_t size)
{
	glob_t g = { .gl_pathc = 0 };
	bool found = false;

	glob("/dev/infiniband/uverbs*", 0, NULL, &g);
	glob("/dev/infiniband/rdma_cm", GLOB_APPEND, NULL, &g);
	for (size_t i = 0; i < g.gl_pathc && !found; i++) {
		found = access(g.gl_pathv[i], R_OK | W_OK);
		if (found)
			snprintf(buf, size,
				 "%s must be readable and writable "
				 "by all users: package rdma-core has udev "
				 "rules for that",
				 g.gl_pathv[i]);
	}
	globfree(&g);
	return found;
}

int storm_verbs_fail(struct storm_verbs *v, const char *what)
{
	char why[192] = "";
	int err = errno;

	if (err == ENOMEM)
		verbs_memory_reason(why, sizeof(why));
	else if (verbs_permission_reason(why, sizeof(why)))
		err = EACCES;
	else
		strcpy(why, "storm_check(1) shows what is missing here");
	errno = err;
	storm_verbs_log(v, "%s (RDMA device %s, port %u): %m: %s", what,
			v->port.device[0] ? v->port.device :
			v->set.device[0]  ? v->set.device :
					    "any",
			v->port.number, why);
	errno = err;
	return STORM_ESYS;
}

void storm_verbs_break(struct storm_verbs *v)
{
	v->broken = true;
}

/* ----------------------------------------- what wakes the poll loop */

int storm_verbs_watch(struct storm_verbs *v, int fd, enum verbs_fd which)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = which };

	return epoll_ctl(v->epfd, EPOLL_CTL_ADD, fd, &ev);
}

bool storm_verbs_working(const struct storm_verbs *v)
{
	return v->up && !v->port_down && !v->broken;
}

void storm_verbs_again(struct storm_verbs *v)
{
	uint64_t one = 1;

	if (!v->again_on)
		v->again_on = write(v->again, &one, sizeof(one)) > 0;
}

void storm_verbs_set_timer(struct storm_verbs *v, uint64_t ns)
{
	struct timespec ts = { .tv_sec = (time_t) (ns / STORM_SEC),
			       .tv_nsec = (long) (ns % STORM_SEC) };
	struct itimerspec when = { .it_value = ts, .it_interval = ts };

	timerfd_settime(v->timer, 0, &when, NULL);
}

void storm_verbs_timer(struct storm_verbs *v)
{
	if (!v->timer_on)
		storm_verbs_set_timer(v, VERBS_TICK_FAST);
	v->timer_on = true;
}

/* ------------------------------------------------------------- addresses */

/* Not storm_udp_sockaddr(), which logs: callers have checked the address. */
struct sockaddr_in storm_verbs_sockaddr(const struct storm_addr *a)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(a->port) };

	memcpy(&sin.sin_addr, a->ip + 12, sizeof(sin.sin_addr));
	return sin;
}
