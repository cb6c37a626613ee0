/*
 * test_freezer.c - real processes, stopped and continued by every mechanism that
 * this host has.  The step is a tree as slurmstepd has it: a root that is never
 * touched, a task that counts, and the processes that the task creates: a
 * child, a child with its own session, an orphan.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/gang/freezer.h"
#include "src/storm_common/caps.h"
#include "unit.h"

enum { TASK, CHILD, SESSION, ORPHAN, LATE, PLACES };

/* Shared by the processes and the test. */
static volatile struct shared {
	uint64_t count[PLACES];
	pid_t pid[PLACES];
	uint64_t root; /* the root's own count */
	bool over;     /* all are to end */
	bool more;     /* the task is to make LATE */
	bool launch;   /* ... and to run this */
	char srun[64];
	pid_t launched;
	bool caught; /* SIGTERM had come to its handler */
	int conts;   /* so often SIGCONT has */
} * sh;

static struct freezer_host host;
static char group[PATH_MAX];
static char node[32], name[32]; /* of the host's groups, and of the step's */
static pid_t root, test;
static char program[PATH_MAX]; /* this test's own, without its folder */
static struct freezer *f;

static void nap(void)
{
	usleep(1000);
}

#define eventually(cond)                                          \
	do {                                                      \
		for (int i_ = 0; !(cond); i_++) {                 \
			if (i_ == 5000)                           \
				ck_abort_msg("never: %s", #cond); \
			nap();                                    \
		}                                                 \
	} while (0)

/* A test that failed cleans up nothing. */
static bool go_on(void)
{
	return !sh->over && !kill(test, 0);
}

/* The name of a process that is never stopped does not protect a job. */
static void spin(int place)
{
	prctl(PR_SET_NAME, place == CHILD ? "srun" : "slurmstepd");
	sh->pid[place] = getpid();
	while (go_on()) {
		sh->count[place]++;
		sched_yield();
	}
	_exit(0);
}

static void caught(int sig)
{
	sh->caught |= sig == SIGTERM;
	sh->conts += sig == SIGCONT;
}

static void launch(void)
{
	sh->launched = getpid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl((char *) sh->srun, "srun", "100", (char *) NULL);
	_exit(1);
}

static void task(void)
{
	signal(SIGTERM, caught);
	signal(SIGCONT, caught);
	must(!freezer_group_enter(group));
	if (!fork())
		spin(CHILD);
	if (!fork()) {
		setsid();
		spin(SESSION);
	}
	if (!fork()) { /* the parent of an orphan */
		if (!fork())
			spin(ORPHAN);
		while (go_on() && !sh->count[LATE])
			nap();
		_exit(0);
	}
	sh->pid[TASK] = getpid();
	while (go_on()) {
		sh->count[TASK]++;
		if (sh->more) {
			sh->more = false;
			if (!fork())
				spin(LATE);
		}
		if (sh->launch) {
			sh->launch = false;
			if (!fork())
				launch();
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		sched_yield();
	}
	_exit(0);
}

/* As slurmstepd: its children are the step. */
static void be_root(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!fork())
		task();
	for (;;) {
		sh->root++;
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nap();
	}
}

static bool all_run(int last)
{
	uint64_t was[PLACES];

	for (int i = 0; i <= last; i++)
		was[i] = sh->count[i];
	for (int n = 0; n < 20000; n++) {
		bool all = true;

		for (int i = 0; i <= last; i++)
			all &= sh->count[i] != was[i];
		if (all)
			return true;
		nap();
	}
	return false;
}

/* For as long as this process sees time go by, and the root does. */
static bool all_stand(int last)
{
	uint64_t was[PLACES], root_was = sh->root;

	for (int i = 0; i <= last; i++)
		was[i] = sh->count[i];
	eventually(sh->root >= root_was + 20);
	for (int i = 0; i <= last; i++)
		if (sh->count[i] != was[i])
			return false;
	return true;
}

/* A test that is killed, or fails, leaves nothing behind: this process outlives it. */
static void guard(void)
{
	struct pollfd p = { .fd = pidfd_open(test, 0), .events = POLLIN };
	char path[PATH_MAX];

	setsid();
	while (poll(&p, 1, -1) < 0)
		;
	if (sh->over)
		_exit(0);
	for (int i = 0; i < PLACES; i++)
		if (sh->pid[i])
			kill(sh->pid[i], SIGKILL);
	if (*group) /* in one of version 1 that has to wait */
		freezer_group_make(&host, strrchr(group, '/') + 1, &path);
	for (int i = 0; i < 5000 && freezer_group_remove(group); i++)
		nap();
	freezer_host_remove(host.base);
	_exit(0);
}

static void guard_start(void)
{
	pid_t pid = fork();

	must(pid >= 0);
	if (!pid) {
		if (!fork())
			guard();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static bool begin(enum freezer_kind kind)
{
	char *slash;
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);
	int err;

	must(n > 0);
	program[n] = '\0';
	freezer_helper_add(program);
	slash = strrchr(program, '/');
	memmove(program, slash + 1, strlen(slash));
	snprintf(node, sizeof(node), "storm-test-%d", getpid());
	err = freezer_host_find(&host, kind, node);
	if (err) {
		printf("SKIP: %s: %s\n", freezer_name(kind), strerror(err));
		return false;
	}
	must(host.kind == kind);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(sh != MAP_FAILED);
	test = getpid();
	snprintf(name, sizeof(name), "7.0.%d", test);
	err = freezer_group_make(&host, name, &group);
	if (err) { /* not root */
		printf("SKIP: %s: %s\n", freezer_name(kind), strerror(err));
		return false;
	}
	guard_start();
	root = fork();
	if (!root)
		be_root();
	for (int i = 0; i <= ORPHAN; i++)
		eventually(sh->pid[i]);
	f = freezer_open(kind, group, root);
	must(f);
	return true;
}

static void end(void)
{
	sh->over = true;
	freezer_close(f);
	kill(root, SIGKILL);
	waitpid(root, NULL, 0);
	freezer_host_remove(host.base); /* too soon */
	must(!*group || !access(group, F_OK));
	eventually(!freezer_group_remove(group));
	freezer_host_remove(host.base);
	must(!*group || access(host.base, F_OK));
}

static bool stopped(int last)
{
	must(!freezer_stop(f, false));
	must(freezer_stopped(f));
	eventually(freezer_settled(f));
	return all_stand(last);
}

START_TEST(test_stop_and_continue)
{
	if (!begin(_i))
		return;
	must(all_run(ORPHAN));
	must(stopped(ORPHAN));
	must(!freezer_continue(f, false));
	must(!freezer_stopped(f));
	must(all_run(ORPHAN));
	/* a process that comes later, and one whose parent is gone by then */
	sh->more = true;
	eventually(sh->pid[LATE]);
	must(stopped(LATE));
	for (int i = 0; i < 50; i++) {
		must(!freezer_continue(f, false));
		must(!freezer_stop(f, false));
	}
	eventually(freezer_settled(f));
	must(all_stand(LATE));
	/* closing lets all of it go on */
	freezer_close(f);
	f = NULL;
	must(all_run(LATE));
	end();
}
END_TEST

/* All that it has used, also what has ended; known with version 2 alone. */
START_TEST(test_used)
{
	uint64_t before, now;
	volatile int n = 0;
	pid_t pid;

	if (!begin(_i))
		return;
	must(freezer_used(f, &before) == (_i == FREEZER_V2));
	if (_i == FREEZER_V2) {
		pid = fork();
		if (!pid) {
			must(!freezer_group_enter(group));
			while (clock() < CLOCKS_PER_SEC / 20)
				n++;
			_exit(0);
		}
		waitpid(pid, NULL, 0);
		must(freezer_used(f, &now) && now > before + 40000000);
	}
	end();
}
END_TEST

START_TEST(test_who_is_in_it)
{
	pid_t *pids;
	size_t n;
	int found = 0;

	if (!begin(_i))
		return;
	must(!freezer_pids(f, &pids, &n));
	for (size_t i = 0; i < n; i++) {
		must(pids[i] != root);
		for (int k = 0; k <= ORPHAN; k++)
			found += pids[i] == sh->pid[k];
	}
	free(pids);
	must(found == ORPHAN + 1);
	must(freezer_has(f, program));
	must(!freezer_has(f, "srun"));
	end();
}
END_TEST

static bool is_srun(pid_t pid)
{
	char path[32], file[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink(path, file, sizeof(file) - 1) > 0 &&
	       !strcmp(file, (char *) sh->srun);
}

/* Slurm's program of that name: with signals it is left alone, in
 * a group it is seen. */
START_TEST(test_srun)
{
	char dir[] = "/tmp/storm-test-XXXXXX", cmd[128];
	pid_t *pids;
	size_t n;
	bool in = false;

	if (!begin(_i))
		return;
	must(mkdtemp(dir));
	snprintf((char *) sh->srun, sizeof(sh->srun), "%s/srun", dir);
	snprintf(cmd, sizeof(cmd), "cp /bin/sleep %s", sh->srun);
	must(!system(cmd));
	freezer_helper_add((char *) sh->srun);
	sh->launch = true;
	eventually(sh->launched && is_srun(sh->launched));
	must(!freezer_pids(f, &pids, &n));
	for (size_t i = 0; i < n; i++)
		in |= pids[i] == sh->launched;
	free(pids);
	must(in == (_i != FREEZER_SIGNALS));
	must(freezer_has(f, "srun") == in);
	must(!unlink((char *) sh->srun) && !rmdir(dir));
	end();
}
END_TEST

/* Another program of that name, also if it is root's, is the step's. */
START_TEST(test_others_srun)
{
	char dir[] = "/tmp/storm-test-XXXXXX", cmd[128];
	pid_t *pids;
	size_t n;
	bool in = false;

	if (!begin(_i))
		return;
	must(mkdtemp(dir));
	snprintf((char *) sh->srun, sizeof(sh->srun), "%s/srun", dir);
	snprintf(cmd, sizeof(cmd), "cp /bin/sleep %s", sh->srun);
	must(!system(cmd));
	sh->launch = true;
	eventually(sh->launched && is_srun(sh->launched));
	must(!freezer_pids(f, &pids, &n));
	for (size_t i = 0; i < n; i++)
		in |= pids[i] == sh->launched;
	free(pids);
	must(in);
	must(!freezer_has(f, "srun"));
	must(!unlink((char *) sh->srun) && !rmdir(dir));
	end();
}
END_TEST

START_TEST(test_signals_wait)
{
	if (!begin(_i))
		return;
	must(stopped(ORPHAN));
	must(!freezer_wants(f));
	must(!kill(sh->pid[TASK], SIGTERM));
	eventually(freezer_wants(f) == FREEZER_SIGNALLED);
	must(!sh->caught);
	must(!freezer_continue(f, false));
	eventually(sh->caught);
	must(!freezer_wants(f));
	end();
}
END_TEST

/* A debugger that attaches waits until the process goes on, for a moment. */
START_TEST(test_attached_while_stopped)
{
	pid_t pid;
	int status;

	if (!begin(FREEZER_V2))
		return;
	pid = sh->pid[CHILD];
	must(stopped(ORPHAN));
	must(!freezer_awaited(f));
	must(!ptrace(PTRACE_ATTACH, pid, 0, 0));
	eventually(freezer_awaited(f));
	must(all_stand(ORPHAN));
	must(!waitpid(pid, &status, __WALL | WNOHANG));
	must(!freezer_continue(f, false));
	must(waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status));
	must(!freezer_awaited(f));
	must(stopped(ORPHAN));
	must(freezer_wants(f) == FREEZER_TRACED);
	must(!ptrace(PTRACE_DETACH, pid, 0, 0));
	must(all_stand(ORPHAN));
	end();
}
END_TEST

START_TEST(test_killed_while_stopped)
{
	if (!begin(_i))
		return;
	must(stopped(ORPHAN));
	must(!kill(sh->pid[CHILD], SIGKILL));
	if (_i == FREEZER_V1) {
		/* briefly visible, and then it is continued */
		eventually(freezer_wants(f) == FREEZER_SIGNALLED);
		must(!freezer_continue(f, false));
	}
	/* its parent may stand still: no more than a zombie is left */
	eventually(!freezer_has(f, program) || ({
		char path[64], line[256] = "";
		FILE *s;

		snprintf(path, sizeof(path), "/proc/%d/stat", sh->pid[CHILD]);
		s = fopen(path, "r");
		if (s) {
			must(fgets(line, sizeof(line), s));
			fclose(s);
		}
		!s || strstr(line, ") Z");
	}));
	end();
}
END_TEST

/* An agent that lost track, or has just started, continues what another one had
 * stopped. */
START_TEST(test_another_continues)
{
	struct freezer *other;

	if (!begin(_i))
		return;
	must(stopped(ORPHAN));
	other = freezer_open(_i, group, root);
	must(other);
	must(!freezer_stopped(other));
	must(!freezer_continue(other, true));
	freezer_drop(other);
	must(all_run(SESSION));
	end();
}
END_TEST

static void move_to(const char *dir, pid_t pid)
{
	char path[PATH_MAX + 32];
	FILE *s;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	s = fopen(path, "w");
	must(s && fprintf(s, "%d", pid) > 0 && !fclose(s));
}

/* Moves the step into its cpu group; false: there is none. */
static bool begin_idle(char (*idle)[PATH_MAX])
{
	pid_t *pids;
	size_t n;
	int err = freezer_host_find_idle(&host, node, false);

	if (!err)
		freezer_idle_make(&host, name, group, idle);
	if (err || !**idle) {
		printf("SKIP: no control group with cpu.idle: %s\n",
		       strerror(err));
		return false;
	}
	must(!freezer_pids(f, &pids, &n));
	for (size_t i = 0; i < n; i++)
		move_to(*idle, pids[i]);
	free(pids);
	must(!freezer_open_idle(f, *idle));
	return true;
}

static bool gives_way(const char *idle)
{
	char path[PATH_MAX + 32];
	char c = 0;
	FILE *s;

	snprintf(path, sizeof(path), "%s/cpu.idle", idle);
	s = fopen(path, "r");
	must(s && fscanf(s, "%c", &c) == 1 && !fclose(s));
	return c == '1';
}

/* Of a group of version 1; 0: it has none. */
static long shares(const char *idle)
{
	char path[PATH_MAX + 32];
	long n = 0;
	FILE *s;

	snprintf(path, sizeof(path), "%s/cpu.shares", idle);
	s = fopen(path, "r");
	if (s)
		must(fscanf(s, "%ld", &n) == 1 && !fclose(s));
	return n;
}

/* It runs as a filler, and then as before: by its own freezer, and by that of a guard
 * that knows nothing of it. */
START_TEST(test_fill)
{
	char idle[PATH_MAX] = "";
	struct freezer *guard;
	long had;

	if (!begin(FREEZER_V2))
		return;
	must(!freezer_can_fill(f));
	if (begin_idle(&idle)) {
		had = shares(idle);
		must(freezer_can_fill(f) && !gives_way(idle));
		must(stopped(ORPHAN));
		must(!freezer_fill(f) && freezer_fills(f) && freezer_held(f));
		must(!freezer_stopped(f) && gives_way(idle));
		must(all_run(ORPHAN));
		must(!freezer_continue(f, false) && !freezer_held(f));
		must(!gives_way(idle) && all_run(ORPHAN));
		must(shares(idle) == had); /* the kernel forgets them */
		/* a filler stops as well, and goes on as if it had not filled */
		must(stopped(ORPHAN) && !freezer_fill(f) && stopped(ORPHAN));
		must(!freezer_fills(f));
		must(!freezer_continue(f, false) && !gives_way(idle));
		must(stopped(ORPHAN) && !freezer_fill(f));
		guard = freezer_open(FREEZER_V2, group, root);
		must(guard && !freezer_open_idle(guard, idle));
		must(!freezer_continue(guard, true) && !gives_way(idle));
		must(all_run(ORPHAN));
		/* it fills again, though it never heard of that */
		must(stopped(ORPHAN) && !freezer_fill(f) && gives_way(idle));
		/* one that runs gives way as it is, and a guard can end that */
		must(!freezer_continue(f, false) && !freezer_fill(f));
		must(gives_way(idle) && freezer_fills(f) && all_run(ORPHAN));
		must(!freezer_continue(guard, true) && !gives_way(idle));
		must(!freezer_fill(f) && gives_way(idle));
		must(!freezer_continue(f, false) && !gives_way(idle));
		must(!freezer_held(f) && all_run(ORPHAN));
		must(!freezer_fill(f) && stopped(ORPHAN));
		freezer_drop(guard);
	}
	freezer_close(f);
	must(!*idle || !gives_way(idle));
	f = NULL;
	end();
	must(!freezer_group_remove(idle));
	freezer_host_remove(host.idle);
}
END_TEST

/* Steps that share a cpu.idle, as Slurm's group of their job: it stays while another
 * one gives way, and then the step that goes on takes it back, whichever has set it. */
START_TEST(test_fill_by_job)
{
	char idle[PATH_MAX] = "";
	struct freezer *other;

	if (!begin(FREEZER_V2))
		return;
	if (begin_idle(&idle)) {
		other = freezer_open(FREEZER_V2, group, root);
		must(other && !freezer_open_idle(other, idle));
		must(!freezer_fill(f) && !freezer_fill(other));
		freezer_share_idle(f, true);
		must(!freezer_continue(f, false) && !freezer_held(f));
		must(gives_way(idle));
		freezer_share_idle(other, false);
		must(!freezer_continue(other, false) && !gives_way(idle));
		/* a step that has filled, and stands */
		must(!freezer_fill(other) && !freezer_stop(other, false));
		must(!freezer_stop(f, false) && gives_way(idle));
		freezer_share_idle(f, false);
		must(!freezer_continue(f, false) && !gives_way(idle));
		freezer_close(other);
	}
	end();
	must(!freezer_group_remove(idle));
	freezer_host_remove(host.idle);
}
END_TEST

/* What only gives way gets no signal at its turns, and no other sign of them. */
START_TEST(test_fill_disturbs_nobody)
{
	char idle[PATH_MAX] = "";

	if (!begin(_i))
		return;
	if (begin_idle(&idle)) {
		for (int i = 0; i < 20; i++) {
			must(!freezer_fill(f) && gives_way(idle));
			must(!freezer_continue(f, false) && !gives_way(idle));
		}
		must(all_run(ORPHAN));
		ck_assert_int_eq(sh->conts, 0);
		/* one that was stopped before does */
		must(stopped(ORPHAN) && !freezer_fill(f) && all_run(ORPHAN));
		must(!freezer_continue(f, false) && all_run(ORPHAN));
		must(!!sh->conts == (_i == FREEZER_SIGNALS));
	}
	end();
	eventually(!freezer_group_remove(idle));
	freezer_host_remove(host.idle);
}
END_TEST

static void *write_when_told(void *arg)
{
	_Atomic int *go = arg;

	while (!*go)
		;
	freezer_continue(f, false);
	return NULL;
}

/* A step whose group goes while it is continued does not stand.  Each try is a race;
 * the kernel's rarer answer comes in about one of 800. */
START_TEST(test_group_goes_meanwhile)
{
	_Atomic int go;
	pthread_t t;

	if (!begin(FREEZER_V2))
		return;
	end();
	for (int i = 0; i < 6000; i++) {
		must(!freezer_group_make(&host, "1.0.goes", &group));
		f = freezer_open(FREEZER_V2, group, getpid());
		must(f && !freezer_stop(f, false));
		go = 0;
		must(!pthread_create(&t, NULL, write_when_told, &go));
		go = 1;
		for (volatile int k = 0; k < i % 300; k++)
			;
		must(!freezer_group_remove(group));
		must(!pthread_join(t, NULL));
		must(!freezer_held(f));
		freezer_drop(f);
		f = NULL;
	}
	freezer_host_remove(host.base);
}
END_TEST

START_TEST(test_a_stopped_group_is_used_again)
{
	char path[PATH_MAX];

	if (!begin(_i))
		return;
	must(stopped(ORPHAN));
	must(!freezer_group_make(&host, strrchr(*group ? group : "/x", '/') + 1,
				 &path));
	must(!strcmp(path, group));
	if (_i == FREEZER_SIGNALS)
		must(!freezer_continue(f, true));
	must(all_run(ORPHAN));
	end();
}
END_TEST

/* As Slurm has it: processes are in groups below the step's, one for each task,
 * and its slurmstepd in another beside it. */
START_TEST(test_borrowed)
{
	char below[2][PATH_MAX + 16], beside[PATH_MAX];
	struct freezer_host h;
	pid_t *pids, pid;
	size_t n;
	int status;

	if (!begin(FREEZER_V2))
		return;
	snprintf(below[0], sizeof(below[0]), "%s/user", group);
	snprintf(below[1], sizeof(below[1]), "%s/slurm", group);
	for (int i = 0; i < 2; i++)
		must(!mkdir(below[i], 0755));
	move_to(below[0], sh->pid[CHILD]);
	must(!freezer_pids(f, &pids, &n) && n >= ORPHAN + 1);
	free(pids);
	must(stopped(ORPHAN));
	must(!kill(sh->pid[CHILD],
		   SIGKILL)); /* in a group of version 2 it dies */
	must(!freezer_continue(f, false));
	pid = fork();
	if (!pid) {
		must(!freezer_group_enter(below[1]));
		must(!freezer_group_beside("slurm", "user", &beside));
		must(!strcmp(beside, below[0]));
		must(freezer_group_beside("user", "slurm", &beside) == ENOENT);
		must(!*beside);
		must(freezer_group_beside("slurm", "none", &beside) == ENOENT);
		must(!*beside);
		must(!freezer_host_borrow(&h));
		must(h.kind == FREEZER_V2 && !*h.base);
		/* such a host makes no groups */
		must(!freezer_group_make(&h, "7.0.1", &beside) && !*beside);
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && !status);
	for (int i = 0; i < 2; i++)
		eventually(!rmdir(below[i]));
	end();
}
END_TEST

/* A step that begins when the last one of another has just removed all. */
START_TEST(test_groups_are_made_again)
{
	char path[PATH_MAX];

	if (!begin(_i))
		return;
	end();
	must(!freezer_group_make(&host, "7.0.1", &path));
	must(!access(path, F_OK) || _i == FREEZER_SIGNALS);
	must(!freezer_group_remove(path));
	freezer_host_remove(host.base);
}
END_TEST

/* The root group's mode is 0555, and the agent has no capability to ignore it. */
START_TEST(test_root_group_is_closed)
{
	struct freezer_host h;
	struct stat before, after;
	char tree[PATH_MAX], *last;
	int status;
	pid_t pid;

	if (freezer_host_find(&h, _i, "closed"))
		return; /* this host has none such */
	freezer_host_remove(h.base);
	strcpy(tree, h.base);
	for (int i = 0; i < 2 && (last = strrchr(tree, '/')); i++)
		*last = '\0';
	must(_i == FREEZER_SIGNALS || !stat(tree, &before));
	pid = fork();
	if (!pid) {
		if (caps_keep(0) || freezer_host_find(&h, _i, "closed"))
			_exit(1);
		freezer_host_remove(h.base);
		_exit(*h.base && !access(h.base, F_OK) ? 2 : 0);
	}
	must(waitpid(pid, &status, 0) == pid);
	ck_assert_int_eq(status, 0);
	must(_i == FREEZER_SIGNALS ||
	     (!stat(tree, &after) && after.st_mode == before.st_mode));
}
END_TEST

START_TEST(test_names)
{
	struct freezer_host h;

	for (int i = FREEZER_V2; i < FREEZER_KINDS; i++)
		must(freezer_kind_of(freezer_name(i)) == (enum freezer_kind) i);
	must(freezer_kind_of("sleep") == FREEZER_NONE);
	must(!freezer_name(FREEZER_NONE));
	must(!freezer_name(FREEZER_KINDS));
	must(freezer_host_find(&h, FREEZER_NONE, "a/b") == EINVAL);
	must(freezer_host_find(&h, FREEZER_NONE, "..") == EINVAL);
	must(freezer_host_find(&h, FREEZER_NONE, "") == EINVAL);
	must(!freezer_open(FREEZER_V2, "/nowhere", 1) && errno == ENOENT);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("freezer");
	TCase *t = tcase_create("freezer");

	tcase_add_test(t, test_names);
	tcase_add_test(t, test_fill);
	tcase_add_test(t, test_fill_by_job);
	tcase_add_test(t, test_group_goes_meanwhile);
	tcase_add_test(t, test_attached_while_stopped);
#define ALL(name) tcase_add_loop_test(t, name, FREEZER_V2, FREEZER_KINDS)
	ALL(test_stop_and_continue);
	ALL(test_used);
	ALL(test_fill_disturbs_nobody);
	ALL(test_who_is_in_it);
	ALL(test_srun);
	ALL(test_others_srun);
	ALL(test_signals_wait);
	ALL(test_killed_while_stopped);
	ALL(test_another_continues);
	ALL(test_a_stopped_group_is_used_again);
	ALL(test_groups_are_made_again);
	ALL(test_root_group_is_closed);
	tcase_add_test(t, test_borrowed);
	suite_add_tcase(s, t);
	return unit_has_pidfd() ?
		       unit_main(s) :
		       unit_skip(s, "there is no pidfd_open(2) here");
}
