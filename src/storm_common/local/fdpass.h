/*
 * fdpass.h - records of a SOCK_SEQPACKET socket, each with at most one file
 * descriptor (unix(7), SCM_RIGHTS).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FDPASS_H
#define STORM_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

/* Send one record, with fd unless that is -1; the sender keeps fd.  Waits for
 * room only on a blocking socket.  0, or -1 and errno. */
int fdpass_send(int sock, const void *buf, size_t len, int fd);

/*
 * Receive one record.  Returns its length; 0: the other end has closed; -1 and
 * errno; EPROTO: the record or its descriptors were truncated.  *fd: the
 * record's descriptor, close-on-exec, which the caller closes; -1: it has
 * none.  If there are several, it is
 * the last one, and the others are closed.
 */
ssize_t fdpass_recv(int sock, void *buf, size_t size, int *fd);

#endif
