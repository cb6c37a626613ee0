/*
 * budget.c - see budget.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "minmax.h"

struct storm_budget_user {
	uint32_t uid, sessions;
	uint64_t bytes;
};

void storm_budget_init(struct storm_budget *b, const struct storm_limits *max)
{
	memset(b, 0, sizeof(*b));
	b->max = *max;
}

void storm_budget_free(struct storm_budget *b)
{
	free(b->user);
	memset(b, 0, sizeof(*b));
}

/* What is left of max for users, without the reserve. */
static uint64_t budget_for_users(uint64_t max)
{
	return max - max / 8;
}

static uint64_t budget_rest(uint64_t max, uint64_t taken)
{
	return taken < max ? max - taken : 0;
}

/* NULL: it has nothing. */
static struct storm_budget_user *budget_user(const struct storm_budget *b,
					     uint32_t uid)
{
	for (uint32_t i = 0; i < b->users; i++)
		if (b->user[i].uid == uid)
			return &b->user[i];
	return NULL;
}

static struct storm_budget_user *budget_user_add(struct storm_budget *b,
						 uint32_t uid)
{
	struct storm_budget_user *u = budget_user(b, uid);

	if (u)
		return u;
	if (b->users == b->room) {
		uint32_t room = b->room ? 2 * b->room : 8;

		u = realloc(b->user, room * sizeof(*u));
		if (!u)
			return NULL;
		b->user = u;
		b->room = room;
	}
	u = &b->user[b->users++];
	*u = (struct storm_budget_user) { .uid = uid };
	return u;
}

/* A trusted user has an entry, too, and no limit. */
bool storm_account_open(struct storm_account *a, struct storm_budget *b,
			uint32_t uid, bool trusted)
{
	const struct storm_budget_user *has = budget_user(b, uid);
	struct storm_budget_user *u;

	memset(a, 0, sizeof(*a));
	if (b->sessions >= b->max.sessions)
		return false;
	if (!trusted &&
	    (b->user_sessions >= budget_for_users(b->max.sessions) ||
	     (has && has->sessions >= b->max.user_sessions)))
		return false;
	u = budget_user_add(b, uid);
	if (!u)
		return false;
	u->sessions++;
	b->sessions++;
	b->user_sessions += !trusted;
	*a = (struct storm_account) { b, uid, trusted, 0 };
	return true;
}

void storm_account_close(struct storm_account *a)
{
	struct storm_budget *b = a->budget;
	struct storm_budget_user *u;

	if (!b)
		return;
	storm_account_set(a, 0);
	b->sessions--;
	b->user_sessions -= !a->trusted;
	u = budget_user(b, a->uid);
	if (!--u->sessions)
		*u = b->user[--b->users];
	memset(a, 0, sizeof(*a));
}

uint64_t storm_account_left(const struct storm_account *a)
{
	const struct storm_budget *b = a->budget;
	uint64_t left = budget_rest(b->max.bytes, b->bytes);

	if (a->trusted)
		return left;
	left = storm_min(left, budget_rest(budget_for_users(b->max.bytes),
					   b->user_bytes));
	return storm_min(left, budget_rest(b->max.user_bytes,
					   budget_user(b, a->uid)->bytes));
}

bool storm_account_set(struct storm_account *a, uint64_t bytes)
{
	struct storm_budget *b = a->budget;
	struct storm_budget_user *u = budget_user(b, a->uid);
	uint64_t left = storm_account_left(a), was = a->bytes;

	b->bytes += bytes - was;
	u->bytes += bytes - was;
	if (!a->trusted)
		b->user_bytes += bytes - was;
	a->bytes = bytes;
	return bytes <= was || bytes - was <= left;
}
