/*
 * run_stdio.c - see run_stdio.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run_stdio.h"
#include "src/storm_launcher/run_paths.h"

static int run_file[] = { STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO };

int run_stdio_fd(int k)
{
	return run_file[k];
}

/* Does storm run open it, and can it do so before the run has a number? */
static bool run_stdio_is_ours(const char *text)
{
	uint32_t task;

	return run_stream_of(text, &task) == RUN_ONE_FILE;
}

static bool run_stdio_is_late(const char *text)
{
	return run_stdio_is_ours(text) && run_path_has(text, "sJ");
}

static bool run_stdio_open_one(const struct run_options *o, int k, uint64_t run,
			       const char *step)
{
	const struct run_path_of of = {
		.job = getenv("SLURM_JOB_ID"),
		.step = step,
		.run = run,
		.array_job = getenv("SLURM_ARRAY_JOB_ID"),
		.array_task = getenv("SLURM_ARRAY_TASK_ID"),
		.job_name = getenv("SLURM_JOB_NAME"),
	};
	char path[PATH_MAX];
	int fd = -1;

	errno = ENAMETOOLONG;
	if (run_path(path, sizeof(path), o->stream[k], &of))
		fd = open(path,
			  O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC |
				  (o->append ? 0 : O_TRUNC),
			  0644);
	if (fd >= 0) {
		run_file[k] = fd;
		return true;
	}
	run_say("error: Could not open %s file %s: %s",
		k == STDOUT_FILENO ? "stdout" : "stderr", o->stream[k],
		strerror(errno));
	return false;
}

/* Those that are late, or those that are not. */
static bool run_stdio_open_some(const struct run_options *o, bool late,
				uint64_t run, const char *step)
{
	for (int k = STDOUT_FILENO; k <= STDERR_FILENO; k++) {
		const char *text = o->stream[k];

		if (!run_stdio_is_ours(text) || run_stdio_is_late(text) != late)
			continue;
		if (k == STDERR_FILENO && !strcmp(text, o->stream[1]))
			run_file[k] = run_file[STDOUT_FILENO];
		else if (!run_stdio_open_one(o, k, run, step))
			return false;
	}
	return true;
}

bool run_stdio_open(const struct run_options *o)
{
	return run_stdio_open_some(o, false, 0, NULL);
}

bool run_stdio_open_numbered(const struct run_options *o, uint64_t run,
			     const char *step)
{
	return run_stdio_open_some(o, true, run, step);
}

/* Has it an offset that all who write to it share?  Some programs copy within the kernel,
 * which moves it behind the back of others: what these write is then overwritten. */
static bool run_stdio_has_offset(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return !fstat(fd, &st) && S_ISREG(st.st_mode) && flags >= 0 &&
	       !(flags & O_APPEND);
}

/* -n1; or -N1, which has a task for each node. */
static bool run_stdio_of_one(const struct run_options *o)
{
	return o->ask.tasks == 1 || (!o->ask.tasks && o->ask.nodes == 1);
}

void run_stdio_tell(const struct run_options *o, struct run_what *w)
{
	w->label = o->label;
	w->fold = o->fold;
	w->unbuffered = o->unbuffered;
	w->append = o->append;
	w->direct = !o->label && !o->fold;
	for (int k = 0; k < 3; k++) {
		bool ours = k && run_stdio_is_ours(o->stream[k]);

		w->stream[k] = ours ? "" : o->stream[k];
		if (k && run_stdio_is_late(o->stream[k]))
			w->direct = false;
		if (k && !run_stdio_of_one(o) &&
		    run_stdio_has_offset(run_file[k]))
			w->direct = false;
	}
}
