/*
 * test_strober_watch.c - slurmctld's side of the strober, with strobers that are
 * scripts: strober_watch.h.  (Real ones die and stop in testsuite/cluster.)
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

static char script[PATH_MAX];  /* the strober */
static _Atomic uint64_t polls; /* of the thread */

static _Atomic int starts;
static uint64_t started[8]; /* when */

static int counted_poll(struct pollfd *p, nfds_t n, int ms)
{
	polls++;
	return poll(p, n, ms);
}

#include "src/libstorm/base/clock.h"
#include "src/storm_common/child_spawn.h"

static int noted_spawn(const char *path, char *const argv[],
		       const char *conffile, const struct child_fds *fds,
		       pid_t *pid)
{
	int rc = child_spawn(path, argv, conffile, fds, pid);

	if (starts < 8)
		started[starts++] = storm_now();
	return rc;
}

#define STORM_STROBER_PATH script
#define poll counted_poll
#define child_spawn noted_spawn
#include "src/plugins/sched/storm/strober_watch.c"
#undef poll
#undef child_spawn

#include "held_process.h"
#include "unit.h"

static char dir[64];

static void setup(void)
{
	strcpy(dir, "/tmp/storm-test-watch-XXXXXX");
	must(mkdtemp(dir));
	slurm_conf.state_save_location = dir;
	slurm_conf.slurm_conf = NULL;
	polls = 0;
	starts = 0;
}

static void teardown(void)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	must(!system(cmd));
}

/* What the script leaves in dir/NAME. */
static char *text_of(const char *name)
{
	static char path[128], text[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "r");
	if (!f)
		return NULL;
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static void run(const char *text)
{
	FILE *f;

	snprintf(script, sizeof(script), "%s/strober", dir);
	f = fopen(script, "w");
	must(f && fprintf(f, "#!/bin/sh\ncd %s\n%s\n", dir, text) > 0);
	must(!fclose(f) && !chmod(script, 0755));
	must(strober_watch_start() == SLURM_SUCCESS);
}

static void tell(size_t len)
{
	strober_watch_tell(xstrdup("n1"), 3, xcalloc(len, 1), len);
}

#define eventually(cond)                                          \
	do {                                                      \
		for (int i_ = 0; !(cond); i_++) {                 \
			if (i_ == 120000)                         \
				ck_abort_msg("never: %s", #cond); \
			usleep(1000);                             \
		}                                                 \
	} while (0)

/* More than the socket holds, to a peer that does not read: the sender must not
 * wait for it by polling. */
START_TEST(test_one_that_stands)
{
	uint64_t before;

	run("echo >there; exec sleep 1000");
	tell(8 << 20);
	eventually(text_of("there"));
	usleep(100000);
	before = polls;
	for (int i = 0; i < 10; i++) {
		tell(8 << 20);
		usleep(50000);
	}
	/* ten per second for pulses, and one for each message to it */
	must(polls - before < 100);
	strober_watch_stop();
}
END_TEST

static _Atomic int news;

static void count_news(void)
{
	news++;
}

static void put_frame(FILE *f, uint32_t verb, const void *body, size_t len)
{
	const struct strober_frame h = { .verb = verb, .len = (uint32_t) len };

	must(fwrite(&h, sizeof(h), 1, f) == 1 && fwrite(body, len, 1, f) == 1);
}

/* The word of nodes that have failed stays until the next one, and is news once. */
START_TEST(test_failed_nodes)
{
	struct {
		uint32_t head[2];
		struct strober_failed x;
	} failed = { { 1, 0 }, { .state = STROBER_SUSPECT, .heard = 7 } };
	const struct strober_held held = { .force = 7, .nodes = 1 };
	struct strober_failed *list;
	uint64_t force = 0, proof;
	char path[128];
	bool loose;
	FILE *f;

	snprintf(path, sizeof(path), "%s/frames", dir);
	f = fopen(path, "w");
	must(f);
	put_frame(f, STROBER_FAILED, &failed, sizeof(failed));
	put_frame(f, STROBER_HELD, &held, sizeof(held));
	put_frame(f, STROBER_FAILED, &failed, sizeof(failed));
	put_frame(f, STROBER_HELD, &held, sizeof(held));
	must(!fclose(f));
	news = 0;
	strober_watch_on_failed(count_news);
	must(strober_watch_failed(&list, 1) == -1 && !list);
	run("cat frames >&0; echo >there; exec cat >/dev/null");
	tell(3);
	eventually(text_of("there"));
	eventually(strober_watch_failed(&list, 1) == 1);
	must(list->state == STROBER_SUSPECT && list->heard == 7);
	xfree(list);
	must(strober_watch_failed(&list, 2) == -1);
	for (int i = 0; i < 120000 && force != 7; i++, usleep(1000)) {
		slurm_mutex_lock(&box.lock);
		box.heard_at = storm_now(); /* it strobes */
		slurm_mutex_unlock(&box.lock);
		strober_watch_held(&force, &proof, &loose, 1);
	}
	must(force == 7 && strober_watch_failed(&list, 1) == 1 && news == 1);
	xfree(list);
	strober_watch_stop();
	must(strober_watch_failed(&list, 1) == -1);
	strober_watch_on_failed(NULL);
}
END_TEST

/* A strober that dies is replaced by another, which gets all messages again. */
START_TEST(test_one_that_dies)
{
	run("n=$(ls | grep -c run); echo $* >run.$n\n"
	    "head -c 22 >heard.$n; mv heard.$n got.$n; test $n = 2 && exec cat >/dev/null");
	tell(3);
	eventually(text_of("got.2"));
	for (int i = 0; i < 3; i++) {
		struct strober_frame f;
		char name[16], *got;

		snprintf(name, sizeof(name), "got.%d", i);
		got = text_of(name);
		must(got);
		memcpy(&f, got, sizeof(f));
		must(f.verb == STROBER_NODES && f.len == 3);
		must(!memcmp(got + sizeof(f), "n1", 3));
		memcpy(&f, got + sizeof(f) + 3, sizeof(f));
		must(f.verb == STROBER_MAP && f.len == 3);
	}
	must(strstr(text_of("run.0"), "--state /tmp/storm-test-watch-"));
	strober_watch_stop();
}
END_TEST

/* Accounts of jobs are kept until they are read; nonsense is ignored. */
START_TEST(test_what_it_tells)
{
	struct strober_given *given;
	uint64_t missed[3] = { 0 };
	uint32_t n;

	/* frames, as in strober_protocol.h: two jobs' accounts, then one of these and
	 * another, then the strobes that node 1 has missed */
	run("exec 1>&0\n"
	    "p() { printf \"$1\\\\0\\\\0\\\\0\"; }\n"
	    "z() { head -c $1 /dev/zero; }\n"
	    "j() { p $1; z 4; p $2; z 4; p $3; z 4; }\n"
	    "p '\\004'; p '\\140'; z 44; p '\\002'; "
	    "j '\\005' '\\007' '\\001'; j '\\006' '\\010' '\\002'\n"
	    "p '\\004'; p '\\140'; z 44; p '\\002'; "
	    "j '\\006' '\\011' '\\003'; j '\\012' '\\013' '\\004'\n"
	    "p '\\004'; p '\\004'; z 4\n"
	    "p '\\005'; p '\\020'; p '\\001'; z 4; p '\\015'; z 4\n"
	    "exec cat >/dev/null");
	tell(3);
	eventually(strober_watch_missed(missed, 3));
	must(!missed[0] && missed[1] == 13 && !missed[2]);
	n = strober_watch_given(&given);
	must(n == 3);
	must(given[0].job_id == 5 && given[0].ns == 7);
	must(given[1].job_id == 6 && given[1].ns == 9);
	must(given[2].job_id == 10 && given[2].ns == 11);
	must(given[0].waited == 1 && given[1].waited == 3);
	must(given[2].waited == 4);
	xfree(given);
	must(!strober_watch_given(&given) && !given);
	/* other nodes: no report about these */
	tell(3);
	must(!strober_watch_missed(missed, 3));
	strober_watch_stop();
}
END_TEST

/* A frame longer than there can be: it is killed. */
START_TEST(test_one_that_talks_nonsense)
{
	run("echo >>there; exec 1>&0; head -c 8 /dev/zero | tr '\\0' '\\377'; exec sleep 1000");
	eventually(text_of("there") && strlen(text_of("there")) > 1);
	strober_watch_stop();
}
END_TEST

/* It does not read any more: another one takes its place. */
START_TEST(test_one_that_hangs)
{
	strober.patience = STORM_SEC;
	run("test -e there.0 || { echo $$ >there.0; kill -STOP $$; }\n"
	    "echo >there.1; exec cat >/dev/null");
	tell(3);
	eventually(text_of("there.1"));
	must(kill(atoi(text_of("there.0")), 0) && errno == ESRCH);
	strober_watch_stop();
}
END_TEST

/* It is left behind, and neither another one nor slurmctld's end waits for it. */
START_TEST(test_one_that_cannot_die)
{
	pid_t pid;
	int go;

	strober.patience = STORM_SEC;
	run("echo $$ >>there; exec cat >/dev/null");
	eventually(text_of("there") && strchr(text_of("there"), '\n'));
	pid = atoi(text_of("there"));
	must(held_process(pid, &go) > 0);
	must(!kill(pid, SIGKILL));
	eventually(strchr(strchr(text_of("there"), '\n') + 1, '\n'));
	must(!kill(pid, 0));
	pid = atoi(strchr(text_of("there"), '\n') + 1);
	must(held_process(pid, &go) > 0);
	must(!kill(pid, SIGKILL));
	strober_watch_stop();
	must(!kill(pid, 0));
}
END_TEST

/* Each try waits twice as long as the one before. */
START_TEST(test_one_that_cannot_start)
{
	snprintf(script, sizeof(script), "%s/none", dir);
	must(strober_watch_start() == SLURM_SUCCESS);
	eventually(starts >= 5);
	must(started[4] - started[0] >= (100 + 200 + 400 + 800) * STORM_MS);
	strober_watch_stop();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("strober_watch");
	TCase *t = tcase_create("strober_watch");

	tcase_set_timeout(t, 300);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_one_that_stands);
	tcase_add_test(t, test_failed_nodes);
	tcase_add_test(t, test_one_that_dies);
	tcase_add_test(t, test_what_it_tells);
	tcase_add_test(t, test_one_that_talks_nonsense);
	tcase_add_test(t, test_one_that_hangs);
	tcase_add_test(t, test_one_that_cannot_die);
	tcase_add_test(t, test_one_that_cannot_start);
	suite_add_tcase(s, t);
	return unit_main(s);
}
