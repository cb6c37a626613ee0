/*
 * ports.h - a TCP port on a login host that its site has opened for nodes: one of
 * SrunPortRange in slurm.conf, by which they reach srun.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_PORTS_H
#define STORM_PORTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* first 0: the kernel chooses. */
struct ports {
	uint16_t first, last;
};

/* Those of "scontrol show config".  False: the text does not say. */
bool ports_read(const char *text, struct ports *p);
/* Those that Slurm says.  False, and why. */
bool ports_of_slurm(struct ports *p, char *why, size_t size);
/* Listen on one of them that is free, from a random one on: its descriptor, which does
 * not block.  -1, and errno. */
int ports_listen(const struct ports *p, uint16_t *port);

#endif
