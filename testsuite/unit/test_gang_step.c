/*
 * test_gang_step.c - the records of steps, the agent's sign of life and the ring
 * of its trace, in a run directory of the test's own.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "small_disk.h"
#include "src/gang/gang_guard.h"
#include "src/gang/gang_page.h"
#include "src/gang/gang_stand.h"
#include "src/gang/gang_step.h"
#include "src/libstorm/base/clock.h"
#include "src/stepd/step_guard.h"
#include "src/storm_common/whole_file.h"
#include "unit.h"

static char run[64], dir[PATH_MAX];

static void setup(void)
{
	strcpy(run, "/tmp/storm-test-gang-XXXXXX");
	must(mkdtemp(run));
	must(!gang_step_dir(run, "n1", true, &dir));
}

static void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", run);
	must(!system(cmd));
}

static struct gang_step one(uint32_t job)
{
	struct gang_step s = {
		.job = job,
		.step = 3,
		.script = true,
		.root = getpid(),
		.started = gang_step_started(getpid()),
		.kind = FREEZER_V2,
		.group = "/sys/fs/cgroup/x/n1/7.3.1",
	};

	return s;
}

static void put(const char *name, const char *text)
{
	char path[PATH_MAX + 64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	must(f && fputs(text, f) >= 0 && !fclose(f));
}

START_TEST(test_record)
{
	struct gang_step s = one(7), t;
	char name[GANG_STEP_NAME], said[64];

	gang_step_name(&s, &name);
	snprintf(said, sizeof(said), "7.3.%d", getpid());
	ck_assert_str_eq(name, said);
	must(!gang_step_write(dir, &s) && !gang_step_read(dir, name, &t));
	must(t.job == 7 && t.step == 3 && t.script && t.root == s.root);
	must(t.started == s.started && t.kind == FREEZER_V2 && !t.marked);
	ck_assert_str_eq(t.group, s.group);
	must(!*t.idle);
	s.kind = FREEZER_SIGNALS;
	s.group[0] = '\0';
	s.script = false;
	strcpy(s.idle, "/cpu/7.3.1");
	must(!gang_step_write(dir, &s) && !gang_step_read(dir, name, &t));
	ck_assert_str_eq(t.idle, s.idle);
	must(t.kind == FREEZER_SIGNALS && !*t.group && !t.script);
	must(!t.yields);
	gang_step_remove(dir, name);
	must(gang_step_read(dir, name, &t) == ENOENT);
	must(gang_step_write("/nowhere", &s) == ENOENT);
}
END_TEST

/* An agent of an earlier version reads the words that it knows, and the sum of all. */
START_TEST(test_record_yields)
{
	char name[GANG_STEP_NAME], with[8192] = "", without[8192] = "";
	struct gang_step s = one(7), t;
	size_t known;

	gang_step_name(&s, &name);
	must(!gang_step_write(dir, &s));
	must(whole_file_read(dir, name, without, sizeof(without) - 1) > 17);
	known = strlen(without) - 17;
	s.yields = true;
	must(!gang_step_write(dir, &s) && !gang_step_read(dir, name, &t));
	must(t.yields && t.job == 7 && t.script);
	must(whole_file_read(dir, name, with, sizeof(with) - 1) > 0);
	must(!strncmp(with, without, known));
	must(!strncmp(with + known, "yield ", 6));
	ck_assert_uint_eq(strlen(with + known), 6 + 17);
	gang_step_remove(dir, name);
}
END_TEST

START_TEST(test_no_record)
{
	static const char *const bad[] = {
		"",
		"storm step 1 7 3 0 99 1 cgroup2 /x - ",
		"storm step 5 0 7 3 0 99 1 cgroup2 /x - ",
		"storm step 4 0 7 3 0 99 1 ice /x - ",
		"storm step 4 0 7 3 0 1 1 cgroup2 /x - ",
		"storm step 4 0 7 3 0 0 1 signals - - ",
		"storm step 4 0 7 3 0 99 1 cgroup2 /x ",
	};
	struct gang_step t;
	char text[128];

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		size_t n = strlen(bad[i]);

		snprintf(text, sizeof(text), "%s%016" PRIx64 "\n", bad[i],
			 n ? whole_file_sum(bad[i] + 14, n - 14) : 0);
		put("bad", text);
		must(gang_step_read(dir, "bad", &t) == EBADMSG);
	}
}
END_TEST

/* A record that was cut off would name another group: that of the host. */
START_TEST(test_damaged)
{
	struct gang_step s = one(7), t;
	char name[GANG_STEP_NAME], path[PATH_MAX + 64], text[256];
	ssize_t n;

	gang_step_name(&s, &name);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	must(!gang_step_write(dir, &s));
	n = whole_file_read(dir, name, text, sizeof(text));
	must(n > 0 && n < (ssize_t) sizeof(text));
	for (ssize_t i = 0; i < n; i++) {
		put_file(path, text, (size_t) i);
		must(gang_step_read(dir, name, &t) == EBADMSG);
		for (int bit = 0; bit < 8; bit++) {
			text[i] ^= 1 << bit;
			put_file(path, text, (size_t) n);
			/* the mark is not counted */
			must(i == 13 ||
			     gang_step_read(dir, name, &t) == EBADMSG);
			text[i] ^= 1 << bit;
		}
	}
	put_file(path, text, (size_t) n);
	must(!gang_step_read(dir, name, &t) && t.job == 7);
}
END_TEST

/* No page that ends before its struct is mapped, and none without its blocks: a
 * store would be a SIGBUS, in slurmd too. */
START_TEST(test_page_cut_off)
{
	struct freezer_host h = { .kind = FREEZER_SIGNALS };
	struct gang_page *p = gang_page_create(run, "n1", &h, true);
	char path[128];

	must(p);
	gang_page_close(p);
	snprintf(path, sizeof(path), "%s/n1/%s", run, GANG_PAGE_NAME);
	for (size_t n = sizeof(*p); n-- > 0;) {
		must(!truncate(path, (off_t) n));
		must(!gang_page_open(run, "n1") && errno == EBADMSG);
	}
}
END_TEST

START_TEST(test_full_disk)
{
	struct freezer_host h = { .kind = FREEZER_SIGNALS };
	struct gang_step s = one(7);
	char path[128];

	snprintf(path, sizeof(path), "%s/n1", run);
	if (!small_disk(path))
		return;
	must(!mkdir(dir, 0755));
	snprintf(path, sizeof(path), "%s/n1/full", run);
	put_file(path, path, sizeof(path));
	must(!gang_page_create(run, "n1", &h, true) && errno == ENOSPC);
	must(!gang_trace_create(run, "n1") && errno == ENOSPC);
	must(gang_step_write(dir, &s) == ENOSPC);
	snprintf(path, sizeof(path), "%s/n1", run);
	must(!umount(path));
}
END_TEST

static void note(void *arg, const char *name, const struct gang_step *s)
{
	*(uint32_t *) arg |= 1u << s->job;
	must(*name != '.');
}

/* Half a record and what is none are no steps. */
START_TEST(test_each)
{
	uint32_t seen = 0;

	for (uint32_t job = 1; job < 4; job++) {
		struct gang_step s = one(job);

		must(!gang_step_write(dir, &s));
	}
	put(".9.0.1", "storm step 2 0 9 0 0 99 1 cgroup2 /x\n");
	put("junk", "junk\n");
	must(gang_step_each(dir, note, &seen) == 0);
	must(seen == (1u << 1 | 1u << 2 | 1u << 3));
	seen = 0;
	must(gang_step_each("/nowhere", note, &seen) == 0 && !seen);
}
END_TEST

static int warned;

static void warn(const char *name, int err)
{
	(void) name;
	(void) err;
	warned++;
}

static void descriptors(rlim_t most)
{
	struct rlimit r;

	must(!getrlimit(RLIMIT_NOFILE, &r));
	r.rlim_cur = most ? most : r.rlim_max;
	must(!setrlimit(RLIMIT_NOFILE, &r));
}

/* Records that cannot be read are not records that are gone. */
START_TEST(test_each_without_descriptors)
{
	int next = open("/dev/null", O_RDONLY);
	struct gang_step s = one(1);
	uint32_t seen = 0;

	must(next >= 0 && !close(next));
	must(!gang_step_write(dir, &s));
	must(gang_step_alive(&s) && !gang_step_ended(&s));
	descriptors((rlim_t) next);
	must(!gang_step_alive(&s) && !gang_step_ended(&s));
	/* the directory, and the records in it */
	for (int left = 0; left < 2; left++) {
		descriptors((rlim_t) next + left);
		must(gang_step_each(dir, note, &seen) == EMFILE && !seen);
		/* so a guard tries again */
		must(!gang_step_thaw_all(dir, true, warn));
		must(warned == left + 1);
	}
	descriptors((rlim_t) next + 2);
	must(gang_step_each(dir, note, &seen) == 0 && seen == 1u << 1);
	must(gang_step_thaw_all(dir, true, warn) == 1 && warned == 2);
	descriptors(0);
}
END_TEST

START_TEST(test_alive)
{
	struct gang_step s = one(1);
	pid_t pid = fork();

	if (!pid) {
		pause();
		_exit(0);
	}
	must(gang_step_alive(&s));
	s.started++; /* the pid is another process's by now */
	must(!gang_step_alive(&s) && gang_step_ended(&s));
	s.root = pid;
	s.started = gang_step_started(pid);
	must(s.started && gang_step_alive(&s));
	must(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	must(!gang_step_alive(&s) && !gang_step_started(pid));
	must(gang_step_ended(&s));
}
END_TEST

/* Without a descriptor nothing is known, and nothing taken for ended. */
START_TEST(test_over)
{
	uint64_t started = 0, right = gang_step_started(getpid());
	pid_t pid = fork();
	int next = dup(0);

	if (!pid)
		_exit(0);
	close(next);
	descriptors((rlim_t) next);
	must(!gang_step_over(getpid(), &started) && !started);
	descriptors(0);
	must(!gang_step_over(getpid(), &started) && started == right);
	descriptors((rlim_t) next);
	must(!gang_step_over(getpid(), &started) && started == right);
	descriptors(0);
	started++;
	must(gang_step_over(getpid(), &started));
	must(waitpid(pid, NULL, 0) == pid && gang_step_over(pid, &started));
}
END_TEST

/* What Slurm keeps stopped is not ours to continue. */
START_TEST(test_held)
{
	struct gang_step s = one(1), t;
	char name[GANG_STEP_NAME];
	uint32_t seen = 0;

	gang_step_name(&s, &name);
	must(gang_step_hold(dir, name, true) == ENOENT);
	must(gang_step_hold(dir, name, false) == ENOENT);
	must(!gang_step_write(dir, &s) && !gang_step_held(dir, name));
	must(!gang_step_hold(dir, name, true) && gang_step_held(dir, name));
	must(gang_step_each(dir, note, &seen) == 0 && !seen);
	must(gang_step_thaw_all(dir, true, NULL) == 0);
	must(!gang_step_hold(dir, name, false) && !gang_step_held(dir, name));
	must(!gang_step_read(dir, name, &t) && t.job == 1);
	must(!gang_step_hold(dir, name, true));
	gang_step_remove(dir, name);
	must(!gang_step_held(dir, name));
	must(gang_step_hold(dir, name, false) == ENOENT);
}
END_TEST

START_TEST(test_mark)
{
	struct gang_step s = one(1), t;
	char name[GANG_STEP_NAME];
	struct gang_mark *m;

	gang_step_name(&s, &name);
	must(!gang_mark_open(dir, name) && errno == ENOENT);
	must(!gang_step_write(dir, &s) && (m = gang_mark_open(dir, name)));
	gang_mark_set(m, true);
	must(!gang_step_read(dir, name, &t) && t.marked && t.job == 1);
	ck_assert_str_eq(t.group, s.group);
	/* it goes with the record, whatever that is called */
	must(!gang_step_hold(dir, name, true));
	gang_mark_set(m, false);
	must(!gang_step_hold(dir, name, false));
	must(!gang_step_read(dir, name, &t) && !t.marked);
	gang_step_remove(dir, name);
	gang_mark_set(m, true);
	gang_mark_close(m);
	gang_mark_close(NULL);
	put("short", "storm step");
	must(!gang_mark_open(dir, "short") && errno == EBADMSG);
}
END_TEST

static char state(pid_t pid)
{
	char path[64], line[256] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f || !fgets(line, sizeof(line), f))
		*line = '\0';
	if (f)
		fclose(f);
	return *line ? strrchr(line, ')')[2] : 0;
}

static void stop(pid_t pid)
{
	must(!kill(pid, SIGSTOP));
	while (state(pid) != 'T')
		usleep(1000);
}

static void await_running(pid_t pid)
{
	while (state(pid) == 'T')
		usleep(1000);
}

/* What slurmd's plugin does when the agent is silent, or dead. */
START_TEST(test_thaw_all)
{
	char name[GANG_STEP_NAME];
	struct gang_step s = one(1);
	pid_t pid;

	s.kind = FREEZER_SIGNALS;
	s.group[0] = '\0';
	s.marked = true;
	gang_step_name(&s, &name);
	must(!gang_step_write(dir, &s));
	pid = fork();
	if (!pid)
		for (;;)
			pause();
	stop(pid);
	must(gang_step_thaw_all(dir, false, warn) == 1 && !warned);
	await_running(pid);
	must(!gang_step_read(dir, name, &s) && s.marked);
	stop(pid);
	must(gang_step_thaw_all(dir, true, warn) == 1 && !warned);
	await_running(pid);
	/* what has no mark Slurm may have stopped */
	must(!gang_step_read(dir, name, &s) && !s.marked);
	stop(pid);
	must(gang_step_thaw_all(dir, true, warn) == 1 && !warned);
	must(state(pid) == 'T');
	must(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	/* A group that is gone belongs to no step any more. Any other error on
	 * opening it is reported. */
	s = one(2);
	s.marked = true;
	must(!gang_step_write(dir, &s));
	must(gang_step_thaw_all(dir, false, warn) == 2 && !warned);
	snprintf(s.group, sizeof(s.group), "%s/n1/steps/junk", run);
	put("junk", "");
	must(!gang_step_write(dir, &s));
	must(gang_step_thaw_all(dir, true, warn) == 2 && warned == 1);
	must(!gang_step_read(dir, name, &s));
}
END_TEST

/* ------------------------------------------------- slurmstepd's guard --- */

/* An agent that has stopped a step, shares, and does not get on. */
static pid_t begin_agent(uint64_t alive, struct gang_page **page)
{
	static const struct freezer_host h = { .kind = FREEZER_SIGNALS };
	pid_t pid = fork();
	uint32_t had = *page ? (*page)->agent : 0;

	if (!pid) {
		struct gang_page *p = gang_page_create(run, "n1", &h, true);

		p->limit = 1;
		p->alive = alive;
		p->stopped = 1;
		for (;;)
			pause();
	}
	gang_page_close(*page);
	while (!(*page = gang_page_open(run, "n1")) ||
	       (*page)->agent == (pid_t) had || !(*page)->stopped) {
		gang_page_close(*page);
		usleep(1000);
	}
	return pid;
}

static void end(pid_t pid)
{
	must(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
}

static _Atomic int said;

static void say(const char *text)
{
	must(strstr(text, "this step continues"));
	said++;
}

static pid_t guarded_task(struct gang_step *s)
{
	pid_t pid = fork();

	if (!pid)
		for (;;)
			pause();
	*s = one(1);
	s->kind = FREEZER_SIGNALS;
	s->group[0] = '\0';
	s->marked = true;
	must(!gang_step_write(dir, s));
	said = 0;
	return pid;
}

/* Has the guard, a thread of this process, found the agent?  Then it has a pidfd. */
static bool guard_watches(pid_t agent)
{
	char path[64], line[128];
	bool yes = false;
	FILE *f;
	int pid;

	for (int fd = 3; !yes && fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			if (sscanf(line, "Pid: %d", &pid) == 1)
				yes |= pid == agent;
		if (f)
			fclose(f);
	}
	return yes;
}

static void await_guard(pid_t agent)
{
	while (!guard_watches(agent))
		usleep(1000);
}

/* Of whatever agent: one that was there, and one that came later. */
START_TEST(test_guard_death)
{
	struct gang_page *page = NULL;
	pid_t agent = begin_agent(storm_now() + 3600 * STORM_SEC, &page), task;
	char name[GANG_STEP_NAME];
	struct gang_step s;

	task = guarded_task(&s);
	must(!step_guard_start(run, "n1", &s, say, NULL));
	for (int i = 1; i < 4; i++) {
		stop(task);
		end(agent);
		await_running(task);
		while (said < i)
			usleep(1000);
		must(page->freed == 1);
		agent = begin_agent(storm_now() + 3600 * STORM_SEC, &page);
	}
	stop(task);
	/* without a mark another has stopped it, by a signal just like ours */
	s.marked = false;
	must(!gang_step_write(dir, &s));
	await_guard(agent);
	end(agent);
	agent = begin_agent(storm_now() + 3600 * STORM_SEC, &page);
	await_guard(agent);
	must(state(task) == 'T' && said == 3);
	/* and where that is unknown, it continues */
	gang_step_name(&s, &name);
	gang_step_remove(dir, name);
	end(agent);
	agent = begin_agent(storm_now() + 3600 * STORM_SEC, &page);
	await_running(task);
	step_guard_stop();
	step_guard_stop();
	end(agent);
	end(task);
	gang_page_close(page);
}
END_TEST

START_TEST(test_guard_died_before)
{
	struct gang_page *page = NULL;
	struct gang_step s;
	pid_t task = guarded_task(&s);

	end(begin_agent(storm_now(), &page));
	stop(task);
	must(!step_guard_start(run, "n1", &s, say, NULL));
	await_running(task);
	step_guard_stop();
	must(said == 1);
	end(task);
	gang_page_close(page);
}
END_TEST

/* It lives, and does nothing: found once jobs share. */
START_TEST(test_guard_silence)
{
	struct gang_page *page = NULL;
	pid_t agent = begin_agent(storm_now(), &page), task;
	struct gang_step s;

	task = guarded_task(&s);
	must(!step_guard_start(run, "n1", &s, say, NULL));
	stop(task);
	gang_page_share(page, run, "n1", true);
	await_running(task);
	/* once for each silence: it may be stopped for another reason */
	stop(task);
	usleep(20000);
	must(state(task) == 'T');
	page->alive = storm_now() - STORM_SEC;
	await_running(task);
	while (said < 2)
		usleep(1000);
	must(page->freed == 2);
	/* slurmd has noticed it, too, and has reported it */
	page->freed++;
	stop(task);
	page->alive = storm_now() - STORM_SEC;
	await_running(task);
	step_guard_stop();
	must(said == 2);
	end(agent);
	end(task);
	gang_page_close(page);
}
END_TEST

/* ------------------------------------------- what cannot be continued --- */

/* A group of plain files: a write to it fails while this process may write none. */
static struct gang_step group_step(char file[PATH_MAX])
{
	struct gang_step s = one(4);
	FILE *f;

	snprintf(s.group, sizeof(s.group), "%s/group", run);
	must(!mkdir(s.group, 0755));
	snprintf(file, PATH_MAX, "%.4000s/cgroup.freeze", s.group);
	f = fopen(file, "w");
	must(f && !fclose(f));
	return s;
}

static void may_write(bool yes)
{
	struct rlimit r;

	signal(SIGXFSZ, SIG_IGN);
	must(!getrlimit(RLIMIT_FSIZE, &r));
	r.rlim_cur = yes ? r.rlim_max : 0;
	must(!setrlimit(RLIMIT_FSIZE, &r));
}

static bool is_frozen(const char *file)
{
	char word = 0;
	FILE *f = fopen(file, "r");

	must(f && fread(&word, 1, 1, f) == 1 && !fclose(f));
	return word == '1';
}

static _Atomic int complained;

static void hears(const char *text)
{
	if (strstr(text, "cannot be continued"))
		complained++;
	else
		said++;
}

static void guard_hears(bool bad, const char *text)
{
	must(bad == !!strstr(text, "cannot continue step"));
	if (bad)
		complained++;
	else
		said++;
}

/* A step in the hands of the agent: its record and mark, and its node's page. */
struct marked {
	struct gang_page *p;
	struct gang_mark *m;
	struct freezer *f;
	char file[PATH_MAX], name[GANG_STEP_NAME];
};

/* idle: its cpu.idle, a file, if it can give way; or NULL. */
static struct marked marked_begin(char (*idle)[PATH_MAX])
{
	struct freezer_host h = { .kind = FREEZER_V2 };
	struct marked k = { .p = gang_page_create(run, "n1", &h, true) };
	struct gang_step s = group_step(k.file);
	FILE *made;

	if (idle) {
		strcpy(s.idle, s.group);
		snprintf(*idle, sizeof(*idle), "%.4000s/cpu.idle", s.idle);
		made = fopen(*idle, "w");
		must(made && !fclose(made));
	}
	gang_step_name(&s, &k.name);
	must(k.p && !gang_step_write(dir, &s));
	k.f = gang_step_open(&s);
	k.m = gang_mark_open(dir, k.name);
	must(k.f && k.m);
	return k;
}

static void marked_end(struct marked *k)
{
	gang_mark_close(k->m);
	freezer_close(k->f);
	gang_page_close(k->p);
}

/* The step stays the guards' until it is known to run. */
START_TEST(test_not_continued)
{
	struct marked k = marked_begin(NULL);
	struct gang_step read;

	must(!gang_stand_continue(k.p, k.m, k.f) && !k.p->stopped);
	must(!gang_stand_stop(k.p, k.m, k.f, false) && is_frozen(k.file));
	must(!gang_stand_stop(k.p, k.m, k.f, true) && k.p->stopped == 1);
	may_write(false);
	must(gang_stand_continue(k.p, k.m, k.f) == EFBIG);
	must(is_frozen(k.file) && freezer_stopped(k.f) && k.p->stopped == 1);
	must(!gang_step_read(dir, k.name, &read) && read.marked);
	may_write(true);
	must(!gang_stand_continue(k.p, k.m, k.f) && !is_frozen(k.file));
	must(!freezer_held(k.f) && !k.p->stopped);
	must(!gang_step_read(dir, k.name, &read) && !read.marked);
	marked_end(&k);
}
END_TEST

/* A step that gives way is the guards', also if nothing stopped it before.  A refusal
 * leaves it as it was. */
START_TEST(test_gives_way)
{
	char idle[PATH_MAX];
	struct marked k = marked_begin(&idle);
	struct gang_step read;

	must(freezer_can_fill(k.f));
	may_write(false);
	must(gang_stand_fill(k.p, k.m, k.f) == EFBIG && !freezer_held(k.f));
	must(!gang_step_read(dir, k.name, &read) && !read.marked &&
	     !k.p->stopped);
	may_write(true);
	for (int i = 0; i < 2; i++) { /* a guard may have ended it meanwhile */
		must(!gang_stand_fill(k.p, k.m, k.f) && is_frozen(idle));
		must(freezer_fills(k.f) && k.p->stopped == 1);
		must(!gang_step_read(dir, k.name, &read) && read.marked);
	}
	may_write(false);
	must(gang_stand_continue(k.p, k.m, k.f) == EFBIG && freezer_fills(k.f));
	must(is_frozen(idle) && k.p->stopped == 1);
	may_write(true);
	must(!gang_stand_continue(k.p, k.m, k.f) && !is_frozen(idle));
	must(!freezer_held(k.f) && !k.p->stopped);
	must(!gang_stand_fill(k.p, k.m, k.f));
	must(!gang_stand_stop(k.p, k.m, k.f, false) && is_frozen(k.file));
	must(k.p->stopped == 1);
	may_write(false);
	must(gang_stand_fill(k.p, k.m, k.f) == EFBIG && freezer_stopped(k.f));
	must(k.p->stopped == 1);
	may_write(true);
	must(!gang_stand_fill(k.p, k.m, k.f) && !is_frozen(k.file));
	must(!gang_stand_continue(k.p, k.m, k.f) && !is_frozen(idle));
	must(!freezer_held(k.f) && !k.p->stopped);
	must(!gang_step_read(dir, k.name, &read) && !read.marked);
	marked_end(&k);
}
END_TEST

/* A step that cannot be stopped can still be one that cannot be continued, which is
 * the worse case; and one that could again may refuse again. */
START_TEST(test_refusals)
{
	const enum gang_order stop = GANG_ORDER_STOP, go = GANG_ORDER_CONTINUE;
	const uint64_t now = storm_now(), later = now + 60 * STORM_SEC;
	struct gang_refusals r = { .told = { false } };
	struct marked k = marked_begin(NULL);

	may_write(false);
	must(gang_refused(&r, stop, gang_stand_stop(k.p, k.m, k.f, false),
			  now));
	must(!gang_refused(&r, stop, gang_stand_stop(k.p, k.m, k.f, true),
			   later));
	must(gang_refused(&r, go, gang_stand_continue(k.p, k.m, k.f), now));
	must(!gang_refused(&r, go, gang_stand_continue(k.p, k.m, k.f), later));
	must(gang_refused(&r, GANG_ORDER_FILL, EPERM, now));
	may_write(true);
	must(!gang_refused(&r, go, gang_stand_continue(k.p, k.m, k.f), now));
	must(!gang_refused(&r, stop, gang_stand_stop(k.p, k.m, k.f, false),
			   now));
	may_write(false);
	/* at once: that may be a user's doing */
	must(!gang_refused(&r, go, gang_stand_continue(k.p, k.m, k.f),
			   later - 1));
	must(gang_refused(&r, go, gang_stand_continue(k.p, k.m, k.f), later));
	must(gang_refused(&r, stop, gang_stand_stop(k.p, k.m, k.f, true),
			  later));
	may_write(true);
	must(!gang_stand_continue(k.p, k.m, k.f));
	/* it has ended */
	r = (struct gang_refusals) { .told = { false } };
	must(!gang_refused(&r, go, ENODEV, now));
	must(!gang_refused(&r, go, ENOENT, now));
	marked_end(&k);
}
END_TEST

/* slurmd's guard tries again, and complains once. */
START_TEST(test_guard_tries_again)
{
	struct freezer_host h = { .kind = FREEZER_V2 };
	struct gang_page *p = gang_page_create(run, "n1", &h, true);
	char file[PATH_MAX];
	struct gang_step s = group_step(file);
	struct freezer *f;

	s.marked = true;
	must(p && !gang_step_write(dir, &s));
	f = gang_step_open(&s);
	must(f && !freezer_stop(f, false));
	said = complained = 0;
	gang_guard_begin(run, "n1", guard_hears);
	gang_page_share(p, run, "n1", true);
	p->alive = p->limit = p->stopped = 1;
	may_write(false);
	for (uint64_t end = storm_now() + 2500 * STORM_MS; storm_now() < end;
	     usleep(10000))
		must(gang_guard_look(false) <= 40);
	must(complained == 1 && said == 1 && is_frozen(file));
	may_write(true);
	for (; is_frozen(file); usleep(10000))
		gang_guard_look(false);
	/* and when the agent is dead */
	must(!freezer_stop(f, true) && is_frozen(file));
	may_write(false);
	gang_guard_look(true);
	gang_guard_dead();
	must(is_frozen(file));
	may_write(true);
	for (; is_frozen(file); usleep(10000))
		gang_guard_still_dead();
	freezer_drop(f);
	gang_guard_end();
	gang_page_close(p);
}
END_TEST

/* So does slurmstepd's, of an agent that is gone. */
START_TEST(test_step_guard_tries_again)
{
	struct gang_page *page = NULL;
	pid_t agent = begin_agent(storm_now() + 3600 * STORM_SEC, &page);
	char file[PATH_MAX];
	struct gang_step s = group_step(file);
	struct freezer *f;

	s.marked = true;
	must(!gang_step_write(dir, &s));
	f = gang_step_open(&s);
	must(f && !freezer_stop(f, false));
	said = complained = 0;
	must(!step_guard_start(run, "n1", &s, hears, NULL));
	await_guard(agent);
	may_write(false);
	end(agent);
	while (!complained)
		usleep(1000);
	must(is_frozen(file));
	may_write(true);
	while (is_frozen(file))
		usleep(1000);
	step_guard_stop();
	must(complained == 1 && !said);
	freezer_drop(f);
	gang_page_close(page);
}
END_TEST

/* ---------------------------------------------------- slurmd's guard --- */

static void guard_says(bool bad, const char *text)
{
	must(!bad && strstr(text, "steps continue"));
	said++;
}

/* The guard checks rarely until jobs share; from then on it checks in time. */
START_TEST(test_guard_looks)
{
	struct freezer_host h = { .kind = FREEZER_SIGNALS };
	const uint64_t limit = 20 * STORM_SEC;
	struct gang_page *p, *q;

	said = 0;
	gang_guard_begin(run, "n1", guard_says);
	must(gang_guard_look(false) >= 500);
	p = gang_page_create(run, "n1", &h, true);
	must(p && gang_guard_look(false) >= 500);
	/* of that slurmd is told (LOCAL_LOOK), once */
	must(gang_page_share(p, run, "n1", true));
	must(!gang_page_share(p, run, "n1", true));
	must(gang_guard_look(false) <= 25);
	p->limit = limit;
	must(gang_guard_look(false) == 40 && p->watched > 0);
	p->stopped = 1;
	p->alive = storm_now() - limit + 20 * STORM_MS;
	must(gang_guard_look(false) <= 21);
	said = p->freed = 0;
	p->alive = storm_now() - limit - 1;
	must(gang_guard_look(false) == 40 && p->freed == 1 && said == 1);
	/* once for each silence */
	must(gang_guard_look(false) == 40 && p->freed == 1);
	p->alive++;
	gang_guard_look(false);
	must(p->freed == 2);
	/* another agent */
	q = gang_page_create(run, "n1", &h, true);
	must(q && gang_guard_look(false) >= 500);
	gang_guard_look(true);
	must(q->freed == 1 && p->freed == 2 && said == 3);
	gang_guard_end();
	must(!(sched_getscheduler(0) & ~SCHED_RESET_ON_FORK));
	gang_page_close(p);
	gang_page_close(q);
}
END_TEST

/* The agent of before had a page, too. */
START_TEST(test_guard_of_the_next)
{
	struct freezer_host h = { .kind = FREEZER_SIGNALS };
	struct gang_page *p = gang_page_create(run, "n1", &h, true), *q;

	said = 0;
	gang_guard_begin(run, "n1", guard_says);
	gang_guard_look(false);
	q = gang_page_create(run, "n1", &h, true);
	must(p && q);
	gang_page_share(q, run, "n1", true);
	q->alive = q->stopped = q->limit = 1;
	gang_guard_look(false);
	must(q->freed == 1 && said == 1 && !p->freed);
	gang_guard_end();
	gang_page_close(p);
	gang_page_close(q);
}
END_TEST

START_TEST(test_page)
{
	struct freezer_host h = { .kind = FREEZER_V1, .base = "/x/y" };
	struct gang_page *p, *q;

	must(!gang_page_open(run, "n1") && errno == ENOENT);
	p = gang_page_create(run, "n1", &h, true);
	q = gang_page_open(run, "n1");
	must(p && q && q->host.kind == FREEZER_V1 && q->debug);
	ck_assert_str_eq(q->host.base, "/x/y");
	p->alive = 1000;
	p->limit = 100;
	must(!gang_page_late(q, 5000)); /* nothing is stopped */
	p->stopped = 1;
	must(gang_page_late(q, 1101) && !gang_page_late(q, 1100));
	must(!gang_page_late(q, 900)); /* written meanwhile */
	q->freed++;
	must(p->freed == 1);
	gang_page_close(p);
	/* The next agent's page is another one: this one shows no more signs of
	 * life. */
	p = gang_page_create(run, "n1", &h, false);
	must(p && !p->debug && !p->freed && q->freed == 1);
	p->stopped = 7;
	must(q->stopped == 1);
	gang_page_close(p);
	gang_page_close(q);
	gang_page_remove(run, "n1");
	must(!gang_page_open(run, "n1"));
	gang_page_close(NULL);
}
END_TEST

START_TEST(test_trace)
{
	struct gang_trace *t = gang_trace_create(run, "n1");
	const struct gang_trace *r = gang_trace_open(run, "n1");
	struct gang_event e = { .what = GANG_STOP }, got;
	uint64_t n = GANG_TRACE_EVENTS + 5;

	must(t && r && !gang_trace_get(r, 0, &got));
	for (e.sequence = 0; e.sequence < n; e.sequence++)
		gang_trace_add(t, &e);
	must(r->count == n && !gang_trace_get(r, n, &got));
	/* the place of the oldest may be being written */
	for (uint64_t i = 0; i < n; i++) {
		must(gang_trace_get(r, i, &got) == (i > 5));
		must(i <= 5 || got.sequence == i);
	}
	gang_trace_close(t);
	/* the next agent continues in it */
	t = gang_trace_create(run, "n1");
	must(t && t->count == n);
	gang_trace_close(t);
	gang_trace_close(r);
	ck_assert_str_eq(gang_what_name(GANG_STOP), "stop");
	ck_assert_str_eq(gang_why_name(GANG_WHY_SILENCE), "silence");
	must(!gang_what_name(0) && !gang_what_name(99));
	must(!gang_why_name(0) && !gang_why_name(99));
}
END_TEST

/* Files that are too short, or another's. */
START_TEST(test_not_ours)
{
	char path[PATH_MAX + 64];

	put("../gang", "short");
	put("../trace", "short");
	must(!gang_page_open(run, "n1") && errno == EBADMSG);
	must(!gang_trace_open(run, "n1") && errno == EBADMSG);
	snprintf(path, sizeof(path), "%s/n1/gang", run);
	must(!truncate(path, sizeof(struct gang_page)));
	snprintf(path, sizeof(path), "%s/n1/trace", run);
	must(!truncate(path, sizeof(struct gang_trace)));
	must(!gang_page_open(run, "n1") && errno == EBADMSG);
	must(!gang_trace_open(run, "n1") && errno == EBADMSG);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gang_step");
	TCase *t = tcase_create("gang_step");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_record);
	tcase_add_test(t, test_record_yields);
	tcase_add_test(t, test_no_record);
	tcase_add_test(t, test_damaged);
	tcase_add_test(t, test_page_cut_off);
	tcase_add_test(t, test_full_disk);
	tcase_add_test(t, test_each);
	tcase_add_test(t, test_each_without_descriptors);
	tcase_add_test(t, test_alive);
	tcase_add_test(t, test_over);
	tcase_add_test(t, test_held);
	tcase_add_test(t, test_mark);
	tcase_add_test(t, test_thaw_all);
	tcase_add_test(t, test_guard_death);
	tcase_add_test(t, test_guard_died_before);
	tcase_add_test(t, test_guard_silence);
	tcase_add_test(t, test_not_continued);
	tcase_add_test(t, test_gives_way);
	tcase_add_test(t, test_refusals);
	tcase_add_test(t, test_guard_tries_again);
	tcase_add_test(t, test_step_guard_tries_again);
	tcase_add_test(t, test_guard_looks);
	tcase_add_test(t, test_guard_of_the_next);
	tcase_add_test(t, test_page);
	tcase_add_test(t, test_trace);
	tcase_add_test(t, test_not_ours);
	suite_add_tcase(s, t);
	return unit_has_pidfd() ?
		       unit_main(s) :
		       unit_skip(s, "there is no pidfd_open(2) here");
}
