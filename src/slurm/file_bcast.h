/*
 * file_bcast.h - Slurm's broadcast of files.  It is in srun and sbcast
 * themselves until 25.11, and in libslurmfull since.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_FILE_BCAST_H
#define STORM_SLURM_FILE_BCAST_H

#include "slurm/slurm.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(26, 5, 0)
#include "src/bcast/file_bcast.h"
#else
#include "src/common/file_bcast.h"
#endif

#endif
