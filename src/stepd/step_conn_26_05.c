/*
 * step_conn_26_05.c - see step_conn.h.  Slurm from 25.05 on.  With TLS a relay
 * is not started (step_relay.c), so each connection is a plain one.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>

#include "src/common/slurm_protocol_api.h"
#include "src/interfaces/conn.h"

#include "step_conn.h"

bool step_conn_plain(void)
{
	return !conn_tls_enabled();
}

int step_conn_answer(slurm_msg_t *msg, int fd)
{
	const conn_args_t plain = {
		.input_fd = fd,
		.output_fd = fd,
		.mode = CONN_SERVER,
	};
	int rc = -1;

	msg->conn = conn_g_create(&plain);
	if (msg->conn)
		rc = slurm_send_rc_msg(msg, SLURM_SUCCESS);
	else
		close(fd);
	FREE_NULL_CONN(msg->conn);
	return rc;
}

int step_conn_open(slurm_addr_t *addr)
{
	void *conn = slurm_open_msg_conn(addr, NULL); /* 25.11: no conn_t */
	int fd, err;

	if (!conn)
		return -1;
	/* conn closes its own */
	fd = fcntl(conn_g_get_fd(conn), F_DUPFD_CLOEXEC, 0);
	err = errno;
	conn_g_destroy(conn, true);
	errno = err;
	return fd;
}
