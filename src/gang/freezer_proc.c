/*
 * freezer_proc.c - the state of processes, from /proc.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "freezer_private.h"
#include "src/storm_common/proc_state.h"

int freezer_pid_list_add(struct freezer_pid_list *p, pid_t pid)
{
	pid_t *more;

	if (p->n == p->room) {
		p->room = p->room ? 2 * p->room : 64;
		more = realloc(p->pid, p->room * sizeof(*more));
		if (!more)
			return ENOMEM;
		p->pid = more;
	}
	p->pid[p->n++] = pid;
	return 0;
}

bool freezer_proc_same(pid_t a, pid_t b)
{
	struct stat sa, sb;

	return proc_program(a, &sa) && proc_program(b, &sb) &&
	       proc_same_file(&sa, &sb);
}

struct freezer_stat {
	char state;
	pid_t parent;
	uint64_t started;
};

/* False: it is gone. */
static bool freezer_proc_stat(pid_t pid, struct freezer_stat *st)
{
	char buf[512], *end;

	if (proc_read(pid, "stat", buf, sizeof(buf)) < 0)
		return false;
	end = strrchr(buf, ')'); /* the name may hold anything */
	return end &&
	       sscanf(end + 1,
		      " %c %d %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
		      &st->state, &st->parent, &st->started) == 3;
}

bool freezer_proc_stands(pid_t pid)
{
	struct freezer_stat st;

	return !freezer_proc_stat(pid, &st) || strchr("TtZX", st.state);
}

pid_t freezer_proc_parent(pid_t pid)
{
	struct freezer_stat st;

	return freezer_proc_stat(pid, &st) ? st.parent : 0;
}

uint64_t freezer_proc_started(pid_t pid)
{
	struct freezer_stat st;

	return freezer_proc_stat(pid, &st) ? st.started : 0;
}

static uint64_t freezer_proc_mask(const char *status, const char *key)
{
	const char *p = strstr(status, key);

	return p ? strtoull(p + strlen(key), NULL, 16) : 0;
}

/* Signals that stop do not count: the freezer may have sent them. */
static uint64_t freezer_proc_waiting_in(const char *status)
{
	const uint64_t own = 1ull << (SIGSTOP - 1) | 1ull << (SIGCONT - 1) |
			     1ull << (SIGTSTP - 1) | 1ull << (SIGTTIN - 1) |
			     1ull << (SIGTTOU - 1);

	return (freezer_proc_mask(status, "\nSigPnd:\t") |
		freezer_proc_mask(status, "\nShdPnd:\t")) &
	       ~freezer_proc_mask(status, "\nSigBlk:\t") & ~own;
}

uint64_t freezer_proc_waiting(pid_t pid)
{
	char buf[4096];

	if (proc_read(pid, "status", buf, sizeof(buf)) < 0)
		return 0;
	return freezer_proc_waiting_in(buf);
}

static bool freezer_proc_traced_in(const char *status)
{
	const char *tracer = strstr(status, "\nTracerPid:\t");

	return tracer && tracer[12] != '0';
}

unsigned int freezer_proc_wants(pid_t pid)
{
	char buf[4096];

	if (proc_read(pid, "status", buf, sizeof(buf)) < 0)
		return 0;
	return (freezer_proc_waiting_in(buf) ? FREEZER_SIGNALLED : 0) |
	       (freezer_proc_traced_in(buf) ? FREEZER_TRACED : 0);
}

/* A tracer that attaches sends the thread SIGSTOP. */
static bool freezer_thread_awaited(pid_t pid, const char *thread)
{
	char file[64], buf[4096];

	snprintf(file, sizeof(file), "task/%.16s/status", thread);
	return proc_read(pid, file, buf, sizeof(buf)) > 0 &&
	       freezer_proc_traced_in(buf) &&
	       freezer_proc_mask(buf, "\nSigPnd:\t") & 1ull << (SIGSTOP - 1);
}

bool freezer_proc_awaited(pid_t pid)
{
	char path[32];
	struct dirent *e;
	bool yes = false;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	while (d && !yes && (e = readdir(d)))
		yes = e->d_name[0] != '.' &&
		      freezer_thread_awaited(pid, e->d_name);
	if (d)
		closedir(d);
	return yes;
}
