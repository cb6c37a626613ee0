/*
 * wait_c.c - MPI's calls that block, for C: each becomes the one that posts, and
 * tests.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdlib.h>

#include "wait_loop.h"
#include "wait_mpi.h"
#include "wait_report.h"

/* A communicator of the program has an error handler of its own.  MPICH raises the
 * faults of a posted receive by MPI_COMM_WORLD's, so receives that may find such a
 * fault are not posted then. */
static atomic_bool own_handlers;

typedef int wait_test_fn(wait_word *request, int *done, void *status);

static int wait_c_request(struct waiting *w, wait_test_fn *test,
			  wait_word *request, void *status)
{
	int done = 0, rc;

	while (!(rc = test(request, &done, status)) && !done)
		wait_pause(w);
	return rc;
}

/* Until a message is there to be received. */
static int wait_c_probe(struct waiting *w, wait_word source, wait_word tag,
			wait_word comm)
{
	int (*probe)(wait_word, wait_word, wait_word, int *, void *) =
		WAIT_NEED("PMPI_Iprobe");
	union wait_status status;
	int there = 0, rc;

	while (!(rc = probe(source, tag, comm, &there, &status)) && !there)
		wait_pause(w);
	return rc;
}

#define WAIT_C_POSTED(NAME, POST, name, post, N)                           \
	WAIT_EXPORT int MPI_##NAME(WAIT_PARAMS_##N);                       \
	int MPI_##NAME(WAIT_PARAMS_##N)                                    \
	{                                                                  \
		int (*blocks)(WAIT_PARAMS_##N) = WAIT_NEED("PMPI_" #NAME); \
		int (*posts)(WAIT_PARAMS_##N, wait_word *) =               \
			WAIT_FIND("PMPI_" #POST);                          \
		wait_test_fn *test = WAIT_NEED("PMPI_Test");               \
		union wait_status status;                                  \
		wait_word request = 0;                                     \
		struct waiting w;                                          \
		int rc;                                                    \
                                                                           \
		wait_begin(&w);                                            \
		if (!posts || wait_loop_spins())                           \
			rc = blocks(WAIT_ARGS_##N);                        \
		else if (!(rc = posts(WAIT_ARGS_##N, &request)))           \
			rc = wait_c_request(&w, test, &request, &status);  \
		wait_end(&w);                                              \
		return rc;                                                 \
	}
WAIT_POSTED(WAIT_C_POSTED)

/* A receive from MPI_PROC_NULL ends at once.  The status of one that was posted is
 * not set by MPICH 4.0. */
static bool wait_c_is_nobody(wait_word source, void *caller)
{
	return (int) source == wait_mpi_kind(caller)->nobody;
}

WAIT_EXPORT int MPI_Recv(WAIT_PARAMS_3, wait_word source, wait_word tag,
			 wait_word comm, void *status);
int MPI_Recv(WAIT_PARAMS_3, wait_word source, wait_word tag, wait_word comm,
	     void *status)
{
	int (*blocks)(WAIT_PARAMS_6, void *) = WAIT_NEED("PMPI_Recv");
	int (*posts)(WAIT_PARAMS_6, wait_word *) = WAIT_NEED("PMPI_Irecv");
	wait_test_fn *test = WAIT_NEED("PMPI_Test");
	wait_word request = 0;
	struct waiting w;
	int rc;

	wait_begin(&w);
	if (wait_loop_spins() ||
	    wait_c_is_nobody(source, __builtin_return_address(0)))
		rc = blocks(WAIT_ARGS_3, source, tag, comm, status);
	else if (own_handlers) {
		if (!(rc = wait_c_probe(&w, source, tag, comm)))
			rc = blocks(WAIT_ARGS_3, source, tag, comm, status);
	} else if (!(rc = posts(WAIT_ARGS_3, source, tag, comm, &request)))
		rc = wait_c_request(&w, test, &request, status);
	wait_end(&w);
	return rc;
}

WAIT_EXPORT int MPI_Mrecv(WAIT_PARAMS_4, void *status);
int MPI_Mrecv(WAIT_PARAMS_4, void *status)
{
	int (*blocks)(WAIT_PARAMS_4, void *) = WAIT_NEED("PMPI_Mrecv");
	int (*posts)(WAIT_PARAMS_4, wait_word *) = WAIT_NEED("PMPI_Imrecv");
	wait_test_fn *test = WAIT_NEED("PMPI_Test");
	wait_word request = 0;
	struct waiting w;
	int rc;

	wait_begin(&w);
	if (wait_loop_spins() || own_handlers)
		rc = blocks(WAIT_ARGS_4, status);
	else if (!(rc = posts(WAIT_ARGS_4, &request)))
		rc = wait_c_request(&w, test, &request, status);
	wait_end(&w);
	return rc;
}

#define WAIT_C_TESTED(NAME, TEST, name, test, BEFORE, before, AFTER, after) \
	WAIT_EXPORT int MPI_##NAME(WAIT_OPEN BEFORE, WAIT_OPEN AFTER);      \
	int MPI_##NAME(WAIT_OPEN BEFORE, WAIT_OPEN AFTER)                   \
	{                                                                   \
		int (*blocks)(WAIT_OPEN BEFORE, WAIT_OPEN AFTER) =          \
			WAIT_NEED("PMPI_" #NAME);                           \
		int (*tests)(WAIT_OPEN BEFORE, int *, WAIT_OPEN AFTER) =    \
			WAIT_NEED("PMPI_" #TEST);                           \
		struct waiting w;                                           \
		int done = 0, rc;                                           \
                                                                            \
		wait_begin(&w);                                             \
		if (wait_loop_spins())                                      \
			rc = blocks(WAIT_OPEN before, WAIT_OPEN after);     \
		else                                                        \
			while (!(rc = tests(WAIT_OPEN before, &done,        \
					    WAIT_OPEN after)) &&            \
			       !done)                                       \
				wait_pause(&w);                             \
		wait_end(&w);                                               \
		return rc;                                                  \
	}
WAIT_TESTED(WAIT_C_TESTED)

/* MPICH's MPI_Testall (4.0) takes a collective's persistent request for a failed
 * one.  So each request is looked at by itself, which changes none, and at the end
 * MPI_Waitall has nothing to wait for, or reports what is wrong.  A handle of
 * MPICH is an int. */
static void wait_c_each(struct waiting *w, int count, const int *requests)
{
	int (*look)(wait_word, int *, void *) =
		WAIT_NEED("PMPI_Request_get_status");
	union wait_status status;

	for (int i = 0; requests && i < count; i++) {
		int done = 0, rc;

		/* one that has failed is done */
		while (rc = look(requests[i], &done, &status), !done) {
			if (rc)
				return;
			wait_pause(w);
		}
	}
}

WAIT_EXPORT int MPI_Waitall(WAIT_PARAMS_3);
int MPI_Waitall(WAIT_PARAMS_3)
{
	int (*blocks)(WAIT_PARAMS_3) = WAIT_NEED("PMPI_Waitall");
	int (*tests)(wait_word, wait_word, int *, wait_word) =
		WAIT_NEED("PMPI_Testall");
	struct waiting w;
	int done = 0, rc;

	wait_begin(&w);
	if (wait_loop_spins()) {
		rc = blocks(WAIT_ARGS_3);
	} else if (wait_mpi_kind(__builtin_return_address(0))->is ==
		   WAIT_MPICH) {
		wait_c_each(&w, (int) a, (const int *) b);
		rc = blocks(WAIT_ARGS_3);
	} else {
		while (!(rc = tests(a, b, &done, c)) && !done)
			wait_pause(&w);
	}
	wait_end(&w);
	return rc;
}

/* None of the requests is done: the test says so by *outcount = 0. */
WAIT_EXPORT int MPI_Waitsome(WAIT_PARAMS_1, wait_word b, int *outcount,
			     wait_word d, wait_word e);
int MPI_Waitsome(WAIT_PARAMS_1, wait_word b, int *outcount, wait_word d,
		 wait_word e)
{
	int (*blocks)(wait_word, wait_word, int *, wait_word, wait_word) =
		WAIT_NEED("PMPI_Waitsome");
	int (*tests)(wait_word, wait_word, int *, wait_word, wait_word) =
		WAIT_NEED("PMPI_Testsome");
	struct waiting w;
	int rc;

	wait_begin(&w);
	if (wait_loop_spins())
		rc = blocks(a, b, outcount, d, e);
	else
		while (!(rc = tests(a, b, outcount, d, e)) && !*outcount)
			wait_pause(&w);
	wait_end(&w);
	return rc;
}

/* Both directions at once: the first fault counts. */
static int wait_c_exchange(struct waiting *w, wait_test_fn *test,
			   wait_word *sending, wait_word *receiving,
			   void *status)
{
	union wait_status sent;
	int out = 0, in = 0, rc = 0, fault = 0;

	for (;;) {
		if (!in && (rc = test(receiving, &in, status)))
			in = 1;
		fault = fault ? fault : rc;
		rc = 0;
		if (!out && (rc = test(sending, &out, &sent)))
			out = 1;
		fault = fault ? fault : rc;
		rc = 0;
		if (in && out)
			return fault;
		wait_pause(w);
	}
}

/* The message that cannot be sent has none that answers it. */
static void wait_c_forget(wait_word *request)
{
	int (*cancel)(wait_word *) = WAIT_NEED("PMPI_Cancel");
	int (*let_go)(wait_word *) = WAIT_NEED("PMPI_Request_free");

	if (!cancel(request))
		let_go(request);
}

WAIT_EXPORT int MPI_Sendrecv(WAIT_PARAMS_5, wait_word rbuf, wait_word rcount,
			     wait_word rtype, wait_word source, wait_word rtag,
			     wait_word comm, void *status);
int MPI_Sendrecv(WAIT_PARAMS_5, wait_word rbuf, wait_word rcount,
		 wait_word rtype, wait_word source, wait_word rtag,
		 wait_word comm, void *status)
{
	int (*blocks)(WAIT_PARAMS_5, wait_word, wait_word, wait_word, wait_word,
		      wait_word, wait_word,
		      void *) = WAIT_NEED("PMPI_Sendrecv");
	int (*sends)(WAIT_PARAMS_6, wait_word *) = WAIT_NEED("PMPI_Isend");
	int (*receives)(WAIT_PARAMS_6, wait_word *) = WAIT_NEED("PMPI_Irecv");
	wait_test_fn *test = WAIT_NEED("PMPI_Test");
	wait_word sending = 0, receiving = 0;
	struct waiting w;
	int rc;

	wait_begin(&w);
	if (wait_loop_spins() || own_handlers)
		rc = blocks(WAIT_ARGS_5, rbuf, rcount, rtype, source, rtag,
			    comm, status);
	else if (wait_c_is_nobody(source, __builtin_return_address(0))) {
		if (!(rc = MPI_Send(WAIT_ARGS_5, comm)))
			rc = MPI_Recv(rbuf, rcount, rtype, source, rtag, comm,
				      status);
	} else if (!(rc = receives(rbuf, rcount, rtype, source, rtag, comm,
				   &receiving))) {
		if ((rc = sends(WAIT_ARGS_5, comm, &sending)))
			wait_c_forget(&receiving);
		else
			rc = wait_c_exchange(&w, test, &sending, &receiving,
					     status);
	}
	wait_end(&w);
	return rc;
}

/* What is sent is kept elsewhere, as its room is received into. */
static void *wait_c_pack(wait_word buf, wait_word count, wait_word type,
			 wait_word comm, int *length)
{
	int (*ask)(wait_word, wait_word, wait_word, int *) =
		WAIT_NEED("PMPI_Pack_size");
	int (*pack)(wait_word, wait_word, wait_word, void *, wait_word, int *,
		    wait_word) = WAIT_NEED("PMPI_Pack");
	void *kept = NULL;
	int size;

	*length = 0;
	if (!ask(count, type, comm, &size) && (kept = malloc(size + 1)) &&
	    pack(buf, count, type, kept, size, length, comm)) {
		free(kept);
		kept = NULL;
	}
	return kept;
}

WAIT_EXPORT int MPI_Sendrecv_replace(WAIT_PARAMS_5, wait_word source,
				     wait_word rtag, wait_word comm,
				     void *status);
int MPI_Sendrecv_replace(WAIT_PARAMS_5, wait_word source, wait_word rtag,
			 wait_word comm, void *status)
{
	int (*blocks)(WAIT_PARAMS_8, void *) =
		WAIT_NEED("PMPI_Sendrecv_replace");
	void *caller = __builtin_return_address(0), *kept = NULL;
	struct waiting w;
	int length, rc;

	wait_begin(&w);
	if (!wait_loop_spins() && !own_handlers &&
	    wait_mpi_kind(caller)->packed)
		kept = wait_c_pack(a, b, c, comm, &length);
	if (kept)
		rc = MPI_Sendrecv((wait_word) kept, length,
				  wait_mpi_kind(caller)->packed, d, e, a, b, c,
				  source, rtag, comm, status);
	else
		rc = blocks(WAIT_ARGS_5, source, rtag, comm, status);
	free(kept);
	wait_end(&w);
	return rc;
}

WAIT_EXPORT int MPI_Comm_set_errhandler(wait_word comm, wait_word handler);
int MPI_Comm_set_errhandler(wait_word comm, wait_word handler)
{
	int (*set)(wait_word, wait_word) =
		WAIT_NEED("PMPI_Comm_set_errhandler");
	const struct wait_mpi_kind *mpi =
		wait_mpi_kind(__builtin_return_address(0));

	/* A handle of MPICH is an int. */
	if (mpi->is == WAIT_MPICH && (int) comm != (int) mpi->world)
		own_handlers = true;
	return set(comm, handler);
}

WAIT_EXPORT int MPI_Finalize(void);
int MPI_Finalize(void)
{
	int (*ends)(void) = WAIT_NEED("PMPI_Finalize");

	wait_report(__builtin_return_address(0));
	return ends();
}
