/*
 * health_path.h - may root run this program?  Nobody but root may be able to change it,
 * or to put another one in its place.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_HEALTH_PATH_H
#define STORM_HEALTH_PATH_H

#include <stdbool.h>

#include "health_judge.h"

/*
 * True: the absolute path names a file that can be executed.  It and each directory above
 * it are root's, nobody else can write to them, and none is a symbolic link.  False, and
 * *why says which is not so.  As only root can change any of that, the path may be
 * executed afterwards.
 */
bool health_path_is_safe(const char *path, char (*why)[HEALTH_LINE]);

#endif
