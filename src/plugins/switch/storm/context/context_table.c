/*
 * context_table.c - see context_table.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "context_table.h"
#include "src/libstorm/base/sorted.h"

#define WORDS (CONTEXT_PARTS / 64)

struct context_slot {
	struct context_lease l; /* .id 0: never used */
	uint64_t known[WORDS];	/* of l.held: by steps that exist */
	uint64_t owner;		/* its user's id, plus 1; 0: unknown */
};

struct context_user {
	uint64_t owner;
	uint32_t leases;
};

struct context_table {
	uint32_t count, group;
	struct context_slot *slot; /* [id - 1] */
	uint32_t room;		   /* >= count */
	uint32_t next;		   /* where to look first, less one */
	uint32_t leased, unclaimed;
	uint32_t strange; /* leased, with a group of another pool */
	uint64_t serial;
	struct context_user *user; /* ascending; stays when it has no lease */
	uint32_t users, user_room;
};

static bool context_parts_any(const uint64_t *set)
{
	return set[0] || set[1];
}

static bool context_parts_have(const uint64_t *set, uint32_t part)
{
	return set[part / 64] >> part % 64 & 1;
}

static void context_parts_add(uint64_t *set, uint32_t part)
{
	set[part / 64] |= 1ULL << part % 64;
}

static void context_parts_drop(uint64_t *set, uint32_t part)
{
	set[part / 64] &= ~(1ULL << part % 64);
}

static uint32_t context_table_group_of(const struct context_table *t,
				       uint32_t id)
{
	return t->group + id - 1;
}

static bool context_slot_is_unclaimed(const struct context_slot *s)
{
	return s->l.held[0] & ~s->known[0] || s->l.held[1] & ~s->known[1];
}

static bool context_slot_is_strange(const struct context_table *t,
				    const struct context_slot *s)
{
	return s->l.job && (s->l.id > t->count ||
			    s->l.group != context_table_group_of(t, s->l.id));
}

static uint64_t context_user_owner(const void *user)
{
	return ((const struct context_user *) user)->owner;
}

/* The user's entry, or NULL. */
static struct context_user *context_table_user(const struct context_table *t,
					       uint64_t owner)
{
	uint32_t i = storm_sorted_at(t->user, t->users, sizeof(*t->user), owner,
				     context_user_owner);

	return i < t->users && t->user[i].owner == owner ? &t->user[i] : NULL;
}

/* Without memory the user's leases are not counted. */
static void context_table_add_user(struct context_table *t, uint64_t owner)
{
	uint32_t i = storm_sorted_at(t->user, t->users, sizeof(*t->user), owner,
				     context_user_owner);
	struct context_user *p;

	if (t->users == t->user_room) {
		p = realloc(t->user, (2 * t->users + 16) * sizeof(*p));
		if (!p)
			return;
		t->user = p;
		t->user_room = 2 * t->users + 16;
	}
	memmove(t->user + i + 1, t->user + i,
		(t->users - i) * sizeof(*t->user));
	t->user[i] = (struct context_user) { .owner = owner };
	t->users++;
}

/* What the table counts of a slot, before and after it changes. */
static void context_table_count(struct context_table *t,
				const struct context_slot *s, int sign)
{
	struct context_user *u = s->owner ? context_table_user(t, s->owner) :
					    NULL;

	if (u)
		u->leases += s->l.job ? sign : 0;
	t->leased += s->l.job ? sign : 0;
	t->unclaimed += context_slot_is_unclaimed(s) ? sign : 0;
	t->strange += context_slot_is_strange(t, s) ? sign : 0;
}

static int context_table_make_room(struct context_table *t, uint32_t count)
{
	struct context_slot *p;

	if (count <= t->room)
		return 0;
	p = realloc(t->slot, count * sizeof(*p));
	if (!p)
		return -1;
	memset(p + t->room, 0, (count - t->room) * sizeof(*p));
	t->slot = p;
	t->room = count;
	return 0;
}

struct context_table *context_table_create(uint32_t count, uint32_t group)
{
	struct context_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	/* calloc(): pages are not allocated before they are used */
	t->slot = calloc(count ? count : 1, sizeof(*t->slot));
	t->room = count ? count : 1;
	t->count = count;
	t->group = group;
	if (t->slot)
		return t;
	free(t);
	return NULL;
}

void context_table_destroy(struct context_table *t)
{
	if (t) {
		free(t->slot);
		free(t->user);
	}
	free(t);
}

int context_table_resize(struct context_table *t, uint32_t count,
			 uint32_t group)
{
	if (context_table_make_room(t, count))
		return -1;
	t->count = count;
	t->group = group;
	t->strange = 0;
	for (uint32_t i = 0; i < t->room; i++)
		t->strange += context_slot_is_strange(t, &t->slot[i]);
	if (t->next >= count)
		t->next = 0;
	return 0;
}

/* The lease of the step's other parts, or NULL. */
static struct context_slot *
context_table_find_open(struct context_table *t, const struct context_holder *h)
{
	uint32_t left = t->leased;

	for (uint32_t i = 0; i < t->room && left; i++) {
		struct context_slot *s = &t->slot[i];

		left -= s->l.job != 0;
		if (s->l.job == h->job && s->l.step == h->step &&
		    !s->l.closed && !context_parts_have(s->l.held, h->part) &&
		    !context_slot_is_unclaimed(s))
			return s;
	}
	return NULL;
}

/* Does a lease from before the pool was changed have this group? */
static bool context_table_group_taken(const struct context_table *t,
				      uint32_t group)
{
	for (uint32_t i = 0; t->strange && i < t->room; i++)
		if (t->slot[i].l.job && t->slot[i].l.group == group)
			return true;
	return false;
}

static struct context_slot *context_table_find_free(struct context_table *t)
{
	/* without a look at all of them */
	if (t->leased - t->strange >= t->count)
		return NULL;
	for (uint32_t n = 0; n < t->count; n++) {
		uint32_t i = (t->next + n) % t->count;
		uint32_t group = context_table_group_of(t, i + 1);

		if (t->slot[i].l.job || context_table_group_taken(t, group))
			continue;
		t->next = (i + 1) % t->count;
		t->slot[i].l.id = i + 1;
		return &t->slot[i];
	}
	return NULL;
}

const struct context_lease *
context_table_lease(struct context_table *t, const struct context_holder *h,
		    bool joint, const uint8_t key[CONTEXT_KEY_LEN])
{
	struct context_slot *s = joint ? context_table_find_open(t, h) : NULL;

	if (!s) {
		s = key ? context_table_find_free(t) : NULL;
		if (!s)
			return NULL;
		s->l.job = h->job;
		s->l.step = h->step;
		s->l.group = context_table_group_of(t, s->l.id);
		s->l.closed = false;
		s->l.serial = ++t->serial;
		memcpy(s->l.key, key, CONTEXT_KEY_LEN);
		context_table_count(t, s, 1);
	}
	context_parts_add(s->l.held, h->part);
	context_parts_add(s->known, h->part);
	return &s->l;
}

void context_table_owner(struct context_table *t, uint32_t id, uint32_t uid)
{
	struct context_slot *s = id && id <= t->room ? &t->slot[id - 1] : NULL;

	if (!s || !s->l.job)
		return;
	if (!context_table_user(t, uid + 1ULL))
		context_table_add_user(t, uid + 1ULL);
	context_table_count(t, s, -1);
	s->owner = context_table_user(t, uid + 1ULL) ? uid + 1ULL : 0;
	context_table_count(t, s, 1);
}

void context_table_find_owners(struct context_table *t, context_user_fn user,
			       void *arg)
{
	uint32_t left = t->leased, uid;

	for (uint32_t i = 0; i < t->room && left; i++) {
		const struct context_slot *s = &t->slot[i];

		left -= s->l.job != 0;
		if (s->l.job && !s->owner && user(arg, s->l.job, &uid))
			context_table_owner(t, s->l.id, uid);
	}
}

uint32_t context_table_owned(const struct context_table *t, uint32_t uid)
{
	const struct context_user *u = context_table_user(t, uid + 1ULL);

	return u ? u->leases : 0;
}

/* Free it.  The serial number stays, which shows when it was leased. */
static void context_slot_wipe(struct context_slot *s)
{
	uint32_t id = s->l.id;
	uint64_t serial = s->l.serial;

	memset(s, 0, sizeof(*s));
	s->l.id = id;
	s->l.serial = serial;
}

static bool context_slot_is_lease(const struct context_slot *s, uint64_t serial,
				  const struct context_holder *h)
{
	return s->l.job == h->job && s->l.step == h->step &&
	       s->l.serial == serial;
}

static struct context_slot *
context_table_held_by(struct context_table *t, uint32_t id, uint64_t serial,
		      const struct context_holder *h)
{
	struct context_slot *s;

	if (!id || id > t->room || !h->job || h->part >= CONTEXT_PARTS)
		return NULL;
	s = &t->slot[id - 1];
	return context_slot_is_lease(s, serial, h) &&
			       context_parts_have(s->l.held, h->part) ?
		       s :
		       NULL;
}

const struct context_lease *context_table_return(struct context_table *t,
						 uint32_t id, uint64_t serial,
						 const struct context_holder *h)
{
	struct context_slot *s = context_table_held_by(t, id, serial, h);

	if (!s || !context_parts_have(s->known, h->part))
		return NULL;
	context_table_count(t, s, -1);
	context_parts_drop(s->l.held, h->part);
	context_parts_drop(s->known, h->part);
	s->l.closed = true;
	if (!context_parts_any(s->l.held))
		context_slot_wipe(s);
	context_table_count(t, s, 1);
	return &s->l;
}

int context_table_load(struct context_table *t, const struct context_lease *l)
{
	struct context_slot *s;

	if (!l->id || l->id > CONTEXT_COUNT_MAX ||
	    !l->job != !context_parts_any(l->held) ||
	    context_table_make_room(t, l->id))
		return -1;
	s = &t->slot[l->id - 1];
	if (s->l.id)
		return -1;
	s->l = *l;
	context_table_count(t, s, 1);
	return 0;
}

/* The search begins after the latest lease.  A crash of the host may have lost
 * the leases just after it, so skip an eighth of the pool. */
void context_table_loaded(struct context_table *t)
{
	uint32_t last = 0;

	for (uint32_t i = 0; i < t->room; i++) {
		if (t->slot[i].l.serial <= t->serial)
			continue;
		t->serial = t->slot[i].l.serial;
		last = i + 1;
	}
	if (t->count && t->serial)
		t->next = (last + t->count / 8) % t->count;
}

bool context_table_claim(struct context_table *t, uint32_t id, uint64_t serial,
			 uint32_t group, const struct context_holder *h)
{
	struct context_slot *s;

	if (!id || id > CONTEXT_COUNT_MAX || h->part >= CONTEXT_PARTS ||
	    !h->job || context_table_make_room(t, id))
		return false;
	s = &t->slot[id - 1];
	if (s->l.job && !context_slot_is_lease(s, serial, h))
		return false;
	context_table_count(t, s, -1);
	if (!s->l.job) { /* its record was lost, and its key */
		s->l.id = id;
		s->l.job = h->job;
		s->l.step = h->step;
		s->l.group = group;
		s->l.serial = serial;
		s->l.closed = true;
		if (serial > t->serial)
			t->serial = serial;
	}
	context_parts_add(s->l.held, h->part);
	context_parts_add(s->known, h->part);
	context_table_count(t, s, 1);
	return true;
}

void context_table_sweep(struct context_table *t, context_gone_fn gone,
			 context_changed_fn changed, void *arg)
{
	for (uint32_t i = 0; i < t->room && t->unclaimed; i++) {
		struct context_slot *s = &t->slot[i];

		if (!context_slot_is_unclaimed(s) || !gone(arg, s->l.job))
			continue;
		context_table_count(t, s, -1);
		for (int w = 0; w < WORDS; w++)
			s->l.held[w] &= s->known[w];
		s->l.closed = true;
		if (!context_parts_any(s->l.held))
			context_slot_wipe(s);
		context_table_count(t, s, 1);
		changed(arg, &s->l);
	}
}

struct context_figures context_table_figures(const struct context_table *t)
{
	return (struct context_figures) { t->count, t->leased, t->unclaimed };
}
