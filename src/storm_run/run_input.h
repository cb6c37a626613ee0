/*
 * run_input.h - standard input of storm run, which becomes that of tasks: what is asked of
 * the head, and the bytes.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_INPUT_H
#define STORM_RUN_INPUT_H

#include "run_options.h"

/* What the head is asked for, by what -i says and what standard input is. */
void run_input_tell(const struct run_options *o, struct run_what *w);
/* The request is sent on this socket: nothing is read before its first RUN_ROOM. */
void run_input_begin(int sock);
/* A RUN_ROOM. */
void run_input_room(struct storm_in *body);

/* The descriptor to wait for, or -1; and how many ms at most, where it was to be so many;
 * -1: until there is an event. */
int run_input_fd(void);
int run_input_wait(int wait);
/* It can be read. */
void run_input_read(void);

#endif
