/*
 * unwind_hold.c - see unwind.h.  PTRACE_SEIZE and PTRACE_INTERRUPT stop a thread without a signal,
 * also one that SIGSTOP or a freezer of version 2 has stopped, and it goes on by itself if
 * its tracer dies.  PTRACE_ATTACH does neither.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/libstorm/base/clock.h"
#include "src/storm_common/proc_state.h"
#include "unwind.h"

#define STOP_LIMIT (500 * STORM_MS) /* for all of them */
#define ROUNDS 8 /* new threads that begin while others are stopped */

/* A number behind a word in a file of the process's directory, or 0. */
static unsigned long unwind_word(pid_t pid, const char *word)
{
	char text[4096], *at;
	unsigned long n = 0;

	proc_read(pid, "status", text, sizeof(text));
	at = strstr(text, word);
	if (at)
		n = strtoul(at + strlen(word), NULL, 10);
	return n;
}

static unsigned long unwind_yama(void)
{
	FILE *f = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	char text[16] = "";

	if (f) {
		if (!fgets(text, sizeof(text), f))
			*text = '\0';
		fclose(f);
	}
	return strtoul(text, NULL, 10);
}

/* Is that process one of another storm stack? */
static bool unwind_is_alike(unsigned long pid)
{
	char name[32];

	proc_read((pid_t) pid, "comm", name, sizeof(name));
	return !strcmp(name, "storm_unwind\n");
}

/* Why may this user not stop it? */
static void unwind_refused(struct unwind_process *p, int error)
{
	unsigned long tracer = unwind_word(p->pid, "TracerPid:");
	struct stat st;
	char path[32];

	/* files are root's then, though the directory is not */
	snprintf(path, sizeof(path), "/proc/%d/stat", (int) p->pid);
	if (error != EPERM && error != EACCES)
		snprintf(p->why, sizeof(p->why), "%s",
			 error == ESRCH ? "it has ended" : strerror(error));
	else if (tracer && unwind_is_alike(tracer))
		snprintf(p->why, sizeof(p->why),
			 "another storm stack looks at it now; try again");
	else if (tracer)
		snprintf(p->why, sizeof(p->why),
			 "it has a tracer already, such as a debugger");
	else if (!stat(path, &st) && st.st_uid != getuid())
		snprintf(
			p->why, sizeof(p->why),
			"it is not dumpable: a set-uid program, or by prctl(PR_SET_DUMPABLE)");
	else if (unwind_yama())
		snprintf(p->why, sizeof(p->why),
			 "kernel.yama.ptrace_scope is %lu here, and must be 0",
			 unwind_yama());
	else
		snprintf(p->why, sizeof(p->why),
			 "the kernel does not permit it");
}

static bool unwind_has(const struct unwind_process *p, pid_t tid)
{
	for (uint32_t k = 0; k < p->count; k++)
		if (p->threads[k].tid == tid)
			return true;
	return false;
}

bool unwind_is_over(pid_t tid)
{
	char state = proc_letter(tid);

	return state == 'Z' || state == 'X';
}

/* Ask one thread to stop. */
static bool unwind_seize(struct unwind_process *p, pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		int error = errno;

		/* a thread that has ended meanwhile is none, and also a process's
		 * first one, while others run */
		if ((error == ESRCH && tid != p->pid) || unwind_is_over(tid))
			return true;
		unwind_refused(p, error);
		return false;
	}
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	p->threads[p->count++].tid = tid;
	return true;
}

/* Ask all threads that are not asked yet, and count those for which there is no room.  *more: some
 * were asked. */
static bool unwind_seize_all(struct unwind_process *p, bool *more)
{
	char path[32];
	struct dirent *e;
	bool well = true;
	DIR *d;

	*more = false;
	p->unseen = 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int) p->pid);
	d = opendir(path);
	if (!d) {
		unwind_refused(p, ESRCH);
		return false;
	}
	while (well && (e = readdir(d))) {
		pid_t tid = (pid_t) strtol(e->d_name, NULL, 10);

		if (tid <= 0 || unwind_has(p, tid))
			continue;
		if (p->count == UNWIND_THREADS) {
			p->unseen++;
			continue;
		}
		*more = true;
		well = unwind_seize(p, tid);
	}
	closedir(d);
	return well;
}

/* Has it stopped for us?  0: not yet; -1: it has ended. */
static int unwind_stopped(pid_t tid)
{
	int status;
	pid_t rc = waitpid(tid, &status, __WALL | WNOHANG);

	if (rc == tid && WIFSTOPPED(status))
		return 1;
	return rc ? -1 : 0;
}

static void unwind_drop(struct unwind_process *p, uint32_t k)
{
	p->threads[k] = p->threads[--p->count];
}

/* Wait for one that was asked.  False: the time is over. */
static bool unwind_wait(struct unwind_process *p, uint32_t k, uint64_t until)
{
	const struct timespec pause = { .tv_nsec = 50 * 1000 };
	struct unwind_thread *t = &p->threads[k];
	struct iovec to = { &t->regs, sizeof(t->regs) };
	int rc;

	while (!(rc = unwind_stopped(t->tid))) {
		if (storm_now() > until)
			return false;
		nanosleep(&pause, NULL);
	}
	if (rc < 0 || ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &to))
		t->tid = 0; /* it has ended */
	return true;
}

/* Wait for those from `from` on. */
static bool unwind_wait_all(struct unwind_process *p, uint32_t from,
			    uint64_t until)
{
	for (uint32_t k = from; k < p->count;) {
		pid_t tid = p->threads[k].tid;

		if (!unwind_wait(p, k, until)) {
			snprintf(
				p->why, sizeof(p->why),
				"thread %d did not stop in 0.5 s: it waits in the kernel, or is frozen",
				(int) tid);
			return false;
		}
		if (p->threads[k].tid)
			k++;
		else
			unwind_drop(p, k);
	}
	return true;
}

/* The memory is opened as its tracer: who has the descriptor needs no right to it. */
static void unwind_open(struct unwind_process *p)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int) p->threads[0].tid);
	p->mem = open(path, O_RDONLY | O_CLOEXEC);
	if (p->mem < 0)
		snprintf(p->why, sizeof(p->why), "its memory: %s",
			 strerror(errno));
}

static int unwind_first(const void *a, const void *b)
{
	pid_t ta = ((const struct unwind_thread *) a)->tid;
	pid_t tb = ((const struct unwind_thread *) b)->tid;

	return (ta > tb) - (ta < tb);
}

/* The process's own thread is the first, or the oldest one if that has ended. */
static void unwind_lead(struct unwind_process *p)
{
	if (p->count)
		qsort(p->threads, p->count, sizeof(*p->threads), unwind_first);
	for (uint32_t k = 1; k < p->count; k++)
		if (p->threads[k].tid == p->pid) {
			struct unwind_thread t = p->threads[k];

			p->threads[k] = p->threads[0];
			p->threads[0] = t;
		}
}

void unwind_hold(struct unwind_job *j)
{
	uint64_t until = storm_now() + STOP_LIMIT;
	bool more;

	/* all are asked before any is waited for */
	for (uint32_t i = 0; i < j->count; i++) {
		struct unwind_process *p = &j->all[i];

		p->threads = calloc(UNWIND_THREADS, sizeof(*p->threads));
		if (p->threads)
			unwind_seize_all(p, &more);
		else
			snprintf(p->why, sizeof(p->why), "no memory");
	}
	for (uint32_t i = 0; i < j->count; i++) {
		struct unwind_process *p = &j->all[i];
		uint32_t from = 0;
		bool well = !*p->why;

		more = true;
		for (int k = 0; well && more && k < ROUNDS; k++) {
			well = unwind_wait_all(p, from, until);
			from = p->count;
			well = well && unwind_seize_all(p, &more);
		}
		/* those of the last round */
		well = well && unwind_wait_all(p, from, until);
		if (!well)
			continue;
		unwind_lead(p);
		if (p->count)
			unwind_open(p);
		else
			unwind_refused(p, ESRCH);
	}
}

void unwind_release(struct unwind_job *j)
{
	for (uint32_t i = 0; i < j->count; i++) {
		struct unwind_process *p = &j->all[i];

		for (uint32_t k = 0; k < p->count; k++)
			/* one that does not stand yet goes on when this
			 * process ends */
			ptrace(PTRACE_DETACH, p->threads[k].tid, NULL, NULL);
		p->count = 0;
	}
}
