/*
 * run_bind.c - see run_bind.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>

#include "run_bind.h"

#define REPEATS_MAX 1000000u

/* One entry of a list: where its value is, and how often it counts. */
struct bind_entry {
	const char *value;
	size_t len;
	uint32_t times;
};

/* *at is behind it then, and behind its comma.  False: it is none. */
static bool bind_entry(const char **at, struct bind_entry *out)
{
	size_t len = strcspn(*at, ","), n;
	const char *star = memchr(*at, '*', len);
	char *end;

	n = star ? (size_t) (star - *at) : len;
	*out = (struct bind_entry) { *at, n, 1 };
	if (star) {
		unsigned long times = strtoul(star + 1, &end, 10);

		if (star[1] < '0' || star[1] > '9' || end != *at + len ||
		    !times || times > REPEATS_MAX)
			return false;
		out->times = (uint32_t) times;
	}
	*at += len + ((*at)[len] == ',');
	return n;
}

static int bind_digit(char c, int base)
{
	int d = c >= '0' && c <= '9' ? c - '0' :
		c >= 'a' && c <= 'f' ? c - 'a' + 10 :
		c >= 'A' && c <= 'F' ? c - 'A' + 10 :
				       base;

	return d < base ? d : -1;
}

/* A CPU, in decimal or behind 0x. */
static bool bind_number(const struct bind_entry *e, uint32_t *out)
{
	int base = e->len > 2 && !strncmp(e->value, "0x", 2) ? 16 : 10;

	*out = 0;
	for (size_t k = base == 16 ? 2 : 0; k < e->len; k++) {
		int d = bind_digit(e->value[k], base);

		*out = *out * (uint32_t) base + (uint32_t) d;
		if (d < 0 || *out >= RUN_BIND_CPUS)
			return false;
	}
	return true;
}

/* The CPUs of a mask, the last digit first.  0x may be there or not. */
static bool bind_mask(const struct bind_entry *e, struct storm_idset *out)
{
	size_t from = e->len > 2 && !strncmp(e->value, "0x", 2) ? 2 : 0;
	bool any = false;

	if ((e->len - from) * 4 > RUN_BIND_CPUS)
		return false;
	for (size_t k = e->len; k > from; k--) {
		uint32_t cpu = (uint32_t) (e->len - k) * 4;
		int d = bind_digit(e->value[k - 1], 16);

		if (d < 0)
			return false;
		for (uint32_t bit = 0; bit < 4; bit++)
			if (d >> bit & 1 && out &&
			    storm_idset_add(out, cpu + bit, cpu + bit))
				return false;
		any |= d > 0;
	}
	return any;
}

static bool bind_cpus(const struct bind_entry *e, bool masks,
		      struct storm_idset *out)
{
	uint32_t cpu;

	if (masks)
		return bind_mask(e, out);
	return bind_number(e, &cpu) &&
	       (!out || !storm_idset_add(out, cpu, cpu));
}

/* How many entries it has, those that repeat counted as often; 0: it is malformed. */
static uint64_t bind_count(const char *list, bool masks)
{
	struct bind_entry e;
	uint64_t n = 0;
	size_t len = strlen(list);

	if (len && list[len - 1] == ',')
		return 0;
	while (*list) {
		if (!bind_entry(&list, &e) || !bind_cpus(&e, masks, NULL))
			return 0;
		n += e.times;
	}
	return n;
}

bool run_bind_list_valid(const char *list, bool masks)
{
	return bind_count(list, masks) > 0;
}

bool run_bind_list(const char *list, bool masks, uint32_t local,
		   struct storm_idset *out)
{
	uint64_t count = bind_count(list, masks), nth;
	struct bind_entry e;

	if (!count)
		return false;
	nth = local % count;
	while (bind_entry(&list, &e) && nth >= e.times)
		nth -= e.times;
	return bind_cpus(&e, masks, out);
}

size_t run_bind_mask(const struct storm_idset *cpus, char *out, size_t size)
{
	uint32_t last = cpus->count ? cpus->r[cpus->count - 1].last : 0;
	size_t len = 2;

	if (size < (size_t) last / 4 + 4)
		return 0;
	memcpy(out, "0x", 2);
	for (uint32_t digit = last / 4 + 1; digit; digit--) {
		unsigned int d = 0;

		for (uint32_t bit = 0; bit < 4; bit++)
			d |= (unsigned int) storm_idset_has(
				     cpus, (digit - 1) * 4 + bit)
			     << bit;
		out[len++] = "0123456789ABCDEF"[d];
	}
	out[len] = '\0';
	return len;
}
