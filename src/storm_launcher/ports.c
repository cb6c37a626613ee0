/*
 * ports.c - see ports.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ports.h"
#include "slurm_says.h"
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

struct ports_said {
	struct ports *p;
	bool found;
};

static void ports_hear(void *arg, char *line)
{
	struct ports_said *s = arg;

	s->found |= ports_read(line, s->p);
}

bool ports_of_slurm(struct ports *p, char *why, size_t size)
{
	char *argv[] = { "scontrol", "show", "config", NULL };
	struct ports_said said = { .p = p };

	slurm_says(argv, ports_hear, &said);
	if (!said.found)
		snprintf(
			why, size,
			"SrunPortRange of slurm.conf is not known: \"scontrol show config\" does not say it here");
	return said.found;
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
