/*
 * wait_mpi.c - find functions of the MPI library of this process.
 *
 * All see it where a program is linked with it.  The program comes first: it has
 * copies of MPI's variables.  Where MPI was loaded later, by Python, only the
 * library that has loaded it sees it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "wait_mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char none; /* the address of what is not there */

static void *wait_mpi_look(const char *name, void *caller)
{
	static _Atomic(void *) user;
	void *found = dlsym(RTLD_DEFAULT, name), *opened;
	Dl_info info;

	if (!found && (opened = atomic_load(&user)))
		found = dlsym(opened, name);
	if (found || !dladdr(caller, &info) ||
	    !(opened = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)))
		return found;
	if ((found = dlsym(opened, name)))
		atomic_store(&user, opened);
	else
		dlclose(opened);
	return found;
}

void *wait_mpi_find(struct wait_symbol *s, void *caller)
{
	void *found = atomic_load(&s->address);

	if (!found) {
		found = wait_mpi_look(s->name, caller);
		atomic_store(&s->address, found ? found : &none);
	}
	return found == &none ? NULL : found;
}

void *wait_mpi_need(struct wait_symbol *s, void *caller)
{
	void *found = wait_mpi_find(s, caller);

	if (found)
		return found;
	fprintf(stderr,
		"storm: --storm-wait: the MPI library has no %s: run the program without the option\n",
		s->name);
	abort();
}

static wait_word wait_mpi_variable(const char *name, void *caller)
{
	struct wait_symbol symbol = { name, NULL };

	return (wait_word) wait_mpi_find(&symbol, caller);
}

static struct wait_mpi_kind wait_mpi_look_up_kind(void *caller)
{
	static struct wait_symbol version = { "MPI_Get_library_version", NULL };
	int (*ask)(char *, int *) = wait_mpi_find(&version, caller);
	struct wait_mpi_kind open = {
		WAIT_OPEN_MPI,
		wait_mpi_variable("ompi_mpi_comm_world", caller),
		wait_mpi_variable("ompi_mpi_double", caller),
		wait_mpi_variable("ompi_mpi_packed", caller),
		-2,
	};
	char text[8192] = ""; /* MPI_MAX_LIBRARY_VERSION_STRING of MPICH */
	int length;

	if (open.world && open.real && open.packed)
		return open;
	/* MPICH, MVAPICH, Cray's, Intel's */
	if (ask && !ask(text, &length) &&
	    (strstr(text, "PICH") || strstr(text, "Intel(R) MPI")))
		return (struct wait_mpi_kind) { WAIT_MPICH, 0x44000000,
						0x4c00080b, 0x4c00010f, -1 };
	return (struct wait_mpi_kind) { WAIT_OTHER_MPI, 0, 0, 0, 0 };
}

/* Threads that ask at the same time find the same. */
const struct wait_mpi_kind *wait_mpi_kind(void *caller)
{
	static struct wait_mpi_kind kind;
	static atomic_bool known;

	if (!atomic_load(&known)) {
		kind = wait_mpi_look_up_kind(caller);
		atomic_store(&known, true);
	}
	return &kind;
}
