/*
 * each_refused.c - see each_refused.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <string.h>

#include "each_options.h"
#include "each_refused.h"

enum { REFUSED = 1 << 20 }; /* what getopt_long(3) returns for a long one */

/* Why, and what instead. */
#define HOSTS \
	"tasks run on the job's nodes: leave it out, and choose them with sbatch or salloc"
#define FILES_SHARED "the job's nodes share files: leave it out"
#define PARTS \
	"tasks get no part of an input: cut it into files first, as split(1) does"
#define SEMAPHORE "storm each is no semaphore: take flock(1)"
#define DATABASE "there is no database: take --joblog and --results"
#define TERMINAL "tasks have no terminal: leave it out"
#define PERL "there is no Perl here: let the command itself compute it"
#define LOAD \
	"tasks start when the job has CPUs for them: leave it out, and take -j or -c"
#define OUTPUT "output is not changed on its way: leave it out"
#define LENGTH "a command takes what fits: take --max-args"
#define EXPORT \
	"tasks have the whole environment: export variables and functions, and leave it out"
#define SCRIPT \
	"storm each runs commands alone: leave it out, and read lines with -a"
#define ROWS \
	"lines are all rows: cut the header off with tail(1), and name columns as {1}"

static const struct {
	const char *name; /* NULL: a letter alone */
	char letter;
	const char *why;
} refused[] = {
	{ "sshlogin", 'S', HOSTS },
	{ "sshloginfile", 0, HOSTS },
	{ "slf", 0, HOSTS },
	{ "onall", 0, HOSTS },
	{ "nonall", 0, HOSTS },
	{ "ssh", 0, HOSTS },
	{ "ssh-delay", 0, HOSTS },
	{ "sshdelay", 0, HOSTS },
	{ "controlmaster", 'M', HOSTS },
	{ "hostgroups", 0, HOSTS },
	{ "hgrp", 0, HOSTS },
	{ "filter-hosts", 0, HOSTS },
	{ "transfer", 0, FILES_SHARED },
	{ "transferfile", 0, FILES_SHARED },
	{ "tf", 0, FILES_SHARED },
	{ "return", 0, FILES_SHARED },
	{ "cleanup", 0, FILES_SHARED },
	{ "trc", 0, FILES_SHARED },
	{ "basefile", 0, FILES_SHARED },
	{ "bf", 0, FILES_SHARED },
	{ "rsync-opts", 0, FILES_SHARED },
	{ "pipe", 0, PARTS },
	{ "spreadstdin", 0, PARTS },
	{ "pipe-part", 0, PARTS },
	{ "pipepart", 0, PARTS },
	{ "block", 0, PARTS },
	{ "block-size", 0, PARTS },
	{ "block-timeout", 0, PARTS },
	{ "bt", 0, PARTS },
	{ "recstart", 0, PARTS },
	{ "recend", 0, PARTS },
	{ "regexp", 0, PARTS },
	{ "remove-rec-sep", 0, PARTS },
	{ "removerecsep", 0, PARTS },
	{ "rrs", 0, PARTS },
	{ "round-robin", 0, PARTS },
	{ "round", 0, PARTS },
	{ "cat", 0, PARTS },
	{ "fifo", 0, PARTS },
	{ "shard", 0, PARTS },
	{ "bin", 0, PARTS },
	{ "group-by", 0, PARTS },
	{ "groupby", 0, PARTS },
	{ "semaphore", 0, SEMAPHORE },
	{ "semaphore-name", 0, SEMAPHORE },
	{ "semaphore-timeout", 0, SEMAPHORE },
	{ "id", 0, SEMAPHORE },
	{ "st", 0, SEMAPHORE },
	{ "bg", 0, SEMAPHORE },
	{ "fg", 0, SEMAPHORE },
	{ "sql", 0, DATABASE },
	{ "sql-master", 0, DATABASE },
	{ "sqlmaster", 0, DATABASE },
	{ "sql-worker", 0, DATABASE },
	{ "sqlworker", 0, DATABASE },
	{ "sql-and-worker", 0, DATABASE },
	{ "sqlandworker", 0, DATABASE },
	{ "tmux", 0, TERMINAL },
	{ "tmuxpane", 0, TERMINAL },
	{ "tty", 0, TERMINAL },
	{ "open-tty", 'o', TERMINAL },
	{ "interactive", 'p', TERMINAL },
	{ "plus", 0, PERL },
	{ "rpl", 0, PERL },
	{ "parens", 0, PERL },
	{ "filter", 0, PERL },
	{ "load", 0, LOAD },
	{ "memfree", 0, LOAD },
	{ "memsuspend", 0, LOAD },
	{ "noswap", 0, LOAD },
	{ "limit", 0, LOAD },
	{ "nice", 0, LOAD },
	{ "use-cores-instead-of-threads", 0, LOAD },
	{ "use-sockets-instead-of-threads", 0, LOAD },
	{ "use-cpus-instead-of-cores", 0, LOAD },
	{ "color", 0, OUTPUT },
	{ "color-failed", 0, OUTPUT },
	{ "cf", 0, OUTPUT },
	{ "ctag", 0, OUTPUT },
	{ "ctagstring", 0, OUTPUT },
	{ "compress", 0, OUTPUT },
	{ "compress-program", 0, OUTPUT },
	{ "decompress-program", 0, OUTPUT },
	{ "latest-line", 0, OUTPUT },
	{ "ll", 0, OUTPUT },
	{ "max-lines", 'L', LENGTH },
	{ NULL, 'l', LENGTH },
	{ "max-chars", 's', LENGTH },
	{ "xargs", 0, LENGTH },
	{ "exit", 'x', LENGTH },
	{ "show-limits", 0, LENGTH },
	{ "max-line-length-allowed", 0, LENGTH },
	{ "record-env", 0, EXPORT },
	{ "session", 0, EXPORT },
	{ "profile", 'J', "there are no profiles: give the options here" },
	{ "shebang", 0, SCRIPT },
	{ "hashbang", 0, SCRIPT },
	{ "shebang-wrap", 0, SCRIPT },
	{ "embed", 0, SCRIPT },
	{ "shell-quote", 0, SCRIPT },
	{ "shellquote", 0, SCRIPT },
	{ "shell-completion", 0, SCRIPT },
	{ "header", 0, ROWS },
	{ "skip-first-line", 0, ROWS },
	{ "csv", 0,
	  "fields in quotes are not there: take --colsep where none has the separator" },
	{ "eof", 'E',
	  "all of the input is read: end it before, as sed '/WORD/Q' does" },
	{ NULL, 'e',
	  "all of the input is read: end it before, as sed '/WORD/Q' does" },
	{ "files", 0, "output goes to files that --results names" },
	{ "output-as-files", 0, "output goes to files that --results names" },
	{ "outputasfiles", 0, "output goes to files that --results names" },
	{ "retry-failed", 0,
	  "take --resume-failed with the same command and arguments" },
	{ "process-slot-var", 0, "the slot's number is {%}" },
	{ "total-jobs", 0, "storm each counts them itself: leave it out" },
	{ "total", 0, "storm each counts them itself: leave it out" },
	{ "termseq", 0, "tasks get SIGTERM, and then SIGKILL: leave it out" },
	{ "term-seq", 0, "tasks get SIGTERM, and then SIGKILL: leave it out" },
	{ NULL, 't', "-v prints commands" },
	{ NULL, 'i', "take -I with the replacement string" },
	{ "minversion", 0, "this is not GNU parallel: storm each --version" },
	{ "citation", 0, "this is not GNU parallel: leave it out" },
};

enum { HOW_MANY = sizeof(refused) / sizeof(*refused) };

size_t each_refused_count(void)
{
	return HOW_MANY;
}

void each_refused_options(struct option *out, char *letters)
{
	/* a value is not looked at, and may be there */
	for (int k = 0; k < HOW_MANY; k++) {
		if (refused[k].name)
			*out++ = (struct option) { refused[k].name,
						   optional_argument, NULL,
						   REFUSED + k };
		if (refused[k].letter) {
			*letters++ = refused[k].letter;
			*letters++ = ':';
			*letters++ = ':';
		}
	}
	*out = (struct option) { NULL, 0, NULL, 0 };
	*letters = '\0';
}

bool each_refuse(int option, const char *long_name)
{
	for (int k = 0; k < HOW_MANY; k++) {
		if (long_name ? option != REFUSED + k :
				!option || option != refused[k].letter)
			continue;
		if (long_name)
			run_say("--%s: %s", long_name, refused[k].why);
		else
			run_say("-%c: %s", option, refused[k].why);
		return true;
	}
	return false;
}
