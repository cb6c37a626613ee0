/*
 * run_begin.c - see run_begin.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <unistd.h>

#include "run_begin.h"

void run_begin_files(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

void run_begin_signals(const int *all, size_t n, sigset_t *out)
{
	sigemptyset(out);
	for (size_t k = 0; k < n; k++) {
		struct sigaction now;

		if (!sigaction(all[k], NULL, &now) && now.sa_handler != SIG_IGN)
			sigaddset(out, all[k]);
	}
}
