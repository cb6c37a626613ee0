/*
 * wait_mpi.h - the MPI library of this process, whichever it is.
 *
 * MPICH and Open MPI differ in what a communicator, a request or a status is.
 * All arguments of the calls here are ints and pointers, and each takes a word
 * in the calling conventions of Linux.  So one library serves both: it hands
 * the arguments on as words, and reads none of them but pointers.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_WAIT_MPI_H
#define STORM_WAIT_MPI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WAIT_EXPORT __attribute__((visibility("default")))

typedef intptr_t wait_word;

/* Room for an MPI_Status of any MPI; what is written there is not read. */
union wait_status {
	wait_word words[16];
};

struct wait_symbol {
	const char *name;
	_Atomic(void *) address; /* NULL: not looked for yet */
};

/* The address of a function or a variable of the MPI library that the code
 * at the address `caller` uses.  NULL: the library does not have it.  Any
 * thread. */
void *wait_mpi_find(struct wait_symbol *s, void *caller);
/* As wait_mpi_find(), but if the library does not have it, the process ends. */
void *wait_mpi_need(struct wait_symbol *s, void *caller);

/* Which MPI it is, and those of its constants that are needed.  MPICH stands
 * for all that have its binary interface. */
struct wait_mpi_kind {
	enum { WAIT_OTHER_MPI, WAIT_MPICH, WAIT_OPEN_MPI } is;
	wait_word world, real, packed; /* MPI_COMM_WORLD, _DOUBLE, _PACKED */
	int nobody;		       /* MPI_PROC_NULL */
};
const struct wait_mpi_kind *wait_mpi_kind(void *caller);

#define WAIT_SYMBOL(HOW, NAME)                                     \
	({                                                         \
		static struct wait_symbol sym = { NAME, NULL };    \
		wait_mpi_##HOW(&sym, __builtin_return_address(0)); \
	})
#define WAIT_FIND(NAME) WAIT_SYMBOL(find, NAME)
#define WAIT_NEED(NAME) WAIT_SYMBOL(need, NAME)

/* Parameters and arguments: N words. */
#define WAIT_PARAMS_1 wait_word a
#define WAIT_PARAMS_3 WAIT_PARAMS_1, wait_word b, wait_word c
#define WAIT_PARAMS_4 WAIT_PARAMS_3, wait_word d
#define WAIT_PARAMS_5 WAIT_PARAMS_4, wait_word e
#define WAIT_PARAMS_6 WAIT_PARAMS_5, wait_word f
#define WAIT_PARAMS_7 WAIT_PARAMS_6, wait_word g
#define WAIT_PARAMS_8 WAIT_PARAMS_7, wait_word h
#define WAIT_PARAMS_9 WAIT_PARAMS_8, wait_word i
#define WAIT_ARGS_1 a
#define WAIT_ARGS_3 a, b, c
#define WAIT_ARGS_4 WAIT_ARGS_3, d
#define WAIT_ARGS_5 WAIT_ARGS_4, e
#define WAIT_ARGS_6 WAIT_ARGS_5, f
#define WAIT_ARGS_7 WAIT_ARGS_6, g
#define WAIT_ARGS_8 WAIT_ARGS_7, h
#define WAIT_ARGS_9 WAIT_ARGS_8, i

/* CALL(blocking, what posts it, in Fortran: blocking, posting, arguments
 * without the request).  These have no status. */
#define WAIT_POSTED(CALL)                                                      \
	CALL(Send, Isend, send, isend, 6)                                      \
	CALL(Ssend, Issend, ssend, issend, 6)                                  \
	CALL(Rsend, Irsend, rsend, irsend, 6)                                  \
	CALL(Barrier, Ibarrier, barrier, ibarrier, 1)                          \
	CALL(Bcast, Ibcast, bcast, ibcast, 5)                                  \
	CALL(Gather, Igather, gather, igather, 8)                              \
	CALL(Gatherv, Igatherv, gatherv, igatherv, 9)                          \
	CALL(Scatter, Iscatter, scatter, iscatter, 8)                          \
	CALL(Scatterv, Iscatterv, scatterv, iscatterv, 9)                      \
	CALL(Allgather, Iallgather, allgather, iallgather, 7)                  \
	CALL(Allgatherv, Iallgatherv, allgatherv, iallgatherv, 8)              \
	CALL(Alltoall, Ialltoall, alltoall, ialltoall, 7)                      \
	CALL(Alltoallv, Ialltoallv, alltoallv, ialltoallv, 9)                  \
	CALL(Alltoallw, Ialltoallw, alltoallw, ialltoallw, 9)                  \
	CALL(Reduce, Ireduce, reduce, ireduce, 7)                              \
	CALL(Allreduce, Iallreduce, allreduce, iallreduce, 6)                  \
	CALL(Reduce_scatter, Ireduce_scatter, reduce_scatter, ireduce_scatter, \
	     6)                                                                \
	CALL(Reduce_scatter_block, Ireduce_scatter_block,                      \
	     reduce_scatter_block, ireduce_scatter_block, 6)                   \
	CALL(Scan, Iscan, scan, iscan, 6)                                      \
	CALL(Exscan, Iexscan, exscan, iexscan, 6)                              \
	CALL(Neighbor_allgather, Ineighbor_allgather, neighbor_allgather,      \
	     ineighbor_allgather, 7)                                           \
	CALL(Neighbor_allgatherv, Ineighbor_allgatherv, neighbor_allgatherv,   \
	     ineighbor_allgatherv, 8)                                          \
	CALL(Neighbor_alltoall, Ineighbor_alltoall, neighbor_alltoall,         \
	     ineighbor_alltoall, 7)                                            \
	CALL(Neighbor_alltoallv, Ineighbor_alltoallv, neighbor_alltoallv,      \
	     ineighbor_alltoallv, 9)                                           \
	CALL(Neighbor_alltoallw, Ineighbor_alltoallw, neighbor_alltoallw,      \
	     ineighbor_alltoallw, 9)

/* Calls as in WAIT_POSTED, of which the blocking one has a status as its last
 * argument. */
#define WAIT_RECEIVED(CALL)               \
	CALL(Recv, Irecv, recv, irecv, 6) \
	CALL(Mrecv, Imrecv, mrecv, imrecv, 4)

/* CALL(blocking, test, in Fortran: blocking, test, parameters and arguments
 * before the flag and behind it): the test has a flag more. */
#define WAIT_TESTED(CALL)                                                    \
	CALL(Wait, Test, wait, test, (wait_word a), (a), (wait_word b), (b)) \
	CALL(Waitany, Testany, waitany, testany,                             \
	     (wait_word a, wait_word b, wait_word c), (a, b, c),             \
	     (wait_word d), (d))                                             \
	CALL(Probe, Iprobe, probe, iprobe,                                   \
	     (wait_word a, wait_word b, wait_word c), (a, b, c),             \
	     (wait_word d), (d))                                             \
	CALL(Mprobe, Improbe, mprobe, improbe,                               \
	     (wait_word a, wait_word b, wait_word c), (a, b, c),             \
	     (wait_word d, wait_word e), (d, e))

#define WAIT_TESTED_ALL(CALL)                                                \
	CALL(Waitall, Testall, waitall, testall, (wait_word a, wait_word b), \
	     (a, b), (wait_word c), (c))

/* The arguments without the parentheses around them. */
#define WAIT_OPEN(...) __VA_ARGS__

#endif
