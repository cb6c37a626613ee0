/*
 * agent_container.c - enters the job's mount namespace, if JobContainerType (or
 * NamespaceType, its later name) made one.  So a file for /tmp goes to the job's
 * /tmp, as with Slurm's sbcast.  It runs in a child process that is still root.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <string.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/plugin.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmd/slurmd/slurmd.h"

#include "agent_container.h"
#include "src/slurm/namespace.h"

/* job_container plugins read the node's name from slurmd's variable `conf`.
 * This one replaces it, so it must be exported. */
__attribute__((visibility("default"))) slurmd_conf_t *conf;

void agent_container_init(const char *node)
{
	conf = xmalloc(sizeof(*conf));
	conf->node_name = xstrdup(node);
}

static int agent_container_join_one(const char *type, uint32_t job_id,
				    uid_t uid)
{
	const char *names[] = { NAMESPACE_JOIN };
	void *found[1];

	if (!strcmp(type, NAMESPACE_TYPE "none"))
		return SLURM_SUCCESS;
	/* never unloaded: this process is short-lived */
	if (plugin_load_and_link(type, 1, names, found) ==
	    PLUGIN_INVALID_HANDLE) {
		error("cannot load %s", type);
		return SLURM_ERROR;
	}
	return namespace_join(found[0], job_id, uid);
}

int agent_container_join(uint32_t job_id, uid_t uid)
{
	char *list, *one, *save = NULL;
	int rc = SLURM_SUCCESS;

	if (!slurm_conf.NAMESPACE_PLUGINS)
		return SLURM_SUCCESS;
	list = xstrdup(slurm_conf.NAMESPACE_PLUGINS);
	for (one = strtok_r(list, ",", &save); one && !rc;
	     one = strtok_r(NULL, ",", &save)) {
		char *type = xstrchr(one, '/') ?
				     xstrdup(one) :
				     xstrdup_printf(NAMESPACE_TYPE "%s", one);

		rc = agent_container_join_one(type, job_id, uid);
		xfree(type);
	}
	xfree(list);
	return rc;
}
