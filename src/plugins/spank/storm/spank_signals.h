/*
 * spank_signals.h - srun's signals before spank_storm executes our srun.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SPANK_SIGNALS_H
#define STORM_SPANK_SIGNALS_H

/* Before an exec: undo what srun has done to its signals, which the program
 * would inherit.  Does not return if one has come that ends srun: it dies of
 * it, as of one that comes from now on. */
void spank_signals_reset(void);
/* The exec failed: as srun had them. */
void spank_signals_restore(void);

#endif
