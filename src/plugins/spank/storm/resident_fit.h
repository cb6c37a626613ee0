/*
 * resident_fit.h - can a step of srun go by the job's launchers (storm run), and by which
 * words?  It decides by what srun has parsed, and asks nobody.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_RESIDENT_FIT_H
#define STORM_RESIDENT_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One that srun was given, by its long name. */
struct resident_option {
	const char *name, *value;
	bool by_env; /* by a variable, which may be the job's */
};

/* What the caller owns stays its own.  NULL: there is none. */
struct resident_step {
	const char *job; /* that it is in */
	const struct resident_option *options;
	size_t count; /* of options */
	const char *
		bars; /* what of the site, or of srun's process, wants a step; NULL */
	const char *
		bind; /* of --cpu-bind, by words of storm run; NULL: it has none such */
	const char *mpi;	    /* the type of MPI that it gets */
	bool pmix;		    /* launchers have what serves it */
	uint32_t least, most;	    /* nodes; 0: not said */
	uint32_t tasks, cpus;	    /* 0: not said; CPUs of each task */
	const char *with, *without; /* nodes */
	const char *chdir;
	const char *stream[3];
	bool label, append, unbuffered, quiet;
	bool pty, terminal; /* --pty; and stdin is one */
	/* argv[0] is a file that has a program for each task, and argv[1] all of its
	 * text */
	bool multi;
	bool stays;	   /* when a node is lost */
	uint32_t minutes;  /* its limit; 0: none */
	bool kill;	   /* when a task fails */
	uint32_t wait;	   /* seconds after its first task's end; 0: for ever */
	char *const *argv; /* the program and its arguments; ends with NULL */
};

/* True: it can.  False: what it needs is in why, for a message. */
bool resident_fits(const struct resident_step *s, char *why, size_t size);

/* The arguments of storm(1) for a step, as those of execve(2). */
struct resident_words {
	char number[8][12]; /* texts, to which words point */
	char **word;	    /* ends with NULL; the others point to the step's */
	size_t words, numbers;
};

/* False: no memory.  What is in s must stay as long as the words. */
bool resident_words_init(struct resident_words *w,
			 const struct resident_step *s);
void resident_words_fini(struct resident_words *w);

#endif
