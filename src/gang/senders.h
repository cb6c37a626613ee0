/*
 * senders.h - has root sent one of the signals that wait for stopped processes?
 * The kernel tells only a tracer who sent a signal (PTRACE_PEEKSIGINFO), so a
 * thread traces each process for a moment.  The process stays stopped.  With the
 * thread's end the kernel releases those that did not answer in time.
 *
 * Root's are signals by kill(2) or tgkill(2): the kernel lets nobody else send
 * these in root's name.  A timer's, or those of another process of the user's,
 * are not.  Processes in a frozen group of version 1 cannot be asked.  No Slurm
 * header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SENDERS_H
#define STORM_SENDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct senders;

/* Ask for these processes, in this order.  Takes pids, which is from malloc().
 * NULL and errno: it takes nothing. */
struct senders *senders_start(pid_t *pids, size_t n);
/* Is the answer there?  It takes 100 ms at most. */
bool senders_done(const struct senders *s);
/* End it, and free it.  True: root has sent one.  NULL is allowed. */
bool senders_stop(struct senders *s);

#endif
