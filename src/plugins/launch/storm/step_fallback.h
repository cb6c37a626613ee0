/*
 * step_fallback.h - srun tells a node why Slurm launches a step (fallback_word.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_FALLBACK_H
#define STORM_STEP_FALLBACK_H

#include "session.h"

/* Slurm launches the session's step.  Add the word to the step's environment (as
 * env_array_overwrite() does), or take out a word that is there: with LaunchNodes
 * nothing has failed. */
void step_fallback_put(const struct storm_session *s, char ***env);

#endif
