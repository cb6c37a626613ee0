/*
 * fuzz_nodelist.c - the list of nodes in an OPEN.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/wire/nodelist.h"

/* A run of 65536 nodes takes a while, a thousand times a second. */
#define ENOUGH 1024

static void same_again(const struct storm_node *nodes, uint32_t count)
{
	size_t len = storm_nodes_room(nodes, count);
	uint8_t *buf = malloc(len);
	struct storm_out o = { buf, buf + len, false };
	struct storm_node *got;
	struct storm_in i;
	uint32_t n;

	must(buf);
	storm_put_nodes(&o, nodes, count);
	must(!o.bad);
	i = (struct storm_in) { buf, o.p, false };
	must(!storm_get_nodes(&i, &got, &n));
	must(storm_in_done(&i) && n == count);
	for (uint32_t k = 0; k < n; k++) {
		must(!strcmp(got[k].name, nodes[k].name));
		must(!memcmp(got[k].addr.ip, nodes[k].addr.ip, STORM_ADDR_LEN));
		must(got[k].addr.port == nodes[k].addr.port);
	}
	storm_nodes_free(got, n);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false }, first = i;
	uint32_t want = storm_get32(&first), count;
	struct storm_node *nodes;

	if (want > ENOUGH && want <= STORM_NODES_MAX)
		return 0;
	if (!storm_get_nodes(&i, &nodes, &count)) {
		must(count == want && !i.bad);
		for (uint32_t k = 0; k < count; k++) {
			size_t l = strlen(nodes[k].name);

			must(l && l <= STORM_NAME_MAX);
			while (l--)
				must(nodes[k].name[l] > ' ' &&
				     nodes[k].name[l] < 0x7f);
		}
		same_again(nodes, count);
	}
	storm_nodes_free(nodes, count);
	return 0;
}
