/*
 * run_places.h - options of storm run about CPUs, GPUs and memory of tasks, as srun reads
 * them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_PLACES_H
#define STORM_RUN_PLACES_H

#include "run_options.h"

/* A value of --cpu-bind, --gpus-per-task or --gpus-per-node, --gres, and --mem or
 * --mem-per-cpu.  False: it was said why. */
bool run_places_bind(const char *value, struct run_options *o);
bool run_places_gpus(const char *value, const char *option, uint32_t *out);
bool run_places_gres(const char *value, struct run_options *o);
bool run_places_memory(const char *value, uint64_t *mb);
/* Do they go with each other? */
bool run_places_agree(const struct run_options *o);

#endif
