/*
 * addr.h - what kind of address it is.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_ADDR_H
#define STORM_ADDR_H

#include <stdbool.h>

#include "src/libstorm/storm.h"

/* IPv4, mapped into IPv6. */
bool storm_addr_is_v4(const struct storm_addr *a);
/* On every host it leads back to that host, such as 127.0.0.1 and ::1. */
bool storm_addr_is_loopback(const struct storm_addr *a);

#endif
