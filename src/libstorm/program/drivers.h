/*
 * drivers.h - chooses the driver of a domain or node (driver.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DRIVERS_H
#define STORM_DRIVERS_H

#include "src/libstorm/transport/driver.h"

/* The driver of all domains and nodes created from now on, in place of the one
 * in their settings.  NULL: use the settings.  Not thread-safe. */
extern const struct storm_driver *storm_driver;

/* The driver for these settings. */
const struct storm_driver *storm_driver_of(const struct storm_settings *set);

#endif
