/*
 * check_tell.h - what was found: equal lines of several nodes become one, and faults
 * come first.  Pure, but for the last function, which prints.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_CHECK_TELL_H
#define STORM_CHECK_TELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum check_word { CHECK_MISSING, CHECK_NOTE, CHECK_OK, CHECK_WORDS };

/* Its name, as in a line. */
const char *check_word_name(enum check_word w);
/* The word of a name; CHECK_WORDS: it is none. */
enum check_word check_word_of(const char *name);

/* Keep a line.  node "": of this host.  Control characters become '?', and what is
 * too long is cut: a text can be another host's. */
void check_tell(enum check_word w, const char *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* "n[1-3,7],login": any names, in any order, each once.  The caller frees it. */
char *check_names(const char *const *names, size_t n);

bool check_tell_missing(void); /* is anything missing so far? */
/* Print all lines: missing, note, ok; quiet: the first alone.  True: something is
 * missing. */
bool check_tell_all(FILE *to, bool quiet);
/* One line of another process: WORD, tab, NODE, tab, TEXT.  False: it is none. */
bool check_tell_line(char *line);
/* Print all lines in that form; here: this host's name. */
void check_tell_raw(FILE *to, const char *here);

#endif
