/*
 * drivers.h - which driver an end has (driver.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_DRIVERS_H
#define STORM_DRIVERS_H

#include "src/libstorm/transport/driver.h"

/* The driver of all ends that are created from now on, whatever their settings
 * ask for; NULL: the settings decide.  Not thread-safe. */
extern const struct storm_driver *storm_driver;

/* The driver for an end with these settings. */
const struct storm_driver *storm_driver_of(const struct storm_settings *set);

#endif
