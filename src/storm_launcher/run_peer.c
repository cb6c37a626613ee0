/*
 * run_peer.c - see run_peer.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run_peer.h"

#define JOB "/job_"

/* The bytes of a line up to and with the name of a job's group; 0: it has none. */
static size_t run_peer_prefix(const char *line, unsigned long *job)
{
	size_t len = strcspn(line, "\n");

	for (const char *at = line; (at = strstr(at, JOB)); at++) {
		char *end;

		if ((size_t) (at - line) >= len)
			return 0;
		*job = strtoul(at + strlen(JOB), &end, 10);
		if (end > at + strlen(JOB) && *job &&
		    (*end == '/' || *end == '\n' || !*end))
			return (size_t) (end - line);
	}
	return 0;
}

/* Has it a line that begins so, and goes on with a group below or ends? */
static bool run_peer_has(const char *text, const char *prefix, size_t len)
{
	while (*text) {
		if (!strncmp(text, prefix, len) &&
		    (text[len] == '/' || text[len] == '\n' || !text[len]))
			return true;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return false;
}

bool run_peer_is_of_job(const char *own, const char *other, unsigned long *job)
{
	while (*own) {
		size_t len = run_peer_prefix(own, job);

		/* a hierarchy's number and its controllers are part of it */
		if (len)
			return run_peer_has(other, own, len);
		own += strcspn(own, "\n");
		own += *own == '\n';
	}
	*job = 0;
	return true;
}

/* False: it cannot be read. */
static bool run_peer_read(const char *path, char (*out)[RUN_PEER_TEXT])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t have = 0;
	ssize_t n = 0;

	while (fd >= 0 && have < sizeof(*out) - 1 &&
	       ((n = read(fd, *out + have, sizeof(*out) - 1 - have)) > 0 ||
		(n < 0 && errno == EINTR)))
		have += n > 0 ? (size_t) n : 0;
	if (fd >= 0)
		close(fd);
	(*out)[have] = '\0';
	return have > 0;
}

bool run_peer_is_near(pid_t pid, unsigned long *job)
{
	static char own[RUN_PEER_TEXT];
	char path[32], other[RUN_PEER_TEXT];

	/* it stays where Slurm has put it */
	*job = 0;
	if (!*own && !run_peer_read("/proc/self/cgroup", &own))
		return false;
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int) pid);
	return run_peer_read(path, &other) &&
	       run_peer_is_of_job(own, other, job);
}
