/*
 * each_env.h - what tasks get beside their command: the user's shell, and the client's
 * environment with variables of GNU parallel's.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_EACH_ENV_H
#define STORM_EACH_ENV_H

#include <stdbool.h>
#include <stdint.h>

enum { EACH_ENV_SEQ, EACH_ENV_SLOT, EACH_ENV_CLIENT, EACH_ENV_OWN };

/* Those that differ from task to task, and the pid of the client. */
struct each_env {
	char own[EACH_ENV_OWN][40];
	char **all; /* own, and all others; ends with NULL */
};

/* What this process has now.  False: no memory.  The strings are its own. */
bool each_env_init(struct each_env *e);
void each_env_client(struct each_env *e, uint32_t pid);
void each_env_task(struct each_env *e, uint64_t seq, uint32_t slot);
/* Which executes `-c COMMAND`. */
const char *each_shell(void);

#endif
