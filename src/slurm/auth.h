/*
 * auth.h - Slurm's interface of authentication plugins, which moved in 23.02.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_AUTH_H
#define STORM_SLURM_AUTH_H

#include "slurm/slurm.h"
#include "src/common/slurm_protocol_common.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 2, 0)
#include "src/common/slurm_auth.h"
#else
#include "src/interfaces/auth.h"
#endif

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(23, 11, 0)
#define auth_index(cred) slurm_auth_index(cred)
#define AUTH_IDS_SET auth_uid_set
#else
#define AUTH_IDS_SET auth_ids_set
#endif

/* The flag of a message without a credential; 22.05 has no such messages. */
#ifdef SLURM_NO_AUTH_CRED
#define AUTH_NONE SLURM_NO_AUTH_CRED
#else
#define AUTH_NONE 0
#endif

#endif
