/*
 * head_base.c - see head_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "head_private.h"
#include "launcher_base.h"

struct head head = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct conn *head_client(uint64_t number)
{
	const struct user_run *run = runs_find(&head.runs, number);
	struct conn *c = run ? run->client : NULL;

	return c && conn_is_open(c) ? c : NULL;
}

struct conn *head_of_kind(enum conn_kind kind)
{
	struct conn *c = head.conns;

	while (c && !(c->kind == kind && conn_is_open(c)))
		c = c->next;
	return c;
}

struct conn *head_of_serial(uint64_t serial)
{
	struct conn *c = head.conns;

	while (c && !(c->serial == serial && conn_is_open(c)))
		c = c->next;
	return c;
}

struct conn *head_add_conn(int fd, enum conn_kind kind)
{
	struct conn *c = conn_create(fd, false);

	if (!c)
		return NULL;
	c->kind = kind;
	c->next = head.conns;
	head.conns = c;
	return c;
}

const char *head_node_name(void *arg, uint32_t node)
{
	(void) arg;
	return node < head.step.count ? head.step.nodes[node].name : "?";
}

bool head_take_step(const struct storm_in *body)
{
	size_t len = (size_t) (body->end - body->p);
	struct storm_in copy;

	head.step_text = launcher_copy(body->p, len);
	copy = (struct storm_in) { head.step_text, head.step_text + len,
				   false };
	if (run_step_get(&copy, &head.step))
		return true;
	free(head.step_text);
	return false;
}

__attribute__((format(printf, 2, 3))) void head_say(struct conn *c,
						    const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (c)
		conn_put_text(c, RUN_SAY, line);
}

void head_say_line(void *arg, const char *line)
{
	if (arg)
		conn_put_text(arg, RUN_SAY, line);
	else
		storm_log(STORM_LOG_ERROR, "%s", line);
}
