/*
 * srun.h - the parts of Slurm's srun that a launch adapts to; they moved in
 * 23.02.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_SRUN_H
#define STORM_SLURM_SRUN_H

#include "slurm/slurm.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/srun/libsrun/debugger.h"
#include "src/srun/libsrun/fname.h"
#include "src/srun/libsrun/launch.h"
#include "src/srun/libsrun/step_ctx.h"
#else
#include "src/srun/debugger.h"
#include "src/srun/fname.h"
#include "src/srun/launch.h"
#include "src/srun/step_ctx.h"
#endif

#endif
