/*
 * each_env.c - see each_env.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_env.h"

/* They are the task's, whatever the client has. */
static bool each_env_is_own(const char *variable)
{
	return !strncmp(variable, "PARALLEL_SEQ=", 13) ||
	       !strncmp(variable, "PARALLEL_JOBSLOT=", 17) ||
	       !strncmp(variable, "PARALLEL_PID=", 13);
}

bool each_env_init(struct each_env *e)
{
	extern char **environ;
	size_t n = 0, at = 0;

	while (environ[n])
		n++;
	e->all = calloc(n + EACH_ENV_OWN + 1, sizeof(*e->all));
	if (!e->all)
		return false;
	for (int k = 0; k < EACH_ENV_OWN; k++)
		e->all[at++] = e->own[k];
	for (size_t k = 0; k < n; k++)
		if (!each_env_is_own(environ[k]))
			e->all[at++] = environ[k];
	return true;
}

void each_env_client(struct each_env *e, uint32_t pid)
{
	snprintf(e->own[EACH_ENV_CLIENT], sizeof(e->own[EACH_ENV_CLIENT]),
		 "PARALLEL_PID=%u", pid);
}

void each_env_task(struct each_env *e, uint64_t seq, uint32_t slot)
{
	snprintf(e->own[EACH_ENV_SEQ], sizeof(e->own[EACH_ENV_SEQ]),
		 "PARALLEL_SEQ=%llu", (unsigned long long) seq);
	snprintf(e->own[EACH_ENV_SLOT], sizeof(e->own[EACH_ENV_SLOT]),
		 "PARALLEL_JOBSLOT=%u", slot);
}

const char *each_shell(void)
{
	const char *shell = getenv("SHELL");

	return shell && *shell == '/' ? shell : "/bin/sh";
}
