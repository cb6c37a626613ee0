/*
 * hold_word.h - the word that holds a job.  It stands in the job's Comment,
 * which its user may change while it runs, or in its AdminComment, which only
 * administrators may change.  All else in there is not ours.
 *
 * No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HOLD_WORD_H
#define STORM_HOLD_WORD_H

#include <stdbool.h>

#define HOLD_WORD "storm:hold"

/* Does this text begin with the word? */
bool hold_word_at(const char *text);

/* Is it one of the text's words, which blanks separate?  NULL has none. */
bool hold_word_in(const char *text);

/* The text with the word, or without it, and otherwise as it was; malloc()ed.
 * NULL: out of memory. */
char *hold_word_put(const char *text, bool hold);

#endif
