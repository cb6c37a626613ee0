/*
 * switch.h - Slurm's interface of switch plugins, which moved in 23.02.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_SWITCH_H
#define STORM_SLURM_SWITCH_H

#include "slurm/slurm.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/common/switch.h"
#else
#include "src/interfaces/switch.h"
#endif

#endif
