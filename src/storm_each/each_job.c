/*
 * each_job.c - see each_job.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "each_command.h"
#include "each_job.h"
#include "each_resume.h"
#include "each_source.h"

#define EACH_TEXT_MAX 131071u	   /* bytes; Linux takes no longer argument */
#define EACH_JOBS_MAX 1024	   /* that wait to be taken */
#define EACH_JOBS_BYTES (8u << 20) /* of their texts */

static struct {
	const struct each_options *o;
	struct each_sources *sources;
	const struct each_resume *resume;
	int event;
	pthread_mutex_t lock;
	pthread_cond_t less;
	/* under the lock */
	struct each_job *first, **last;
	size_t count, bytes;
	bool over, bad;
} jobs = { .lock = PTHREAD_MUTEX_INITIALIZER,
	   .less = PTHREAD_COND_INITIALIZER };

void each_job_free(struct each_job *j)
{
	if (!j)
		return;
	for (int k = 0; k < 2; k++)
		each_kept_fini(&j->kept[k]);
	free(j->text);
	free(j->dir);
	free(j->tag);
	free(j->results);
	free(j);
}

/* ------------------------------------------------------------------ the thread --- */

/* A text of the options for this row.  False: no memory. */
static bool each_job_text(const char *text, const struct each_row *row,
			  uint64_t seq, char **out)
{
	size_t len;

	if (!text)
		return true;
	*out = each_text(jobs.o, text, row, seq, &len);
	return *out != NULL;
}

static struct each_job *each_job_make(const struct each_row *row, uint64_t seq)
{
	const struct each_options *o = jobs.o;
	struct each_job *j = calloc(1, sizeof(*j));
	bool good;

	if (!j)
		return NULL;
	j->task.seq = seq;
	j->text = each_command(o, row, seq, &j->len);
	good = j->text && each_job_text(o->wd, row, seq, &j->dir) &&
	       each_job_text(o->tag, row, seq, &j->tag);
	if (good && o->results && each_has_names(o, o->results))
		good = each_job_text(o->results, row, seq, &j->results);
	else if (good && o->results)
		good = (j->results = each_results_dir(o->results, row));
	if (good)
		return j;
	each_job_free(j);
	return NULL;
}

static void each_jobs_tell(void)
{
	const uint64_t one = 1;

	while (write(jobs.event, &one, sizeof(one)) < 0 && errno == EINTR)
		;
}

static void each_jobs_add(struct each_job *j)
{
	bool first;

	pthread_mutex_lock(&jobs.lock);
	while (jobs.count >= EACH_JOBS_MAX || jobs.bytes >= EACH_JOBS_BYTES)
		pthread_cond_wait(&jobs.less, &jobs.lock);
	first = !jobs.first;
	*jobs.last = j;
	jobs.last = &j->next;
	jobs.count++;
	jobs.bytes += j->len;
	pthread_mutex_unlock(&jobs.lock);
	if (first)
		each_jobs_tell();
}

static void *each_jobs_main(void *arg)
{
	struct each_row row;
	uint64_t seq = 0;
	int is;

	(void) arg;
	while ((is = each_sources_next(jobs.sources, &row)) > 0) {
		bool skip = jobs.resume && each_resume_done(jobs.resume, ++seq);
		struct each_job *j;

		seq += !jobs.resume;
		j = skip ? NULL : each_job_make(&row, seq);
		each_row_free(&row);
		if (j && j->len > EACH_TEXT_MAX) {
			run_say("error: command %llu has %zu bytes, %u are possible",
				(unsigned long long) seq, j->len,
				EACH_TEXT_MAX);
			each_job_free(j);
			is = -1;
			break;
		}
		if (j)
			each_jobs_add(j);
		else if (!skip) {
			run_say("no memory");
			is = -1;
			break;
		}
	}
	pthread_mutex_lock(&jobs.lock);
	jobs.over = true;
	jobs.bad = is < 0;
	pthread_mutex_unlock(&jobs.lock);
	each_jobs_tell();
	return NULL;
}

/* ------------------------------------------------------------------- the others --- */

int each_jobs_open(const struct each_options *o, struct each_sources *s,
		   const struct each_resume *resume)
{
	pthread_attr_t detached;
	pthread_t thread;
	int err;

	jobs.o = o;
	jobs.sources = s;
	jobs.resume = resume;
	jobs.last = &jobs.first;
	jobs.event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	err = pthread_create(&thread, &detached, each_jobs_main, NULL);
	pthread_attr_destroy(&detached);
	if (jobs.event >= 0 && !err)
		return jobs.event;
	run_say("%s", strerror(err ? err : errno));
	return -1;
}

struct each_job *each_jobs_next(void)
{
	struct each_job *j;
	uint64_t told;

	pthread_mutex_lock(&jobs.lock);
	j = jobs.first;
	if (j) {
		jobs.first = j->next;
		if (!jobs.first)
			jobs.last = &jobs.first;
		jobs.count--;
		jobs.bytes -= j->len;
		j->next = NULL;
		pthread_cond_signal(&jobs.less);
	} else if (read(jobs.event, &told, sizeof(told)) < 0) {
		/* it was not told, or is told once more */
	}
	pthread_mutex_unlock(&jobs.lock);
	return j;
}

bool each_jobs_over(bool *bad)
{
	bool over;

	pthread_mutex_lock(&jobs.lock);
	over = jobs.over && !jobs.first;
	*bad = jobs.bad;
	pthread_mutex_unlock(&jobs.lock);
	return over;
}
