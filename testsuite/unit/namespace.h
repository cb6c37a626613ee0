/*
 * namespace.h - a network namespace of a test's own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef NAMESPACE_H
#define NAMESPACE_H

#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static inline void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

/* A namespace where loopback is up and packets are as on a LAN. */
static inline bool enter_namespace(void)
{
	struct ifreq req = { .ifr_name = "lo" };
	char map[32];
	bool ok;
	int fd;

	snprintf(map, sizeof(map), "0 %u 1", getuid());
	if (unshare(CLONE_NEWNET)) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET))
			return false;
		write_file("/proc/self/uid_map", map);
	}
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ok = !ioctl(fd, SIOCGIFFLAGS, &req);
	req.ifr_flags |= IFF_UP;
	ok = ok && !ioctl(fd, SIOCSIFFLAGS, &req);
	req.ifr_mtu = 1500;
	ok = ok && !ioctl(fd, SIOCSIFMTU, &req);
	close(fd);
	return ok;
}

#endif
