/*
 * agent_program.c - the agent's program file: see agent_program.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <sys/stat.h>
#include <unistd.h>

#include "agent_program.h"
#include "src/storm_common/proc_state.h"

const char agent_program[] = STORM_AGENT_PATH;

bool agent_program_is_there(void)
{
	return !access(agent_program, X_OK);
}

bool agent_program_is_run_by(pid_t pid)
{
	struct stat here, there;

	/* the file itself, also when it has no name any more */
	return proc_program(pid, &there) && !stat(agent_program, &here) &&
	       proc_same_file(&here, &there);
}
