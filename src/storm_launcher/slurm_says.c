/*
 * slurm_says.c - see slurm_says.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slurm_says.h"

/* What it prints, and its pid; NULL: it cannot be executed. */
static FILE *slurm_ask(char *const *argv, pid_t *pid)
{
	posix_spawn_file_actions_t acts;
	int p[2], err;

	if (pipe2(p, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&acts);
	err = posix_spawn_file_actions_adddup2(&acts, p[1], STDOUT_FILENO) ?:
		      posix_spawnp(pid, argv[0], &acts, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&acts);
	close(p[1]);
	if (!err)
		return fdopen(p[0], "r");
	close(p[0]);
	return NULL;
}

bool slurm_says(char *const *argv, void (*line)(void *arg, char *text),
		void *arg)
{
	pid_t pid = 0;
	FILE *f = slurm_ask(argv, &pid);
	char *text = NULL;
	size_t room = 0;

	/* all of it is read: its writer is to end well */
	while (f && getline(&text, &room, f) >= 0) {
		text[strcspn(text, "\n")] = '\0';
		line(arg, text);
	}
	free(text);
	if (f)
		fclose(f);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	return f;
}
