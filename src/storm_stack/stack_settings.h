/*
 * stack_settings.h - how storm stack and storm_unwind of its nodes reach each other: by a domain of
 * the user's own, as the launchers of a job do.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STACK_SETTINGS_H
#define STORM_STACK_SETTINGS_H

#include <stdint.h>

#include "src/libstorm/storm.h"

/* The strobe of the asker has one byte, which says what is to be now.  It is repeated, so one
 * that is lost does no harm. */
enum stack_order_byte { STACK_STOP = 'S', STACK_WALK = 'W' };

/* What a node's variable says: it has come so far. */
#define STACK_VARIABLE STORM_VAR_USER
enum stack_stage { STAGE_STANDS = 1, STAGE_WALKS = 2 };
/* Another one: for how long its tasks stood, in ms. */
#define STACK_STOOD (STORM_VAR_USER + 1)
/* The remote event with which the asker asks for texts (stack_code.h). */
#define STACK_TELL 1

#define STACK_EVERY (50 * STORM_MS) /* between two strobes */
/* A node whose asker has not been heard for so long lets its tasks go on. */
#define STACK_SILENCE (900 * STORM_MS)

/* Set *out by storm.conf where this process runs, or by the defaults.  *first and *last are
 * LauncherPorts. */
void stack_settings(struct storm_settings *out, uint16_t *first,
		    uint16_t *last);

#endif
