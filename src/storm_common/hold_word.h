/*
 * hold_word.h - how a user holds a job: a word in the job's Comment, which its owner
 * may change while it runs.  All else in the Comment is the owner's.
 *
 * No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HOLD_WORD_H
#define STORM_HOLD_WORD_H

#include <stdbool.h>

#define HOLD_WORD "storm:hold"

/* Is it a word of the text, between blanks?  NULL has none. */
bool hold_word_in(const char *text);

/* The text with the word, or without it, and otherwise as it was; malloc()ed.
 * NULL: out of memory. */
char *hold_word_put(const char *text, bool hold);

#endif
