/*
 * check_health.c - see check_health.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <strings.h>
#include <unistd.h>

#include "check_health.h"
#include "check_host.h"
#include "check_slurm.h"
#include "check_tell.h"
#include "src/storm_agent/health/health_path.h"

void check_health(const struct storm_health_conf *h)
{
	const char *key = h->program[0] ? "HealthProgram in storm.conf" :
					  "HealthCheckProgram in slurm.conf";
	const char *path = h->program[0] ?
				   h->program :
				   slurm_file_value("HealthCheckProgram");
	char why[HEALTH_LINE];

	if (!h->period || !path || !*path || !strcasecmp(path, "none"))
		return;
	if (access(path, F_OK) && (errno == EACCES || !host_daemon("slurmd")))
		return; /* only nodes need it, and only root may see it */
	if (health_path_is_safe(path, &why))
		check_tell(CHECK_OK, "", "%s: root may run %s", key, path);
	else
		check_tell(
			CHECK_MISSING, "",
			"%s is not run, and nodes show health=program: %s: give root a file that it alone can change, or correct the key",
			key, why);
}
