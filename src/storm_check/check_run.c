/*
 * check_run.c - see check_run.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_run.h"

#define FAILED 126

static void run_exec(const char *const *argv, int out, int err)
{
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(FAILED);
	execvp(argv[0], (char *const *) argv);
	perror(argv[0]);
	_exit(FAILED);
}

static void run_last_line(FILE *f, char *last, size_t size)
{
	char *line = NULL;
	size_t room = 0;

	*last = '\0';
	rewind(f);
	while (getline(&line, &room, f) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			snprintf(last, size, "%s", line);
	}
	free(line);
}

int check_run(const char *const *argv, void (*line)(char *), char *last,
	      size_t size)
{
	FILE *err = tmpfile(), *from = NULL;
	int out[2] = { -1, -1 }, status = -1;
	char *text = NULL;
	size_t room = 0;
	pid_t pid = -1;

	snprintf(last, size, "no descriptor or no process");
	if (!err || pipe2(out, O_CLOEXEC))
		goto end;
	fflush(stdout);
	pid = fork();
	if (!pid)
		run_exec(argv, out[1], fileno(err));
	close(out[1]);
	from = fdopen(out[0], "re");
	while (pid > 0 && from && getline(&text, &room, from) >= 0)
		line(text);
	free(text);
	if (pid > 0 && waitpid(pid, &status, 0) == pid)
		run_last_line(err, last, size);
end:
	if (from)
		fclose(from);
	else if (out[0] >= 0)
		close(out[0]);
	if (err)
		fclose(err);
	return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}
