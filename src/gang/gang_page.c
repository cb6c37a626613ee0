/*
 * gang_page.c - see gang_page.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gang_page.h"
#include "gang_step.h"
#include "src/storm_common/local/local.h"

#define PAGE_MAGIC 0x53474147u /* "SGAG" */
#define PAGE_VERSION 4
#define PAGE_NEW ".gang"	/* until it is whole */
#define TRACE_MAGIC 0x53475452u /* "SGTR" */
#define TRACE_VERSION 1

static int gang_file_path(const char *rundir, const char *node,
			  const char *name, char (*out)[PATH_MAX])
{
	int n = snprintf(*out, sizeof(*out), "%s/%s/%s",
			 rundir ? rundir : STORM_RUNDIR, node, name);

	return n < 0 || (size_t) n >= sizeof(*out) ? ENAMETOOLONG : 0;
}

/* size: the expected size in bytes; make: create it with that size. */
static void *gang_file_map_path(const char *path, size_t size, bool write,
				bool make)
{
	int flags = (write ? O_RDWR : O_RDONLY) | (make ? O_CREAT : 0);
	int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600), err;
	void *p = MAP_FAILED;
	struct stat st;

	if (fd < 0)
		return NULL;
	/* On a full disk a store to memory without a block is a SIGBUS, here
	 * and in all readers. */
	if (make && (errno = posix_fallocate(fd, 0, size)))
		goto out;
	if (fstat(fd, &st))
		goto out;
	if ((size_t) st.st_size < size) {
		errno = EBADMSG;
		goto out;
	}
	p = mmap(NULL, size, write ? PROT_READ | PROT_WRITE : PROT_READ,
		 MAP_SHARED, fd, 0);
out:
	err = errno;
	close(fd);
	errno = err;
	return p == MAP_FAILED ? NULL : p;
}

static void *gang_file_map(const char *rundir, const char *node,
			   const char *name, size_t size, bool write, bool make)
{
	char path[PATH_MAX];
	int err = gang_file_path(rundir, node, name, &path);

	if (err) {
		errno = err;
		return NULL;
	}
	return gang_file_map_path(path, size, write, make);
}

/* ------------------------------------------------------------------ page --- */

struct gang_page *gang_page_create(const char *rundir, const char *node,
				   const struct freezer_host *host, bool debug)
{
	char new[PATH_MAX], path[PATH_MAX];
	struct gang_page *p;

	if ((errno = gang_file_path(rundir, node, PAGE_NEW, &new)) ||
	    (errno = gang_file_path(rundir, node, GANG_PAGE_NAME, &path)))
		return NULL;
	unlink(new);
	p = gang_file_map_path(new, sizeof(*p), true, true);
	if (!p) {
		int err = errno;

		unlink(new);
		errno = err;
		return NULL;
	}
	p->host = *host;
	p->debug = debug;
	p->agent = getpid();
	p->started = gang_step_started(p->agent);
	p->version = PAGE_VERSION;
	p->magic = PAGE_MAGIC;
	/* Readers of an earlier agent's page keep their mapping. */
	if (rename(new, path)) {
		gang_page_close(p);
		return NULL;
	}
	return p;
}

bool gang_page_share(struct gang_page *p, const char *rundir, const char *node,
		     bool sharing)
{
	char path[PATH_MAX];

	if (p->sharing == sharing)
		return false;
	p->sharing = sharing;
	/* Guards of steps that began under an older version watch the file. */
	if (!gang_file_path(rundir, node, GANG_PAGE_NAME, &path))
		utimensat(AT_FDCWD, path, NULL, 0);
	return true;
}

struct gang_page *gang_page_open(const char *rundir, const char *node)
{
	struct gang_page *p = gang_file_map(rundir, node, GANG_PAGE_NAME,
					    sizeof(*p), true, false);

	if (p && (p->magic != PAGE_MAGIC || p->version != PAGE_VERSION)) {
		munmap(p, sizeof(*p));
		p = NULL;
		errno = EBADMSG;
	}
	return p;
}

void gang_page_close(struct gang_page *p)
{
	if (p)
		munmap(p, sizeof(*p));
}

/* The directory is a tmpfs, where the numbers of files rise. */
uint64_t gang_page_number(const char *rundir, const char *node)
{
	char path[PATH_MAX];
	struct stat st;

	if (gang_file_path(rundir, node, GANG_PAGE_NAME, &path) ||
	    stat(path, &st))
		return 0;
	return st.st_ino;
}

void gang_page_remove(const char *rundir, const char *node)
{
	char path[PATH_MAX];

	if (!gang_file_path(rundir, node, GANG_PAGE_NAME, &path))
		unlink(path);
}

bool gang_page_late(const struct gang_page *p, uint64_t now)
{
	uint64_t alive = p->alive;

	return p->stopped && now > alive && now - alive > p->limit;
}

/* ----------------------------------------------------------------- trace --- */

struct gang_trace *gang_trace_create(const char *rundir, const char *node)
{
	struct gang_trace *t =
		gang_file_map(rundir, node, "trace", sizeof(*t), true, true);

	if (!t)
		return NULL;
	if (t->magic != TRACE_MAGIC || t->version != TRACE_VERSION ||
	    t->room != GANG_TRACE_EVENTS ||
	    t->event_size != sizeof(struct gang_event)) {
		t->count = 0;
		t->version = TRACE_VERSION;
		t->room = GANG_TRACE_EVENTS;
		t->event_size = sizeof(struct gang_event);
		t->magic = TRACE_MAGIC;
	}
	return t;
}

const struct gang_trace *gang_trace_open(const char *rundir, const char *node)
{
	const struct gang_trace *t =
		gang_file_map(rundir, node, "trace", sizeof(*t), false, false);

	if (t && (t->magic != TRACE_MAGIC || t->version != TRACE_VERSION ||
		  t->room != GANG_TRACE_EVENTS)) {
		gang_trace_close(t);
		t = NULL;
		errno = EBADMSG;
	}
	return t;
}

void gang_trace_close(const struct gang_trace *t)
{
	if (t)
		munmap((void *) t, sizeof(*t));
}

void gang_trace_add(struct gang_trace *t, const struct gang_event *e)
{
	uint64_t i = atomic_load_explicit(&t->count, memory_order_relaxed);

	t->event[i % GANG_TRACE_EVENTS] = *e;
	atomic_store_explicit(&t->count, i + 1, memory_order_release);
}

bool gang_trace_get(const struct gang_trace *t, uint64_t i,
		    struct gang_event *out)
{
	if (i >= atomic_load_explicit(&t->count, memory_order_acquire))
		return false;
	*out = t->event[i % GANG_TRACE_EVENTS];
	atomic_thread_fence(memory_order_acquire);
	/* the next event overwrites the oldest */
	return atomic_load_explicit(&t->count, memory_order_relaxed) - i <
	       GANG_TRACE_EVENTS;
}

const char *gang_what_name(uint32_t what)
{
	static const char *const name[] = {
		[GANG_BEGIN] = "begin",	      [GANG_MAP] = "map",
		[GANG_SLOT] = "slot",	      [GANG_STOP] = "stop",
		[GANG_CONTINUE] = "continue", [GANG_OPEN] = "open",
		[GANG_STEP] = "step",	      [GANG_GONE] = "gone",
		[GANG_MISSED] = "missed",     [GANG_JOB] = "job",
		[GANG_PAYS] = "pays",	      [GANG_PLANNED] = "planned",
		[GANG_START] = "start",
	};

	return what < sizeof(name) / sizeof(*name) ? name[what] : NULL;
}

const char *gang_why_name(uint32_t why)
{
	static const char *const name[] = {
		[GANG_WHY_SLOT] = "slot",
		[GANG_WHY_NOT_IN_MAP] = "not-in-map",
		[GANG_WHY_SIGNAL] = "signal",
		[GANG_WHY_SILENCE] = "silence",
		[GANG_WHY_UNKNOWN_MAP] = "unknown-map",
		[GANG_WHY_NO_SLURMD] = "no-slurmd",
		[GANG_WHY_CLOSED] = "closed",
		[GANG_WHY_FREED] = "freed",
		[GANG_WHY_ALL] = "all",
		[GANG_WHY_SCRIPT] = "script",
		[GANG_WHY_STARTING] = "starting",
		[GANG_WHY_DEBUGGER] = "debugger",
		[GANG_WHY_RETURNED] = "returned",
		[GANG_WHY_SPARE] = "spare",
		[GANG_WHY_FILLS] = "fills",
	};

	return why < sizeof(name) / sizeof(*name) ? name[why] : NULL;
}
