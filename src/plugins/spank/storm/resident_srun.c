/*
 * resident_srun.c - see resident_srun.h.
 *
 * srun has read options, variables and slurm.conf then, and the cli_filter plugins have
 * seen them.  It has sent nothing.  So its words and checks are its own, and "storm run"
 * gets what they mean.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/hostlist.h"
#include "src/common/read_config.h"
#include "src/common/slurm_opt.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "resident_fit.h"
#include "resident_others.h"
#include "resident_srun.h"
#include "spank_signals.h"
#include "spank_turns.h"
#include "src/slurm/compat.h"
#include "src/storm_common/run_place.h"
#include "src/storm_common/slurm_build.h"
#include "src/storm_wait/wait_mode.h"

#define RESIDENT_ENV "SLURM_STORM_RESIDENT"

#define OPTIONS 64 /* that srun knows, at most as many are given */

static struct {
	bool option, asked; /* --resident; the same, or the variable */
	bool slurm, slurm_by_env;
	bool judged;
	char why[512]; /* a step is made */
} resident;

/* ------------------------------------------------------------------ who asks --- */

static int resident_srun_choose(int val, const char *text, int remote)
{
	resident.option = !remote;
	return ESPANK_SUCCESS;
}

struct spank_option resident_srun_option = {
	.name = "resident",
	.usage = "in a job, start the tasks by its launchers (storm run)",
	.cb = resident_srun_choose,
};

static bool resident_by_env(void)
{
	const char *text = getenv(RESIDENT_ENV);

	return text && !strcmp(text, "yes");
}

bool resident_srun_is_valid(void)
{
	const char *text = getenv(RESIDENT_ENV);

	if (!text || !*text || !strcmp(text, "no") || resident_by_env())
		return true;
	slurm_error("storm: %s=%s: allowed values are yes and no", RESIDENT_ENV,
		    text);
	return false;
}

void resident_srun_launch(bool slurm, bool by_env)
{
	resident.slurm = slurm;
	resident.slurm_by_env = by_env;
}

bool resident_srun_seems(char *const *argv)
{
	bool asked = resident_by_env();

	for (; argv && *argv; argv++)
		asked |= !strcmp(*argv, "--resident");
	return asked && getenv("SLURM_JOB_ID");
}

/* ----------------------------------------------------------- what wants a step --- */

static bool resident_has(const char *name)
{
	const char *text = getenv(name);

	return text && *text;
}

/* A task starts launchers that end with its step.  So srun does so on the first node alone,
 * where its batch script is; elsewhere launchers that are there have a socket. */
static bool resident_has_no_launchers(void)
{
	const char *here = getenv("SLURMD_NODENAME"), *job;
	const char *nodes = getenv("SLURM_JOB_NODELIST");
	char host[64] = "", path[128], *first;
	struct hostlist *all;
	bool elsewhere;

	if (!here || !nodes || !(all = hostlist_create(nodes)))
		return false;
	first = hostlist_shift(all);
	elsewhere = first && strcmp(first, here) != 0;
	free(first);
	hostlist_destroy(all);
	if (!elsewhere)
		return false;
	gethostname(host, sizeof(host) - 1);
	job = getenv("SLURM_JOB_ID");
	snprintf(path, sizeof(path), RUN_PLACE_SOCKET,
		 RUN_PLACE_ARGS(job, host));
	return access(path, F_OK);
}

static bool resident_is_het(void)
{
	const bool *local = dlsym(RTLD_DEFAULT, "local_het_step");

	return resident_has("SLURM_HET_SIZE") || (local && *local);
}

static bool resident_is_debugged(void)
{
	const int *debugged = dlsym(RTLD_DEFAULT, "MPIR_being_debugged");

	return debugged && *debugged;
}

/* SrunProlog, or SrunEpilog: a path, or "none". */
static bool resident_is_program(const char *path)
{
	return path && *path && strcasecmp(path, "none") != 0;
}

static const char *resident_bars(const slurm_opt_t *opt)
{
	static char others[400];

	if (resident.slurm && !(resident.slurm_by_env && resident.option))
		return "--launch=slurm";
	if (resident_is_het())
		return "heterogeneous components";
	if (resident_is_debugged())
		return "a debugger";
	if (slurm_conf.task_prolog)
		return "TaskProlog in slurm.conf";
	if (slurm_conf.task_epilog)
		return "TaskEpilog in slurm.conf";
	if (resident_is_program(opt->srun_opt->prolog))
		return "SrunProlog";
	if (resident_is_program(opt->srun_opt->epilog))
		return "SrunEpilog";
	if ((opt->distribution & SLURM_DIST_STATE_BASE) == SLURM_DIST_ARBITRARY)
		return "SLURM_HOSTFILE";
	if (opt->distribution & SLURM_DIST_PACK_NODES)
		return "tasks that are packed on nodes";
	if (resident_has("STORM_TIMELINE"))
		return "STORM_TIMELINE";
	if (resident_has(WAIT_MODE_ENV))
		return "--storm-wait";
	if (resident_has(TURNS_ENV))
		return "--storm-turns";
	if (access(STORM_PATH, X_OK))
		return STORM_PATH " cannot be executed: install STORM again";
	if (resident_has_no_launchers())
		return "no launchers are there, and only the job's first node starts them";
	return resident_others_want(others, sizeof(others)) ? others : NULL;
}

/* ------------------------------------------------------------------- the step --- */

/* How many options are set; their texts are Slurm's memory (xfree). */
static size_t resident_options(slurm_opt_t *opt,
			       struct resident_option (*out)[OPTIONS])
{
	char *name = NULL, *value = NULL;
	size_t n = 0, state = 0;

	while (n < OPTIONS &&
	       slurm_option_get_next_set(opt, &name, &value, &state))
		(*out)[n++] = (struct resident_option) {
			name,
			value ? value : xstrdup(""),
			opt->state[state - 1].set_by_env,
		};
	return n;
}

static bool resident_is_set(const struct resident_step *s, const char *name)
{
	for (size_t k = 0; k < s->count; k++)
		if (!strcmp(s->options[k].name, name))
			return true;
	return false;
}

/* The number of an option, or what slurm.conf says, or 0. */
static uint32_t resident_number(int value, uint32_t otherwise)
{
	return value == (int) NO_VAL ? otherwise :
	       value > 0	     ? (uint32_t) value :
				       0;
}

/* What srun has made of --cpu-bind, in words of storm run, or NULL; the caller frees it
 * (xfree).  With none of these words srun chooses one. */
static char *resident_bind(const srun_opt_t *srun)
{
	static const struct {
		unsigned int type;
		const char *word;
		bool list, hwloc; /* that it comes with, or needs */
	} known[] = {
		{ CPU_BIND_NONE, "none", false, false },
		{ CPU_BIND_TO_THREADS, "threads", false, false },
		{ CPU_BIND_TO_CORES, "cores", false, true },
		{ CPU_BIND_TO_SOCKETS, "sockets", false, true },
		{ CPU_BIND_TO_LDOMS, "ldoms", false, true },
		{ CPU_BIND_MAP, "map_cpu:", true, false },
		{ CPU_BIND_MASK, "mask_cpu:", true, false },
	};
	unsigned int type = (unsigned int) srun->cpu_bind_type;
	const char *says = type & CPU_BIND_VERBOSE ? "verbose," : "";

	type &= ~(unsigned int) CPU_BIND_VERBOSE;
	for (size_t k = 0; k < sizeof(known) / sizeof(*known); k++) {
		if (type != known[k].type ||
		    (known[k].list && !srun->cpu_bind) ||
		    (known[k].hwloc && access(STORM_HWLOC_PATH, R_OK)))
			continue;
		return xstrdup_printf("%s%s%s", says, known[k].word,
				      known[k].list ? srun->cpu_bind : "");
	}
	return NULL;
}

static void resident_take(struct resident_step *s, const slurm_opt_t *opt)
{
	const srun_opt_t *srun = opt->srun_opt;

	s->job = getenv("SLURM_JOB_ID");
	s->mpi = srun->mpi_type ? srun->mpi_type : slurm_conf.mpi_default;
	s->pmix = !access(STORM_PMIX_PATH, X_OK);
	if (opt->nodes_set) {
		s->least = (uint32_t) opt->min_nodes;
		s->most = (uint32_t) opt->max_nodes;
	}
	if (opt->ntasks_set || opt->nodes_set)
		s->tasks = (uint32_t) opt->ntasks;
	if (opt->cpus_set)
		s->cpus = (uint32_t) opt->cpus_per_task;
	s->with = opt->nodelist;
	s->without = opt->exclude;
	if (resident_is_set(s, "chdir"))
		s->chdir = opt->chdir;
	s->stream[0] = opt->ifname;
	s->stream[1] = opt->ofname;
	s->stream[2] = opt->efname;
	s->label = srun->labelio;
	s->unbuffered = srun->unbuffered;
	s->quiet = opt->quiet > 0;
	s->pty = srun->pty;
	s->terminal = isatty(STDIN_FILENO);
	s->multi = srun->multi_prog;
	s->append = opt->open_mode == OPEN_MODE_APPEND;
	s->stays = opt->no_kill;
	s->minutes = resident_number(opt->time_limit, 0);
	s->kill = resident_number(srun->kill_bad_exit,
				  slurm_conf.kill_on_bad_exit) != 0;
	s->wait = resident_number(srun->max_wait, slurm_conf.wait_time);
	s->argv = COMPAT_ARGV(opt);
	s->bars = s->job ? resident_bars(opt) : NULL;
}

/* Returns if it cannot be executed. */
static void resident_exec(const struct resident_step *s)
{
	extern char **environ;
	struct resident_words w;

	if (!resident_words_init(&w, s)) {
		snprintf(resident.why, sizeof(resident.why), "no memory");
		return;
	}
	spank_signals_reset();
	execve(STORM_PATH, w.word, environ);
	snprintf(resident.why, sizeof(resident.why), "%s: %s", STORM_PATH,
		 strerror(errno));
	spank_signals_restore();
	resident_words_fini(&w);
}

static void resident_judge_step(slurm_opt_t *opt)
{
	struct resident_option options[OPTIONS];
	char *bind = resident_bind(opt->srun_opt);
	struct resident_step s = {
		.options = options,
		.count = resident_options(opt, &options),
		.bind = bind,
	};

	resident_take(&s, opt);
	if (resident_fits(&s, resident.why, sizeof(resident.why))) {
		if (opt->verbose > 0)
			slurm_info(
				"storm: --resident: the job's launchers start the tasks");
		resident_exec(&s);
	}
	for (size_t k = 0; k < s.count; k++) {
		xfree(options[k].name);
		xfree(options[k].value);
	}
	xfree(bind);
}

void resident_srun_opted(void)
{
	slurm_opt_t *opt = dlsym(RTLD_DEFAULT, "opt");

	resident.asked = resident.option || resident_by_env();
	if (!resident.asked || resident.judged)
		return;
	resident.judged = true;
	if (slurm_build_refusal())
		snprintf(resident.why, sizeof(resident.why), "%s",
			 slurm_build_refusal());
	else if (!opt || !opt->srun_opt)
		snprintf(resident.why, sizeof(resident.why),
			 "an srun of another kind");
	else
		resident_judge_step(opt);
}

void resident_srun_begins(void)
{
	if (*resident.why)
		slurm_verbose(
			"storm: --resident: %s: Slurm makes a step, as without it",
			resident.why);
	*resident.why = '\0';
}
