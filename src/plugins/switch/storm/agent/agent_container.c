/*
 * agent_container.c - into the job's mount namespace, where JobContainerType
 * gives it one: a file for /tmp must go to the job's /tmp, as slurmd's sbcast
 * does it.  In a process of its own, before it drops to the user.
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

/* These plugins are slurmd's and look for the node's name in slurmd's own
 * variable; this one stands in for it, so it must be seen from outside. */
__attribute__((visibility("default"))) slurmd_conf_t *conf;

void agent_container_init(const char *node)
{
	conf = xmalloc(sizeof(*conf));
	conf->node_name = xstrdup(node);
}

static int agent_container_join_one(const char *type, uint32_t job_id,
				    uid_t uid)
{
	const char *names[] = { "container_p_join" };
	int (*join)(uint32_t job_id, uid_t uid) = NULL;
	void *found[1];

	if (!strcmp(type, "job_container/none"))
		return SLURM_SUCCESS;
	/* never unloaded: this process does not live long */
	if (plugin_load_and_link(type, 1, names, found) ==
	    PLUGIN_INVALID_HANDLE) {
		error("cannot load %s", type);
		return SLURM_ERROR;
	}
	memcpy(&join, found, sizeof(join));
	return join(job_id, uid);
}

int agent_container_join(uint32_t job_id, uid_t uid)
{
	char *list, *one, *save = NULL;
	int rc = SLURM_SUCCESS;

	if (!slurm_conf.job_container_plugin)
		return SLURM_SUCCESS;
	list = xstrdup(slurm_conf.job_container_plugin);
	for (one = strtok_r(list, ",", &save); one && !rc;
	     one = strtok_r(NULL, ",", &save)) {
		char *type = xstrncmp(one, "job_container/", 14) ?
			xstrdup_printf("job_container/%s", one) :
			xstrdup(one);

		rc = agent_container_join_one(type, job_id, uid);
		xfree(type);
	}
	xfree(list);
	return rc;
}
