/*
 * step_conn.h - Slurm's connections, which are descriptors until 24.11 and
 * objects of its own since 25.05.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_STEP_CONN_H
#define STORM_STEP_CONN_H

#include <stdbool.h>

#include "slurm/slurm.h"
#include "src/common/slurm_protocol_defs.h"

/* False: slurmstepd speaks TLS, which a relay of its messages cannot. */
bool step_conn_plain(void);

/* Answer "success" to the message's sender, which waits at fd, and close fd.
 * 0, or -1 and errno. */
int step_conn_answer(slurm_msg_t *msg, int fd);

/* Connect as Slurm does.  Returns a descriptor, or -1 and errno. */
int step_conn_open(slurm_addr_t *addr);

#endif
