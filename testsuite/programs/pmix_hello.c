/*
 * pmix_hello - a rank of PMIx, and of no MPI: it puts its number, all meet in a fence, and
 * each gets the number of the next one.
 *
 *	pmix_hello [WHAT]
 *
 * WHAT: "direct": data comes to no fence, and is asked for; "gone": likewise, and the last
 * rank has ended; "early": it ends before the fence; "leave": likewise, well.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <pmix.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void must(pmix_status_t rc, const char *what)
{
	if (rc == PMIX_SUCCESS)
		return;
	printf("%s: %s\n", what, PMIx_Error_string(rc));
	fflush(stdout);
	_exit(3);
}

static uint32_t size_of(const pmix_proc_t *me)
{
	pmix_value_t *value;
	pmix_proc_t all = *me;
	uint32_t size;

	all.rank = PMIX_RANK_WILDCARD;
	must(PMIx_Get(&all, PMIX_JOB_SIZE, NULL, 0, &value), "PMIX_JOB_SIZE");
	size = value->data.uint32;
	PMIX_VALUE_RELEASE(value);
	return size;
}

static void meet(bool collect)
{
	pmix_info_t info;

	PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
	must(PMIx_Fence(NULL, 0, &info, 1), "PMIx_Fence");
}

static uint32_t number_of(const pmix_proc_t *me, uint32_t rank)
{
	pmix_proc_t other = *me;
	pmix_value_t *value;
	uint32_t number;

	other.rank = rank;
	must(PMIx_Get(&other, "hello", NULL, 0, &value), "PMIx_Get");
	number = value->data.uint32;
	PMIX_VALUE_RELEASE(value);
	return number;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pmix_proc_t me;
	pmix_value_t mine = { .type = PMIX_UINT32 };
	uint32_t size, next;

	must(PMIx_Init(&me, NULL, 0), "PMIx_Init");
	size = size_of(&me);
	next = (me.rank + 1) % size;
	mine.data.uint32 = 1000 + me.rank;
	must(PMIx_Put(PMIX_GLOBAL, "hello", &mine), "PMIx_Put");
	must(PMIx_Commit(), "PMIx_Commit");
	if (me.rank == size - 1 && !strcmp(what, "early"))
		_exit(4);
	if (me.rank == size - 1 && !strcmp(what, "leave"))
		_exit(0);
	meet(strcmp(what, "direct") != 0 && strcmp(what, "gone") != 0);
	if (!strcmp(what, "gone") && me.rank == size - 1) {
		must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
		return 0;
	}
	if (!strcmp(what, "gone"))
		sleep(1); /* its launcher has forgotten the last one, and is asked */
	printf("rank %u of %u next %u\n", me.rank, size, number_of(&me, next));
	fflush(stdout);
	if (!strcmp(what, "direct"))
		meet(false); /* others may ask until then */
	must(PMIx_Finalize(NULL, 0), "PMIx_Finalize");
	return 0;
}
