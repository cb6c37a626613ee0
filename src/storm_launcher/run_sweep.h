/*
 * run_sweep.h - names in a user's directory of sockets whose processes were killed.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RUN_SWEEP_H
#define STORM_RUN_SWEEP_H

/*
 * Remove what other jobs of this user have left on this host beside the socket of this
 * job: Slurm can kill a keeper, a launcher or a client before it removes its files.
 * A lock that somebody holds and a socket at which somebody listens stay, and so do the
 * logs of starts that failed.
 */
void run_sweep(const char *socket);

#endif
