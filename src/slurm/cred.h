/*
 * cred.h - Slurm's interface of credential plugins, which moved in 23.02.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_CRED_H
#define STORM_SLURM_CRED_H

#include "slurm/slurm.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/common/slurm_cred.h"
#else
#include "src/interfaces/cred.h"
#endif

#endif
