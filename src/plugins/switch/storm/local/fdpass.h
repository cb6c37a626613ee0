/*
 * fdpass.h - records of a SOCK_SEQPACKET socket along which one file
 * descriptor may ride (unix(7), SCM_RIGHTS).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_FDPASS_H
#define STORM_FDPASS_H

#include <stddef.h>
#include <sys/types.h>

/* Sends one record, and fd with it unless that is -1; the sender keeps fd.
 * Waits for room only if the socket blocks.  0, or -1 and errno. */
int fdpass_send(int sock, const void *buf, size_t len, int fd);

/*
 * Receives one record.  Returns its bytes, 0 at the other end's close, or -1
 * and errno: EPROTO if the record or what rode along was cut.  *fd becomes the
 * descriptor, close-on-exec, or -1; of several the last one is kept.
 */
ssize_t fdpass_recv(int sock, void *buf, size_t size, int *fd);

#endif
