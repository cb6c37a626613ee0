/*
 * run_places.c - see run_places.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "run_places.h"
#include "src/storm_launcher/run_bind.h"

#define MB_MAX (1ull << 40)

/* Is a word of this length one of these, of which the second may be NULL? */
static bool places_word(const char *text, size_t len, const char *one,
			const char *other)
{
	return (len == strlen(one) && !strncasecmp(text, one, len)) ||
	       (other && len == strlen(other) &&
		!strncasecmp(text, other, len));
}

/* A word for units.  False: it is none. */
static bool places_unit(const char *text, size_t len, enum run_bind *out)
{
	static const struct {
		const char *many, *one;
		enum run_bind bind;
	} units[] = {
		{ "none", "no", RUN_BIND_NONE },
		{ "threads", "thread", RUN_BIND_THREADS },
		{ "cores", "core", RUN_BIND_CORES },
		{ "sockets", "socket", RUN_BIND_SOCKETS },
		{ "ldoms", "ldom", RUN_BIND_LDOMS },
	};

	for (size_t k = 0; k < sizeof(units) / sizeof(*units); k++)
		if (places_word(text, len, units[k].many, units[k].one)) {
			*out = units[k].bind;
			return true;
		}
	return false;
}

/* The list is the rest of the value. */
static bool places_list(const char *text, struct run_options *o)
{
	static const char map[] = "map_cpu:", mask[] = "mask_cpu:";
	bool masks = !strncasecmp(text, mask, strlen(mask));

	if (!masks && strncasecmp(text, map, strlen(map)) != 0)
		return false;
	o->bind = masks ? RUN_BIND_MASK : RUN_BIND_MAP;
	o->bind_list = text + strlen(masks ? mask : map);
	return true;
}

bool run_places_bind(const char *value, struct run_options *o)
{
	const char *at = value ? value : "";
	bool good = *at;

	o->bind = RUN_BIND_NONE;
	o->bind_list = "";
	while (good && *at) {
		size_t len = strcspn(at, ",");

		if (places_list(at, o)) {
			if (run_bind_list_valid(o->bind_list,
						o->bind == RUN_BIND_MASK))
				return true;
			run_say("--cpu-bind=%s: the list cannot be read", at);
			return false;
		}
		if (places_word(at, len, "verbose", "v"))
			o->bind_verbose = true;
		else if (places_word(at, len, "quiet", "q"))
			o->bind_verbose = false;
		else
			good = places_unit(at, len, &o->bind);
		at += len + (at[len] == ',');
	}
	if (!good)
		run_say("--cpu-bind=%s: storm run has quiet, verbose, none, threads, cores, sockets, ldoms, map_cpu:LIST and mask_cpu:LIST",
			value ? value : "");
	return good;
}

bool run_places_gpus(const char *value, const char *option, uint32_t *out)
{
	char *end;
	unsigned long n = strtoul(value, &end, 10);

	if (*value >= '0' && *value <= '9' && !*end && n &&
	    n < UINT32_MAX / 2) {
		*out = (uint32_t) n;
		return true;
	}
	run_say("%s=%s: it is to be a number of GPUs, of any type", option,
		value);
	return false;
}

bool run_places_gres(const char *value, struct run_options *o)
{
	o->no_gpus = !strcasecmp(value, "none");
	o->ask.node_gpus = 0;
	if (o->no_gpus)
		return true;
	if (!strcmp(value, "gpu"))
		value = "gpu:1";
	if (!strncmp(value, "gpu:", 4) && !strpbrk(value + 4, ":,("))
		return run_places_gpus(value + 4, "--gres=gpu",
				       &o->ask.node_gpus);
	run_say("--gres=%s: storm run has none and gpu:NUMBER", value);
	return false;
}

/* As srun reads it: MB, unless K, M, G or T says otherwise. */
bool run_places_memory(const char *value, uint64_t *mb)
{
	static const char units[] = "KMGT";
	char *end;
	unsigned long long n = strtoull(value, &end, 10);
	const char *unit = *end ? strchr(units, *end & ~0x20) : units + 1;

	if (*value >= '0' && *value <= '9' && n <= MB_MAX && unit &&
	    (!*end || !end[1])) {
		*mb = n;
		if (unit == units)
			*mb = (n + 1023) / 1024;
		for (; unit > units + 1 && *mb <= MB_MAX; unit--)
			*mb *= 1024;
		if (*mb <= MB_MAX)
			return true;
	}
	run_say("\"%s\" is no size of memory: a number, of MB or with K, M, G or T",
		value);
	return false;
}

bool run_places_agree(const struct run_options *o)
{
	if (o->ask.gpus && o->ask.node_gpus)
		run_say("--gpus-per-task goes with neither --gpus-per-node nor --gres");
	else if (o->no_gpus && (o->ask.gpus || o->ask.node_gpus))
		run_say("--gres=none goes with no other GPUs");
	else if (o->ask.mem && o->ask.cpu_mem)
		run_say("--mem does not go with --mem-per-cpu");
	else
		return true;
	return false;
}
