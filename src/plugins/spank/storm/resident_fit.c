/*
 * resident_fit.c - see resident_fit.h.
 *
 * An option that is not known here wants a step of Slurm's: so does each new one of a
 * release.  Variables of a job's own options are another matter.  sbatch sets them, and
 * the launchers have what they ask for.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resident_fit.h"

/* -------------------------------------------------------------------- options --- */

/* Is this value one that needs no step? */
typedef bool resident_judge(const struct resident_step *s,
			    const struct resident_option *o);

static bool resident_is_any(const struct resident_step *s,
			    const struct resident_option *o)
{
	return true;
}

/* The job's: what is asked for itself wants a step. */
static bool resident_is_jobs(const struct resident_step *s,
			     const struct resident_option *o)
{
	return o->by_env;
}

static bool resident_is_this_job(const struct resident_step *s,
				 const struct resident_option *o)
{
	return o->by_env || !strcmp(o->value, s->job);
}

/* --mem=0 is all of the job, which launchers have.  srun writes "0?" for it. */
static bool resident_is_all_memory(const struct resident_step *s,
				   const struct resident_option *o)
{
	return o->by_env || o->value[strspn(o->value, "0MGK?")] == '\0';
}

/* Tasks go to nodes by blocks, and are bound to nothing.  With one on each node that is
 * also cyclic; so srun tells the tasks of such a step, and sruns inside. */
static bool resident_is_block(const struct resident_step *s,
			      const struct resident_option *o)
{
	if (!strncmp(o->value, "cyclic", 6))
		return s->tasks && s->tasks <= s->least;
	return !strncmp(o->value, "block", 5) && !strstr(o->value, ",pack");
}

static bool resident_is_all(const struct resident_step *s,
			    const struct resident_option *o)
{
	return !strcmp(o->value, "ALL");
}

/* slurmstepd gives its tasks a variable with their own mask, which is no wish. */
static bool resident_is_own_mask(const struct resident_step *s,
				 const struct resident_option *o)
{
	return o->by_env && s->bind && strstr(s->bind, "mask_cpu:");
}

static bool resident_is_binding(const struct resident_step *s,
				const struct resident_option *o)
{
	return s->bind;
}

/* Slurm alone tells types of GPUs apart. */
static bool resident_is_number(const struct resident_step *s,
			       const struct resident_option *o)
{
	size_t len = strlen(o->value);

	return len && len < 9 && strspn(o->value, "0123456789") == len &&
	       strspn(o->value, "0") < len;
}

/* From 24.11 on -c is also this. */
static bool resident_is_cpus(const struct resident_step *s,
			     const struct resident_option *o)
{
	return !strncmp(o->value, "cpu", 3) && !strchr(o->value, ',');
}

/* Lines have labels only where storm run or a launcher writes them. */
static bool resident_is_labelled(const struct resident_step *s,
				 const struct resident_option *o)
{
	for (int k = 1; k < 3; k++)
		if (s->stream[k] && strchr(s->stream[k], '%'))
			return false;
	return true;
}

/* A terminal is for the one task; a number of another one is releases' of 23.02 on. */
static bool resident_is_terminal(const struct resident_step *s,
				 const struct resident_option *o)
{
	return s->tasks == 1 && s->terminal && !s->label &&
	       (!*o->value || !strcmp(o->value, "set"));
}

static const struct {
	const char *name;
	resident_judge *judge;
} resident_known[] = {
	/* words of storm run */
	{ "chdir", resident_is_any },
	{ "cpus-per-task", resident_is_any },
	{ "error", resident_is_any },
	{ "exclude", resident_is_any },
	{ "input", resident_is_any },
	{ "kill-on-bad-exit", resident_is_any },
	{ "label", resident_is_labelled },
	{ "multi-prog", resident_is_any },
	{ "no-kill", resident_is_any },
	{ "nodelist", resident_is_any },
	{ "nodes", resident_is_any },
	{ "ntasks", resident_is_any },
	{ "ntasks-per-node", resident_is_any }, /* srun has multiplied */
	{ "open-mode", resident_is_any },
	{ "output", resident_is_any },
	{ "quiet", resident_is_any },
	{ "time", resident_is_any },
	{ "unbuffered", resident_is_any },
	{ "wait", resident_is_any },
	/* what a run is or does in any case, or what nobody there can miss */
	{ "disable-status", resident_is_any },
	{ "exact", resident_is_any },
	{ "exclusive", resident_is_any },
	{ "job-name", resident_is_any },
	{ "overlap", resident_is_any },
	{ "verbose", resident_is_any },
	/* some of their values */
	{ "cpu-bind", resident_is_binding },
	{ "cpu_bind", resident_is_binding },
	{ "distribution", resident_is_block },
	{ "export", resident_is_all },
	{ "gpus-per-task", resident_is_number },
	{ "jobid", resident_is_this_job },
	{ "mem", resident_is_all_memory },
	{ "mpi", resident_is_any }, /* s->mpi */
	{ "pty", resident_is_terminal },
	{ "tres-per-task", resident_is_cpus },
	/* the job's */
	{ "account", resident_is_jobs },
	{ "cluster-constraint", resident_is_jobs },
	{ "constraint", resident_is_jobs },
	{ "core-spec", resident_is_jobs },
	{ "dependency", resident_is_jobs },
	{ "gpus", resident_is_jobs },
	{ "gpus-per-node", resident_is_jobs },
	{ "mem-per-cpu", resident_is_jobs },
	{ "mem-per-gpu", resident_is_jobs },
	{ "msg-timeout", resident_is_jobs },
	{ "oom-kill-step", resident_is_jobs },
	{ "partition", resident_is_jobs },
	{ "qos", resident_is_jobs },
	{ "reservation", resident_is_jobs },
	{ "slurmd-debug", resident_is_jobs },
	{ "thread-spec", resident_is_jobs },
	{ "threads", resident_is_jobs },
	{ "wckey", resident_is_jobs },
};

static bool resident_serves(const struct resident_step *s,
			    const struct resident_option *o)
{
	for (size_t k = 0; k < sizeof(resident_known) / sizeof(*resident_known);
	     k++)
		if (!strcmp(o->name, resident_known[k].name))
			return resident_known[k].judge(s, o);
	return false;
}

/* Slurm has several versions of this type. */
static bool resident_is_pmix(const char *type)
{
	return type && !strncmp(type, "pmix", 4);
}

/* None, or one that storm run has, too. */
static bool resident_has_mpi(const struct resident_step *s)
{
	if (resident_is_pmix(s->mpi))
		return s->pmix;
	return !s->mpi || !strcmp(s->mpi, "none") || !strcmp(s->mpi, "pmi1");
}

/* What wants a step, or NULL. */
static const char *resident_wants(const struct resident_step *s)
{
	if (!s->job)
		return "this is not inside a job";
	if (s->bars)
		return s->bars;
	if (s->most && s->least != s->most)
		return "a range of nodes";
	if (!resident_has_mpi(s))
		return "MPI";
	return NULL;
}

bool resident_fits(const struct resident_step *s, char *why, size_t size)
{
	const char *wants = resident_wants(s);

	if (wants) {
		snprintf(why, size, "%s", wants);
		return false;
	}
	for (size_t k = 0; k < s->count; k++) {
		const struct resident_option *o = s->options + k;

		if (resident_serves(s, o))
			continue;
		snprintf(why, size, "--%s%s", o->name,
			 o->by_env ? ", by a variable" : "");
		return false;
	}
	return true;
}

/* ---------------------------------------------------------------------- words --- */

enum { WORDS = 44 }; /* at most, without the program's */

static void resident_add(struct resident_words *w, const char *word)
{
	w->word[w->words++] = (char *) word;
}

static void resident_add_two(struct resident_words *w, const char *option,
			     const char *value)
{
	if (!value)
		return;
	resident_add(w, option);
	resident_add(w, value);
}

static void resident_add_number(struct resident_words *w, const char *option,
				uint32_t value)
{
	size_t k = w->numbers++;

	snprintf(w->number[k], sizeof(w->number[k]), "%u", value);
	resident_add_two(w, option, w->number[k]);
}

static void resident_add_places(struct resident_words *w,
				const struct resident_step *s)
{
	for (size_t k = 0; k < s->count; k++) {
		const struct resident_option *o = s->options + k;

		if (!strcmp(o->name, "gpus-per-task"))
			resident_add_two(w, "--gpus-per-task", o->value);
		else if ((!strcmp(o->name, "cpu-bind") ||
			  !strcmp(o->name, "cpu_bind")) &&
			 !resident_is_own_mask(s, o))
			resident_add_two(w, "--cpu-bind", s->bind);
	}
}

/* Each that a variable could contradict is said. */
static void resident_add_options(struct resident_words *w,
				 const struct resident_step *s)
{
	static const char *const streams[] = { "-i", "-o", "-e" };

	if (s->least)
		resident_add_number(w, "-N", s->least);
	if (s->tasks)
		resident_add_number(w, "-n", s->tasks);
	if (s->cpus)
		resident_add_number(w, "-c", s->cpus);
	resident_add_places(w, s);
	resident_add_two(w, "-w", s->with);
	resident_add_two(w, "-x", s->without);
	resident_add_two(w, "-D", s->chdir);
	resident_add_number(w, "-t", s->minutes);
	resident_add(w,
		     s->kill ? "--kill-on-bad-exit=1" : "--kill-on-bad-exit=0");
	resident_add(w, s->stays ? "--no-kill" : "--no-kill=off");
	resident_add_number(w, "-W", s->wait);
	for (int k = 0; k < 3; k++)
		resident_add_two(w, streams[k], s->stream[k]);
	if (s->append)
		resident_add(w, "--open-mode=a");
	if (s->label)
		resident_add(w, "-l");
	resident_add_two(w, "--mpi",
			 resident_is_pmix(s->mpi) ? "pmix" : s->mpi);
	if (s->pty) /* which is unbuffered by itself, for srun, too */
		resident_add(w, "--pty");
	else if (s->unbuffered)
		resident_add(w, "-u");
	if (s->quiet)
		resident_add(w, "-Q");
	if (s->multi)
		resident_add(w, "--multi-prog");
}

bool resident_words_init(struct resident_words *w,
			 const struct resident_step *s)
{
	size_t own = 0;

	while (s->argv[own])
		own++;
	*w = (struct resident_words) {
		.word = calloc(WORDS + own + 1, sizeof(*w->word)),
	};
	if (!w->word)
		return false;
	/* by the first of them storm(1) speaks as srun */
	resident_add(w, "srun");
	resident_add(w, "run");
	resident_add_options(w, s);
	resident_add(w, "--");
	/* storm run reads the file itself */
	for (size_t k = 0; k < own; k++)
		if (!s->multi || k != 1)
			resident_add(w, s->argv[k]);
	return true;
}

void resident_words_fini(struct resident_words *w)
{
	free(w->word);
	w->word = NULL;
}
