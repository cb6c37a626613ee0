/*
 * wait_page.h - the accounts of a step's tasks on a node: how long they compute and
 * how long they wait.  Flexible coscheduling classes MPI by it that spins (paper
 * section 3.2), of which the kernel sees nothing.
 *
 * slurmstepd makes the page, the library in the tasks adds to it, and the
 * agent, to which slurmstepd gives it, reads it.  It is memory without a name.
 * Seals keep its size, so that a user can neither fill a file system nor harm a
 * reader.  What is in it is the user's word.  It goes with the processes that
 * have it open.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WAIT_PAGE_H
#define STORM_WAIT_PAGE_H

#include <stdbool.h>
#include <stdint.h>

/* "FD:INODE" in a task's environment: the descriptor, and what it must be. */
#define WAIT_PAGE_ENV "STORM_WAIT_PAGE"
#define WAIT_PAGE_TASKS 1024 /* at most; of a step with more there is none */

/* Since the first wait.  Times are in ns, and those of all threads added up. */
struct wait_account {
	uint64_t waits;
	uint64_t computed, waited; /* between waits, and in them */
	uint64_t ran;		   /* CPU time of the threads that wait */
};

/* A task's, in a cache line of its own. */
struct wait_slot {
	_Alignas(64) _Atomic uint64_t waits;
	_Atomic uint64_t computed, waited, ran;
};

/* For so many tasks.  Returns a descriptor with FD_CLOEXEC, or -1 and errno. */
int wait_page_create(uint32_t tasks);
/* The value of WAIT_PAGE_ENV; false: the descriptor is none of a page. */
bool wait_page_name(int fd, char *out, unsigned long size);
/* Map a task's slot, by that value.  NULL: there is none. */
struct wait_slot *wait_page_map(const char *name, uint32_t task);
/* Sum up all tasks.  False: it is no such page, or cannot be read. */
bool wait_page_sum(int fd, struct wait_account *out);

/* Load a slot.  Others may add to it meanwhile. */
struct wait_account wait_slot_load(const struct wait_slot *s);

#endif
