/*
 * resident_others.c - see resident_others.h.
 *
 * SPANK does not tell what others have registered.  But srun has loaded all of them, and
 * SPANK finds their hooks by name, so this does, too.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/xmalloc.h"
#include "src/slurm/spank_options.h"

#include "resident_others.h"

/* Hooks of a step and of its tasks. */
static const char *const hooks[] = {
	"slurm_spank_local_user_init",	    "slurm_spank_user_init",
	"slurm_spank_task_init_privileged", "slurm_spank_task_init",
	"slurm_spank_task_post_fork",	    "slurm_spank_task_exit",
};

/* A symbol of this object itself, and not of a library that it needs. */
static const void *resident_own_symbol(void *handle, const struct link_map *of,
				       const char *name)
{
	const void *found = dlsym(handle, name);
	Dl_info info;

	return found && dladdr(found, &info) &&
			       info.dli_fbase == (void *) of->l_addr ?
		       found :
		       NULL;
}

static bool resident_is_ours(const struct link_map *m)
{
	Dl_info info;

	return dladdr(hooks, &info) && info.dli_fbase == (void *) m->l_addr;
}

/* The first hook of an object, if it is a plugin of SPANK's. */
static const char *resident_hook(void *handle, const struct link_map *m)
{
	const char *type = resident_own_symbol(handle, m, "plugin_type");

	if (!type || strcmp(type, "spank") != 0)
		return NULL;
	for (size_t k = 0; k < sizeof(hooks) / sizeof(*hooks); k++)
		if (resident_own_symbol(handle, m, hooks[k]))
			return hooks[k];
	return NULL;
}

static bool resident_others_hook(char *why, size_t size)
{
	struct link_map *m = NULL;
	void *self = dlopen(NULL, RTLD_LAZY), *handle;
	const char *hook = NULL;

	if (!self || dlinfo(self, RTLD_DI_LINKMAP, &m))
		m = NULL;
	for (; m && !hook; m = m->l_next) {
		if (!*m->l_name || resident_is_ours(m) ||
		    !(handle = dlopen(m->l_name, RTLD_LAZY | RTLD_NOLOAD)))
			continue;
		if ((hook = resident_hook(handle, m)))
			snprintf(why, size, "the SPANK plugin %s has %s",
				 m->l_name, hook);
		dlclose(handle);
	}
	if (self)
		dlclose(self);
	return hook;
}

static bool resident_others_option(char *why, size_t size)
{
	char *plugin = NULL, *name = NULL, *value = NULL;
	void *state = NULL;
	bool found = false;

	while (spank_option_get_next_set(&plugin, &name, &value, &state)) {
		if (!found && plugin && strcmp(plugin, "storm") != 0) {
			snprintf(why, size, "--%s of the SPANK plugin %s", name,
				 plugin);
			found = true;
		}
		xfree(plugin);
		xfree(name);
		xfree(value);
	}
	return found;
}

bool resident_others_want(char *why, size_t size)
{
	return resident_others_option(why, size) ||
	       resident_others_hook(why, size);
}
