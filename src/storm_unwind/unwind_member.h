/*
 * unwind_member.h - a node's side of the strobe (stack_strobe.h): libstorm's thread hears the
 * asker, and the thread that traces waits for it here.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_UNWIND_MEMBER_H
#define STORM_UNWIND_MEMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "src/storm_stack/stack_code.h"
#include "src/storm_stack/stack_settings.h"

/* Listen at this port.  Sets *at for the asker.  False: it is taken, or there is no
 * network. */
bool member_start(const char *name, uint16_t port, struct storm_addr *at);
/* Wait for this order.  False: it has not come until then (CLOCK_MONOTONIC ns), or `silence` ns
 * have passed since the last strobe, or the asker has closed; 0: that is no matter. */
bool member_wait(enum stack_order_byte order, uint64_t until, uint64_t silence);
/* Has the asker ended the session? */
bool member_is_closed(void);
/* Tell that this node has come so far. */
void member_tell(enum stack_stage stage);
/* This node's place in the session's list.  False: there is none. */
bool member_place(uint32_t *place);
/* Report ids up the tree; NULL: this node.  False: the session has ended, or there is no memory.  What
 * no table has room for is part of the rest. */
bool member_report(uint8_t kind, uint32_t code, const struct storm_idset *ids);
/* Tell for how many ms its tasks stood. */
void member_stood(uint64_t ms);
/* Wait for the next question, and set w and *count to it.  *last: there is no more.  False:
 * none has come until then (CLOCK_MONOTONIC ns), or the asker has closed. */
bool member_asked(struct stack_want (*w)[STACK_WANTS], uint32_t *count,
		  bool *last, uint64_t until);
/* Leave the session, which the asker ends when it has heard of all nodes.  Without
 * member_start() it does nothing. */
void member_stop(void);

#endif
