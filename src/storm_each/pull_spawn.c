/*
 * pull_spawn.c - see pull_spawn.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pull_spawn.h"

#define PULL_STACK (64u << 10)

/* Child and puller share it. */
struct pull_child {
	const struct pull_spawn *asked;
	pid_t puller;
	volatile int err;
	const char *volatile what;
};

/* No library function that locks or allocates may be called below. */

__attribute__((noreturn)) static void pull_child_fail(struct pull_child *c,
						      const char *what)
{
	c->err = errno;
	c->what = what;
	_exit(127);
}

static const char *pull_child_path(char *const *env)
{
	for (; *env; env++)
		if (!strncmp(*env, "PATH=", 5))
			return *env + 5;
	return "/bin:/usr/bin";
}

/* By the task's PATH.  It returns if there is no such program that the kernel knows. */
static void pull_child_words(char *const *words, char *const *env)
{
	const char *path = pull_child_path(env);
	size_t len = strlen(words[0]);
	char file[PATH_MAX];

	if (strchr(words[0], '/')) {
		execve(words[0], words, env);
		return;
	}
	for (;;) {
		size_t n = strcspn(path, ":");

		if (n + 1 + len < sizeof(file)) {
			memcpy(file, n ? path : ".", n ? n : 1);
			file[n ? n : 1] = '/';
			memcpy(file + (n ? n : 1) + 1, words[0], len + 1);
			execve(file, words, env);
		}
		if (!path[n])
			return;
		path += n + 1;
	}
}

static void pull_child_signals(void)
{
	struct sigaction normal = { .sa_handler = SIG_DFL };
	sigset_t none;

	/* the puller ignores it, and has no other one that a program inherits */
	sigaction(SIGPIPE, &normal, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static int pull_child_main(void *arg)
{
	struct pull_child *c = arg;
	const struct pull_spawn *s = c->asked;
	char *const with_shell[] = { (char *) s->shell, (char *) "-c",
				     (char *) s->text, NULL };

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != c->puller ||
	    setpgid(0, 0) || dup2(s->in, 0) < 0 || dup2(s->out, 1) < 0 ||
	    dup2(s->err, 2) < 0)
		pull_child_fail(c, "a process");
	if (*s->dir && chdir(s->dir))
		pull_child_fail(c, s->dir);
	pull_child_signals();
	if (s->words)
		pull_child_words(s->words, s->env);
	execve(s->shell, with_shell, s->env);
	pull_child_fail(c, s->shell);
}

static char *pull_child_stack(void)
{
	static char *stack; /* the puller waits until it is free again */

	if (stack)
		return stack;
	stack = mmap(NULL, PULL_STACK, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		stack = NULL;
	return stack;
}

pid_t pull_spawn(const struct pull_spawn *s, const char **what)
{
	struct pull_child c = { .asked = s, .puller = getpid() };
	char *stack = pull_child_stack();
	sigset_t all, before;
	pid_t pid = -1;

	*what = "a process";
	if (!stack)
		return -1;
	/* a handler must not run on the child's stack, in the puller's memory */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = clone(pull_child_main, stack + PULL_STACK,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0 || !c.err)
		return pid;
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	*what = c.what;
	errno = c.err;
	return -1;
}
