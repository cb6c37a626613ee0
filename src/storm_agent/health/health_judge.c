/*
 * health_judge.c - see health_judge.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "health_judge.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/shown.h"

#define MB (1u << 20)
/* A clock is set by less than that while all is well. */
#define CLOCK_JUMP ((int64_t) (10 * STORM_SEC))
/* Then the clock was meant to be set. */
#define CLOCK_MEANT (600 * STORM_SEC)
/* One in so many of the host's descriptors must be free. */
#define DESCRIPTORS_PART 100

__attribute__((format(printf, 2, 3))) static void
health_say(char (*text)[HEALTH_LINE], const char *form, ...)
{
	va_list ap;

	va_start(ap, form);
	vsnprintf(*text, sizeof(*text), form, ap);
	va_end(ap);
}

static enum health_cause
health_judge_disk(const struct storm_health_conf *limit, const char *name,
		  const struct health_sample *s, char (*text)[HEALTH_LINE])
{
	if (s->hung) {
		health_say(text, "%s does not answer: its file system hangs",
			   name);
		return HEALTH_HUNG;
	}
	if (s->err) {
		health_say(text, "%s: %s", name, strerror(s->err));
		return HEALTH_SPACE;
	}
	if (s->free < limit->space) {
		health_say(text,
			   "%s has %" PRIu64
			   " MB left, less than HealthSpace (%" PRIu64 " MB)",
			   name, s->free / MB, limit->space / MB);
		return HEALTH_SPACE;
	}
	if (s->inodes && s->free_inodes < limit->inodes) {
		health_say(text,
			   "%s has %" PRIu64
			   " inodes left, less than HealthInodes (%u)",
			   name, s->free_inodes, limit->inodes);
		return HEALTH_INODES;
	}
	return HEALTH_WELL;
}

static enum health_cause
health_judge_memory(const struct storm_health_conf *limit,
		    const struct health_sample *s, char (*text)[HEALTH_LINE])
{
	if (s->hung || s->err || s->free >= limit->memory)
		return HEALTH_WELL; /* without figures nothing is wrong */
	health_say(text,
		   "%" PRIu64
		   " MB of memory are left, less than HealthMemory (%" PRIu64
		   " MB)",
		   s->free / MB, limit->memory / MB);
	return HEALTH_MEMORY;
}

static enum health_cause health_judge_descriptors(const struct health_sample *s,
						  char (*text)[HEALTH_LINE])
{
	if (s->err || s->hung || s->free >= s->total / DESCRIPTORS_PART)
		return HEALTH_WELL;
	health_say(text,
		   "%" PRIu64 " of the host's %" PRIu64
		   " descriptors are left (fs.file-max)",
		   s->free, s->total);
	return HEALTH_DESCRIPTORS;
}

/* A daemon that is asked. */
static enum health_cause health_judge_answer(enum health_cause cause,
					     const char *who,
					     const struct health_sample *s,
					     char (*text)[HEALTH_LINE])
{
	if (!s->hung && !s->err)
		return HEALTH_WELL;
	if (s->hung)
		health_say(text, "%s does not answer in time", who);
	else
		health_say(text, "%s: %s", who,
			   s->line[0] ? s->line : strerror(s->err));
	return cause;
}

static enum health_cause health_judge_inotify(const struct health_sample *s,
					      char (*text)[HEALTH_LINE])
{
	if (s->hung || !s->err)
		return HEALTH_WELL;
	health_say(text, "root has no inotify left: %s (fs.inotify)",
		   strerror(s->err));
	return HEALTH_INOTIFY;
}

static enum health_cause health_judge_program(const char *name,
					      const struct health_sample *s,
					      char (*text)[HEALTH_LINE])
{
	const char *said = s->line[0] ? ": " : "";

	if (s->hung)
		health_say(text, "%s does not end in time%s%s", name, said,
			   s->line);
	else if (s->err)
		health_say(text, "%s is not run: %s", name,
			   s->line[0] ? s->line : strerror(s->err));
	else if (WIFSIGNALED(s->status))
		health_say(text, "%s was killed by signal %d%s%s", name,
			   WTERMSIG(s->status), said, s->line);
	else if (s->status)
		health_say(text, "%s ended with status %d%s%s", name,
			   WEXITSTATUS(s->status), said, s->line);
	else
		return HEALTH_WELL;
	return HEALTH_PROGRAM;
}

/* Nothing is known of what it was to look at. */
static enum health_cause health_judge_unbegun(const struct health_sample *s,
					      char (*text)[HEALTH_LINE])
{
	health_say(text, "no check can begin: %s", strerror(s->unbegun));
	return s->unbegun == EMFILE || s->unbegun == ENFILE ?
		       HEALTH_DESCRIPTORS :
		       HEALTH_UNCHECKED;
}

enum health_cause health_judge(const struct storm_health_conf *limit,
			       enum health_kind kind, const char *name,
			       const struct health_sample *s,
			       char (*text)[HEALTH_LINE])
{
	if (s->unbegun)
		return health_judge_unbegun(s, text);
	switch (kind) {
	case HEALTH_CHECK_DISK:
		return health_judge_disk(limit, name, s, text);
	case HEALTH_CHECK_MEMORY:
		return health_judge_memory(limit, s, text);
	case HEALTH_CHECK_MUNGE:
		return health_judge_answer(HEALTH_MUNGE, "munged", s, text);
	case HEALTH_CHECK_SLURMD:
		return health_judge_answer(HEALTH_SLURMD, "slurmd", s, text);
	case HEALTH_CHECK_DESCRIPTORS:
		return health_judge_descriptors(s, text);
	case HEALTH_CHECK_INOTIFY:
		return health_judge_inotify(s, text);
	case HEALTH_CHECK_PROGRAM:
		return health_judge_program(name, s, text);
	}
	return HEALTH_WELL;
}

static bool health_clock_is_near(int64_t a, int64_t b)
{
	return a - b < CLOCK_JUMP && b - a < CLOCK_JUMP;
}

int64_t health_clock_look(struct health_clock *c, uint64_t monotonic,
			  int64_t wall)
{
	int64_t ahead = wall - (int64_t) monotonic;

	if (!c->known || health_clock_is_near(ahead, c->ahead) ||
	    (c->jumped && health_clock_is_near(ahead, c->now) &&
	     monotonic > c->jumped + CLOCK_MEANT)) {
		*c = (struct health_clock) { .known = true, .ahead = ahead };
		return 0;
	}
	if (!c->jumped || !health_clock_is_near(ahead, c->now))
		c->jumped = monotonic;
	c->now = ahead;
	return ahead - c->ahead;
}

void health_line_add(struct health_line *l, const char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char b = (unsigned char) bytes[i];

		if (b == '\n') {
			l->ended = true;
			continue;
		}
		/* an empty line, or the end of one from elsewhere */
		if (b == '\r')
			continue;
		if (l->ended)
			l->len = 0;
		l->ended = false;
		if (l->len + 1 < sizeof(l->line))
			l->line[l->len++] = storm_printed((char) b);
		l->line[l->len] = '\0';
	}
}
