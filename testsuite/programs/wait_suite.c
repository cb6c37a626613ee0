/*
 * wait_suite - every call of MPI that blocks, with all its results as text.
 *
 *	wait_suite [ROUNDS]
 *
 * Whichever way the ranks wait, the text is the same.  Numbers are small integers,
 * so that sums do not depend on their order.  Each round must have the text of the
 * first one, and rank 0 prints the last text of all ranks.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "leave_mpi.h"

#define WORLD MPI_COMM_WORLD
#define MOST 64	   /* ranks */
#define LONG 40000 /* ints: too long to be sent before somebody receives */
#define MARK (-77)

static int rank, ranks;
static char text[1 << 20];
static size_t length;

__attribute__((format(printf, 1, 2))) static void say(const char *form, ...)
{
	va_list ap;

	va_start(ap, form);
	length += (size_t) vsnprintf(text + length, sizeof(text) - length, form,
				     ap);
	va_end(ap);
	if (length >= sizeof(text))
		MPI_Abort(WORLD, 3);
}

static void say_ints(const char *what, const int *v, int n)
{
	say("%s:", what);
	for (int i = 0; i < n; i++)
		say(" %d", v[i]);
	say("\n");
}

static void say_status(const char *what, const MPI_Status *s)
{
	int count;

	MPI_Get_count(s, MPI_INT, &count);
	say("%s: from %d tag %d count %d\n", what, s->MPI_SOURCE, s->MPI_TAG,
	    count);
}

/* Errors' classes, not their codes: those may count. */
static void say_fault(const char *what, int rc)
{
	int class = MPI_SUCCESS;

	if (rc)
		MPI_Error_class(rc, &class);
	say("%s: %s\n", what,
	    class == MPI_SUCCESS       ? "no fault" :
	    class == MPI_ERR_TRUNCATE  ? "truncated" :
	    class == MPI_ERR_RANK      ? "no such rank" :
	    class == MPI_ERR_COUNT     ? "no such count" :
	    class == MPI_ERR_TAG       ? "no such tag" :
	    class == MPI_ERR_COMM      ? "no communicator" :
	    class == MPI_ERR_ROOT      ? "no such root" :
	    class == MPI_ERR_IN_STATUS ? "see the statuses" :
					 "another fault");
}

static int left(void)
{
	return (rank + ranks - 1) % ranks;
}

static int right(void)
{
	return (rank + 1) % ranks;
}

/* ------------------------------------------------------ point to point --- */

typedef int send_fn(const void *, int, MPI_Datatype, int, int, MPI_Comm);

/* Even ranks send first, odd ones receive first. */
static void pass(const char *what, send_fn *send, int n)
{
	static int out[LONG], in[LONG];
	MPI_Status s;

	for (int i = 0; i < n; i++) {
		out[i] = rank * 1000 + i % 1000;
		in[i] = MARK;
	}
	if (rank % 2 == 0 && right() != rank)
		send(out, n, MPI_INT, right(), 5, WORLD);
	MPI_Recv(in, LONG, MPI_INT, rank ? left() : MPI_ANY_SOURCE,
		 rank ? MPI_ANY_TAG : 5, WORLD, &s);
	if (rank % 2)
		send(out, n, MPI_INT, right(), 5, WORLD);
	say_status(what, &s);
	for (int i = 0; i < n; i++)
		if (in[i] != left() * 1000 + i % 1000)
			say("%s: in[%d] is %d\n", what, i, in[i]);
}

/* The receiver is there before the sender, as a ready send demands. */
static void pass_ready(void)
{
	int in = MARK, go = 1;
	MPI_Request r;
	MPI_Status s;

	MPI_Irecv(&in, 1, MPI_INT, left(), 6, WORLD, &r);
	MPI_Sendrecv(&go, 1, MPI_INT, left(), 7, &go, 1, MPI_INT, right(), 7,
		     WORLD, MPI_STATUS_IGNORE);
	MPI_Rsend(&rank, 1, MPI_INT, right(), 6, WORLD);
	MPI_Wait(&r, &s);
	say_status("rsend", &s);
	say("rsend: %d, %s\n", in, r == MPI_REQUEST_NULL ? "null" : "kept");
}

static void pass_buffered(void)
{
	char room[4096 + MPI_BSEND_OVERHEAD], *was;
	int in = MARK, size;

	MPI_Buffer_attach(room, sizeof(room));
	MPI_Bsend(&rank, 1, MPI_INT, right(), 8, WORLD);
	MPI_Recv(&in, 1, MPI_INT, left(), 8, WORLD, MPI_STATUS_IGNORE);
	MPI_Buffer_detach(&was, &size);
	say("bsend: %d, %s\n", in, was == room ? "its room" : "another room");
}

static void pass_both_ways(void)
{
	int in[2] = { MARK, MARK }, out[2] = { rank, -rank };
	MPI_Status s;

	MPI_Sendrecv(out, 2, MPI_INT, right(), 9, in, 2, MPI_INT, left(), 9,
		     WORLD, &s);
	say_status("sendrecv", &s);
	say_ints("sendrecv", in, 2);
	MPI_Sendrecv_replace(out, 2, MPI_INT, right(), 10, left(), 10, WORLD,
			     &s);
	say_status("sendrecv_replace", &s);
	say_ints("sendrecv_replace", out, 2);
	in[0] = MARK;
	MPI_Sendrecv(out, 2, MPI_INT, MPI_PROC_NULL, 9, in, 2, MPI_INT,
		     MPI_PROC_NULL, 9, WORLD, &s);
	say_ints("sendrecv with nobody", in, 1);
	say("nobody: %d %d\n", s.MPI_SOURCE == MPI_PROC_NULL,
	    s.MPI_TAG == MPI_ANY_TAG);
	MPI_Sendrecv(&rank, 1, MPI_INT, rank, 3, in, 1, MPI_INT, rank, 3, WORLD,
		     MPI_STATUS_IGNORE);
	say_ints("sendrecv with oneself", in, 1);
}

static void probe(void)
{
	int in[4] = { MARK, MARK, MARK, MARK }, out[3] = { rank, 1, 2 };
	MPI_Message m;
	MPI_Status s;
	MPI_Request r;

	MPI_Isend(out, 3, MPI_INT, right(), 11, WORLD, &r);
	MPI_Probe(left(), MPI_ANY_TAG, WORLD, &s);
	say_status("probe", &s);
	MPI_Recv(in, 4, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, WORLD, &s);
	say_ints("after probe", in, 4);
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Isend(out, 2, MPI_INT, right(), 12, WORLD, &r);
	MPI_Mprobe(left(), 12, WORLD, &m, &s);
	say_status("mprobe", &s);
	MPI_Mrecv(in, 4, MPI_INT, &m, &s);
	say_status("mrecv", &s);
	say_ints("mrecv", in, 4);
	say("message: %s\n", m == MPI_MESSAGE_NULL ? "null" : "kept");
	MPI_Wait(&r, MPI_STATUS_IGNORE);
	MPI_Mprobe(MPI_PROC_NULL, 12, WORLD, &m, MPI_STATUS_IGNORE);
	say("nobody's: %s\n", m == MPI_MESSAGE_NO_PROC ? "no process" : "one");
	MPI_Mrecv(in, 4, MPI_INT, &m, MPI_STATUS_IGNORE);
}

/* -------------------------------------------------------------- requests --- */

#define PAIRS 6

/* Each rank to the right, half of them with a null request between. */
static void post(MPI_Request *r, int *in, int *out)
{
	for (int i = 0; i < PAIRS; i++) {
		in[i] = MARK;
		out[i] = rank * 10 + i;
		r[i] = r[PAIRS + i] = MPI_REQUEST_NULL;
		if (i % 3 == 2)
			continue;
		MPI_Irecv(&in[i], 1, MPI_INT, left(), 20 + i, WORLD, &r[i]);
		MPI_Isend(&out[i], 1, MPI_INT, right(), 20 + i, WORLD,
			  &r[PAIRS + i]);
	}
}

static int count_null(const MPI_Request *r, int n)
{
	int null = 0;

	for (int i = 0; i < n; i++)
		null += r[i] == MPI_REQUEST_NULL;
	return null;
}

static void wait_all(void)
{
	MPI_Request r[2 * PAIRS];
	MPI_Status s[2 * PAIRS];
	int in[PAIRS], out[PAIRS];

	post(r, in, out);
	MPI_Waitall(2 * PAIRS, r, s);
	for (int i = 0; i < PAIRS; i++)
		if (i % 3 != 2)
			say_status("waitall", &s[i]);
		else
			say("waitall, null: %d\n",
			    s[i].MPI_SOURCE == MPI_ANY_SOURCE &&
				    s[i].MPI_TAG == MPI_ANY_TAG);
	say_ints("waitall", in, PAIRS);
	say("waitall: %d null\n", count_null(r, 2 * PAIRS));
	post(r, in, out);
	MPI_Waitall(2 * PAIRS, r, MPI_STATUSES_IGNORE);
	say_ints("waitall, no statuses", in, PAIRS);
	MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
	MPI_Wait(&r[0], &s[0]);
	say("wait, null: %d\n", s[0].MPI_SOURCE == MPI_ANY_SOURCE);
}

static void wait_any(void)
{
	MPI_Request r[2 * PAIRS];
	MPI_Status s;
	int in[PAIRS], out[PAIRS], seen[2 * PAIRS] = { 0 }, i;

	post(r, in, out);
	for (;;) {
		MPI_Waitany(2 * PAIRS, r, &i, &s);
		if (i == MPI_UNDEFINED)
			break;
		seen[i]++;
		if (i < PAIRS &&
		    (s.MPI_SOURCE != left() || s.MPI_TAG != 20 + i))
			say("waitany: %d from %d tag %d\n", i, s.MPI_SOURCE,
			    s.MPI_TAG);
	}
	say_ints("waitany", seen, 2 * PAIRS);
	say_ints("waitany", in, PAIRS);
	post(r, in, out);
	for (i = 0; i != MPI_UNDEFINED;)
		MPI_Waitany(2 * PAIRS, r, &i, MPI_STATUS_IGNORE);
	say_ints("waitany, no status", in, PAIRS);
}

static void wait_some(void)
{
	MPI_Request r[2 * PAIRS];
	MPI_Status s[2 * PAIRS];
	int in[PAIRS], out[PAIRS], seen[2 * PAIRS] = { 0 };
	int index[2 * PAIRS], n;

	post(r, in, out);
	for (;;) {
		MPI_Waitsome(2 * PAIRS, r, &n, index, s);
		if (n == MPI_UNDEFINED)
			break;
		if (n < 1)
			say("waitsome: %d\n", n);
		for (int i = 0; i < n; i++) {
			seen[index[i]]++;
			if (index[i] < PAIRS && s[i].MPI_TAG != 20 + index[i])
				say("waitsome: tag %d\n", s[i].MPI_TAG);
		}
	}
	say_ints("waitsome", seen, 2 * PAIRS);
	say_ints("waitsome", in, PAIRS);
	post(r, in, out);
	do
		MPI_Waitsome(2 * PAIRS, r, &n, index, MPI_STATUSES_IGNORE);
	while (n != MPI_UNDEFINED);
	say_ints("waitsome, no statuses", in, PAIRS);
}

static void persist(void)
{
	MPI_Request r[2];
	MPI_Status s;
	int in = MARK, out;

	MPI_Recv_init(&in, 1, MPI_INT, left(), 30, WORLD, &r[0]);
	MPI_Send_init(&out, 1, MPI_INT, right(), 30, WORLD, &r[1]);
	for (int i = 0; i < 3; i++) {
		out = rank + 100 * i;
		MPI_Startall(2, r);
		MPI_Wait(&r[0], &s);
		MPI_Wait(&r[1], MPI_STATUS_IGNORE);
		say("persistent: %d from %d, %d null\n", in, s.MPI_SOURCE,
		    count_null(r, 2));
	}
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE); /* they are not active */
	MPI_Request_free(&r[0]);
	MPI_Request_free(&r[1]);
}

/* Not all ranks start them in the same order. */
static void persist_together(void)
{
#if MPI_VERSION >= 4
	MPI_Request r[3];
	int news, root = 0, sum = MARK;

	MPI_Bcast_init(&news, 1, MPI_INT, root, WORLD, MPI_INFO_NULL, &r[0]);
	MPI_Barrier_init(WORLD, MPI_INFO_NULL, &r[1]);
	MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, WORLD,
			   MPI_INFO_NULL, &r[2]);
	for (int i = 0; i < 3; i++) {
		news = rank == root ? 42 + i : MARK;
		for (int k = 0; k < 3; k++)
			MPI_Start(&r[(k + rank) % 3]);
		MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
		say("persistent, all: %d %d\n", news, sum);
	}
	for (int k = 0; k < 3; k++)
		MPI_Request_free(&r[k]);
#endif
}

/* ----------------------------------------------------------- collectives --- */

static void one_to_all(int root)
{
	int all[MOST * 3], own[3] = { rank, rank * rank, root };
	int counts[MOST], at[MOST], more[4] = { MARK, MARK, MARK, MARK };

	for (int i = 0; i < ranks; i++) {
		counts[i] = 1 + i % 3;
		at[i] = 3 * i;
	}
	memset(all, 0, sizeof(all));
	MPI_Barrier(WORLD);
	if (rank == root)
		more[0] = 4711 + root;
	MPI_Bcast(more, 4, MPI_INT, root, WORLD);
	say_ints("bcast", more, 1);
	MPI_Gather(own, 3, MPI_INT, all, 3, MPI_INT, root, WORLD);
	say_ints("gather", all, 3 * ranks);
	memset(all, 0, sizeof(all));
	MPI_Gatherv(own, counts[rank], MPI_INT, all, counts, at, MPI_INT, root,
		    WORLD);
	say_ints("gatherv", all, 3 * ranks);
	for (int i = 0; i < 3 * ranks; i++)
		all[i] = rank == root ? i + root : MARK;
	MPI_Scatter(all, 3, MPI_INT, own, 3, MPI_INT, root, WORLD);
	say_ints("scatter", own, 3);
	own[0] = own[1] = own[2] = MARK;
	MPI_Scatterv(all, counts, at, MPI_INT, own, counts[rank], MPI_INT, root,
		     WORLD);
	say_ints("scatterv", own, 3);
	MPI_Reduce(own, more, 1, MPI_INT, MPI_MAX, root, WORLD);
	say_ints("reduce", more, rank == root);
	if (rank == root)
		MPI_Reduce(MPI_IN_PLACE, own, 3, MPI_INT, MPI_SUM, root, WORLD);
	else
		MPI_Reduce(own, NULL, 3, MPI_INT, MPI_SUM, root, WORLD);
	say_ints("reduce in place", own, 3);
	for (int i = 0; i < 3 * ranks; i++)
		all[i] = i / 3 == rank ? rank + i : MARK;
	if (rank == root)
		MPI_Gather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 3, MPI_INT,
			   root, WORLD);
	else
		MPI_Gather(&all[3 * rank], 3, MPI_INT, NULL, 0,
			   MPI_DATATYPE_NULL, root, WORLD);
	say_ints("gather in place", all, 3 * ranks);
}

static void all_to_all(void)
{
	int out[MOST * 2], in[MOST * 2], counts[MOST], at[MOST];
	int bytes_at[MOST];
	MPI_Datatype types[MOST];

	for (int i = 0; i < 2 * ranks; i++)
		out[i] = 100 * rank + i;
	for (int i = 0; i < ranks; i++) {
		counts[i] = 1 + (i + rank) % 2;
		at[i] = 2 * i;
		bytes_at[i] = (int) sizeof(int) * at[i];
		types[i] = MPI_INT;
	}
	MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, WORLD);
	say_ints("alltoall", in, 2 * ranks);
	memset(in, 0, sizeof(in));
	MPI_Alltoallv(out, counts, at, MPI_INT, in, counts, at, MPI_INT, WORLD);
	say_ints("alltoallv", in, 2 * ranks);
	memset(in, 0, sizeof(in));
	MPI_Alltoallw(out, counts, bytes_at, types, in, counts, bytes_at, types,
		      WORLD);
	say_ints("alltoallw", in, 2 * ranks);
	for (int i = 0; i < ranks; i++)
		counts[i] = 1 + i % 2;
	MPI_Allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, WORLD);
	say_ints("allgather", in, ranks);
	memset(in, 0, sizeof(in));
	MPI_Allgatherv(out, counts[rank], MPI_INT, in, counts, at, MPI_INT,
		       WORLD);
	say_ints("allgatherv", in, 2 * ranks);
	in[rank] = -rank;
	MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT,
		      WORLD);
	say_ints("allgather in place", in, ranks);
}

/* Of a + b x: it matters which of two comes first. */
static void compose(void *in, void *inout, int *n, MPI_Datatype *type)
{
	int *a = in, *b = inout;

	(void) type;
	for (int i = 0; i + 1 < 2 * *n; i += 2) {
		b[i] = (a[i] + a[i + 1] * b[i]) % 10007;
		b[i + 1] = a[i + 1] * b[i + 1] % 10007;
	}
}

static void reduce_all(void)
{
	int out[MOST], in[MOST] = { 0 }, counts[MOST], line[2], whole[2];
	double x = 0.5 * rank, sum;
	MPI_Datatype two;
	MPI_Op op;

	for (int i = 0; i < ranks; i++) {
		out[i] = rank + i;
		counts[i] = 1;
	}
	MPI_Allreduce(out, in, ranks, MPI_INT, MPI_SUM, WORLD);
	say_ints("allreduce", in, ranks);
	MPI_Allreduce(MPI_IN_PLACE, out, ranks, MPI_INT, MPI_MAX, WORLD);
	say_ints("allreduce in place", out, ranks);
	MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, WORLD);
	say("allreduce: %a\n", sum);
	MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, WORLD);
	say_ints("reduce_scatter", in, 1);
	MPI_Reduce_scatter_block(out, in, 1, MPI_INT, MPI_MIN, WORLD);
	say_ints("reduce_scatter_block", in, 1);
	MPI_Scan(&rank, in, 1, MPI_INT, MPI_SUM, WORLD);
	say_ints("scan", in, 1);
	in[0] = MARK;
	MPI_Exscan(&rank, in, 1, MPI_INT, MPI_SUM, WORLD);
	say_ints("exscan", in, rank > 0);
	MPI_Type_contiguous(2, MPI_INT, &two);
	MPI_Type_commit(&two);
	MPI_Op_create(compose, 0, &op);
	line[0] = rank + 1;
	line[1] = rank + 2;
	MPI_Allreduce(line, whole, 1, two, op, WORLD);
	say_ints("allreduce in order", whole, 2);
	MPI_Op_free(&op);
	MPI_Type_free(&two);
}

static void neighbours(void)
{
	int dims[1] = { ranks }, round[1] = { 1 }, in[4], out[4], one[2];
	int counts[2] = { 1, 2 }, back[2] = { 2, 1 }, at[2] = { 0, 2 };
	MPI_Aint bytes_at[2] = { 0, 2 * sizeof(int) };
	MPI_Datatype types[2] = { MPI_INT, MPI_INT };
	MPI_Comm ring;

	MPI_Cart_create(WORLD, 1, dims, round, 0, &ring);
	for (int i = 0; i < 4; i++)
		out[i] = 10 * rank + i;
	MPI_Neighbor_allgather(out, 1, MPI_INT, one, 1, MPI_INT, ring);
	if (ranks > 2) /* else both neighbours are one rank: in any order */
		say_ints("neighbor_allgather", one, 2);
	memset(in, 0, sizeof(in));
	MPI_Neighbor_alltoall(out, 1, MPI_INT, one, 1, MPI_INT, ring);
	if (ranks > 2)
		say_ints("neighbor_alltoall", one, 2);
	if (ranks > 2) {
		int both[2] = { 2, 2 };

		MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, both, at, MPI_INT,
					ring);
		say_ints("neighbor_allgatherv", in, 4);
		memset(in, 0, sizeof(in));
		MPI_Neighbor_alltoallv(out, counts, at, MPI_INT, in, back, at,
				       MPI_INT, ring);
		say_ints("neighbor_alltoallv", in, 4);
		memset(in, 0, sizeof(in));
		MPI_Neighbor_alltoallw(out, counts, bytes_at, types, in, back,
				       bytes_at, types, ring);
		say_ints("neighbor_alltoallw", in, 4);
	}
	MPI_Comm_free(&ring);
}

/* Two groups that talk across: even ranks and odd ones. */
static void between_groups(void)
{
	int sum = MARK, value = rank + 1, all[MOST] = { 0 }, n, root;
	MPI_Comm half, across;

	MPI_Comm_split(WORLD, rank % 2, rank, &half);
	MPI_Intercomm_create(half, 0, WORLD, 1 - rank % 2, 40, &across);
	MPI_Comm_remote_size(across, &n);
	MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, across);
	say_ints("allreduce across", &sum, 1);
	MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, across);
	say_ints("allgather across", all, n);
	root = rank % 2 ? 0 : rank ? MPI_PROC_NULL : MPI_ROOT;
	MPI_Bcast(&value, 1, MPI_INT, root, across);
	say_ints("bcast across", &value, 1);
	MPI_Barrier(across);
	MPI_Comm_free(&across);
	MPI_Comm_free(&half);
}

/* ----------------------------------------------------------------- faults --- */

static void faults(void)
{
	int out[4] = { 1, 2, 3, 4 }, in[4], rc;
	MPI_Comm strict;

	MPI_Comm_dup(WORLD, &strict);
	MPI_Comm_set_errhandler(strict, MPI_ERRORS_RETURN);
	say_fault("send to nobody there",
		  MPI_Send(out, 1, MPI_INT, ranks + 5, 0, strict));
	say_fault("send of less than nothing",
		  MPI_Send(out, -1, MPI_INT, right(), 0, strict));
	say_fault("a tag below all tags", MPI_Recv(in, 1, MPI_INT, left(), -999,
						   strict, MPI_STATUS_IGNORE));
	say_fault("bcast without a root",
		  MPI_Bcast(out, 1, MPI_INT, ranks + 1, strict));
	rc = MPI_Sendrecv(out, 4, MPI_INT, right(), 1, in, 4, MPI_INT, left(),
			  1, strict, MPI_STATUS_IGNORE);
	say_fault("sendrecv that fits", rc);
	MPI_Barrier(WORLD);
	if (rank == 0)
		MPI_Send(out, 4, MPI_INT, right(), 2, strict);
	if (rank == 1 % ranks) {
		rc = MPI_Recv(in, 2, MPI_INT, left(), 2, strict,
			      MPI_STATUS_IGNORE);
		say_fault("recv of too much", rc);
	}
	MPI_Barrier(WORLD);
	MPI_Comm_free(&strict);
}

static void called(MPI_Comm *comm, int *code, ...)
{
	(void) comm;
	say_fault("the handler has", *code);
}

static void handlers(void)
{
	MPI_Errhandler own;
	MPI_Comm comm;
	int one = 1;

	MPI_Comm_dup(WORLD, &comm);
	MPI_Comm_create_errhandler(called, &own);
	MPI_Comm_set_errhandler(comm, own);
	MPI_Send(&one, 1, MPI_INT, ranks + 5, 0, comm);
	MPI_Bcast(&one, 1, MPI_INT, -5, comm);
	MPI_Errhandler_free(&own);
	MPI_Comm_free(&comm);
}

/* -------------------------------------------------------------------------- */

static void each_round(void)
{
	pass("send", MPI_Send, 3);
	pass("long send", MPI_Send, LONG);
	pass("ssend", MPI_Ssend, 3);
	pass("long ssend", MPI_Ssend, LONG);
	pass_ready();
	pass_buffered();
	pass_both_ways();
	probe();
	wait_all();
	wait_any();
	wait_some();
	persist();
	persist_together();
	for (int root = 0; root < ranks; root++)
		one_to_all(root);
	all_to_all();
	reduce_all();
	neighbours();
	between_groups();
	faults();
	handlers();
}

/* Each round says what the first one said. */
static void compare(void)
{
	static char first[sizeof(text)];

	text[length] = 0;
	if (!*first)
		memcpy(first, text, length + 1);
	if (strcmp(first, text)) {
		fprintf(stderr, "rank %d: another text:\n%s", rank, text);
		MPI_Abort(WORLD, 4);
	}
}

/* Rank 0 prints the text of all ranks, one after the other. */
static void print(void)
{
	int n = (int) length;

	if (rank) {
		MPI_Send(&n, 1, MPI_INT, 0, 98, WORLD);
		MPI_Send(text, n, MPI_CHAR, 0, 99, WORLD);
		return;
	}
	for (int i = 0; i < ranks; i++) {
		if (i) {
			MPI_Recv(&n, 1, MPI_INT, i, 98, WORLD,
				 MPI_STATUS_IGNORE);
			MPI_Recv(text, n, MPI_CHAR, i, 99, WORLD,
				 MPI_STATUS_IGNORE);
		}
		printf("--- rank %d of %d\n%.*s", i, ranks, n, text);
	}
}

int main(int argc, char **argv)
{
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(WORLD, &rank);
	MPI_Comm_size(WORLD, &ranks);
	if (ranks < 2 || ranks > MOST || ranks % 2)
		MPI_Abort(WORLD, 2);
	for (int i = argc > 1 ? atoi(argv[1]) : 1; i > 0; i--) {
		length = 0;
		each_round();
		compare();
	}
	print();
	leave_mpi();
}
