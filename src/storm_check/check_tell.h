/*
 * check_tell.h - collects the findings, and prints them: equal lines of several
 * nodes become one, and faults come first.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_TELL_H
#define STORM_CHECK_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum check_word { CHECK_MISSING, CHECK_NOTE, CHECK_OK, CHECK_WORDS };

/* A word's name, as it stands in a line. */
const char *check_word_name(enum check_word w);
/* The word with this name; CHECK_WORDS: there is none. */
enum check_word check_word_of(const char *name);

/* Keep a line.  node "": this host.  The text can be another host's, so control
 * characters become '?', and a text that is too long is cut. */
void check_tell(enum check_word w, const char *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The text "n[1-3,7],login" of n names, in any order, each once.  The caller
 * frees it. */
char *check_names(const char *const *names, size_t n);

bool check_tell_missing(void); /* is anything missing so far? */
/* Print all lines: first what is missing, then notes, then what is right;
 * quiet: only what is missing.  True: something is. */
bool check_tell_all(FILE *to, bool quiet);
/* Keep a line of another process: WORD, tab, NODE, tab, TEXT.  False: it is no
 * such line. */
bool check_tell_line(char *line);
/* Print all lines in that form; here: this host's name. */
void check_tell_raw(FILE *to, const char *here);

#endif
