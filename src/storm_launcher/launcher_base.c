/*
 * launcher_base.c - see launcher_base.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "launcher_base.h"
#include "run_sock.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_common/conf_user.h"

#define BUFFER (4u << 20) /* of a socket */
#define FORMER_LIMIT (60 * STORM_SEC)

static char launcher_log_name[STORM_NAME_MAX + 1];

static void launcher_log(enum storm_log_level level, const char *msg)
{
	char at[32];
	time_t now = time(NULL);
	struct tm tm;

	if (level > STORM_LOG_INFO)
		return;
	strftime(at, sizeof(at), "%H:%M:%S", localtime_r(&now, &tm));
	dprintf(STDERR_FILENO, "%s storm_launcher: %s: %s\n", at,
		launcher_log_name, msg);
}

void launcher_log_as(const char *name)
{
	snprintf(launcher_log_name, sizeof(launcher_log_name), "%s", name);
	storm_log_set(launcher_log);
}

void launcher_many_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l))
		return;
	l.rlim_cur = l.rlim_max;
	setrlimit(RLIMIT_NOFILE, &l);
}

/* Others serve clients.  Those that end do not, and then their lock is free. */
static bool launchers_there(const char *socket)
{
	int fd = run_sock_connect(socket);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int launcher_lock(const char *socket, char *why, size_t size)
{
	const struct timespec pause = { .tv_nsec = 10 * STORM_MS };
	uint64_t until = storm_now() + FORMER_LIMIT;
	char path[RUN_SOCK_PATH];
	bool said = false;
	int fd;

	run_sock_beside(socket, "keep", &path);
	while ((fd = run_sock_lock(path, false)) < 0 && errno == EWOULDBLOCK &&
	       storm_now() < until) {
		if (launchers_there(socket)) {
			snprintf(why, size, LAUNCHERS_THERE);
			return -1;
		}
		if (!said)
			storm_log(STORM_LOG_INFO,
				  "the launchers before have not ended yet");
		said = true;
		nanosleep(&pause, NULL);
	}
	if (fd < 0)
		snprintf(why, size, "%s: %s", path,
			 errno == EWOULDBLOCK ?
				 "the launchers before have not ended" :
				 strerror(errno));
	return fd;
}

void *launcher_copy(const void *buf, size_t len)
{
	void *copy = malloc(len ? len : 1);

	if (!copy) {
		storm_log(STORM_LOG_ERROR, "no memory");
		_exit(1);
	}
	return memcpy(copy, buf, len);
}

/* A fault in storm.conf is storm check's to explain; then the defaults count. */
static void launcher_conf_fault(void *arg, enum conf_fault kind,
				const char *text)
{
	(void) arg;
	if (kind == CONF_ERROR)
		storm_log(STORM_LOG_WARN, "%s", text);
}

const struct storm_conf *launcher_conf(void)
{
	static struct storm_conf conf; /* large */
	static bool read;

	if (!read)
		conf_user_read(&conf, launcher_conf_fault, NULL);
	read = true;
	return &conf;
}

void launcher_settings(struct storm_settings *set)
{
	*set = launcher_conf()->set;
	/* what verbs need a user seldom has; the strobe rail is the agents' */
	set->transport = STORM_TRANSPORT_UDP;
	set->strobe_device[0] = '\0';
	/* more is root's (socket(7), SO_RCVBUFFORCE) */
	set->socket_buffer = (uint32_t) storm_min(set->socket_buffer, BUFFER);
}

struct sockaddr_in launcher_sockaddr(const struct storm_addr *a)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(a->port) };

	memcpy(&sin.sin_addr, a->ip + STORM_ADDR_LEN - 4, 4);
	return sin;
}
