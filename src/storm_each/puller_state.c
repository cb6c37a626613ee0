/*
 * puller_state.c - see puller_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "puller_private.h"

struct puller pull;
