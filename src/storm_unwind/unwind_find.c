/*
 * unwind_find.c - see unwind.h.  A task's processes have its variables, as Slurm or a launcher
 * set them.  They are the user's to change, so they say only which rank it is: that it is of
 * the job at all the control group says, and that it is the user's the kernel.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/storm_launcher/run_peer.h"
#include "src/storm_stack/stack_line.h"
#include "unwind.h"

#define ENVIRONMENT (4u << 20)

/* Read a file of /proc as text.  The bytes, or -1 and errno. */
static ssize_t unwind_read(const char *pid, const char *name, char *out,
			   size_t size)
{
	char path[64];
	size_t len = 0;
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%.20s/%.20s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while (len < size - 1 && (n = read(fd, out + len, size - 1 - len)) > 0)
		len += (size_t) n;
	close(fd);
	out[len] = '\0';
	return n < 0 ? -1 : (ssize_t) len;
}

/* The environment of a process; 0: it has ended.  One whose first thread alone has ended, by
 * pthread_exit(3), has it with another one. */
static ssize_t unwind_environ(const char *pid, char *out)
{
	ssize_t len = unwind_read(pid, "environ", out, ENVIRONMENT);
	char path[40];
	struct dirent *e;
	DIR *d;

	if (len > 0 || !unwind_is_over((pid_t) strtol(pid, NULL, 10)))
		return len;
	len = 0;
	snprintf(path, sizeof(path), "/proc/%.20s/task", pid);
	d = opendir(path);
	while (len <= 0 && d && (e = readdir(d)))
		if (*e->d_name != '.')
			len = unwind_read(e->d_name, "environ", out,
					  ENVIRONMENT);
	if (d)
		closedir(d);
	return len > 0 ? len : 0;
}

/* The value of a variable, or NULL.  env ends in two zero bytes. */
static const char *unwind_variable(const char *env, size_t len,
				   const char *name)
{
	size_t n = strlen(name);

	for (const char *at = env; at < env + len; at += strlen(at) + 1)
		if (!strncmp(at, name, n) && at[n] == '=')
			return at + n + 1;
	return NULL;
}

static bool unwind_is(const char *value, const char *wanted)
{
	return value && !strcmp(value, wanted);
}

/* The step as users name it, and the run in it. */
static bool unwind_label(struct unwind_process *p, const char *env, size_t len,
			 const char *wanted)
{
	const char *step = unwind_variable(env, len, "SLURM_STEP_ID");
	const char *run = unwind_variable(env, len, "STORM_RUN");
	const char *batch = unwind_variable(env, len, "SLURM_TASK_PID");

	/* a batch script has no step, and salloc's shell is no task */
	if (!step || !*step) {
		if (!batch)
			return false;
		step = "batch";
	}
	if (!strcmp(step, "4294967291"))
		step = "batch";
	if (wanted && strcmp(step, wanted) != 0)
		return false;
	run = run ? strrchr(run, ':') : NULL;
	stack_clean(p->label, sizeof(p->label), step);
	if (run && strlen(p->label) + strlen(run) + 5 < sizeof(p->label)) {
		strcat(p->label, " run ");
		stack_clean(p->label + strlen(p->label),
			    sizeof(p->label) - strlen(p->label), run + 1);
	}
	return true;
}

/* Its own programs, which are no task's. */
static bool unwind_is_ours(const char *program)
{
	return !strcmp(program, "storm_launcher") ||
	       !strcmp(program, "storm_pmix") ||
	       !strcmp(program, "storm_unwind");
}

/* One whose variables cannot be read, as it is not dumpable, is one without a rank if the
 * control group says of which step it is. */
static bool unwind_hidden(const struct unwind_job *j, const char *name,
			  struct unwind_process *p, char *text)
{
	char step[64];
	const char *at;
	size_t len;

	if (unwind_read(name, "cgroup", text, ENVIRONMENT) <= 0)
		return false;
	snprintf(step, sizeof(step), "/job_%.20s/step_", j->job);
	at = strstr(text, step);
	if (!at)
		return false;
	at += strlen(step);
	len = strcspn(at, "/\n");
	if (len >= sizeof(step) ||
	    (j->step && (strncmp(at, j->step, len) != 0 || j->step[len])))
		return false;
	text[(at - text) + (ptrdiff_t) len] = '\0';
	stack_clean(p->label, sizeof(p->label), at);
	p->rank = STACK_NO_RANK;
	return true;
}

/* A rank is digits alone, and below STACK_NO_RANK, which is what any other word is. */
static uint32_t unwind_rank(const char *text)
{
	unsigned long n;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return STACK_NO_RANK;
	n = strtoul(text, &end, 10);
	return !*end && n < STACK_NO_RANK ? (uint32_t) n : STACK_NO_RANK;
}

/* Is this process of a task? */
static bool unwind_judge(const struct unwind_job *j, const char *name,
			 struct unwind_process *p, char *env)
{
	unsigned long group = 0;
	ssize_t len;

	p->pid = (pid_t) strtol(name, NULL, 10);
	p->mem = -1;
	if (p->pid == getpid() || !run_peer_is_near(p->pid, &group))
		return false;
	if (unwind_read(name, "comm", env, STACK_WORD) <= 0)
		return false;
	env[strcspn(env, "\n")] = '\0';
	stack_clean(p->program, sizeof(p->program), env);
	if (unwind_is_ours(p->program))
		return false;
	len = unwind_environ(name, env);
	if (len < 0)
		return unwind_hidden(j, name, p, env);
	if (!unwind_is(unwind_variable(env, (size_t) len, "SLURM_JOB_ID"),
		       j->job) ||
	    !unwind_label(p, env, (size_t) len, j->step))
		return false;
	p->rank =
		unwind_rank(unwind_variable(env, (size_t) len, "SLURM_PROCID"));
	return true;
}

/* The kernel's word: its directory is the user's.  One that is not dumpable has only its
 * real user in a file. */
static bool unwind_is_of_user(const char *name)
{
	char path[32], text[2048];
	const char *at;
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%.20s", name);
	if (stat(path, &st))
		return false;
	if (st.st_uid == getuid())
		return true;
	if (unwind_read(name, "status", text, sizeof(text)) <= 0)
		return false;
	at = strstr(text, "\nUid:\t");
	return at && strtoul(at + strlen("\nUid:\t"), NULL, 10) == getuid();
}

static bool unwind_add(struct unwind_job *j, const struct unwind_process *p)
{
	struct unwind_process *all;

	if (j->count == UNWIND_PROCESSES) {
		j->over++;
		return true;
	}
	/* doubled at each power of two */
	if (!(j->count & (j->count - 1))) {
		all = realloc(j->all, (j->count ? 2 * (size_t) j->count : 1) *
					      sizeof(*all));
		if (!all)
			return false;
		j->all = all;
	}
	j->all[j->count++] = *p;
	return true;
}

bool unwind_find(struct unwind_job *j)
{
	char *env = malloc(ENVIRONMENT);
	DIR *proc = opendir("/proc");
	bool well = env && proc;
	struct dirent *e;

	while (well && (e = readdir(proc))) {
		struct unwind_process p = { 0 };

		if (*e->d_name >= '1' && *e->d_name <= '9' &&
		    unwind_is_of_user(e->d_name) &&
		    unwind_judge(j, e->d_name, &p, env))
			well = unwind_add(j, &p);
	}
	if (proc)
		closedir(proc);
	free(env);
	return well;
}

void unwind_forget(struct unwind_job *j)
{
	for (uint32_t i = 0; i < j->count; i++) {
		free(j->all[i].threads);
		if (j->all[i].mem >= 0)
			close(j->all[i].mem);
	}
	free(j->all);
	j->all = NULL;
	j->count = 0;
}
