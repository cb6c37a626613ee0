/*
 * stack_strobe.h - the asker's side of the strobe: all tasks of a job stand before any stack is
 * walked.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_STROBE_H
#define STORM_STACK_STROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "src/libstorm/storm.h"

struct stack_gather;

/* Order these nodes to stop their tasks, wait for the proof that all stand, and order them to
 * walk.  Blocks for 6 s at most.  True: the domain is the gather's, and they begin to report.
 * False: they did not stand together, and why says the reason; they go on by themselves, or
 * look each for itself. */
bool stack_strobe(const struct storm_node *nodes, uint32_t count, uint32_t job,
		  struct stack_gather *g, char *why, size_t size);

#endif
