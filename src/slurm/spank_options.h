/*
 * spank_options.h - which options of SPANK's plugins were given; the header has another
 * name since 23.02.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_SPANK_OPTIONS_H
#define STORM_SLURM_SPANK_OPTIONS_H

#include "slurm/slurm.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/common/plugstack.h"
#else
#include "src/common/spank.h"
#endif

#endif
