/*
 * launcher_state.c - see launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "launcher_private.h"

struct launcher launcher = { .lock = PTHREAD_MUTEX_INITIALIZER };
