/*
 * spank_signals.h - srun's signals before spank_storm executes our srun.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_SIGNALS_H
#define STORM_SPANK_SIGNALS_H

/* Undo, before an exec, what srun has done to its signals, because the program
 * would inherit it.  If a signal has come that ends srun, srun dies of it now;
 * it dies of one that comes later, too. */
void spank_signals_reset(void);
/* The exec failed: set the signals as srun had them. */
void spank_signals_restore(void);

#endif
