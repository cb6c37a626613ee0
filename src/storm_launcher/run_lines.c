/*
 * run_lines.c - see run_lines.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run_lines.h"
#include "src/libstorm/base/minmax.h"

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

void run_lines_drop(struct run_lines *l, size_t n)
{
	if (n)
		memmove(l->buf, l->buf + n, l->have - n);
	l->have -= n;
}

/* Up to the end of the last line that fits. */
static size_t run_lines_take_bare(struct run_lines *l, uint8_t *out,
				  size_t size, bool over)
{
	size_t n = storm_min(l->have, size);
	const uint8_t *end = n ? memrchr(l->buf, '\n', n) : NULL;

	if (end)
		n = (size_t) (end - l->buf) + 1;
	else if (n < l->have || !(over || n == RUN_LINE_MAX))
		n = 0;
	if (n)
		memcpy(out, l->buf, n);
	run_lines_drop(l, n);
	return n;
}

bool run_lines_next(const struct run_lines *l, size_t *at, bool over,
		    const uint8_t **line, size_t *len)
{
	size_t n = l->have - *at;
	const uint8_t *end;

	if (!n)
		return false;
	*line = l->buf + *at;
	end = memchr(*line, '\n', n);
	if (!end && !over && n < RUN_LINE_MAX)
		return false;
	*len = end ? (size_t) (end - *line) : n;
	*at += *len + (end != NULL);
	return true;
}

size_t run_lines_take(struct run_lines *l, uint8_t *out, size_t size, bool over)
{
	size_t label = strlen(l->label), at = 0, behind = 0, put = 0, len;
	const uint8_t *line;

	if (!label)
		return run_lines_take_bare(l, out, size, over);
	while (run_lines_next(l, &behind, over, &line, &len)) {
		if (label + len + 1 > size - put)
			break;
		memcpy(out + put, l->label, label);
		memcpy(out + put + label, line, len);
		put += label + len;
		out[put++] = '\n';
		at = behind;
	}
	run_lines_drop(l, at);
	return put;
}

void run_lines_fini(struct run_lines *l)
{
	free(l->buf);
	*l = (struct run_lines) { .have = 0 };
}
