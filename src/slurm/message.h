/*
 * message.h - Slurm's messages into a descriptor: since 25.05 they are written
 * to a connection.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SLURM_MESSAGE_H
#define STORM_SLURM_MESSAGE_H

#include "slurm/slurm.h"
#include "src/common/slurm_protocol_api.h"

#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0)
/* Send a message to a socket.  Negative on failure, with errno set. */
static inline ssize_t message_send(int fd, slurm_msg_t *msg)
{
	return slurm_send_node_msg(fd, msg);
}
#else
#include "src/interfaces/conn.h"

static inline ssize_t message_send(int fd, slurm_msg_t *msg)
{
	conn_args_t args = {
		.input_fd = fd,
		.output_fd = fd,
		.mode = CONN_CLIENT,
	};
	void *conn = conn_g_create(&args); /* 25.11: no conn_t */
	ssize_t rc;

	if (!conn)
		return -1;
	rc = slurm_send_node_msg(conn, msg);
	conn_g_destroy(conn, false);
	return rc;
}
#endif

#endif
