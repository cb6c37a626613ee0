/*
 * task.c - see task.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run_paths.h"
#include "src/libstorm/base/minmax.h"
#include "task.h"

#define STACK (64u << 10)
#define OOM_TASK "100"

/* ------------------------------------------------------------------- files --- */

/* A variable of the run's environment, or NULL. */
static const char *task_variable(const struct run_what *w, const char *name)
{
	size_t n = strlen(name);

	for (char **e = w->env; *e; e++)
		if (!strncmp(*e, name, n) && (*e)[n] == '=')
			return *e + n + 1;
	return NULL;
}

static char *task_path_of(const struct task_form *f, const char *text,
			  uint32_t rank)
{
	const struct run_path_of of = {
		.job = getenv("SLURM_JOB_ID"),
		.step = f->step,
		.run = f->start->number,
		.array_job = task_variable(f->what, "SLURM_ARRAY_JOB_ID"),
		.array_task = task_variable(f->what, "SLURM_ARRAY_TASK_ID"),
		.job_name = task_variable(f->what, "SLURM_JOB_NAME"),
		.user = getenv("SLURM_JOB_USER"),
		.node = f->name,
		.nth = f->nth,
		.task = rank,
	};
	char path[PATH_MAX];

	return run_path(path, sizeof(path), text, &of) ? strdup(path) : NULL;
}

/* Its kth descriptor leads to a file.  The first task here empties one that it shares
 * with others. */
static bool task_path_set(const struct task_form *f, uint32_t local, int k,
			  struct task_stdio *out)
{
	const char *text = f->what->stream[k];
	uint32_t rank = f->start->rank[f->nth] + local, one;
	enum run_stream kind = run_stream_of(text, &one);

	out->flags[k] = k ? O_WRONLY | O_CREAT | O_APPEND : O_RDONLY;
	if (k && !f->what->append && (!local || run_path_has(text, "t")))
		out->flags[k] |= O_TRUNC;
	if (kind == RUN_CLIENTS || (kind == RUN_ONE_TASK && one == rank))
		return true;
	out->path[k] = kind == RUN_NOTHING || kind == RUN_ONE_TASK ?
			       strdup("/dev/null") :
			       task_path_of(f, text, rank);
	return out->path[k] != NULL;
}

bool task_paths(const struct task_form *f, uint32_t local,
		struct task_stdio *out)
{
	const char *const *stream = f->what->stream;
	bool good = true;

	for (int k = 0; k < 2; k++)
		good &= task_path_set(f, local, k, out);
	out->err_as_out = out->path[1] && !strcmp(stream[1], stream[2]);
	return (out->err_as_out || task_path_set(f, local, 2, out)) && good;
}

void task_paths_free(struct task_stdio *s)
{
	for (int k = 0; k < 3; k++)
		free(s->path[k]);
}

/* ------------------------------------------------------------------- child --- */

/* The child and its launcher share it: what went wrong. */
struct task_child {
	const struct run_what *what;
	char *const *argv;
	char **env;
	const struct task_stdio *io;
	const struct task_place *place;
	const cpu_set_t
		*cpus; /* that it is bound to, of so many bytes; or NULL */
	size_t cpus_size;
	pid_t launcher;
	volatile int err;
	volatile enum run_cause cause;
};

/* No library function that locks or allocates may be called below. */
static size_t task_write_pid(char *at)
{
	char *first = at, digits[TASK_PID_DIGITS];
	unsigned int pid = (unsigned int) getpid(), n = 0;

	do
		digits[n++] = (char) ('0' + pid % 10);
	while ((pid /= 10));
	while (n)
		*at++ = digits[--n];
	*at = '\0';
	return (size_t) (at - first);
}

/* What is lost of it is no reason to fail. */
static void task_say_bound(const char *said)
{
	size_t n = strcspn(said, "%");
	char pid[TASK_PID_DIGITS];
	struct iovec part[] = { { (char *) said, n },
				{ pid, task_write_pid(pid) },
				{ (char *) said + n + 1,
				  strlen(said + n + 1) } };

	if (writev(STDERR_FILENO, part, 3) < 0)
		return;
}

static void task_signals_default(void)
{
	struct sigaction normal = { .sa_handler = SIG_DFL };

	for (int sig = 1; sig < NSIG; sig++)
		sigaction(sig, &normal, NULL);
}

static void task_limits(const struct run_what *what)
{
	for (int k = 0; k < RUN_LIMITS; k++) {
		struct rlimit l;

		if (getrlimit(k, &l) ||
		    l.rlim_cur == storm_min(what->limit[k], l.rlim_max))
			continue;
		l.rlim_cur = storm_min(what->limit[k], l.rlim_max);
		setrlimit(k, &l);
	}
}

__attribute__((noreturn)) static void task_fail(struct task_child *c,
						enum run_cause cause)
{
	c->err = errno;
	c->cause = cause;
	_exit(127);
}

static void task_bind(struct task_child *c)
{
	if (c->cpus && sched_setaffinity(0, c->cpus_size, c->cpus))
		task_fail(c, RUN_NO_BIND);
}

static const char *task_path(char **env)
{
	for (; *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return "/bin:/usr/bin";
}

/* As execvpe(3), but by the task's PATH, not the launcher's, and for programs alone
 * that the kernel knows.  It returns what went wrong. */
static int task_exec(char *const *argv, char **env)
{
	const char *path = task_path(env);
	char file[PATH_MAX];
	int err = ENOENT;

	if (strchr(argv[0], '/')) {
		execve(argv[0], argv, env);
		return errno;
	}
	for (;;) {
		size_t n = strcspn(path, ":"), len = strlen(argv[0]);

		if (n + 1 + len < sizeof(file)) {
			memcpy(file, n ? path : ".", n ? n : 1);
			file[n ? n : 1] = '/';
			memcpy(file + (n ? n : 1) + 1, argv[0], len + 1);
			execve(file, argv, env);
			if (errno != ENOENT && errno != ENOTDIR &&
			    errno != EACCES)
				return errno;
			if (errno == EACCES)
				err = EACCES; /* unless another one is found */
		}
		if (!path[n])
			return err;
		path += n + 1;
	}
}

/* With the task's directory and umask; a launcher has descriptors 0 to 2.  The launcher
 * waits here: it must not be for the other end of a FIFO. */
static void task_open(struct task_child *c, int k)
{
	int fd;

	if (k == STDERR_FILENO && c->io->err_as_out) {
		if (dup2(STDOUT_FILENO, k) < 0)
			task_fail(c, RUN_NO_START);
		return;
	}
	if (!c->io->path[k])
		return;
	fd = open(c->io->path[k], c->io->flags[k] | O_NONBLOCK, 0666);
	if (fd < 0 || fcntl(fd, F_SETFL, c->io->flags[k] & O_APPEND) ||
	    dup2(fd, k) < 0)
		task_fail(c, (enum run_cause)(RUN_NO_STDIN + k));
	close(fd);
}

static int task_child_main(void *arg)
{
	struct task_child *c = arg;
	sigset_t none;

	/* the end of a launcher is that of its tasks */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != c->launcher ||
	    (c->io->pty ? setsid() < 0 : setpgid(0, 0) < 0))
		task_fail(c, RUN_NO_START);
	for (int k = 0; k < 3; k++)
		if (!c->io->path[k] &&
		    !(k == STDERR_FILENO && c->io->err_as_out) &&
		    dup2(c->io->fd[k], k) < 0)
			task_fail(c, RUN_NO_START);
	if (c->io->pty && ioctl(STDIN_FILENO, TIOCSCTTY, 0))
		task_fail(c, RUN_NO_START);
	/* those below are all in use by now */
	if (c->io->pmi &&
	    (c->io->pmi == TASK_PMI_FD ? fcntl(TASK_PMI_FD, F_SETFD, 0) :
					 dup2(c->io->pmi, TASK_PMI_FD)) < 0)
		task_fail(c, RUN_NO_START);
	task_write_pid(c->env[0] + strlen(TASK_PID_VARIABLE));
	task_bind(c);
	task_signals_default();
	task_limits(c->what);
	umask((mode_t) c->what->umask);
	if (chdir(c->what->cwd))
		task_fail(c, RUN_NO_CWD);
	for (int k = 0; k < 3; k++)
		task_open(c, k);
	if (c->place->said)
		task_say_bound(c->place->said);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	errno = task_exec(c->argv, c->env);
	task_fail(c, RUN_NOT_STARTED);
}

/* Where memory is short tasks end before their launcher, which all of them hang on.  A
 * child has the score that its parent had when it was made.  It could not set its own: as
 * long as it has the launcher's memory its files in /proc are root's. */
static struct {
	int fd; /* to the launcher's own score, or -1 */
	char own[8];
} task_oom = { .fd = -1 };

void task_prepare(void)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 :
			     read(fd, task_oom.own, sizeof(task_oom.own) - 1);

	if (n > 0 && atoi(task_oom.own) < atoi(OOM_TASK))
		task_oom.fd = fd;
	else if (fd >= 0)
		close(fd);
}

static void task_oom_score(const char *score)
{
	if (task_oom.fd >= 0 &&
	    pwrite(task_oom.fd, score, strlen(score), 0) < 0)
		storm_log(STORM_LOG_WARN, "oom_score_adj: %s", strerror(errno));
}

/* False: no memory.  The caller frees it with CPU_FREE(). */
static bool task_cpu_set(const struct storm_idset *cpus, cpu_set_t **out,
			 size_t *size)
{
	uint32_t count = cpus->count ? cpus->r[cpus->count - 1].last + 1 : 0;

	*out = NULL;
	if (!count)
		return true;
	*out = CPU_ALLOC(count);
	*size = CPU_ALLOC_SIZE(count);
	if (!*out)
		return false;
	CPU_ZERO_S(*size, *out);
	for (uint32_t k = 0; k < count; k++)
		if (storm_idset_has(cpus, k))
			CPU_SET_S(k, *size, *out);
	return true;
}

pid_t task_start(const struct task_form *f, char *const *argv, char **env,
		 const struct task_stdio *io, const struct task_place *place,
		 uint32_t *code)
{
	static char *stack; /* the launcher waits until it is free again */
	struct task_child c = {
		.what = f->what,
		.argv = argv,
		.env = env,
		.io = io,
		.place = place,
		.launcher = getpid(),
	};
	sigset_t all, before;
	cpu_set_t *cpus;
	pid_t pid;

	if (!stack) {
		stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		if (stack == MAP_FAILED) {
			stack = NULL;
			*code = run_code(RUN_NO_START, errno);
			return 0;
		}
	}
	if (!task_cpu_set(&place->bound, &cpus, &c.cpus_size)) {
		*code = run_code(RUN_NO_BIND, ENOMEM);
		return 0;
	}
	c.cpus = cpus;
	/* a handler must not run on the child's stack, in the launcher's memory */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	task_oom_score(OOM_TASK);
	pid = clone(task_child_main, stack + STACK,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
	task_oom_score(task_oom.own);
	if (pid < 0)
		*code = run_code(RUN_NO_START, errno);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (cpus)
		CPU_FREE(cpus);
	if (pid < 0)
		return 0;
	if (!c.err)
		return pid;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	*code = run_code(c.cause, c.err);
	return 0;
}
