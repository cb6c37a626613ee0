/*
 * bcast_answer.c - the nodes' answers as Slurm's own messages would bring them.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>

#include "src/common/slurm_xlator.h"

#include "src/common/forward.h"
#include "src/common/list.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "bcast.h"

list_t *storm_answer(list_t *list, const char *node, int rc)
{
	ret_data_info_t *info = xmalloc(sizeof(*info));
	return_code_msg_t *msg = xmalloc(sizeof(*msg));

	msg->return_code = rc;
	info->type = RESPONSE_SLURM_RC;
	info->node_name = xstrdup(node);
	info->data = msg;
	if (!list)
		list = list_create(destroy_data_info);
	list_append(list, info);
	return list;
}

list_t *storm_send_living(const struct step_odd *odd, const char *nodelist,
			  slurm_msg_t *msg, int timeout)
{
	char *living = step_odd_living(odd, nodelist);
	list_t *list = slurm_send_recv_msgs(living, msg, timeout);

	xfree(living);
	return list;
}

/* What slurmd returns for such a failure: the errno of an open, SLURM_ERROR
 * for a write. */
static int bcast_slurmd_rc(const struct storm_fault *f)
{
	switch (f->why) {
	case STORM_ESYS:
		switch (f->sys) {
		case 0:
		case ENOSPC:
		case EDQUOT:
		case EFBIG:
		case EIO:
			return SLURM_ERROR;
		}
		return f->sys;
	case STORM_EEXIST:
		return EEXIST;
	case STORM_EPATH:
		return f->sys ? f->sys : EINVAL;
	case STORM_ENOMEM:
		return ENOMEM;
	case STORM_EAUTH:
	case STORM_EACCES:
		return ESLURMD_INVALID_JOB_CREDENTIAL;
	case STORM_ETIME:
	case STORM_EHUNG:
		return SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT;
	case STORM_ENOAGENT:
	case STORM_ELOST:
		return SLURM_COMMUNICATIONS_CONNECTION_ERROR;
	case STORM_EVERSION:
		return SLURM_PROTOCOL_VERSION_ERROR;
	default:
		return SLURM_ERROR;
	}
}

list_t *storm_answers(const struct step_domain *sd,
		      const struct storm_outcome *out)
{
	list_t *list = NULL;
	uint32_t i;

	for (i = 0; i < out->faults_kept; i++) {
		const struct storm_fault *f = &out->faults[i];

		list = storm_answer(list,
				    f->node < sd->count ? sd->names[f->node] :
							  "this host",
				    bcast_slurmd_rc(f));
	}
	return list ? list : storm_answer(NULL, sd->names[0], SLURM_ERROR);
}
