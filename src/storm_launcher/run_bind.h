/*
 * run_bind.h - the lists of CPUs by which --cpu-bind binds tasks, as srun has them:
 * "0,1*2,0x3" are numbers for the first task of a node, the second, and so on, and
 * "0x1,0xf0*2" masks; the task behind the last one has the first again.  Pure.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_BIND_H
#define STORM_RUN_BIND_H

#include "src/libstorm/storm.h"

/* No CPU has such a number, or a greater one. */
#define RUN_BIND_CPUS 16384u

bool run_bind_list_valid(const char *list, bool masks);
/* The CPUs of the task with this number on its node; out is empty before.  False: the
 * list is malformed, or there is no memory. */
bool run_bind_list(const char *list, bool masks, uint32_t local,
		   struct storm_idset *out);
/* "0xF3"; its length, or 0: it has no room. */
size_t run_bind_mask(const struct storm_idset *cpus, char *out, size_t size);

#endif
