/*
 * progress.c - see progress.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <stdio.h>
#include <unistd.h>

#include "src/common/slurm_xlator.h"

#include "src/common/log.h"
#include "src/common/xstring.h"

#include "progress.h"
#include "src/libstorm/base/clock.h"

#define STANDS (1 * STORM_SEC)	    /* without progress: the bar says so */
#define STANDS_LONG (3 * STORM_SEC) /* without a bar; less than DeadTimeout */
#define CLEAR_LINE "\033[K"

bool progress_has_terminal(void)
{
	return get_log_level() == LOG_LEVEL_INFO && isatty(STDERR_FILENO);
}

void progress_begin(struct progress *p, const char *path, uint64_t size)
{
	p->shown = p->warned = false;
	p->slow[0] = '\0';
	p->path = path;
	p->size = size;
	p->done = 0;
	p->begun = p->moved_at = storm_now();
}

static void progress_draw(struct progress *p, const char *rest)
{
	enum { WIDTH = 30 };
	static const char full[WIDTH + 1] = "##############################";
	int n = p->size ? p->done * WIDTH / p->size : WIDTH;

	fprintf(stderr, "\r%-20.20s [%.*s%*s] %3d%% of %.1f MB%s" CLEAR_LINE,
		xbasename((char *) p->path), n, full, WIDTH - n, "",
		p->size ? (int) (p->done * 100 / p->size) : 100, p->size / 1e6,
		rest);
	fflush(stderr);
	p->shown = true;
}

void progress_show(struct progress *p, uint64_t done, const char *slow)
{
	uint64_t now = storm_now(), stands;
	double rate;
	char rest[320];

	if (done > p->done)
		p->moved_at = now;
	p->done = done;
	snprintf(p->slow, sizeof(p->slow), "%s", slow ? slow : "");
	stands = now - p->moved_at;
	if (!p->bar) {
		if (stands > STANDS_LONG && slow && !p->warned) {
			info("warning: storm: %s: no progress for %d s, waiting for %s",
			     p->path, (int) (stands / STORM_SEC), slow);
			p->warned = true;
		}
		return;
	}
	rate = done / ((now - p->begun) / 1e9 + 1e-9);
	if (stands > STANDS)
		snprintf(rest, sizeof(rest), ", stalled for %d s%s%.200s",
			 (int) (stands / STORM_SEC),
			 slow ? ", waiting for " : "", slow ? slow : "");
	else if (done)
		snprintf(rest, sizeof(rest), ", %.1f MB/s, %.0f s left%s%.200s",
			 rate / 1e6, (p->size - done) / rate,
			 slow ? ", slowest " : "", slow ? slow : "");
	else
		rest[0] = '\0';
	progress_draw(p, rest);
}

static void progress_say(const struct progress *p, uint32_t nodes)
{
	double seconds = (storm_now() - p->begun) / 1e9 + 1e-9;
	char line[400];

	snprintf(line, sizeof(line),
		 "%s: %.1f MB to %u node%s in %.1f s, %.1f MB/s%s%s",
		 xbasename((char *) p->path), p->size / 1e6, nodes,
		 nodes == 1 ? "" : "s", seconds, p->size / 1e6 / seconds,
		 *p->slow ? "; slowest " : "", p->slow);
	if (p->shown)
		fprintf(stderr, "\r%s" CLEAR_LINE "\n", line);
	else
		verbose("storm: %s", line);
}

void progress_end(struct progress *p, uint32_t nodes)
{
	if (nodes)
		progress_say(p, nodes);
	else if (p->shown)
		fputc('\n', stderr);
	p->shown = false;
}
