/*
 * spank_signals_22_05.c - srun's signals in Slurm up to 25.11: blocked, until srun, or
 * a thread of it, handles them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <signal.h>
#include <stddef.h>

#include "spank_signals.h"

static sigset_t blocked;

void spank_signals_reset(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, &blocked);
}

void spank_signals_restore(void)
{
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}
