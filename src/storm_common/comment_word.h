/*
 * comment_word.h - finds a word of STORM's in a comment of Slurm's, which may also have
 * text of others.  Blanks separate words.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_COMMENT_WORD_H
#define STORM_COMMENT_WORD_H

#include <stdbool.h>
#include <stddef.h>

/* How the word about a job's turns begins, in its SystemComment. */
#define COMMENT_TURNS "storm:turns="

/* Copy the first word that begins so to out, cut to its size.  False: there is none, or
 * comment is NULL. */
bool comment_word(const char *comment, const char *begins, char *out,
		  size_t size);

#endif
