/*
 * fuzz_nm.c - the Node Manager's entry for datagrams, in a session that is
 * open: a head and commands, see world.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "world.h"

#define COMMANDS 200

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	struct world w;

	world_start(&w, &i);
	for (int n = 0; n < COMMANDS && i.p < i.end && !i.bad; n++)
		world_step(&w, &i);
	world_end(&w);
	return 0;
}
