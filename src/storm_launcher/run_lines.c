/*
 * run_lines.c - see run_lines.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_lines.h"

void run_lines_label(struct run_lines *l, uint32_t task, uint32_t tasks)
{
	int width = snprintf(NULL, 0, "%u", tasks ? tasks - 1 : 0);

	snprintf(l->label, sizeof(l->label), "%*u: ", width, task);
}

uint8_t *run_lines_room(struct run_lines *l, size_t *room)
{
	if (!l->buf)
		l->buf = malloc(RUN_LINE_MAX);
	if (!l->buf)
		return NULL;
	*room = RUN_LINE_MAX - l->have;
	return l->buf + l->have;
}

size_t run_lines_take(struct run_lines *l, uint8_t *out, size_t size, bool over)
{
	size_t label = strlen(l->label), at = 0, put = 0;

	while (at < l->have) {
		const uint8_t *line = l->buf + at;
		const uint8_t *end = memchr(line, '\n', l->have - at);
		size_t len = end ? (size_t) (end - line) : l->have - at;

		if (!end && !over && len < RUN_LINE_MAX)
			break;
		if (label + len + 1 > size - put)
			break;
		memcpy(out + put, l->label, label);
		memcpy(out + put + label, line, len);
		put += label + len;
		out[put++] = '\n';
		at += len + (end != NULL);
	}
	if (at)
		memmove(l->buf, l->buf + at, l->have - at);
	l->have -= at;
	return put;
}

void run_lines_fini(struct run_lines *l)
{
	free(l->buf);
	*l = (struct run_lines) { .have = 0 };
}
