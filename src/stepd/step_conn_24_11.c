/*
 * step_conn_24_11.c - see step_conn.h.  Slurm until 24.11.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <unistd.h>

#include "src/common/slurm_protocol_api.h"

#include "step_conn.h"

bool step_conn_plain(void)
{
	return true;
}

int step_conn_answer(slurm_msg_t *msg, int fd)
{
	int rc;

	msg->conn_fd = fd;
	rc = slurm_send_rc_msg(msg, SLURM_SUCCESS);
	close(fd);
	return rc;
}

int step_conn_open(slurm_addr_t *addr)
{
	return slurm_open_msg_conn(addr);
}
