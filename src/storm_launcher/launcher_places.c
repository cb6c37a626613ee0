/*
 * launcher_places.c - which CPUs and GPUs of this node tasks have.  See
 * launcher_private.h.
 *
 * The head has counted them, so there are enough.  They are given back before the end of
 * their task is reported: then the head gives them to the next run.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher_private.h"
#include "places.h"
#include "run_bind.h"
#include "src/libstorm/base/idset.h"

static struct {
	struct places all;
	struct storm_idset cpus; /* on which launchers may run */
	unsigned long given;	 /* so many Slurm gave to the job here */
	bool open;
} places;

/* The CPUs on which this process may run. */
static int places_allowed(struct storm_idset *out)
{
	size_t size = CPU_ALLOC_SIZE(RUN_BIND_CPUS);
	cpu_set_t *set = CPU_ALLOC(RUN_BIND_CPUS);
	int err = set ? 0 : ENOMEM;

	if (set && sched_getaffinity(0, size, set))
		err = errno;
	for (uint32_t k = 0; !err && k < RUN_BIND_CPUS; k++)
		if (CPU_ISSET_S(k, size, set) && storm_idset_add(out, k, k))
			err = ENOMEM;
	if (set)
		CPU_FREE(set);
	return err;
}

/* Once, by the first run that needs it.  0, or an errno. */
static int places_open(void)
{
	int err;
	const char *given = getenv("SLURM_CPUS_ON_NODE");

	if (places.open)
		return 0;
	places.given = given ? strtoul(given, NULL, 10) : 0;
	storm_idset_clear(&places.cpus);
	err = places_allowed(&places.cpus);
	if (!err && places_init(&places.all, &places.cpus, task_gpus()))
		err = ENOMEM;
	places.open = !err;
	return err;
}

/* --------------------------------------------------------------------- a run --- */

/* Is it bound to what hwloc alone knows? */
static bool places_by_hwloc(enum run_bind bind)
{
	return bind == RUN_BIND_CORES || bind == RUN_BIND_LDOMS ||
	       bind == RUN_BIND_SOCKETS;
}

uint32_t launcher_places_run(struct launched *run, uint32_t n)
{
	uint32_t each = run->start.gpus, count = run->start.node_gpus;
	uint32_t code = 0;
	int err;

	if (each)
		count = n * each;
	if (!count && !run->what.no_gpus && !run->what.bind &&
	    !run->what.bind_verbose)
		return 0;
	err = places_open();
	if (!err && places_by_hwloc(run->what.bind))
		code = launcher_hwloc(&places.all);
	if (!err && !code && count &&
	    !places_take_gpus(&places.all, count, &run->gpus))
		err = EBUSY;
	if (count || run->what.no_gpus)
		run->form.gpus = &run->gpus;
	return err ? run_code(RUN_NO_START, err) : code;
}

void launcher_places_leave(const struct launched *run)
{
	places_give_gpus(&places.all, &run->gpus);
}

/* -------------------------------------------------------------------- a task --- */

/* CPUs that it alone has, and those that it may use.  0, or the code of its report. */
static uint32_t place_own(const struct launched *run, struct task_place *place)
{
	uint32_t cpus = run->start.cpus ? run->start.cpus : 1;

	/* where Slurm binds no job, another one has the same */
	if (storm_idset_size(&places.cpus) > places.given)
		return run_code(RUN_UNBOUND, 0);
	if (!places_take_cpus(&places.all, cpus, &place->cpus))
		return run_code(RUN_NO_BIND, EBUSY);
	if (!places_widen(&places.all, &place->cpus, run->what.bind,
			  &place->bound))
		return run_code(RUN_NO_BIND, ENOMEM);
	return 0;
}

/* As the list has it, of those that Slurm gave. */
static uint32_t place_listed(const struct launched *run, uint32_t local,
			     struct task_place *place)
{
	if (!run_bind_list(run->what.bind_list, run->what.bind == RUN_BIND_MASK,
			   local, &place->bound))
		return run_code(RUN_NO_BIND, EINVAL);
	if (!storm_idset_covers(&places.cpus, &place->bound))
		return run_code(RUN_NO_BIND, ENODEV);
	return 0;
}

/* As srun says it. */
static bool place_say(const struct launched *run, uint32_t local,
		      struct task_place *place)
{
	static const char *const word[RUN_BINDS] = {
		[RUN_BIND_NONE] = "NONE",
		[RUN_BIND_MAP] = "MAP ",
	};
	const char *bind = word[run->what.bind];
	bool none = run->what.bind == RUN_BIND_NONE;
	const struct storm_idset *cpus = none ? &places.cpus : &place->bound;
	char mask[RUN_BIND_CPUS / 4 + 8];

	run_bind_mask(cpus, mask, sizeof(mask));
	return asprintf(&place->said,
			"cpu-bind=%s - %s, task %2u %2u [%%]: mask %s%s\n",
			bind ? bind : "MASK", launcher.name,
			run->start.rank[run->form.nth] + local, local, mask,
			none ? "" : " set") > 0;
}

uint32_t launcher_place(const struct launched *run, uint32_t local,
			struct task_place *place)
{
	enum run_bind bind = run->what.bind;
	uint32_t each = run->start.gpus, code = 0;

	if (each && !places_part(&run->gpus, local * each, each, &place->gpus))
		return run_code(RUN_NO_START, ENOMEM);
	if (run->start.node_gpus && storm_idset_union(&place->gpus, &run->gpus))
		return run_code(RUN_NO_START, ENOMEM);
	if (bind == RUN_BIND_MAP || bind == RUN_BIND_MASK)
		code = place_listed(run, local, place);
	else if (bind)
		code = place_own(run, place);
	if (!code && run->what.bind_verbose && !place_say(run, local, place))
		code = run_code(RUN_NO_START, ENOMEM);
	return code;
}

void launcher_place_leave(const struct launched *run, struct task_place *place)
{
	places_give_cpus(&places.all, &place->cpus);
	/* what tasks share is the last one's to give back */
	if (run->start.gpus || run->tasks == 1)
		places_give_gpus(&places.all, &place->gpus);
	storm_idset_clear(&place->cpus);
	storm_idset_clear(&place->gpus);
	storm_idset_clear(&place->bound);
	free(place->said);
	place->said = NULL;
}
