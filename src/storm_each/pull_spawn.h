/*
 * pull_spawn.h - start the process of a command.  The child shares the puller's memory until it
 * executes, as that of vfork(2) does.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULL_SPAWN_H
#define STORM_PULL_SPAWN_H

#include <sys/types.h>

struct pull_spawn {
	const char *shell, *text;
	char *const *words; /* without a shell; NULL: with one */
	char **env;
	const char *dir; /* "": as here */
	int in, out, err;
};

/* The process, which leads a group of its own and dies with the puller.  -1: it cannot
 * be started, with errno; *what is what failed. */
pid_t pull_spawn(const struct pull_spawn *s, const char **what);

#endif
