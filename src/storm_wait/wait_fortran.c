/*
 * wait_fortran.c - MPI's calls that block, for Fortran.  All arguments are
 * addresses, and a fault is the last one's.
 *
 * MPICH's call those for C (wait_c.c).  Open MPI's go past them, and its module
 * mpi_f08 calls them by names of its own.  Open MPI's sendrecv_replace spins.  A
 * program that gfortran has compiled has an underscore behind each name, and so
 * have others' programs on Linux.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "wait_loop.h"
#include "wait_mpi.h"
#include "wait_report.h"

#define WAIT_F08(name)                                               \
	WAIT_EXPORT extern __typeof__(mpi_##name##_) ompi_##name##_f \
		__attribute__((alias("mpi_" #name "_")));

#define WAIT_F_PASSES()       \
	(wait_loop_spins() || \
	 wait_mpi_kind(__builtin_return_address(0))->is != WAIT_OPEN_MPI)

/* A word has room for Fortran's LOGICAL and for a request of any size. */
typedef void wait_ftest_fn(wait_word *request, wait_word *done, void *status,
			   int *fault);

static void wait_f_request(struct waiting *w, wait_ftest_fn *test,
			   wait_word *request, void *status, int *fault)
{
	wait_word done = 0;

	for (;;) {
		test(request, &done, status, fault);
		if (*fault || done)
			return;
		wait_pause(w);
	}
}

#define WAIT_F_POSTED(NAME, POST, name, post, N)                            \
	WAIT_EXPORT void mpi_##name##_(WAIT_PARAMS_##N, int *fault);        \
	void mpi_##name##_(WAIT_PARAMS_##N, int *fault)                     \
	{                                                                   \
		void (*blocks)(WAIT_PARAMS_##N, int *) =                    \
			WAIT_NEED("pmpi_" #name "_");                       \
		void (*posts)(WAIT_PARAMS_##N, wait_word *, int *) =        \
			WAIT_FIND("pmpi_" #post "_");                       \
		wait_ftest_fn *test = WAIT_NEED("pmpi_test_");              \
		union wait_status status;                                   \
		wait_word request = 0;                                      \
		struct waiting w;                                           \
                                                                            \
		wait_begin(&w);                                             \
		if (!posts || WAIT_F_PASSES()) {                            \
			blocks(WAIT_ARGS_##N, fault);                       \
		} else {                                                    \
			posts(WAIT_ARGS_##N, &request, fault);              \
			if (!*fault)                                        \
				wait_f_request(&w, test, &request, &status, \
					       fault);                      \
		}                                                           \
		wait_end(&w);                                               \
	}                                                                   \
	WAIT_F08(name)
WAIT_POSTED(WAIT_F_POSTED)

#define WAIT_F_RECEIVED(NAME, POST, name, post, N)                         \
	WAIT_EXPORT void mpi_##name##_(WAIT_PARAMS_##N, void *status,      \
				       int *fault);                        \
	void mpi_##name##_(WAIT_PARAMS_##N, void *status, int *fault)      \
	{                                                                  \
		void (*blocks)(WAIT_PARAMS_##N, void *, int *) =           \
			WAIT_NEED("pmpi_" #name "_");                      \
		void (*posts)(WAIT_PARAMS_##N, wait_word *, int *) =       \
			WAIT_FIND("pmpi_" #post "_");                      \
		wait_ftest_fn *test = WAIT_NEED("pmpi_test_");             \
		wait_word request = 0;                                     \
		struct waiting w;                                          \
                                                                           \
		wait_begin(&w);                                            \
		if (!posts || WAIT_F_PASSES()) {                           \
			blocks(WAIT_ARGS_##N, status, fault);              \
		} else {                                                   \
			posts(WAIT_ARGS_##N, &request, fault);             \
			if (!*fault)                                       \
				wait_f_request(&w, test, &request, status, \
					       fault);                     \
		}                                                          \
		wait_end(&w);                                              \
	}                                                                  \
	WAIT_F08(name)
WAIT_RECEIVED(WAIT_F_RECEIVED)

#define WAIT_F_TESTED(NAME, TEST, name, test, BEFORE, before, AFTER, after)    \
	WAIT_EXPORT void mpi_##name##_(WAIT_OPEN BEFORE, WAIT_OPEN AFTER,      \
				       int *fault);                            \
	void mpi_##name##_(WAIT_OPEN BEFORE, WAIT_OPEN AFTER, int *fault)      \
	{                                                                      \
		void (*blocks)(WAIT_OPEN BEFORE, WAIT_OPEN AFTER, int *) =     \
			WAIT_NEED("pmpi_" #name "_");                          \
		void (*tests)(WAIT_OPEN BEFORE, wait_word *, WAIT_OPEN AFTER,  \
			      int *) = WAIT_NEED("pmpi_" #test "_");           \
		wait_word done = 0;                                            \
		struct waiting w;                                              \
                                                                               \
		wait_begin(&w);                                                \
		if (WAIT_F_PASSES())                                           \
			blocks(WAIT_OPEN before, WAIT_OPEN after, fault);      \
		else                                                           \
			while (tests(WAIT_OPEN before, &done, WAIT_OPEN after, \
				     fault),                                   \
			       !*fault && !done)                               \
				wait_pause(&w);                                \
		wait_end(&w);                                                  \
	}                                                                      \
	WAIT_F08(name)
WAIT_TESTED(WAIT_F_TESTED)
WAIT_TESTED_ALL(WAIT_F_TESTED)

WAIT_EXPORT void mpi_waitsome_(WAIT_PARAMS_1, wait_word b, int *outcount,
			       wait_word d, wait_word e, int *fault);
void mpi_waitsome_(WAIT_PARAMS_1, wait_word b, int *outcount, wait_word d,
		   wait_word e, int *fault)
{
	void (*blocks)(wait_word, wait_word, int *, wait_word, wait_word,
		       int *) = WAIT_NEED("pmpi_waitsome_");
	void (*tests)(wait_word, wait_word, int *, wait_word, wait_word,
		      int *) = WAIT_NEED("pmpi_testsome_");
	struct waiting w;

	wait_begin(&w);
	if (WAIT_F_PASSES())
		blocks(a, b, outcount, d, e, fault);
	else
		while (tests(a, b, outcount, d, e, fault),
		       !*fault && !*outcount)
			wait_pause(&w);
	wait_end(&w);
}
WAIT_F08(waitsome)

static void wait_f_exchange(struct waiting *w, wait_ftest_fn *test,
			    wait_word *sending, wait_word *receiving,
			    void *status, int *fault)
{
	union wait_status sent;
	wait_word out = 0, in = 0;
	int of_out = 0, of_in = 0;

	for (;;) {
		if (!in && !of_in)
			test(receiving, &in, status, &of_in);
		if (!out && !of_out)
			test(sending, &out, &sent, &of_out);
		if ((in || of_in) && (out || of_out))
			break;
		wait_pause(w);
	}
	*fault = of_in ? of_in : of_out;
}

static void wait_f_forget(wait_word *request)
{
	void (*cancel)(wait_word *, int *) = WAIT_NEED("pmpi_cancel_");
	void (*let_go)(wait_word *, int *) = WAIT_NEED("pmpi_request_free_");
	int fault;

	cancel(request, &fault);
	if (!fault)
		let_go(request, &fault);
}

WAIT_EXPORT void mpi_sendrecv_(WAIT_PARAMS_5, wait_word rbuf, wait_word rcount,
			       wait_word rtype, wait_word source,
			       wait_word rtag, wait_word comm, void *status,
			       int *fault);
void mpi_sendrecv_(WAIT_PARAMS_5, wait_word rbuf, wait_word rcount,
		   wait_word rtype, wait_word source, wait_word rtag,
		   wait_word comm, void *status, int *fault)
{
	void (*blocks)(WAIT_PARAMS_5, wait_word, wait_word, wait_word,
		       wait_word, wait_word, wait_word, void *,
		       int *) = WAIT_NEED("pmpi_sendrecv_");
	void (*sends)(WAIT_PARAMS_6, wait_word *, int *) =
		WAIT_NEED("pmpi_isend_");
	void (*receives)(WAIT_PARAMS_6, wait_word *, int *) =
		WAIT_NEED("pmpi_irecv_");
	wait_ftest_fn *test = WAIT_NEED("pmpi_test_");
	wait_word sending = 0, receiving = 0;
	struct waiting w;

	wait_begin(&w);
	if (WAIT_F_PASSES()) {
		blocks(WAIT_ARGS_5, rbuf, rcount, rtype, source, rtag, comm,
		       status, fault);
		goto out;
	}
	receives(rbuf, rcount, rtype, source, rtag, comm, &receiving, fault);
	if (*fault)
		goto out;
	sends(WAIT_ARGS_5, comm, &sending, fault);
	if (*fault)
		wait_f_forget(&receiving);
	else
		wait_f_exchange(&w, test, &sending, &receiving, status, fault);
out:
	wait_end(&w);
}
WAIT_F08(sendrecv)

WAIT_EXPORT void mpi_finalize_(int *fault);
void mpi_finalize_(int *fault)
{
	void (*ends)(int *) = WAIT_NEED("pmpi_finalize_");

	wait_report(__builtin_return_address(0));
	ends(fault);
}
WAIT_F08(finalize)
