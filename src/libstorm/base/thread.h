/*
 * thread.h - a thread that takes no signal: they belong to the program's own
 * threads.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_THREAD_H
#define STORM_THREAD_H

#include <pthread.h>

/* Start run(arg) in a new thread with all signals blocked.  0, or an errno. */
int storm_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
