/*
 * step_gang.c - see step_gang.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "gang_page.h"
#include "gang_step.h"
#include "step_gang.h"

static struct {
	bool on, written;
	uint32_t tasks;		/* that are still to be made */
	struct gang_step step;
	char dir[PATH_MAX];
	void (*say)(const char *);
} g;

static void _off(const char *what, int err)
{
	char text[256];

	snprintf(text, sizeof(text), "gang scheduling does without this step, %s: %s",
		 what, strerror(err));
	g.say(text);
	g.on = false;
}

void step_gang_begin(const char *node, uint32_t job, uint32_t step,
		     bool script, uint32_t tasks, void (*say)(const char *))
{
	struct gang_page *page = gang_page_open(NULL, node);
	char name[GANG_STEP_NAME];
	int err;

	g.say = say;
	if (!page) {
		if (errno != ENOENT)
			_off("its agent cannot be understood", errno);
		return;
	}
	g.tasks = tasks;
	g.step = (struct gang_step) {
		.job = job, .step = step, .script = script, .root = getpid(),
		.started = gang_step_started(getpid()),
		.kind = page->host.kind,
	};
	gang_step_name(&g.step, name);
	err = freezer_group_make(&page->host, name, g.step.group);
	if (!err)
		err = gang_step_dir(NULL, node, false, g.dir);
	gang_page_close(page);
	g.on = true;
	if (err)
		_off("it has no control group", err);
}

void step_gang_enter(void)
{
	int err = g.on ? freezer_group_enter(g.step.group) : 0;

	if (err)
		_off("a task does not get into its control group", err);
}

void step_gang_forked(void)
{
	int err;

	if (!g.on || !g.tasks || --g.tasks)
		return;
	err = gang_step_write(g.dir, &g.step);
	if (err)
		_off("there is no record of it", err);
	g.written = !err;
}

void step_gang_end(void)
{
	char name[GANG_STEP_NAME];

	if (g.written) {
		gang_step_name(&g.step, name);
		gang_step_remove(g.dir, name);
	}
	/* processes may be left: then the agent does it */
	if (g.on)
		freezer_group_remove(g.step.group);
	g.on = g.written = false;
}
