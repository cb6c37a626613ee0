/*
 * storm_launcher.c - the program of a job's launchers and of their head.  It serves as
 * the user, and only storm run starts it:
 *
 *	storm_launcher --head SOCKET FD		the head
 *	storm_launcher SOCKET PORT		a launcher, as a task of the head's srun
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "head.h"
#include "launcher.h"
#include "launcher_base.h"

int main(int argc, char **argv)
{
	launcher_log_as("launcher");
	if (argc == 4 && !strcmp(argv[1], "--head"))
		return head_serve(argv[2], atoi(argv[3]));
	if (argc == 3 && atoi(argv[2]) > 0 && atoi(argv[2]) <= UINT16_MAX)
		return launcher_serve(argv[1], (uint16_t) atoi(argv[2]));
	fputs("storm_launcher: storm run starts it\n", stderr);
	return 2;
}
