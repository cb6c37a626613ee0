/*
 * puller.h - storm_each --pull: what runs tasks on a node.  storm each starts one puller on
 * each node of its job, by the job's launchers.
 *
 * A puller has a queue, so that the next task begins without a word from the client.  The
 * client bounds it, and can take back what was not begun.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PULLER_H
#define STORM_PULLER_H

#include <stdint.h>

#define EACH_PULLER "--pull" /* storm_each's word for it */

/* Serve descriptors 0 and 1 until 0 ends and all is done.  cpus: of this host, if Slurm does
 * not say how many the job has here.  The exit status. */
int puller_serve(uint32_t cpus);

#endif
