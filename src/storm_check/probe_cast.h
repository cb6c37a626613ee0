/*
 * probe_cast.h - find out whether multicast reaches a host, with datagrams of the
 * size that STORM sends.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PROBE_CAST_H
#define STORM_PROBE_CAST_H

/*
 * Join the group on the interface, or on all if its name is "".  Print "ready
 * PORT", with the next free port from `port` on.  Then print "heard SMALL LARGE",
 * how many datagrams of both sizes have come, when all have or after so many
 * seconds.  0, or 1 and why not.
 */
int probe_hear(const char *group, int port, const char *interface, int seconds);

/* Send the datagrams, on the interface by which this host is reached.  large: the
 * size of the large ones' IP packets.  0, or 1 and why not. */
int probe_shout(const char *group, int port, const char *host, int large);

#endif
