/*
 * agent_program.c - the agent's program file: see agent_program.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent_program.h"

const char agent_program[] = STORM_AGENT_PATH;

bool agent_program_is_there(void)
{
	return !access(agent_program, X_OK);
}

bool agent_program_is_run_by(pid_t pid)
{
	char exe[32];
	struct stat here, there;

	/* the link leads to the file itself, also when it has no name any more */
	snprintf(exe, sizeof(exe), "/proc/%d/exe", pid);
	return !stat(exe, &there) && !stat(agent_program, &here) &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}
