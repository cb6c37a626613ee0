/*
 * launcher_hwloc.c - of which cores this node's CPUs are, by hwloc.  See
 * launcher_private.h.
 *
 * hwloc comes with a module of a package of its own.  A launcher loads it when a run first
 * asks for cores, sockets or domains of memory, and others are not slowed by it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "launcher_private.h"
#include "places_table.h"

#define HWLOC_MODULE PKGLIBEXECDIR "/storm_hwloc.so"

static bool hwloc_told;

void launcher_hwloc_start(void)
{
	/* other machines than this one, and other ways to look at it */
	static const char *const others[] = { "HWLOC_SYNTHETIC",
					      "HWLOC_XMLFILE", "HWLOC_FSROOT",
					      "HWLOC_CPUID_PATH",
					      "HWLOC_COMPONENTS" };

	for (size_t k = 0; k < sizeof(others) / sizeof(*others); k++)
		unsetenv(others[k]);
	/* its own modules are for devices: without them it needs 2 ms in place of 10, and
	 * no library of X11 or OpenCL comes into this process */
	setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1);
}

/* The module's function.  NULL, with errno: it cannot be had. */
static places_table *hwloc_load(void)
{
	void *module = dlopen(HWLOC_MODULE, RTLD_NOW | RTLD_LOCAL);
	places_table *table =
		module ? (places_table *) dlsym(module, PLACES_TABLE) : NULL;

	if (table)
		return table;
	storm_log(STORM_LOG_ERROR, "%s", dlerror());
	if (module)
		dlclose(module);
	errno = access(HWLOC_MODULE, F_OK) ? errno : ELIBACC;
	return NULL;
}

uint32_t launcher_hwloc(struct places *p)
{
	places_table *table;
	int err = 0;

	if (hwloc_told)
		return 0;
	table = hwloc_load();
	if (table)
		err = table(p->cpus, p->count);
	else
		err = errno;
	hwloc_told = !err;
	return err ? run_code(RUN_NO_HWLOC, err) : 0;
}
