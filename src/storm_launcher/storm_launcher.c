/*
 * storm_launcher.c - the program of a job's launchers, of their head and of their keeper.
 * It serves as the user, and only storm run starts it:
 *
 *	storm_launcher --keep SOCKET FD LOCK
 *					the keeper, as a child of the first client
 *	storm_launcher SOCKET PORT CALL	a launcher, as a task of the keeper's srun
 *	storm_launcher --head SOCKET FD [IP PORT]
 *					the head, as a child of the first launcher
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "head.h"
#include "keeper.h"
#include "launcher.h"
#include "launcher_base.h"
#include "task.h"

static uint16_t launcher_port(const char *text)
{
	int port = atoi(text);

	return port > 0 && port <= UINT16_MAX ? (uint16_t) port : 0;
}

int main(int argc, char **argv)
{
	task_prepare();
	/* tasks are the same user's: they are not to read its keys, nor to take
	 * its descriptors */
	prctl(PR_SET_DUMPABLE, 0);
	launcher_log_as("launcher");
	if ((argc == 4 || argc == 6) && !strcmp(argv[1], "--head"))
		return head_serve(argv[2], atoi(argv[3]),
				  &(struct head_keeper) {
					  argc == 6 ? argv[4] : NULL,
					  argc == 6 ? launcher_port(argv[5]) :
						      0 });
	if (argc == 5 && !strcmp(argv[1], "--keep"))
		return keeper_serve(argv[2], atoi(argv[3]), atoi(argv[4]));
	if (argc == 4 && launcher_port(argv[2]))
		return launcher_serve(argv[1], launcher_port(argv[2]),
				      launcher_port(argv[3]));
	fputs("storm_launcher: storm run starts it\n", stderr);
	return 2;
}
