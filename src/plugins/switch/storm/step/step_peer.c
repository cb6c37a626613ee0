/*
 * step_peer.c - see step_peer.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "step_peer.h"

/* The inode of the local socket whose ends are these; 0: none. */
static unsigned long step_peer_inode(const struct sockaddr_in *from,
				     const struct sockaddr_in *to)
{
	FILE *f = fopen("/proc/self/net/tcp", "re");
	unsigned long inode = 0;
	char line[512];

	if (!f)
		return 0;
	while (!inode && fgets(line, sizeof(line), f)) {
		unsigned int la, lp, ra, rp;
		unsigned long i;

		if (sscanf(line,
			   " %*u: %8X:%4X %8X:%4X %*X %*X:%*X %*X:%*X %*X %*u %*u %lu",
			   &la, &lp, &ra, &rp, &i) == 5 &&
		    la == from->sin_addr.s_addr &&
		    lp == ntohs(from->sin_port) && ra == to->sin_addr.s_addr &&
		    rp == ntohs(to->sin_port))
			inode = i;
	}
	fclose(f);
	return inode;
}

/* A descriptor of this process is that socket. */
static bool step_peer_is_open_here(unsigned long inode)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *d;
	char want[64], is[64];
	bool found = false;

	if (!dir)
		return false;
	snprintf(want, sizeof(want), "socket:[%lu]", inode);
	while (!found && (d = readdir(dir))) {
		ssize_t n =
			readlinkat(dirfd(dir), d->d_name, is, sizeof(is) - 1);

		if (n <= 0)
			continue;
		is[n] = '\0';
		found = !strcmp(is, want);
	}
	closedir(dir);
	return found;
}

bool step_peer_is_self(const struct sockaddr_in *peer,
		       const struct sockaddr_in *self)
{
	unsigned long inode = step_peer_inode(peer, self);

	return inode && step_peer_is_open_here(inode);
}
