/*
 * agent_libdir.c - "<file>_libs", the directory of the libraries that came
 * with an executable (srun --send-libs), lives as long as its job.
 *
 * Nothing on a node shows the end of a job.  A job with a slurmstepd is alive,
 * but a job without one may only be between two steps.  The agent then queries
 * slurmctld for this job, at intervals that double.  The list is in a file, so
 * the next agent continues it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"
#include "src/common/log.h"
#include "src/common/read_config.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent.h"
#include "agent_libdir.h"
#include "agent_session.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/log_limit.h"
#include "src/libstorm/base/shown.h"
#include "src/slurm/compat.h"
#include "src/storm_agent/files/file_child.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/whole_file.h"

#define LIST "libdirs"
/* directories of a user that are remembered; later ones stay */
#define PER_USER 1000
#define LOOK (15 * STORM_SEC)	     /* for slurmstepds, so often */
#define ASK_FIRST (30 * STORM_SEC)   /* first query, after a step */
#define ASK_RARELY (600 * STORM_SEC) /* the longest interval */

struct agent_libdir {
	struct agent_libdir *next;
	struct file_user user;
	uint32_t job_id;
	char *path;
	uint64_t ask_at, ask_after;
};

struct ask {
	struct storm_job job;
	uint32_t job_id;
	bool over;
};

/* A child removes all directories of a job, one after the other. */
struct removal {
	struct agent_io io;
	struct agent_libdir *first; /* is being removed */
};

static void agent_libdir_free(struct agent_libdir *d)
{
	xfree(d->user.gids);
	xfree(d->path);
	xfree(d);
}

/* ------------------------------------------------------------ the list's file --- */

static char *agent_libdir_dir(const struct agent *a)
{
	return xstrdup_printf("%s/%s", STORM_RUNDIR, a->node);
}

static void agent_libdir_save(const struct agent *a)
{
	char *dir = agent_libdir_dir(a), *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err;

	if (!f) {
		error("cannot write %s/" LIST ": %m", dir);
		xfree(dir);
		return;
	}
	for (struct agent_libdir *d = a->libdir.first; d; d = d->next) {
		fprintf(f, "%u %u %u %d", d->job_id, d->user.uid, d->user.gid,
			d->user.ngids);
		for (int i = 0; i < d->user.ngids; i++)
			fprintf(f, " %u", d->user.gids[i]);
		/* with its length: a path may contain any character */
		fprintf(f, " %zu %s\n", strlen(d->path), d->path);
	}
	err = fclose(f) ? errno : whole_file_save(dir, LIST, text, len);
	if (err)
		error("cannot write %s/" LIST
		      ", so the next agent may leave libraries of ended jobs behind: %s",
		      dir, strerror(err));
	free(text);
	xfree(dir);
}

/* One entry; NULL at the end, or if the line is invalid. */
static struct agent_libdir *agent_libdir_read_one(FILE *f)
{
	struct agent_libdir *d = xmalloc(sizeof(*d));
	gid_t *gids = NULL;
	size_t len;

	if (fscanf(f, "%u %u %u %d", &d->job_id, &d->user.uid, &d->user.gid,
		   &d->user.ngids) != 4 ||
	    d->user.ngids < 0 || d->user.ngids > 65536)
		goto bad;
	gids = xcalloc(d->user.ngids + 1, sizeof(*gids));
	d->user.gids = gids;
	for (int i = 0; i < d->user.ngids; i++) {
		if (fscanf(f, "%u", &gids[i]) != 1)
			goto bad;
	}
	if (fscanf(f, "%zu", &len) != 1 || !len || len >= PATH_MAX ||
	    fgetc(f) != ' ')
		goto bad;
	d->path = xmalloc(len + 1);
	if (fread(d->path, 1, len, f) != len)
		goto bad;
	return d;
bad:
	agent_libdir_free(d);
	return NULL;
}

static void agent_libdir_insert(struct agent *a, struct agent_libdir *d,
				uint64_t now)
{
	/* The child must enter the job's namespace.  If that ended with the
	 * job, the same path outside of it is another directory. */
	d->user.job_id = d->job_id;
	d->ask_after = ASK_FIRST;
	d->ask_at = now + d->ask_after;
	d->next = a->libdir.first;
	a->libdir.first = d;
	a->libdir.look_at = now + LOOK;
}

void agent_libdir_load(struct agent *a)
{
	char *dir = agent_libdir_dir(a), *text = NULL;
	size_t len = 0;
	int err = whole_file_load(dir, LIST, &text, &len);
	FILE *f = err || !len ? NULL : fmemopen(text, len, "r");
	struct agent_libdir *d;

	if (err && err != ENOENT)
		error("cannot use %s/" LIST
		      ", so libraries of ended jobs may stay: %s",
		      dir, strerror(err));
	if (f) {
		while ((d = agent_libdir_read_one(f)))
			agent_libdir_insert(a, d, storm_now());
		fclose(f);
	}
	free(text);
	xfree(dir);
}

void agent_libdir_add(struct agent *a, const struct agent_creds *c,
		      const char *path)
{
	struct agent_libdir *d;
	int count = 0;
	gid_t *gids;

	for (d = a->libdir.first; d; d = d->next) {
		count += d->user.uid == c->user.uid;
		if (d->job_id == c->job_id && d->user.uid == c->user.uid &&
		    !strcmp(d->path, path))
			return;
	}
	if (count >= PER_USER) {
		debug("uid %u has %d directories of libraries already: %s stays when its job ends",
		      c->user.uid, count, STORM_SHOWN(path));
		return;
	}
	d = xmalloc(sizeof(*d));
	gids = xcalloc(c->user.ngids + 1, sizeof(*gids));
	memcpy(gids, c->user.gids, c->user.ngids * sizeof(*gids));
	d->user = c->user;
	d->user.gids = gids;
	d->job_id = c->job_id;
	d->path = xstrdup(path);
	agent_libdir_insert(a, d, storm_now());
	agent_libdir_save(a);
}

/* ---------------------------------------------------------------- removal --- */

static void agent_libdir_removal_release(struct agent_io *io)
{
	struct removal *r = (struct removal *) io;
	struct agent_libdir *d;

	while ((d = r->first)) {
		r->first = d->next;
		agent_libdir_free(d);
	}
	xfree(r);
}

/* Ask the child for the first one.  0, or -1 and errno. */
static int agent_libdir_removal_next(struct removal *r)
{
	static struct file_request req;

	memset(&req, 0, sizeof(req));
	req.verb = FILE_RMDIR;
	strncpy(req.path, r->first->path, sizeof(req.path) - 1);
	return file_child_send(r->io.fd, &req, -1);
}

static void agent_libdir_removed(struct agent *a, struct agent_io *io,
				 uint32_t events)
{
	struct removal *r = (struct removal *) io;
	struct agent_libdir *d = r->first;
	const struct storm_log_source from = storm_log_uid(d->user.uid);
	struct file_reply rep;
	int fd, rc = file_child_recv(io->fd, &rep, &fd);

	(void) events;
	if (fd >= 0)
		close(fd);
	if (rc < 0 || (rc && rep.verb != FILE_RMDIR))
		return;
	if (rc && rep.err)
		storm_log_from(&from, STORM_LOG_INFO,
			       "cannot remove %s of uid %u: %s%s%s",
			       STORM_SHOWN(d->path), d->user.uid,
			       storm_strerror((int) rep.err),
			       rep.sys ? ": " : "",
			       rep.sys ? strerror(rep.sys) : "");
	else if (rc)
		debug("removed %s", STORM_SHOWN(d->path));
	r->first = d->next;
	agent_libdir_free(d);
	if (!rc || !r->first || agent_libdir_removal_next(r))
		agent_io_close(&a->ios, io);
}

/* As the user: only the kernel checks that the user may remove them.  Takes
 * over the list, whose entries have one user. */
static void agent_libdir_remove(struct agent *a, struct agent_libdir *first)
{
	const struct storm_log_source from = storm_log_uid(first->user.uid);
	struct removal *r = xmalloc(sizeof(*r));

	r->first = first;
	r->io.ready = agent_libdir_removed;
	r->io.release = agent_libdir_removal_release;
	r->io.fd = file_child_start(a->file.nursery, &first->user);
	if (r->io.fd < 0 || agent_io_add(&a->ios, &r->io, EPOLLIN)) {
		storm_log_from(&from, STORM_LOG_ERROR,
			       "cannot remove %s of uid %u: %m",
			       STORM_SHOWN(first->path), first->user.uid);
		if (r->io.fd >= 0)
			close(r->io.fd);
		agent_libdir_removal_release(&r->io);
	} else if (agent_libdir_removal_next(r)) {
		agent_io_close(&a->ios, &r->io);
	}
}

/* A job has one user. */
static void agent_libdir_job_over(struct agent *a, uint32_t job_id)
{
	struct agent_libdir **p = &a->libdir.first, *d, *over = NULL;

	while ((d = *p)) {
		if (d->job_id != job_id) {
			p = &d->next;
			continue;
		}
		*p = d->next;
		d->next = over;
		over = d;
	}
	if (!over)
		return;
	agent_libdir_remove(a, over);
	agent_libdir_save(a);
}

/* ------------------------------------------------------------ is it over? --- */

static void agent_libdir_ask_work(struct storm_job *j)
{
	struct ask *q = (struct ask *) j;
	job_info_msg_t *msg = NULL;

	if (compat_load_job(&msg, q->job_id)) {
		/* on any other error the job may still run */
		q->over = errno == ESLURM_INVALID_JOB_ID;
		return;
	}
	q->over = true;
	for (uint32_t i = 0; i < msg->record_count; i++) {
		uint32_t state = msg->job_array[i].job_state;

		if ((state & JOB_STATE_BASE) <= JOB_SUSPENDED ||
		    state & JOB_COMPLETING)
			q->over = false;
	}
	slurm_free_job_info_msg(msg);
}

static void agent_libdir_ask_done(void *host, struct storm_job *j)
{
	struct agent *a = host;
	struct ask *q = (struct ask *) j;

	a->libdir.asking = false;
	if (j->worked && q->over)
		agent_libdir_job_over(a, q->job_id);
	xfree(q);
}

static void agent_libdir_ask(struct agent *a, uint32_t job_id)
{
	struct ask *q = xmalloc(sizeof(*q));

	q->job.work = agent_libdir_ask_work;
	q->job.done = agent_libdir_ask_done;
	q->job_id = job_id;
	if (storm_worker_add(&a->controller.w, &q->job))
		a->libdir.asking = true;
	else
		xfree(q);
}

/* The job has a socket <node>_<job>.<step>[.<het>] in SlurmdSpoolDir. */
static bool agent_libdir_has_stepd(const struct agent *a, uint32_t job_id)
{
	char *spool = slurm_conf_expand_slurmd_path(slurm_conf.slurmd_spooldir,
						    a->node, NULL);
	char *pattern = xstrdup_printf("%s/%s_%u.*", spool, a->node, job_id);
	glob_t g;
	bool yes = !glob(pattern, GLOB_NOSORT, NULL, &g);

	if (yes)
		globfree(&g);
	xfree(pattern);
	xfree(spool);
	return yes;
}

uint64_t agent_libdir_tick(struct agent *a, uint64_t now)
{
	if (!a->libdir.first)
		return STORM_NEVER;
	if (now < a->libdir.look_at)
		return a->libdir.look_at;
	a->libdir.look_at = now + LOOK;
	for (struct agent_libdir *d = a->libdir.first; d; d = d->next) {
		if (agent_libdir_has_stepd(a, d->job_id)) {
			d->ask_after = ASK_FIRST;
			d->ask_at = now + d->ask_after;
		} else if (now >= d->ask_at && !a->libdir.asking) {
			d->ask_after *= 2;
			if (d->ask_after > ASK_RARELY)
				d->ask_after = ASK_RARELY;
			d->ask_at = now + d->ask_after;
			agent_libdir_ask(a, d->job_id);
		}
	}
	return a->libdir.look_at;
}
