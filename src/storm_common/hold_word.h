/*
 * hold_word.h - how a job is held: by a word in its Comment, which its owner may
 * change while it runs; or in its AdminComment, which only administrators may change.
 * All else there is not ours.
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

/* Is it a word of the text, between blanks?  NULL has none. */
bool hold_word_in(const char *text);

/* The text with the word, or without it, and otherwise as it was; malloc()ed.
 * NULL: out of memory. */
char *hold_word_put(const char *text, bool hold);

#endif
