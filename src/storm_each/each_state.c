/*
 * each_state.c - see each_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "each_private.h"

struct each_state each = { .last = &each.first };
