/*
 * step_gang.c - see step_gang.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "src/gang/gang_page.h"
#include "src/gang/gang_step.h"
#include "step_door.h"
#include "step_gang.h"
#include "step_guard.h"

/* Names of Slurm's cgroup/v2: slurmstepd's group of a step, and its tasks'. */
#define SLURMS "slurm"
#define TASKS "user"

static struct {
	bool on;
	bool borrowed;	   /* the tasks stay in Slurm's groups */
	uint32_t unplaced; /* then: tasks that are not there yet */
	struct freezer_host host;
	_Atomic uint32_t *missing; /* tasks that are not there yet: common
					   to all of them */
	struct gang_step step;
	struct step_owner owner;
	int account; /* how its tasks wait; 0: not known */
	char dir[PATH_MAX], node[NAME_MAX + 1];
	bool guarded;
	void (*say)(const char *);
} gang;

static void step_gang_off(const char *what, int err)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "gang scheduling leaves this step out, %s: %s", what,
		 strerror(err));
	gang.say(text);
	gang.on = false;
	step_door_open();
}

/* 0 or an errno. */
static int step_gang_take_place(const struct gang_page *page,
				const struct step_gang *s)
{
	char name[GANG_STEP_NAME];
	int err;

	gang.step = (struct gang_step) {
		.job = s->job,
		.step = s->step,
		.script = s->script,
		.yields = s->yields,
		.root = getpid(),
		.started = gang_step_started(getpid()),
		.kind = page->host.kind,
	};
	gang_step_name(&gang.step, &name);
	gang.borrowed = page->host.kind == FREEZER_V2 && !*page->host.base;
	gang.unplaced = s->tasks;
	gang.host = page->host;
	err = freezer_group_make(&gang.host, name, &gang.step.group);
	if (!err)
		freezer_idle_make(&gang.host, name, gang.step.group,
				  &gang.step.idle);
	if (!err)
		err = gang_step_dir(NULL, gang.node, false, &gang.dir);
	return err;
}

/* Without one the step's first instructions may fall into another's turn.  A
 * script is none that others wait for, and its sruns' steps have theirs. */
static void step_gang_make_door(const struct step_gang *s)
{
	if (!s->script && !s->debugged)
		step_door_make(NULL, gang.node, &gang.owner, s->tasks);
}

void step_gang_begin(const char *node, const struct step_gang *s,
		     void (*say)(const char *))
{
	struct gang_page *page = gang_page_open(NULL, node);
	bool sharing;
	int err;

	gang.say = say;
	gang.owner = (struct step_owner) {
		.job = s->job,
		.step = s->step,
		.het = s->het,
		.uid = s->uid,
	};
	snprintf(gang.node, sizeof(gang.node), "%s", node);
	if (!page) {
		if (errno != ENOENT)
			step_gang_off("the agent's page cannot be read", errno);
		return;
	}
	if (s->debugged && page->debug) {
		gang_page_close(page);
		say("gang scheduling does not stop a debugger's step (GangDebug in storm.conf)");
		return;
	}
	err = step_gang_take_place(page, s);
	sharing = page->sharing;
	gang_page_close(page);
	gang.on = true;
	if (err) {
		step_gang_off("no control group could be made", err);
		return;
	}
	gang.missing = mmap(NULL, sizeof(*gang.missing), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (gang.missing == MAP_FAILED) {
		step_gang_off("out of memory", errno);
		return;
	}
	*gang.missing = s->tasks;
	if (sharing)
		step_gang_make_door(s);
}

static void step_gang_write(void)
{
	int err = gang_step_write(gang.dir, &gang.step);

	if (err)
		step_gang_off("its record could not be written", err);
	else
		gang_step_tell(NULL, gang.node);
}

/* The last task writes the record: slurmstepd cannot know when all tasks are in
 * the group, and a task must not be stopped while it still is slurmstepd. */
void step_gang_enter(void)
{
	int err;

	if (!gang.on || gang.borrowed)
		return;
	err = freezer_group_enter(gang.step.group);
	if (!err)
		err = freezer_group_enter(gang.step.idle);
	if (err) {
		step_gang_off("a task could not join its control group", err);
		return;
	}
	if (!--*gang.missing)
		step_gang_write();
}

void step_gang_account(int fd)
{
	gang.account = fd;
}

/* False: try again. */
static bool step_gang_greet(void)
{
	return !gang.account || !step_give(NULL, gang.node, LOCAL_ACCOUNT,
					   &gang.owner, gang.account);
}

void step_gang_wait(void)
{
	step_door_wait();
}

static void step_gang_placed(void)
{
	/* without them it is stopped all the same */
	if (freezer_group_beside(SLURMS, TASKS, &gang.step.group))
		gang.step.kind = FREEZER_SIGNALS;
	freezer_idle_make(&gang.host, TASKS, gang.step.group, &gang.step.idle);
	step_gang_write();
}

void step_gang_forked(void)
{
	char text[128];
	int err;

	if (!gang.on || gang.guarded)
		return;
	if (gang.borrowed) {
		if (--gang.unplaced)
			return;
		step_gang_placed();
	}
	step_door_leave();
	gang.guarded = true;
	err = step_guard_start(NULL, gang.node, &gang.step, gang.say,
			       step_gang_greet);
	if (!err)
		return;
	snprintf(text, sizeof(text),
		 "gang: slurmstepd cannot watch the agent: %s", strerror(err));
	gang.say(text);
}

/* The last step of a node that has left gang scheduling removes its
 * directories. */
static void step_gang_remove_groups(void)
{
	struct gang_page *page = gang_page_open(NULL, gang.node);
	bool over = !page && errno == ENOENT;

	if (over)
		freezer_host_remove(gang.host.base);
	if (over)
		freezer_host_remove(gang.host.idle);
	gang_page_close(page);
}

void step_gang_end(void)
{
	char name[GANG_STEP_NAME];

	step_guard_stop();
	if (!gang.on)
		return;
	gang_step_name(&gang.step, &name);
	gang_step_remove(gang.dir, name);
	/* If processes are left, the agent removes it later. */
	if (!gang.borrowed && !freezer_group_remove(gang.step.group) &&
	    !freezer_group_remove(gang.step.idle))
		step_gang_remove_groups();
	gang.on = false;
}
