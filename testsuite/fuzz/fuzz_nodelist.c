/*
 * fuzz_nodelist.c - the list of nodes in an OPEN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/nodelist.h"

/* A run of 65536 nodes takes a while, a thousand times a second. */
#define ENOUGH 1024

/* Made of what was read, it is as long at the most, and the same. */
static void same_again(const struct storm_nodes *l)
{
	struct storm_node *n = calloc(l->count, sizeof(*n));
	char(*name)[STORM_NAME_MAX + 1] = calloc(l->count, sizeof(*name));
	char again[STORM_NAME_MAX + 1];
	struct storm_nodes got;

	must(n && name);
	for (uint32_t i = 0; i < l->count; i++) {
		n[i].name = storm_nodes_name(l, i, &name[i]);
		n[i].addr = storm_nodes_addr(l, i);
	}
	must(!storm_nodes_make(&got, n, l->count));
	must(got.count == l->count && got.runs <= l->runs);
	for (uint32_t i = 0; i < l->count; i++) {
		struct storm_addr a = storm_nodes_addr(&got, i);

		must(!strcmp(storm_nodes_name(&got, i, &again), n[i].name));
		must(!memcmp(a.ip, n[i].addr.ip, STORM_ADDR_LEN));
		must(a.port == n[i].addr.port);
		must(storm_nodes_find(&got, a.ip) <= i);
	}
	storm_nodes_free(&got);
	free(name);
	free(n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false }, first = i;
	uint32_t want = storm_get32(&first);
	char name[STORM_NAME_MAX + 1];
	struct storm_nodes l;

	if (storm_nodes_get(&l, &i))
		return 0;
	must(l.count == want && !i.bad);
	for (uint32_t k = 0; k < l.count && k < ENOUGH; k++) {
		size_t n = strlen(storm_nodes_name(&l, k, &name));

		must(n && n <= STORM_NAME_MAX);
		while (n--)
			must(name[n] > ' ' && name[n] < 0x7f);
	}
	if (l.count <= ENOUGH)
		same_again(&l);
	storm_nodes_free(&l);
	return 0;
}
