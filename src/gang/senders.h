/*
 * senders.h - finds whether root sent one of the signals that wait for stopped
 * processes.  The kernel tells only a tracer who sent a signal
 * (PTRACE_PEEKSIGINFO), so a thread traces each process for a moment.  The
 * process stays stopped.  If it does not answer in time, the kernel releases it
 * when the thread ends.
 *
 * A process that executes another program can keep its tracer waiting for as long
 * as it likes: while its new program's file system does not answer, or while it has
 * a thread that another tracer holds.  So nobody waits for the thread.
 *
 * A signal by kill(2) or tgkill(2) is root's if it says so: the kernel lets
 * nobody else send one in root's name.  A timer's signal is not root's.
 * Processes in a frozen group of version 1 cannot be asked.  No Slurm header.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_SENDERS_H
#define STORM_SENDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct senders;

/* Start to ask these n processes, in this order.  Takes over pids, which is
 * from malloc().  NULL and errno: it failed, and pids is still the caller's. */
struct senders *senders_start(pid_t *pids, size_t n);
/* Is the answer there?  That takes 100 ms at most, unless a process hangs. */
bool senders_done(const struct senders *s);
/* Stop asking, and give s up; NULL is allowed.  Waits for nothing.  True: there is
 * an answer, and root has sent one. */
bool senders_stop(struct senders *s);

#endif
