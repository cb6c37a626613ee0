/*
 * ports.c - see ports.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ports.h"
#include "src/libstorm/wire/seal.h"

#define WAITING 64 /* calls that wait to be accepted */

static bool ports_read_line(const char *line, struct ports *p)
{
	unsigned int first, last;

	if (sscanf(line, " SrunPortRange = %5u-%5u", &first, &last) != 2 ||
	    first > last || last > UINT16_MAX)
		return false;
	*p = (struct ports) { (uint16_t) first, (uint16_t) last };
	return true;
}

bool ports_read(const char *text, struct ports *p)
{
	while (text && *text) {
		if (ports_read_line(text, p))
			return true;
		text = strchr(text, '\n');
		text += text != NULL;
	}
	return false;
}

/* What scontrol prints, and its pid; NULL: it cannot be executed. */
static FILE *ports_ask(pid_t *pid)
{
	char *argv[] = { "scontrol", "show", "config", NULL };
	posix_spawn_file_actions_t acts;
	int p[2], err;

	if (pipe2(p, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&acts);
	err = posix_spawn_file_actions_adddup2(&acts, p[1], STDOUT_FILENO) ?:
		      posix_spawnp(pid, argv[0], &acts, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&acts);
	close(p[1]);
	if (!err)
		return fdopen(p[0], "r");
	close(p[0]);
	return NULL;
}

bool ports_of_slurm(struct ports *p, char *why, size_t size)
{
	pid_t pid = 0;
	FILE *f = ports_ask(&pid);
	char *line = NULL;
	bool found = false;
	size_t room = 0;

	/* all of it is read: its writer is to end well */
	while (f && getline(&line, &room, f) >= 0)
		found |= ports_read(line, p);
	free(line);
	if (f)
		fclose(f);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (!found)
		snprintf(
			why, size,
			"SrunPortRange of slurm.conf is not known: \"scontrol show config\" does not say it here");
	return found;
}

/* 0, or an errno. */
static int ports_try(int fd, uint16_t *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(*port) };
	socklen_t len = sizeof(sin);
	int yes = 1;

	/* one whose last connection has ended a moment ago is free */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (struct sockaddr *) &sin, sizeof(sin)) ||
	    listen(fd, WAITING) ||
	    getsockname(fd, (struct sockaddr *) &sin, &len))
		return errno;
	*port = ntohs(sin.sin_port);
	return 0;
}

int ports_listen(const struct ports *p, uint16_t *port)
{
	uint32_t count = p->last - p->first + 1u, from = 0;
	int err = EADDRINUSE;

	storm_random(&from, sizeof(from));
	for (uint32_t k = 0; k < count && err; k++) {
		int fd = socket(AF_INET,
				SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		if (fd < 0)
			return -1;
		*port = (uint16_t) (p->first + (from % count + k) % count);
		err = ports_try(fd, port);
		if (!err)
			return fd;
		close(fd);
	}
	errno = err;
	return -1;
}
