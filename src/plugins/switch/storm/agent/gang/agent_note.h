/*
 * agent_note.h - how the next agent gets into the cluster domain at once.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AGENT_NOTE_H
#define STORM_AGENT_NOTE_H

#include <stdint.h>

struct agent;

/* Leave a note of this session's domain, if it is not the one that is kept already. */
void agent_note_keep(struct agent *a, uint64_t session);
/* The agent before has left one: ask to be let in again. */
void agent_note_find(struct agent *a);
void agent_note_forget(const struct agent *a);

#endif
