/*
 * serve_info.c - what PMIx is told of a run.  See serve.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "serve.h"
#include "src/storm_launcher/run_names.h"

#define OF_RUN 16 /* values, at most */
#define OF_RANK 6

struct infos {
	pmix_info_t *i;
	size_t count;
};

/* It is copied. */
static void info_add(struct infos *v, const char *key, const void *value,
		     pmix_data_type_t type)
{
	PMIX_INFO_LOAD(&v->i[v->count], key, value, type);
	v->count++;
}

static void info_add32(struct infos *v, const char *key, uint32_t value)
{
	info_add(v, key, &value, PMIX_UINT32);
}

static void info_add16(struct infos *v, const char *key, uint16_t value)
{
	info_add(v, key, &value, PMIX_UINT16);
}

/* ---------------------------------------------------------------------- texts --- */

/* Ranks a to b - 1, with commas. */
static void text_ranks(FILE *f, uint32_t a, uint32_t b)
{
	for (uint32_t k = a; k < b; k++)
		fprintf(f, "%s%u", k > a ? "," : "", k);
}

static bool text_name(void *arg, const char *name)
{
	FILE *f = arg;

	return fprintf(f, "%s%s", ftell(f) ? "," : "", name) > 0;
}

/* NULL: no memory, or it was no list. */
static char *text_close(FILE *f, char **text, bool good)
{
	good &= !ferror(f);
	if (!fclose(f) && good)
		return *text;
	free(*text);
	return NULL;
}

/* libpmix makes it shorter: the names of all nodes, or of which node has which ranks. */
static char *info_nodes(const struct px_register *r)
{
	char *text = NULL, *all, *shorter = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	all = text_close(f, &text, run_names_each(r->names, text_name, f));
	if (all && PMIx_generate_regex(all, &shorter) != PMIX_SUCCESS)
		shorter = NULL;
	free(all);
	return shorter;
}

static char *info_ranks(const struct px_register *r)
{
	char *text = NULL, *all, *shorter = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	for (uint32_t n = 0; n < r->nodes; n++) {
		fputs(n ? ";" : "", f);
		text_ranks(f, r->rank[n], r->rank[n + 1]);
	}
	all = text_close(f, &text, true);
	if (all && PMIx_generate_ppn(all, &shorter) != PMIX_SUCCESS)
		shorter = NULL;
	free(all);
	return shorter;
}

static char *info_peers(const struct served_run *run)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return NULL;
	text_ranks(f, run->first, run->first + run->here);
	return text_close(f, &text, true);
}

/* --------------------------------------------------------------------- values --- */

/* The value gets what PMIx is told of a rank, the kth of the nth node.  False: no memory. */
static bool info_rank(pmix_info_t *out, const struct px_register *r,
		      const struct served_run *run, uint32_t n, uint32_t k)
{
	pmix_rank_t rank = r->rank[n] + k;
	pmix_data_array_t *array;
	struct infos v = { 0 };

	PMIX_DATA_ARRAY_CREATE(array, OF_RANK - (n != r->nth), PMIX_INFO);
	if (array && !array->array)
		PMIX_DATA_ARRAY_FREE(array);
	if (!array)
		return false;
	v.i = array->array;
	info_add(&v, PMIX_RANK, &rank, PMIX_PROC_RANK);
	info_add16(&v, PMIX_LOCAL_RANK, (uint16_t) k);
	info_add16(&v, PMIX_NODE_RANK, (uint16_t) k);
	info_add32(&v, PMIX_APPNUM, 0);
	info_add32(&v, PMIX_NODEID, n);
	if (n == r->nth) {
		char dir[sizeof(run->dir) + 12];

		snprintf(dir, sizeof(dir), "%s/%u", run->dir, rank);
		info_add(&v, PMIX_PROCDIR, dir, PMIX_STRING);
	}
	PMIX_LOAD_KEY(out->key, PMIX_PROC_DATA);
	out->value.type = PMIX_DATA_ARRAY;
	out->value.data.darray = array;
	return true;
}

static void info_run(struct infos *v, const struct px_register *r,
		     const struct served_run *run, const char *nodes,
		     const char *ranks, const char *peers)
{
	bool yes = true;

	info_add(v, PMIX_JOBID, run->space, PMIX_STRING);
	info_add32(v, PMIX_UNIV_SIZE, run->tasks);
	info_add32(v, PMIX_JOB_SIZE, run->tasks);
	info_add32(v, PMIX_MAX_PROCS, run->tasks);
	info_add32(v, PMIX_JOB_NUM_APPS, 1);
	info_add32(v, PMIX_LOCAL_SIZE, run->here);
	info_add32(v, PMIX_NODE_SIZE, run->here);
	info_add32(v, PMIX_NUM_NODES, r->nodes);
	info_add32(v, PMIX_NODEID, r->nth);
	info_add(v, PMIX_NODE_MAP, nodes, PMIX_STRING);
	info_add(v, PMIX_PROC_MAP, ranks, PMIX_STRING);
	info_add(v, PMIX_LOCAL_PEERS, peers, PMIX_STRING);
	info_add(v, PMIX_TMPDIR, run->dir, PMIX_STRING);
	info_add(v, PMIX_NSDIR, run->dir, PMIX_STRING);
	/* the end of the run removes them */
	info_add(v, PMIX_TDIR_RMCLEAN, &yes, PMIX_BOOL);
}

pmix_info_t *serve_info(const struct px_register *r,
			const struct served_run *run, size_t *count)
{
	char *nodes = info_nodes(r), *ranks = info_ranks(r);
	char *peers = info_peers(run);
	struct infos v = { 0 };
	bool good = nodes && ranks && peers;

	*count = OF_RUN + run->tasks;
	if (good)
		PMIX_INFO_CREATE(v.i, *count);
	if (v.i)
		info_run(&v, r, run, nodes, ranks, peers);
	for (uint32_t n = 0; v.i && n < r->nodes; n++)
		for (uint32_t k = 0; k < r->rank[n + 1] - r->rank[n]; k++)
			good &= info_rank(&v.i[v.count++], r, run, n, k);
	free(nodes);
	free(ranks);
	free(peers);
	if (v.i && !good) {
		PMIX_INFO_FREE(v.i, *count);
		return NULL;
	}
	*count = v.count;
	return v.i;
}
