/*
 * run_options.c - see run_options.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "run_options.h"
#include "run_places.h"
#include "src/storm_launcher/run_paths.h"
#include "storm_config.h"

static const char usage[] =
	"Usage: storm run [OPTIONS] PROGRAM [ARGUMENTS]\n"
	"Start tasks in this job by launchers that stay on its nodes.\n"
	"\n"
	"  -N, --nodes=N            on so many nodes [one for each task, at most all]\n"
	"  -n, --ntasks=N           so many tasks [one for each node]\n"
	"  -c, --cpus-per-task=N, --gpus-per-task=N   CPUs [1] and GPUs of each of them\n"
	"      --gpus-per-node=N, --gres=gpu:N|none, --mem=SIZE, --mem-per-cpu=SIZE\n"
	"  -w, --nodelist=LIST, -x, --exclude=LIST   on these at least; not on these\n"
	"  -D, --chdir=PATH         the tasks' directory\n"
	"  -t, --time=TIME          end it then: minutes, or [days-][hours:]min:sec\n"
	"  -K, --kill-on-bad-exit   end it when a task fails; =0: do not\n"
	"  -k, --no-kill            the loss of a node ends its own tasks alone; =off: no\n"
	"  -W, --wait=SECONDS       end it so long after its first task has ended\n"
	"  -o, --output=FILE, -e, --error=FILE   %t, %n, %N: one for each task or node\n"
	"      --journal=FILE       a line of JSON for the run: ends, times, what it used\n"
	"  -i, --input=all|N|none|FILE   input for all tasks, one, none; a file's [all]\n"
	"      --open-mode=a|t      append to these files, or empty them first [t]\n"
	"      --mpi=none|pmi1|pmix, --cpu-bind=TYPE   ranks of MPI; see storm(1)\n"
	"  -l, --label, -u, --unbuffered, --fold   numbers; by pieces; equal lines once\n"
	"      --pty, --multi-prog  one task has this terminal; PROGRAM is a file of them\n"
	"      --start, --stop      start launchers that stay; end them and their runs\n"
	"  -Q, --quiet; -V, --version, -h, --help   errors alone; version, this summary\n"
	"\n"
	"Exit status: the highest of the tasks, 128 and more a signal; 1: lost; 2: usage\n";

/* -------------------------------------------------------------------- values --- */

/* As srun has them: the options' values are numbers from 1. */
static bool run_number(const char *text, const char *what, uint32_t *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text >= '0' && *text <= '9' && !*end && n && n < UINT32_MAX / 2) {
		*out = (uint32_t) n;
		return true;
	}
	run_say("\"%s\" is no number of %s", text, what);
	return false;
}

/* Like that, and 0 is one. */
static bool run_number_or_none(const char *text, const char *what,
			       uint32_t *out)
{
	*out = 0;
	return !strcmp(text, "0") || run_number(text, what, out);
}

/* Numbers with colons between them, up to three; how many, or 0. */
static int run_time_fields(const char *text, unsigned long (*out)[3])
{
	int n = 0;
	char *end;

	do {
		if (n == 3 || *text < '0' || *text > '9' ||
		    strspn(text, "0123456789") > 8)
			return 0;
		(*out)[n++] = strtoul(text, &end, 10);
		text = end + 1;
	} while (*end == ':');
	return *end ? 0 : n;
}

/* As srun reads it: M, M:S, H:M:S, D-H, D-H:M or D-H:M:S.  0: no limit. */
static bool run_time(const char *text, uint32_t *out)
{
	static const unsigned long by[] = { 60 * 60, 60, 1 };
	const char *dash = strchr(text, '-');
	unsigned long part[3] = { 0 }, days = 0, sum = 0;
	int n, from;

	*out = 0;
	if (!strcasecmp(text, "infinite") || !strcasecmp(text, "unlimited") ||
	    !strcmp(text, "-1"))
		return true;
	if (dash && dash > text &&
	    strspn(text, "0123456789") == (size_t) (dash - text) &&
	    dash - text <= 4)
		days = strtoul(text, NULL, 10);
	else if (dash)
		dash = "-";
	n = run_time_fields(dash ? dash + 1 : text, &part);
	/* the first of them is hours, but without days one or two begin with minutes */
	from = !dash && n < 3;
	for (int k = 0; k < n && from + k < 3; k++)
		sum += part[k] * by[from + k];
	sum += days * 24 * 60 * 60;
	if (n && sum < UINT32_MAX) {
		*out = (uint32_t) sum;
		return true;
	}
	run_say("\"%s\" is no time", text);
	return false;
}

static bool run_yes_or_no(const char *text, bool *out)
{
	if (text && strcmp(text, "0") && strcmp(text, "1")) {
		run_say("\"%s\" is neither 0 nor 1", text);
		return false;
	}
	*out = !text || *text == '1';
	return true;
}

/* The variable has any value; the option's only one is "off". */
static bool run_no_kill(const char *text, bool *out)
{
	*out = !text || strcmp(text, "off") != 0;
	return true;
}

/* As srun reads it: by its first letter. */
static bool run_open_mode(const char *value, bool *append)
{
	if (*value == 'a' || *value == 'A' || *value == 't' || *value == 'T') {
		*append = *value == 'a' || *value == 'A';
		return true;
	}
	run_say("\"%s\" is no mode: append or truncate", value);
	return false;
}

static const char mpi_types[] = "MPI types are...\n\tnone\n\tpmi1\n\tpmix\n";

bool run_mpi_read(const char *value, enum run_mpi *mpi)
{
	static const char *const names[] = {
		[RUN_MPI_NONE] = "none",
		[RUN_MPI_PMI1] = "pmi1",
		[RUN_MPI_PMIX] = "pmix",
	};

	for (int k = 0; k < RUN_MPIS; k++)
		if (!strcmp(value, names[k])) {
			*mpi = (enum run_mpi) k;
			return true;
		}
	run_say("--mpi=%s: storm run has none, pmi1 for MPICH and its relatives, and pmix for Open MPI",
		value);
	return false;
}

/* -------------------------------------------------------------------- options --- */

enum {
	START = 256,
	STOP,
	OPEN_MODE,
	FOLD,
	PTY,
	MPI,
	MULTI,
	JOURNAL,
	CPU_BIND,
	TASK_GPUS,
	NODE_GPUS,
	GRES,
	MEM,
	CPU_MEM,
	NOT_YET
};

static const struct option run_options_known[] = {
	{ "nodes", required_argument, NULL, 'N' },
	{ "ntasks", required_argument, NULL, 'n' },
	{ "cpus-per-task", required_argument, NULL, 'c' },
	{ "nodelist", required_argument, NULL, 'w' },
	{ "exclude", required_argument, NULL, 'x' },
	{ "chdir", required_argument, NULL, 'D' },
	{ "time", required_argument, NULL, 't' },
	{ "kill-on-bad-exit", optional_argument, NULL, 'K' },
	{ "no-kill", optional_argument, NULL, 'k' },
	{ "wait", required_argument, NULL, 'W' },
	{ "output", required_argument, NULL, 'o' },
	{ "error", required_argument, NULL, 'e' },
	{ "input", required_argument, NULL, 'i' },
	{ "open-mode", required_argument, NULL, OPEN_MODE },
	{ "mpi", required_argument, NULL, MPI },
	{ "multi-prog", no_argument, NULL, MULTI },
	{ "cpu-bind", required_argument, NULL, CPU_BIND },
	{ "gpus-per-task", required_argument, NULL, TASK_GPUS },
	{ "gpus-per-node", required_argument, NULL, NODE_GPUS },
	{ "gres", required_argument, NULL, GRES },
	{ "mem", required_argument, NULL, MEM },
	{ "mem-per-cpu", required_argument, NULL, CPU_MEM },
	{ "journal", required_argument, NULL, JOURNAL },
	{ "label", no_argument, NULL, 'l' },
	{ "fold", no_argument, NULL, FOLD },
	{ "unbuffered", no_argument, NULL, 'u' },
	{ "quiet", no_argument, NULL, 'Q' },
	{ "pty", no_argument, NULL, PTY },
	{ "start", no_argument, NULL, START },
	{ "stop", no_argument, NULL, STOP },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	/* srun's, that are missed most */
	{ "gpus", required_argument, NULL, NOT_YET },
	{ NULL, 0, NULL, 0 },
};

/* Variables that stand for options, as with srun. */
static const struct {
	const char *name;
	int option;
} run_variables[] = {
	{ "SRUN_CPUS_PER_TASK", 'c' }, { "STORM_RUN_JOURNAL", JOURNAL },
	{ "SLURM_REMOTE_CWD", 'D' },   { "SLURM_WORKING_DIR", 'D' },
	{ "SLURM_TIMELIMIT", 't' },    { "SLURM_KILL_BAD_EXIT", 'K' },
	{ "SLURM_NO_KILL", 'k' },      { "SLURM_WAIT", 'W' },
	{ "SLURM_STDINMODE", 'i' },    { "SLURM_STDOUTMODE", 'o' },
	{ "SLURM_STDERRMODE", 'e' },   { "SLURM_OPEN_MODE", OPEN_MODE },
	{ "SLURM_LABELIO", 'l' },      { "SLURM_UNBUFFEREDIO", 'u' },
};

/* False: it was said why. */
static bool run_set(int option, const char *value, struct run_options *o)
{
	switch (option) {
	case 'N':
		return run_number(value, "nodes", &o->ask.nodes);
	case 'n':
		return run_number(value, "tasks", &o->ask.tasks);
	case 'c':
		return run_number(value, "CPUs", &o->ask.cpus);
	case 'w':
		o->ask.with = value;
		return true;
	case 'x':
		o->ask.without = value;
		return true;
	case 'D':
		o->cwd = value;
		return true;
	case 't':
		return run_time(value, &o->ask.limit);
	case 'K':
		return run_yes_or_no(value, &o->ask.kill);
	case 'k':
		return run_no_kill(value, &o->ask.keep);
	case 'W':
		return run_number_or_none(value, "seconds", &o->ask.wait);
	case START:
		o->start = true;
		return true;
	case 'i':
		o->stream[0] = value;
		return true;
	case 'o':
		o->stream[1] = value;
		return true;
	case 'e':
		o->stream[2] = value;
		return true;
	case OPEN_MODE:
		return run_open_mode(value, &o->append);
	case MPI:
		return run_mpi_read(value, &o->mpi);
	case JOURNAL:
		o->journal = value;
		return true;
	case MULTI:
		o->multi = true;
		return true;
	case CPU_BIND:
		return run_places_bind(value, o);
	case TASK_GPUS:
		return run_places_gpus(value, "--gpus-per-task", &o->ask.gpus);
	case NODE_GPUS:
		return run_places_gpus(value, "--gpus-per-node",
				       &o->ask.node_gpus);
	case GRES:
		return run_places_gres(value, o);
	case MEM:
		return run_places_memory(value, &o->ask.mem);
	case CPU_MEM:
		return run_places_memory(value, &o->ask.cpu_mem);
	case 'l':
		o->label = !value || strcmp(value, "0") != 0;
		return true;
	case FOLD:
		o->fold = true;
		return true;
	case PTY:
		o->pty = true;
		return true;
	case 'u':
		o->unbuffered = !value || strcmp(value, "0") != 0;
		return true;
	case 'Q':
		run_say_less();
		return true;
	case STOP:
		o->stop = true;
		return true;
	default: /* getopt_long(3) has said it */
		return false;
	}
}

static bool run_set_by_variables(struct run_options *o)
{
	for (size_t k = 0; k < sizeof(run_variables) / sizeof(*run_variables);
	     k++) {
		const char *value = getenv(run_variables[k].name);

		if (value && *value &&
		    !run_set(run_variables[k].option, value, o))
			return false;
	}
	return true;
}

/* As srun, which warns. */
void run_fit_nodes(struct run_ask *ask)
{
	if (!ask->tasks || ask->nodes <= ask->tasks)
		return;
	run_inform(
		"Warning: can't run %u processes on %u nodes, setting nnodes to %u",
		ask->tasks, ask->nodes, ask->tasks);
	ask->nodes = ask->tasks;
}

static bool run_streams_agree(struct run_options *o)
{
	uint32_t task;

	if (!o->stream[2])
		o->stream[2] = o->stream[1];
	for (int k = 1; (o->label || o->fold) && k < 3; k++)
		if (run_stream_of(o->stream[k], &task) == RUN_MANY_FILES) {
			run_say("%s: -l and --fold are not for a file for each task or node",
				o->stream[k]);
			return false;
		}
	return true;
}

/* As srun, but where that would have no terminal, or give it to one of many tasks. */
static bool run_pty_agrees(struct run_options *o)
{
	if (!o->pty)
		return true;
	if (!o->ask.tasks)
		o->ask.tasks = 1;
	if (o->ask.tasks > 1 || o->ask.nodes > 1) {
		run_say("--pty is for one task");
		return false;
	}
	if (*o->stream[0] || *o->stream[1] || *o->stream[2] || o->label ||
	    o->fold) {
		run_say("--pty goes with none of -i, -o, -e, -l and --fold");
		return false;
	}
	if (!isatty(STDIN_FILENO)) {
		run_say("--pty: standard input is no terminal");
		return false;
	}
	return true;
}

int run_parse(int argc, char **argv, struct run_options *o)
{
	int c, at = 0;

	*o = (struct run_options) {
		.ask = { .with = "", .without = "", .journal = "" },
		.stream = { "", "" },
		.bind_list = ""
	};
	if (!run_set_by_variables(o))
		return RUN_USAGE;
	while ((c = getopt_long(argc, argv,
				"+N:n:c:w:x:D:t:K::k::W:o:e:i:luQVh",
				run_options_known, &at)) >= 0) {
		if (c == 'V') {
			puts("storm " STORM_VERSION);
			return 0;
		}
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c == MPI && !strcmp(optarg, "list")) {
			fputs(mpi_types, stdout);
			return 0;
		}
		if (c == NOT_YET)
			run_say("--%s: storm run does not have it yet; srun has",
				run_options_known[at].name);
		if (!run_set(c, optarg, o))
			return RUN_USAGE;
	}
	if (!run_streams_agree(o) || !run_pty_agrees(o) || !run_places_agree(o))
		return RUN_USAGE;
	run_fit_nodes(&o->ask);
	o->argv = argv + optind;
	if (o->start + o->stop + (optind < argc) == 1)
		return RUN_GOES_ON;
	if (o->start || o->stop) {
		run_say("--start and --stop go neither with each other nor with a program");
		return RUN_USAGE;
	}
	run_say("no program is given; see storm run --help");
	return RUN_USAGE;
}
