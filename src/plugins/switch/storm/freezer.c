/*
 * freezer.c - see freezer.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "freezer.h"

#define TREE "slurm-storm"	/* all our groups are below it */

/* With signals: a process of the step. */
struct member {
	pid_t pid;
	int pidfd;
	bool seen;		/* in the walk under way */
};

struct freezer {
	enum freezer_kind kind;
	bool stopped;
	int dir;		/* the group; -1 */
	int state;		/* what is written to; -1 */
	pid_t root;
	struct member *member;
	size_t members, room;
};

static const char *const names[FREEZER_KINDS] = {
	[FREEZER_V2] = "cgroup2",
	[FREEZER_SIGNALS] = "signals",
	[FREEZER_V1] = "freezer",
};

const char *freezer_name(enum freezer_kind kind)
{
	return (unsigned int) kind < FREEZER_KINDS ? names[kind] : NULL;
}

enum freezer_kind freezer_kind_of(const char *name)
{
	for (int i = FREEZER_V2; i < FREEZER_KINDS; i++)
		if (!strcmp(name, names[i]))
			return i;
	return FREEZER_NONE;
}

/* ------------------------------------------------------------- the host --- */

/* Is word one of those in a list with commas? */
static bool listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += len)
		if ((p == list || p[-1] == ',') &&
		    (!p[len] || p[len] == ',' || p[len] == '\n'))
			return true;
	return false;
}

/* Where that kind of groups is mounted; "" where it is not. */
static void mount_of(enum freezer_kind kind, char out[PATH_MAX])
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, point[PATH_MAX], type[32], super[1024], *rest;
	size_t room = 0;

	*out = '\0';
	while (f && !*out && getline(&line, &room, f) > 0) {
		rest = strstr(line, " - ");
		if (!rest ||
		    sscanf(line, "%*s %*s %*s %*s %4095s", point) != 1 ||
		    sscanf(rest, " - %31s %*s %1023s", type, super) != 2)
			continue;
		if (kind == FREEZER_V2 ? !strcmp(type, "cgroup2") :
		    !strcmp(type, "cgroup") && listed(super, "freezer"))
			strcpy(out, point);
	}
	free(line);
	if (f)
		fclose(f);
}

static const char *state_file(enum freezer_kind kind)
{
	return kind == FREEZER_V2 ? "cgroup.freeze" : "freezer.state";
}

static int make_dir(const char *path)
{
	return mkdir(path, 0755) && errno != EEXIST ? errno : 0;
}

static int join(char out[PATH_MAX], const char *dir, const char *name)
{
	int n = snprintf(out, PATH_MAX, "%s/%s", dir, name);

	return n < 0 || n >= PATH_MAX ? ENAMETOOLONG : 0;
}

/* One component of a path that does not lead elsewhere. */
static bool plain(const char *name)
{
	return *name && *name != '.' && !strchr(name, '/');
}

/* Another's last step may be removing the upper one, which is empty. */
static int make_base(const char *base)
{
	char tree[PATH_MAX];
	int err = ENOENT;

	strcpy(tree, base);
	*strrchr(tree, '/') = '\0';
	for (int i = 0; i < 3 && err == ENOENT; i++) {
		err = make_dir(tree);
		if (!err)
			err = make_dir(base);
	}
	return err;
}

static int find_groups(struct freezer_host *h, enum freezer_kind kind,
		       const char *node)
{
	char point[PATH_MAX], tree[PATH_MAX], file[PATH_MAX];
	int err;

	mount_of(kind, point);
	if (!*point)
		return ENOENT;
	err = join(tree, point, TREE);
	if (!err)
		err = join(h->base, tree, node);
	if (!err)
		err = make_base(h->base);
	if (!err)
		err = join(file, h->base, state_file(kind));
	/* a kernel before 5.2 cannot freeze a v2 group */
	if (!err && access(file, W_OK))
		err = errno;
	if (!err)
		h->kind = kind;
	return err;
}

int freezer_host_find(struct freezer_host *h, enum freezer_kind wish,
		      const char *node)
{
	int err;

	if (!plain(node))
		return EINVAL;
	if (wish != FREEZER_SIGNALS) {
		err = find_groups(h, wish == FREEZER_V1 ? FREEZER_V1 :
				  FREEZER_V2, node);
		if (!err || wish != FREEZER_NONE)
			return err;
	}
	h->kind = FREEZER_SIGNALS;
	h->base[0] = '\0';
	return 0;
}

void freezer_host_remove(const char *base)
{
	char tree[PATH_MAX];

	strcpy(tree, base);
	if (*base && !rmdir(base)) {
		*strrchr(tree, '/') = '\0';
		rmdir(tree);
	}
}

/* This process's own group: the path of its directory. */
static int own_group(char out[PATH_MAX])
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	char *line = NULL, point[PATH_MAX];
	size_t room = 0;
	int err = ENOENT;

	mount_of(FREEZER_V2, point);
	while (f && *point && err == ENOENT && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::/", 4))
			err = join(out, point, line + 4);
	}
	free(line);
	if (f)
		fclose(f);
	return err;
}

/* Version 2 is the last one in the list. */
bool freezer_host_pure(void)
{
	FILE *f = fopen("/proc/self/cgroup", "re");
	bool pure = f && getc(f) == '0';

	if (f)
		fclose(f);
	return pure;
}

int freezer_host_borrow(struct freezer_host *h)
{
	char own[PATH_MAX], file[PATH_MAX];
	int err = own_group(own);

	if (!err)
		err = join(file, own, state_file(FREEZER_V2));
	if (!err && access(file, W_OK))
		err = errno;
	if (err)
		return err;
	h->kind = FREEZER_V2;
	h->base[0] = '\0';
	return 0;
}

/* --------------------------------------------------------------- groups --- */

static int write_at(int dir, const char *file, const char *text)
{
	int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int err;

	if (fd < 0)
		return errno;
	n = write(fd, text, strlen(text));
	err = n < 0 ? errno : 0;
	close(fd);
	return err;
}

static int write_below(const char *group, const char *file, const char *text)
{
	int dir = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err;

	if (dir < 0)
		return errno;
	err = write_at(dir, file, text);
	close(dir);
	return err;
}

int freezer_group_make(const struct freezer_host *h, const char *name,
		       char group[PATH_MAX])
{
	int err;

	*group = '\0';
	if (!*h->base)
		return 0;
	if (!plain(name))
		return EINVAL;
	err = join(group, h->base, name);
	if (!err)
		err = make_dir(group);
	if (err == ENOENT && !(err = make_base(h->base)))
		err = make_dir(group);
	if (!err)
		err = write_below(group, state_file(h->kind),
				  h->kind == FREEZER_V2 ? "0" : "THAWED");
	if (err)
		*group = '\0';
	return err;
}

int freezer_group_beside(const char *own, const char *name,
			 char group[PATH_MAX])
{
	char dir[PATH_MAX], *last;
	int err = own_group(dir);

	*group = '\0';
	if (err)
		return err;
	last = strrchr(dir, '/');
	if (strcmp(last + 1, own))
		return ENOENT;
	*last = '\0';
	err = join(group, dir, name);
	if (!err && access(group, F_OK))
		err = errno;
	if (err)
		*group = '\0';
	return err;
}

int freezer_group_enter(const char *group)
{
	return *group ? write_below(group, "cgroup.procs", "0") : 0;
}

int freezer_group_remove(const char *group)
{
	return *group && rmdir(group) && errno != ENOENT ? errno : 0;
}

/* ---------------------------------------------------------- /proc, by pid --- */

/* Reads /proc/PID/file; the length, or -1. */
static ssize_t read_proc(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size - 1);
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return n;
}

/* The file that it runs; false: it is gone, or a kernel thread. */
static bool program_of(pid_t pid, struct stat *out)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !stat(path, out);
}

/*
 * Does it run the system's program of this name?  By the file itself, for users may
 * give their processes any name, and any name to a link to a program of the
 * system's.  Behind the name there may be more, as in slurmstepd-wlm, or in
 * "srun (deleted)" after an update.
 */
static bool is_the(pid_t pid, const char *name)
{
	char path[32], file[PATH_MAX], *last;
	size_t len = strlen(name);
	struct stat st;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	n = readlink(path, file, sizeof(file) - 1);
	if (n <= 0)
		return false;
	file[n] = '\0';
	last = strrchr(file, '/');
	return last && !strncmp(last + 1, name, len) &&
		!isalnum((unsigned char) last[1 + len]) &&
		program_of(pid, &st) && !st.st_uid;
}

static bool same_program(pid_t a, pid_t b)
{
	struct stat sa, sb;

	return program_of(a, &sa) && program_of(b, &sb) &&
		sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

/* The state letter; 0: no such process. */
static char state_of(pid_t pid)
{
	char buf[256], *end;

	if (read_proc(pid, "stat", buf, sizeof(buf)) < 0)
		return 0;
	end = strrchr(buf, ')');	/* the name may hold anything */
	return end && end[1] == ' ' ? end[2] : 0;
}

static uint64_t mask_in(const char *status, const char *key)
{
	const char *p = strstr(status, key);

	return p ? strtoull(p + strlen(key), NULL, 16) : 0;
}

/* FREEZER_SIGNALLED and so on.  Signals that stop are not meant: with signals they
 * are our own. */
static unsigned int wants(pid_t pid)
{
	const uint64_t own = 1ull << (SIGSTOP - 1) | 1ull << (SIGCONT - 1) |
		1ull << (SIGTSTP - 1) | 1ull << (SIGTTIN - 1) |
		1ull << (SIGTTOU - 1);
	char buf[4096];
	const char *tracer;
	uint64_t waiting;

	if (read_proc(pid, "status", buf, sizeof(buf)) < 0)
		return 0;
	tracer = strstr(buf, "\nTracerPid:\t");
	waiting = (mask_in(buf, "\nSigPnd:\t") | mask_in(buf, "\nShdPnd:\t")) &
		~mask_in(buf, "\nSigBlk:\t");
	return (waiting & ~own ? FREEZER_SIGNALLED : 0) |
		(tracer && tracer[12] != '0' ? FREEZER_TRACED : 0);
}

/* ----------------------------------------------------- a step by its tree --- */

static void forget(struct freezer *f, size_t i)
{
	close(f->member[i].pidfd);
	f->member[i] = f->member[--f->members];
}

static struct member *member_of(struct freezer *f, pid_t pid)
{
	for (size_t i = 0; i < f->members; i++)
		if (f->member[i].pid == pid)
			return &f->member[i];
	return NULL;
}

static int remember(struct freezer *f, pid_t pid)
{
	struct member *m;

	if (f->members == f->room) {
		size_t room = f->room ? 2 * f->room : 16;

		m = realloc(f->member, room * sizeof(*m));
		if (!m)
			return ENOMEM;
		f->member = m;
		f->room = room;
	}
	m = &f->member[f->members];
	m->pid = pid;
	m->pidfd = pidfd_open(pid, 0);
	m->seen = false;
	if (m->pidfd < 0)
		return errno == ESRCH ? 0 : errno;
	f->members++;
	return 0;
}

/* slurmstepd and srun carry the step's output and its exits: never. */
static bool exempt(pid_t pid)
{
	return is_the(pid, "slurmstepd") || is_the(pid, "srun");
}

/* Take in the children that one thread has made.  *news counts new ones. */
static int take_children(struct freezer *f, pid_t pid, const char *thread,
			 size_t *news)
{
	char path[64], *line = NULL, *p, *end;
	size_t room = 0;
	int err = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/task/%.16s/children", pid,
		 thread);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (getline(&line, &room, file) > 0) {
		for (p = line; !err; p = end) {
			pid_t child = strtol(p, &end, 10);

			if (end == p)
				break;
			if (member_of(f, child) || exempt(child))
				continue;
			err = remember(f, child);
			(*news)++;
		}
	}
	free(line);
	fclose(file);
	return err;
}

static int take_children_of(struct freezer *f, pid_t pid, size_t *news)
{
	char path[32];
	struct dirent *e;
	DIR *d;
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	if (!d)
		return 0;	/* it has ended */
	while (!err && (e = readdir(d)))
		if (e->d_name[0] != '.')
			err = take_children(f, pid, e->d_name, news);
	closedir(d);
	return err;
}

/* Who is gone, and whose number may mean somebody else. */
static void forget_dead(struct freezer *f)
{
	for (size_t i = f->members; i--;)
		if (pidfd_send_signal(f->member[i].pidfd, 0, NULL, 0) &&
		    errno == ESRCH)
			forget(f, i);
}

/*
 * Find processes that are not known yet, from the root and from every known
 * one: a process whose parent has died is nobody's child in the step, but it
 * is still known, and so are its children.
 */
static int walk(struct freezer *f, size_t *news)
{
	int err;

	*news = 0;
	forget_dead(f);
	err = take_children_of(f, f->root, news);
	/* the list grows meanwhile */
	for (size_t i = 0; !err && i < f->members; i++)
		err = take_children_of(f, f->member[i].pid, news);
	return err;
}

static void signal_all(struct freezer *f, int sig)
{
	for (size_t i = 0; i < f->members; i++)
		pidfd_send_signal(f->member[i].pidfd, sig, NULL, 0);
}

/* Whoever is stopped makes no more children: so first those that are known,
 * then their children, until there are no new ones. */
static int stop_by_signals(struct freezer *f)
{
	size_t news;
	int err;

	signal_all(f, SIGSTOP);
	do {
		err = walk(f, &news);
		if (news)
			signal_all(f, SIGSTOP);
	} while (!err && news);
	return err;
}

static int continue_by_signals(struct freezer *f)
{
	size_t news;
	int err = 0;

	/* without a walk we know of nobody: another has stopped them */
	if (!f->members)
		err = walk(f, &news);
	signal_all(f, SIGCONT);
	return err;
}

/* ------------------------------------------------------------- one step --- */

static bool by_signals(const struct freezer *f)
{
	return f->kind == FREEZER_SIGNALS;
}

struct freezer *freezer_open(enum freezer_kind kind, const char *group,
			     pid_t root)
{
	struct freezer *f = calloc(1, sizeof(*f));
	int err;

	if (!f)
		return NULL;
	f->kind = kind;
	f->root = root;
	f->dir = f->state = -1;
	if (by_signals(f))
		return f;
	f->dir = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (f->dir >= 0)
		f->state = openat(f->dir, state_file(kind), O_RDWR | O_CLOEXEC);
	if (f->state >= 0)
		return f;
	err = errno;
	freezer_drop(f);
	errno = err;
	return NULL;
}

void freezer_drop(struct freezer *f)
{
	if (!f)
		return;
	while (f->members)
		forget(f, f->members - 1);
	free(f->member);
	if (f->state >= 0)
		close(f->state);
	if (f->dir >= 0)
		close(f->dir);
	free(f);
}

void freezer_close(struct freezer *f)
{
	if (f && f->stopped)
		freezer_continue(f, true);
	freezer_drop(f);
}

static int write_state(struct freezer *f, bool stop)
{
	const char *text = f->kind == FREEZER_V2 ? (stop ? "1" : "0") :
		(stop ? "FROZEN" : "THAWED");

	return pwrite(f->state, text, strlen(text), 0) < 0 ? errno : 0;
}

int freezer_stop(struct freezer *f, bool again)
{
	if (f->stopped && !again)
		return 0;
	/* a failure may be half of it: to be continued in any case */
	f->stopped = true;
	return by_signals(f) ? stop_by_signals(f) : write_state(f, true);
}

int freezer_continue(struct freezer *f, bool again)
{
	if (!f->stopped && !again)
		return 0;
	f->stopped = false;
	return by_signals(f) ? continue_by_signals(f) : write_state(f, false);
}

bool freezer_stopped(const struct freezer *f)
{
	return f->stopped;
}

/* Has the group's file this word, or line? */
static bool file_has(int dir, const char *file, const char *what)
{
	int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	char buf[256];
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, buf, sizeof(buf) - 1);
	close(fd);
	buf[n < 0 ? 0 : n] = '\0';
	return strstr(buf, what);
}

static bool all_stopped(struct freezer *f)
{
	for (size_t i = 0; i < f->members; i++) {
		char s = state_of(f->member[i].pid);

		if (s && !strchr("TtZX", s))
			return false;
	}
	return true;
}

bool freezer_settled(struct freezer *f)
{
	size_t news = 0;

	switch (f->kind) {
	case FREEZER_V2:
		return file_has(f->dir, "cgroup.events", "frozen 1") ||
			file_has(f->dir, "cgroup.events", "populated 0");
	case FREEZER_V1:
		return file_has(f->dir, "freezer.state", "FROZEN");
	default:
		return !walk(f, &news) && !news && all_stopped(f);
	}
}

/* ------------------------------------------------------------ who is in it --- */

struct pids {
	pid_t *pid;
	size_t n, room;
};

static int note_pid(struct pids *p, pid_t pid)
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

/* Those of one group, without the groups below it. */
static int direct_pids(int dir, struct pids *p)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC), pid;
	FILE *file;
	int err = 0;

	file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		err = errno;
		if (fd >= 0)
			close(fd);
		return err;
	}
	while (!err && fscanf(file, "%d", &pid) == 1)
		err = note_pid(p, pid);
	fclose(file);
	return err;
}

/* A borrowed group has groups below it, say one for each task.  They come and go
 * meanwhile: what is gone has no processes. */
static int group_pids(int dir, struct pids *p)
{
	int err = direct_pids(dir, p), fd, below;
	struct dirent *e;
	DIR *d = NULL;

	if (err)
		return err;
	fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 && !(d = fdopendir(fd)))
		close(fd);
	while (d && !err && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		below = openat(dir, e->d_name,
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (below < 0)
			continue;
		err = group_pids(below, p);
		if (err == ENODEV || err == ENOENT)
			err = 0;
		close(below);
	}
	if (d)
		closedir(d);
	return err;
}

static int tree_pids(struct freezer *f, struct pids *p)
{
	size_t news;
	int err = walk(f, &news);

	for (size_t i = 0; !err && i < f->members; i++)
		err = note_pid(p, f->member[i].pid);
	return err;
}

int freezer_pids(struct freezer *f, pid_t **out, size_t *count)
{
	struct pids p = { .n = 0 };
	int err = by_signals(f) ? tree_pids(f, &p) : group_pids(f->dir, &p);

	if (err) {
		free(p.pid);
		return err;
	}
	*out = p.pid;
	*count = p.n;
	return 0;
}

static bool any(struct freezer *f, bool (*is)(pid_t pid, const void *what),
		const void *what)
{
	pid_t *pids;
	size_t n;
	bool yes = false;

	if (freezer_pids(f, &pids, &n))
		return false;
	for (size_t i = 0; !yes && i < n; i++)
		yes = is(pids[i], what);
	free(pids);
	return yes;
}

static bool is_program(pid_t pid, const void *name)
{
	return is_the(pid, name);
}

bool freezer_has(struct freezer *f, const char *name)
{
	return any(f, is_program, name);
}

static bool starting(pid_t pid, const void *root)
{
	return same_program(pid, *(const pid_t *) root);
}

unsigned int freezer_wants(struct freezer *f)
{
	unsigned int all = 0;
	pid_t *pids;
	size_t n;

	if (freezer_pids(f, &pids, &n))
		return 0;
	for (size_t i = 0; i < n; i++)
		all |= wants(pids[i]);
	free(pids);
	return all;
}

bool freezer_starting(struct freezer *f)
{
	return any(f, starting, &f->root);
}
