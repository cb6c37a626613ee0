/*
 * failed_keep.c - see failed_keep.h.
 *
 * A line has a step: its node, job, step, component, and how often the job had been
 * restarted.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "failed_keep.h"
#include "src/storm_common/whole_file.h"

#define KEPT "storm_given_up"

static void failed_keep_line(struct failed_given *given, const char *line)
{
	slurm_step_id_t id = { 0 };
	char node[256];
	uint32_t run;

	if (sscanf(line, "%255s %u %u %u %u", node, &id.job_id, &id.step_id,
		   &id.step_het_comp, &run) == 5)
		failed_given_add(given, node, &id, run);
}

void failed_keep_load(struct failed_given *given)
{
	char *text, *line, *rest;
	size_t len;
	int err = whole_file_load(slurm_conf.state_save_location, KEPT, &text,
				  &len);

	if (err) {
		if (err != ENOENT)
			error("storm: cannot read %s/" KEPT
			      ": %s: steps that were given up are not ended on nodes that come back, before their jobs end",
			      slurm_conf.state_save_location, strerror(err));
		return;
	}
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest))
		failed_keep_line(given, line);
	free(text);
}

void failed_keep_save(const struct failed_given *given)
{
	static bool told;
	char *text = NULL;
	int err;

	for (uint32_t i = 0; i < given->count; i++)
		xstrfmtcat(text, "%s %u %u %u %u\n", given->step[i].node,
			   given->step[i].id.job_id, given->step[i].id.step_id,
			   given->step[i].id.step_het_comp, given->step[i].run);
	if (!text) {
		whole_file_remove(slurm_conf.state_save_location, KEPT);
		return;
	}
	err = whole_file_save(slurm_conf.state_save_location, KEPT, text,
			      strlen(text));
	if (err && !told)
		error("storm: cannot write %s/" KEPT
		      ": %s: a slurmctld that is started again does not end what was given up",
		      slurm_conf.state_save_location, strerror(err));
	told = err;
	xfree(text);
}
