/*
 * agent_program.h - the agent's program file on this host, for slurmd.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_PROGRAM_H
#define STORM_AGENT_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

/* The path of the agent's program. */
extern const char agent_program[];

/* Is it installed?  A host may have the plugins alone. */
bool agent_program_is_there(void);

/* Does the process run this very file, and not one that was here before an
 * upgrade, or is elsewhere? */
bool agent_program_is_run_by(pid_t pid);

#endif
