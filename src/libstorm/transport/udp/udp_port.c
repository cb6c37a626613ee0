/*
 * udp_port.c - see udp_port.h.
 *
 * The kernel lets a second socket bind a port if both have SO_REUSEADDR and
 * none listens (TCP), or if both have it (UDP); or SO_REUSEPORT, for sockets of
 * one user.  So a socket of ours has SO_REUSEADDR only while it listens.  A
 * connection in TIME_WAIT keeps the listener's flags, and the next listener is
 * refused unless both have one of them.  So a kept socket has SO_REUSEPORT from its
 * first rest on, and begins to listen with it alone.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/libstorm/base/shown.h"
#include "udp_port.h"

/* Below are descriptors that a child's start may overwrite. */
#define FD_MIN 64
/* Old datagrams to discard; more may come as fast as they are read. */
#define OLD_MAX 100000
#define TIME_WAIT 6 /* in /proc/net/tcp */

static struct storm_udp_port udp_port_heir = STORM_UDP_PORT_NONE;

static int udp_port_flag(int fd, int name, int value)
{
	return setsockopt(fd, SOL_SOCKET, name, &value, sizeof(value));
}

static void udp_port_close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void storm_udp_port_close(struct storm_udp_port *p)
{
	int err = errno;

	udp_port_close_one(&p->udp);
	udp_port_close_one(&p->tcp);
	errno = err;
}

int storm_udp_port_dup(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, FD_MIN);
}

static int udp_port_bind(int type, uint16_t number)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(number) };
	int low = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), fd;

	if (low < 0)
		return -1;
	fd = storm_udp_port_dup(low);
	close(low);
	if (fd >= 0 &&
	    (type != SOCK_STREAM || !udp_port_flag(fd, SO_REUSEADDR, 1)) &&
	    !bind(fd, (struct sockaddr *) &sin, sizeof(sin)))
		return fd;
	if (fd >= 0) {
		int err = errno;

		close(fd);
		errno = err;
	}
	return -1;
}

int storm_udp_port_open(struct storm_udp_port *p, uint16_t number)
{
	p->number = number;
	p->tcp = -1;
	p->udp = udp_port_bind(SOCK_DGRAM, number);
	if (p->udp >= 0)
		p->tcp = udp_port_bind(SOCK_STREAM, number);
	/* only a listener keeps others from binding; it need not go on */
	if (p->tcp < 0 || listen(p->tcp, 1)) {
		storm_udp_port_close(p);
		return -1;
	}
	storm_udp_port_rest(p);
	return 0;
}

void storm_udp_port_rest(const struct storm_udp_port *p)
{
	int listens = 0;
	socklen_t len = sizeof(listens);

	if (p->tcp < 0)
		return;
	udp_port_flag(p->tcp, SO_REUSEADDR, 0);
	udp_port_flag(p->tcp, SO_REUSEPORT, 1);
	/* an agent may have ended before it listened; a socket that does not
	 * listen would hand the end of its input on to all later connections */
	if (!getsockopt(p->tcp, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) &&
	    listens)
		shutdown(p->tcp, SHUT_RD);
}

/* ------------------------------------------------------------ inheritance --- */

void storm_udp_port_inherit(const struct storm_udp_port *p)
{
	udp_port_heir = *p;
}

uint16_t storm_udp_port_number(int fd)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);

	if (getsockname(fd, (struct sockaddr *) &sin, &len) ||
	    sin.sin_family != AF_INET)
		return 0;
	return ntohs(sin.sin_port);
}

int storm_udp_port_inherited(int type, uint16_t number)
{
	int *one = type == SOCK_DGRAM ? &udp_port_heir.udp : &udp_port_heir.tcp;
	int fd = *one;
	char byte;

	*one = -1;
	if (fd < 0)
		return -1;
	if (storm_udp_port_number(fd) != number) {
		close(fd);
		return -1;
	}
	for (int n = 0; type == SOCK_DGRAM && n < OLD_MAX; n++)
		if (recv(fd, &byte, sizeof(byte), MSG_DONTWAIT | MSG_TRUNC) < 0)
			break;
	return fd;
}

/* ------------------------------------------------- the holder of the port ---
 * */

struct holder {
	unsigned long inode;
	unsigned int uid;
};

/* Find a socket of the port in a table of the kernel. */
static bool udp_port_find_in(const char *table, uint16_t number,
			     struct holder *h)
{
	FILE *f = fopen(table, "re");
	bool found = false;
	char line[512];

	while (f && !found && fgets(line, sizeof(line), f)) {
		unsigned int port, state;

		found = sscanf(line,
			       " %*[^:]: %*[0-9A-Fa-f]:%x %*s %x %*s %*s %*s "
			       "%u %*s %lu",
			       &port, &state, &h->uid, &h->inode) == 4 &&
			port == number && state != TIME_WAIT && h->inode;
	}
	if (f)
		fclose(f);
	return found;
}

static bool udp_port_find(uint16_t number, struct holder *h)
{
	static const char *const tables[] = { "/proc/net/udp", "/proc/net/udp6",
					      "/proc/net/tcp",
					      "/proc/net/tcp6" };

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		if (udp_port_find_in(tables[i], number, h))
			return true;
	return false;
}

/* Does the process have a descriptor of this socket? */
static bool udp_port_has(const char *pid, unsigned long inode)
{
	char path[300], is[64], shall[64];
	struct dirent *e;
	bool has = false;
	ssize_t n;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%s/fd", pid);
	snprintf(shall, sizeof(shall), "socket:[%lu]", inode);
	d = opendir(path);
	while (d && !has && (e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, is, sizeof(is) - 1);
		is[n < 0 ? 0 : n] = '\0';
		has = !strcmp(is, shall);
	}
	if (d)
		closedir(d);
	return has;
}

/* Its user chooses the name. */
static void udp_port_command(const char *pid, char *out, size_t size)
{
	char path[300];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/comm", pid);
	f = fopen(path, "re");
	if (f) {
		n = fread(out, 1, size - 1, f);
		fclose(f);
	}
	if (n && out[n - 1] == '\n')
		n--;
	out[n] = '\0';
}

void storm_udp_port_holder(uint16_t number, char *out, size_t size)
{
	struct holder h;
	char command[32];
	struct dirent *e;
	DIR *d;

	snprintf(out, size, "another process");
	if (!udp_port_find(number, &h))
		return;
	snprintf(out, size, "a process of uid %u", h.uid);
	d = opendir("/proc");
	while (d && (e = readdir(d))) {
		if (!isdigit((unsigned char) *e->d_name) ||
		    !udp_port_has(e->d_name, h.inode))
			continue;
		udp_port_command(e->d_name, command, sizeof(command));
		snprintf(out, size, "process %s (%s) of uid %u", e->d_name,
			 STORM_SHOWN(command), h.uid);
		break;
	}
	if (d)
		closedir(d);
}
