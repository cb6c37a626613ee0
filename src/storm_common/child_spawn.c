/*
 * child_spawn.c - start the node agent or the strober: see child_spawn.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/env.h"
#include "src/common/log.h"

#include "child_spawn.h"

extern char **environ;

int child_spawn(const char *path, char *const argv[], const char *conffile,
		const struct child_fds *fds, pid_t *pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	char **env = env_array_copy((const char **) environ);
	sigset_t none, all;
	int rc;

	if (conffile)
		env_array_overwrite(&env, "SLURM_CONF", conffile);
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID |
						POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawn_file_actions_init(&fa);
	if (fds->in < 0)
		posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY,
						 0);
	else
		posix_spawn_file_actions_adddup2(&fa, fds->in, 0);
	posix_spawn_file_actions_adddup2(&fa, fds->log, 1);
	posix_spawn_file_actions_adddup2(&fa, fds->log, 2);
	for (int i = 0; i < fds->nmore; i++)
		posix_spawn_file_actions_adddup2(&fa, fds->more[i], 3 + i);
	posix_spawn_file_actions_addclosefrom_np(&fa, 3 + fds->nmore);
	posix_spawn_file_actions_addchdir_np(&fa, "/");
	rc = posix_spawn(pid, path, &fa, &attr, argv, env);
	posix_spawn_file_actions_destroy(&fa);
	posix_spawnattr_destroy(&attr);
	env_array_free(env);
	if (rc)
		error("storm: cannot run %s: %s", path, strerror(rc));
	return rc;
}
