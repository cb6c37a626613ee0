/*
 * run_texts.h - strings, and lists of them, as bytes of a message.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_TEXTS_H
#define STORM_RUN_TEXTS_H

#include "src/libstorm/wire/wire.h"

void run_put_text(struct storm_out *o, const char *text);
/* The buffer's that it is read from; "" if i is bad. */
const char *run_get_text(struct storm_in *i);

/* Lists end with NULL. */
size_t run_list_len(char *const *list);
void run_put_list(struct storm_out *o, char *const *list);
/* The caller frees it; its strings are the buffer's.  NULL, and i is bad: it is malformed,
 * or there is no memory. */
char **run_get_list(struct storm_in *i);

#endif
