/*
 * run_lines.h - a task's output, cut into whole lines, which begin with its number if
 * srun's -l is given.  No I/O.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_LINES_H
#define STORM_RUN_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A longer line is cut, and one without a label comes in pieces. */
#define RUN_LINE_MAX 8192

/* Zero it; run_lines_fini() frees what it has. */
struct run_lines {
	char label[16]; /* "": bytes come as they are */
	uint8_t *buf;
	size_t have;
	uint64_t since; /* the caller's: when its last bytes came */
};

/* Lines of this task, of so many. */
void run_lines_label(struct run_lines *l, uint32_t task, uint32_t tasks);
/* Where its next bytes belong, *room of them, which may be 0; the caller adds what came
 * to l->have.  NULL: no memory. */
uint8_t *run_lines_room(struct run_lines *l, size_t *room);
/* Move lines to out, as many as fit: how many bytes.  over: no more bytes will come, or
 * they are not waited for, and the last line is one, too. */
size_t run_lines_take(struct run_lines *l, uint8_t *out, size_t size,
		      bool over);
/* The line that begins at *at, without its end; *at is behind it.  False: there is none yet.
 * The caller drops those that it has taken. */
bool run_lines_next(const struct run_lines *l, size_t *at, bool over,
		    const uint8_t **line, size_t *len);
void run_lines_drop(struct run_lines *l, size_t n);
void run_lines_fini(struct run_lines *l);

#endif
