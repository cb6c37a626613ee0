/*
 * storm_each.c - storm each: many tasks over all CPUs of a job, in GNU parallel's words.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "each_command.h"
#include "each_options.h"
#include "each_resume.h"
#include "each_run.h"
#include "each_source.h"
#include "puller.h"
#include "src/storm_run/run_begin.h"

/* CPUs of this host that this process may use. */
static uint32_t each_cpus_here(void)
{
	cpu_set_t set;

	/* more CPUs than the set holds are an error, and not less than one */
	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (uint32_t) CPU_COUNT(&set);
}

/* A command as --dry-run has it: the tasks go through the slots one after the other. */
static bool each_print(const struct each_options *o, const struct each_row *row,
		       uint64_t seq)
{
	size_t len;
	char *text = each_command(o, row, seq, &len), *whole = NULL;

	if (text)
		whole = each_with_slot(text, len,
				       (uint32_t) ((seq - 1) % o->slots) + 1);
	if (whole)
		puts(whole);
	else
		run_say("no memory");
	free(text);
	free(whole);
	return whole != NULL;
}

/* All rows but those that a joblog says to be done, if it is read.  False: it was said
 * why not. */
static bool each_print_all(const struct each_options *o, struct each_sources *s,
			   const struct each_resume *past)
{
	struct each_row row;
	uint64_t seq = 0;
	int is;

	while ((is = each_sources_next(s, &row)) > 0) {
		bool fine = true;

		seq++;
		if (!past || !each_resume_done(past, seq))
			fine = each_print(o, &row, seq);
		each_row_free(&row);
		if (!fine)
			return false;
	}
	if (is < 0)
		return false;
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	run_say("cannot write: %s", strerror(errno));
	return false;
}

/* The exit status of --dry-run. */
static int each_dry_run(struct each_options *o)
{
	struct each_resume *past = NULL;
	struct each_sources *s = NULL;
	bool fine = true;

	o->slots = each_slots(o, each_cpus_here());
	if (o->resume || o->resume_failed) {
		past = each_resume_read(o->joblog, o->resume_failed);
		fine = past != NULL;
	}
	if (fine)
		s = each_sources_open(o);
	fine = s && each_print_all(o, s, past);
	each_sources_close(s);
	each_resume_destroy(past);
	return fine ? 0 : EACH_FAILED;
}

int main(int argc, char **argv)
{
	struct each_options o;
	int status;

	if (argc == 2 && !strcmp(argv[1], EACH_PULLER))
		return puller_serve(each_cpus_here());
	run_begin_files();
	status = each_parse(argc, argv, &o);
	if (status != EACH_GOES_ON)
		return status;
	if (o.dry_run)
		return each_dry_run(&o);
	return each_run(&o);
}
