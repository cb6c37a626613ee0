/*
 * taskdo - one task of a test step, doing what its arguments say.
 *
 * A shell in every task would cost more than the launch that is tested, and
 * would hide what the task itself sees of signals, files and limits.  So the
 * tests describe a task's life as a row of verbs:
 *
 *	taskdo say hello @3 exit 7 @5-6 kill 9 wait /shared/go say bye
 *
 * @LIST in front of a verb: only the tasks named do it (ranks: 3,5-7).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int rank, argc_all;
static char **argv_all;
static volatile sig_atomic_t caught[65];
static long long began;

static void die(const char *what)
{
	fprintf(stderr, "taskdo: %d: %s: %s\n", rank, what, strerror(errno));
	exit(99);
}

static void on_signal(int sig)
{
	caught[sig] = 1;
}

static void nap(void)
{
	struct timespec ts = { .tv_nsec = 5000000 };

	nanosleep(&ts, NULL);
}

/* Is rank in a list such as 0,3-5? */
static bool in_list(const char *list)
{
	char *end;

	while (*list) {
		long lo = strtol(list, &end, 10), hi = lo;

		if (*end == '-')
			hi = strtol(end + 1, &end, 10);
		if (rank >= lo && rank <= hi)
			return true;
		list = *end == ',' ? end + 1 : end;
		if (end == list && *end)
			return false;
	}
	return false;
}

/* PATH with every %t replaced by the rank. */
static const char *by_rank(const char *path)
{
	static char out[4096];
	size_t n = 0;

	for (; *path && n < sizeof(out) - 16; path++) {
		if (path[0] == '%' && path[1] == 't') {
			n += sprintf(out + n, "%d", rank);
			path++;
		} else {
			out[n++] = *path;
		}
	}
	out[n] = 0;
	return out;
}

/* --- the verbs; each gets its arguments and returns how many it took --- */

static int do_say(char **a)
{
	printf("%s\n", by_rank(a[0]));
	return 1;
}

static int do_err(char **a)
{
	fprintf(stderr, "%s\n", by_rank(a[0]));
	return 1;
}

static int do_exit(char **a)
{
	exit(atoi(a[0]));
}

/* exit with the own rank plus N */
static int do_exitrank(char **a)
{
	exit((rank + atoi(a[0])) & 255);
}

static int do_kill(char **a)
{
	int sig = atoi(a[0]);

	fflush(NULL);
	signal(sig, SIG_DFL);
	raise(sig);
	return 1;
}

static int do_wait(char **a)
{
	const char *path = by_rank(a[0]);

	fflush(NULL);
	while (access(path, F_OK))
		nap();
	return 1;
}

static int do_touch(char **a)
{
	int fd = open(by_rank(a[0]), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);

	if (fd < 0)
		die(a[0]);
	close(fd);
	return 1;
}

static int do_block(char **a)
{
	(void) a;
	fflush(NULL);
	while (1)
		pause();
	return 0;
}

static int do_sleep(char **a)
{
	double s = atof(a[0]);
	struct timespec ts = { .tv_sec = (time_t) s,
			       .tv_nsec = (s - (time_t) s) * 1e9 };

	fflush(NULL);
	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
	return 1;
}

static int do_cat(char **a)
{
	char buf[65536];
	ssize_t n;

	(void) a;
	fflush(NULL);
	while ((n = read(0, buf, sizeof(buf))) > 0)
		if (write(1, buf, n) != n)
			die("write");
	if (n < 0)
		die("read stdin");
	return 0;
}

/* bytes on stdin and a sum over them, for inputs too long to print */
static int do_sum(char **a)
{
	char buf[65536];
	unsigned long long sum = 0, len = 0;
	ssize_t n;

	(void) a;
	while ((n = read(0, buf, sizeof(buf))) > 0)
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char) buf[i] + len++;
	printf("%d: %llu bytes, sum %llx\n", rank, len, sum);
	return 0;
}

static int do_env(char **a)
{
	const char *v = getenv(a[0]);

	if (v)
		printf("%d: %s=[%s]\n", rank, a[0], v);
	else
		printf("%d: %s is not set\n", rank, a[0]);
	return 1;
}

static int do_cwd(char **a)
{
	char buf[4096];

	(void) a;
	if (!getcwd(buf, sizeof(buf)))
		die("getcwd");
	printf("%d: %s\n", rank, buf);
	return 0;
}

static int do_umask(char **a)
{
	mode_t m = umask(0);

	(void) a;
	umask(m);
	printf("%d: umask %04o\n", rank, m);
	return 0;
}

static int do_limits(char **a)
{
	static const struct {
		const char *name;
		int which;
	} lim[] = {
		{ "nofile", RLIMIT_NOFILE }, { "core", RLIMIT_CORE },
		{ "stack", RLIMIT_STACK },   { "fsize", RLIMIT_FSIZE },
		{ "nproc", RLIMIT_NPROC },   { "cpu", RLIMIT_CPU },
	};
	struct rlimit r;

	(void) a;
	for (size_t i = 0; i < sizeof(lim) / sizeof(lim[0]); i++) {
		if (getrlimit(lim[i].which, &r))
			die("getrlimit");
		printf("%d: %s %lld\n", rank, lim[i].name,
		       (long long) r.rlim_cur);
	}
	return 0;
}

static int do_ids(char **a)
{
	gid_t g[64];
	int n = getgroups(64, g);

	(void) a;
	printf("%d: uid %d %d gid %d %d groups", rank, getuid(), geteuid(),
	       getgid(), getegid());
	for (int i = 0; i < n; i++)
		printf(" %d", g[i]);
	printf("\n");
	return 0;
}

static int do_args(char **a)
{
	(void) a;
	for (int i = 0; i < argc_all; i++)
		printf("%d: argv[%d]=[%s]\n", rank, i, argv_all[i]);
	return 0;
}

/* LINES lines of LENGTH bytes each on stdout */
static int do_lines(char **a)
{
	int lines = atoi(a[0]), len = atoi(a[1]);

	for (int i = 0; i < lines; i++) {
		int n = printf("%d %d ", rank, i);

		while (n++ < len)
			putchar('a' + (i + n) % 26);
		putchar('\n');
	}
	return 2;
}

/* note a signal when it comes, and go on */
static int do_catch(char **a)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(atoi(a[0]), &sa, NULL);
	return 1;
}

static int do_ignore(char **a)
{
	signal(atoi(a[0]), SIG_IGN);
	return 1;
}

/* wait until the signal has come */
static int do_await(char **a)
{
	int sig = atoi(a[0]);

	fflush(NULL);
	while (!caught[sig])
		nap();
	printf("%d: got signal %d\n", rank, sig);
	return 1;
}

/* A line for each signal that arrives, with who sent it: from when the first file is
 * made until there is the second one. */
static int do_tally(char **a)
{
	const struct timespec tick = { .tv_nsec = 5000000 };
	int sig = atoi(a[0]), over = 0;
	siginfo_t from;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, sig);
	sigprocmask(SIG_BLOCK, &set, NULL);
	do_touch(a + 1);
	do {
		over = !access(by_rank(a[2]), F_OK);
		while (sigtimedwait(&set, &from, &tick) > 0) {
			printf("%d: signal %d from uid %d\n", rank, sig,
			       (int) from.si_uid);
			fflush(NULL);
		}
	} while (!over);
	return 3;
}

static int do_mode(char **a)
{
	struct stat st;

	if (stat(a[0], &st))
		die(a[0]);
	printf("%d: %s mode %04o size %lld uid %d mtime %lld\n", rank, a[0],
	       st.st_mode & 07777, (long long) st.st_size, st.st_uid,
	       (long long) st.st_mtime);
	return 1;
}

static int do_tty(char **a)
{
	(void) a;
	printf("%d: tty %d %d %d\n", rank, isatty(0), isatty(1), isatty(2));
	return 0;
}

static int do_node(char **a)
{
	char name[256];

	(void) a;
	if (gethostname(name, sizeof(name)))
		die("gethostname");
	printf("%d: on %s local %s node %s of %s\n", rank, name,
	       getenv("SLURM_LOCALID"), getenv("SLURM_NODEID"),
	       getenv("SLURM_NNODES"));
	return 0;
}

static int do_fds(char **a)
{
	(void) a;
	for (int fd = 3; fd < 256; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			printf("%d: fd %d is open\n", rank, fd);
	return 0;
}

/* which signals are blocked or ignored at the start */
static int do_sigs(char **a)
{
	struct sigaction sa;
	sigset_t set;

	(void) a;
	sigprocmask(SIG_BLOCK, NULL, &set);
	for (int s = 1; s < 32; s++) {
		sigaction(s, NULL, &sa);
		if (sigismember(&set, s) || sa.sa_handler == SIG_IGN)
			printf("%d: signal %d blocked %d ignored %d\n", rank, s,
			       sigismember(&set, s), sa.sa_handler == SIG_IGN);
	}
	return 0;
}

static int do_pid(char **a)
{
	FILE *f = fopen(by_rank(a[0]), "w");

	if (!f)
		die(a[0]);
	fprintf(f, "%d\n", getpid());
	fclose(f);
	return 1;
}

static int do_prio(char **a)
{
	(void) a;
	printf("%d: nice %d\n", rank, getpriority(PRIO_PROCESS, 0));
	return 0;
}

/* Compute, until that took so many milliseconds of CPU time. */
static int do_spin(char **a)
{
	long ms = atol(a[0]);
	struct timespec ts;

	do
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	while (ts.tv_sec * 1000 + ts.tv_nsec / 1000000 < ms);
	return 1;
}

/* CLOCK_MONOTONIC of main's first line, ns */
static int do_began(char **a)
{
	(void) a;
	printf("%lld\n", began);
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*fn)(char **a);
} verbs[] = {
	{ "args", 0, do_args },		{ "await", 1, do_await },
	{ "began", 0, do_began },	{ "block", 0, do_block },
	{ "cat", 0, do_cat },		{ "catch", 1, do_catch },
	{ "cwd", 0, do_cwd },		{ "env", 1, do_env },
	{ "err", 1, do_err },		{ "exit", 1, do_exit },
	{ "exitrank", 1, do_exitrank }, { "fds", 0, do_fds },
	{ "ids", 0, do_ids },		{ "ignore", 1, do_ignore },
	{ "kill", 1, do_kill },		{ "limits", 0, do_limits },
	{ "lines", 2, do_lines },	{ "mode", 1, do_mode },
	{ "node", 0, do_node },		{ "pid", 1, do_pid },
	{ "prio", 0, do_prio },		{ "say", 1, do_say },
	{ "sigs", 0, do_sigs },		{ "sleep", 1, do_sleep },
	{ "spin", 1, do_spin },		{ "sum", 0, do_sum },
	{ "tally", 3, do_tally },	{ "touch", 1, do_touch },
	{ "tty", 0, do_tty },		{ "umask", 0, do_umask },
	{ "wait", 1, do_wait },
};

int main(int argc, char **argv)
{
	const char *id = getenv("SLURM_PROCID");
	bool mine = true;
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	began = ts.tv_sec * 1000000000LL + ts.tv_nsec;
	argc_all = argc;
	argv_all = argv;
	rank = id ? atoi(id) : -1;
	/* Whole lines in one write each, as tests compare lines of many. */
	setvbuf(stdout, NULL, _IOFBF, 65536);
	for (int i = 1; i < argc;) {
		size_t v;

		if (argv[i][0] == '@') {
			mine = in_list(argv[i++] + 1);
			continue;
		}
		if (!strcmp(argv[i], "--")) /* the rest is ballast */
			break;
		for (v = 0; v < sizeof(verbs) / sizeof(verbs[0]); v++)
			if (!strcmp(argv[i], verbs[v].name))
				break;
		if (v == sizeof(verbs) / sizeof(verbs[0]) ||
		    i + verbs[v].args >= argc) {
			fprintf(stderr, "taskdo: what is '%s'?\n", argv[i]);
			return 98;
		}
		if (mine)
			verbs[v].fn(argv + i + 1);
		i += 1 + verbs[v].args;
		mine = true;
		fflush(stdout);
	}
	return 0;
}
