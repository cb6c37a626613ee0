/*
 * budget.h - how much of a node's memory, and how many of its sessions, users
 * may take: together, and each of them.
 *
 * An eighth of both is a reserve for trusted users, root and SlurmUser.  The
 * others cannot touch it, and a trusted user has no limit of its own.  Sizes
 * are bytes.  Not thread-safe: one thread of the node calls all of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_BUDGET_H
#define STORM_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct storm_limits {
	uint64_t bytes, user_bytes;
	uint32_t sessions, user_sessions;
};

struct storm_budget {
	struct storm_limits max;
	uint64_t bytes; /* taken by all */
	uint32_t sessions;
	uint64_t user_bytes; /* taken by users that are not trusted */
	uint32_t user_sessions;
	struct storm_budget_user *user; /* those that have something */
	uint32_t users, room;
};

/* What one session has taken.  All zeroes: it is not open. */
struct storm_account {
	struct storm_budget *budget;
	uint32_t uid;
	bool trusted;
	uint64_t bytes;
};

void storm_budget_init(struct storm_budget *b, const struct storm_limits *max);
void storm_budget_free(struct storm_budget *b);

/* Open a session of this user.  False: a limit is reached, and there is nothing
 * to close.  b must outlive a. */
bool storm_account_open(struct storm_account *a, struct storm_budget *b,
			uint32_t uid, bool trusted);
void storm_account_close(struct storm_account *a);
/* Bytes that the session may still take. */
uint64_t storm_account_left(const struct storm_account *a);
/* The session has now taken so many bytes in all.  False: that is above a
 * limit.  They are counted all the same, because they are taken. */
bool storm_account_set(struct storm_account *a, uint64_t bytes);

#endif
