/*
 * pull_direct.h - which commands need no shell.  To start a shell costs more than many a
 * command, so one that consists of plain words is executed as it stands.
 *
 * The result is the shell's: a word has no character that a shell reads in another way
 * than as itself, and the first one is no name that shells have themselves.  Those would
 * be another program, or none.  true and false are, but do the same.  If the
 * program cannot be executed, the shell is asked after all, and says why.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULL_DIRECT_H
#define STORM_PULL_DIRECT_H

#include <stdbool.h>

/* Is it a shell of which that is known, with nothing that it would read first?  shell is
 * its path, env the environment of commands. */
bool pull_direct_shell(const char *shell, char *const *env);

/* The words of the command, which end with NULL, on the heap as one piece.  NULL: it needs
 * a shell, or there is no memory. */
char **pull_direct(const char *text);

#endif
