/*
 * agent_note.h - lets the next agent rejoin the cluster domain at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_NOTE_H
#define STORM_AGENT_NOTE_H

#include <stdint.h>

struct agent;

/* Write a note of this session's domain, if it differs from the last one. */
void agent_note_keep(struct agent *a, uint64_t session);
/* Read the previous agent's note, if any, and ask the owner to rejoin. */
void agent_note_find(struct agent *a);
/* Remove the note. */
void agent_note_forget(const struct agent *a);

#endif
