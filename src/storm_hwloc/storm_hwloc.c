/*
 * storm_hwloc.c - of which core, domain of memory and socket each CPU is, by hwloc.  A
 * module that launchers load (places_table.h).
 *
 * hwloc looks at CPUs and memory alone, and nothing of it stays but its library: devices
 * take it longer than all else, and caches are no unit to which tasks are bound.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <hwloc.h>

#include "src/storm_launcher/places_table.h"

__attribute__((visibility("default"))) places_table storm_hwloc_table;

/* What hwloc shall look at.  It is not to bind this process to one CPU after the other,
 * as its part x86 does; and a control group hides no CPU, as the caller knows its own. */
static int table_choose(hwloc_topology_t t)
{
	if (hwloc_topology_set_components(
		    t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86") ||
	    hwloc_topology_set_flags(t,
				     HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) ||
	    hwloc_topology_set_all_types_filter(t,
						HWLOC_TYPE_FILTER_KEEP_NONE) ||
	    hwloc_topology_set_type_filter(t, HWLOC_OBJ_CORE,
					   HWLOC_TYPE_FILTER_KEEP_ALL) ||
	    /* without them several domains of a socket count as one */
	    hwloc_topology_set_type_filter(t, HWLOC_OBJ_GROUP,
					   HWLOC_TYPE_FILTER_KEEP_STRUCTURE))
		return -1;
	return hwloc_topology_set_type_filter(t, HWLOC_OBJ_PACKAGE,
					      HWLOC_TYPE_FILTER_KEEP_ALL);
}

/* The number of what it is a part of, or where the kernel says of none another one. */
static uint32_t table_number(hwloc_topology_t t, hwloc_obj_t pu,
			     hwloc_obj_type_t type, uint32_t none)
{
	hwloc_obj_t of = hwloc_get_ancestor_obj_by_type(t, type, pu);

	return of ? of->logical_index : none;
}

static void table_cpu(hwloc_topology_t t, hwloc_obj_t pu, uint32_t nth,
		      struct place_cpu *out)
{
	/* a CPU is then a core of its own, and all are of one socket */
	out->core = table_number(t, pu, HWLOC_OBJ_CORE, UINT32_MAX - nth);
	out->socket = table_number(t, pu, HWLOC_OBJ_PACKAGE, UINT32_MAX);
	/* of several kinds of memory the first one */
	out->ldom = (uint32_t) hwloc_bitmap_first(pu->nodeset);
}

/* The first time it only looks whether all are known. */
static int table_fill(hwloc_topology_t t, struct place_cpu *cpus,
		      uint32_t count)
{
	for (int write = 0; write < 2; write++)
		for (uint32_t k = 0; k < count; k++) {
			hwloc_obj_t pu =
				hwloc_get_pu_obj_by_os_index(t, cpus[k].cpu);

			if (!pu)
				return ENODATA;
			if (write)
				table_cpu(t, pu, k, &cpus[k]);
		}
	return 0;
}

int storm_hwloc_table(struct place_cpu *cpus, uint32_t count)
{
	hwloc_topology_t t;
	int err;

	if (hwloc_topology_init(&t))
		return errno ? errno : ENOMEM;
	errno = 0;
	if (table_choose(t) || hwloc_topology_load(t))
		err = errno ? errno : ENODATA;
	else
		err = table_fill(t, cpus, count);
	hwloc_topology_destroy(t);
	return err;
}
