/*
 * auth_reason.h - why an agent refuses a credential, as the errno of
 * STORM_EAUTH.  One byte, as it goes to senders that MUNGE has not vouched for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_AUTH_REASON_H
#define STORM_AUTH_REASON_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORM_AUTH_TEXT 120 /* room for any text of storm_auth_text() */

/* The agent gets no answer of its munged. */
#define STORM_AUTH_NO_MUNGED ENOTCONN
/* This reason and all greater ones: the clocks differ too much. */
#define STORM_AUTH_CLOCK 128

/* The reason, if the agent's clock is so many seconds ahead of the sender's;
 * less than 0: behind it.  The reason has the difference rounded. */
int storm_auth_clock(int64_t ahead);
/* Write a reason as text, for the sender's user.  False: it is no reason, and
 * buf is as it was. */
bool storm_auth_text(int reason, char *buf, size_t size);
bool storm_auth_is_clock(int reason);
/* Write the difference of the clocks as text, such as "17 min".  reason: one of
 * a clock.  True: the agent's clock is behind. */
bool storm_auth_clock_off(int reason, char *buf, size_t size);

#endif
