/*
 * each_screen.c - see each_screen.h.
 *
 * The cursor is always left where the lines begin.  So one sequence takes them away, wherever
 * the terminal has put them when it scrolled or got another width.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "each_screen.h"
#include "src/libstorm/base/clock.h"

#define SCREEN_EACH (200 * STORM_MS)
#define SCREEN_LOG_EACH (10000 * STORM_MS)
#define SCREEN_COLUMNS 80 /* of a terminal that does not say it */

static const char screen_away[] = "\r\033[J", screen_up[] = "\r\033[A";

static struct {
	bool open, bar;
	bool terminal;
	bool also[3];  /* descriptors that are terminals */
	bool shown;    /* the lines are there */
	bool midway;   /* a line of others has begun where they would be */
	uint64_t next; /* storm_now() */
	locale_t locale;
} screen;

static void screen_write(const char *text)
{
	/* what a terminal does not take is not missed */
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

static void screen_say_before(void)
{
	each_screen_yield(STDERR_FILENO);
}

void each_screen_open(const struct each_options *o)
{
	const char *term = getenv("TERM");

	if (!o->bar && !o->eta && !o->progress)
		return;
	screen.open = true;
	screen.bar = o->bar;
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
		screen.also[fd] = isatty(fd);
	screen.terminal = screen.also[STDERR_FILENO] && term && *term &&
			  strcmp(term, "dumb");
	screen.next =
		storm_now() + (screen.terminal ? SCREEN_EACH : SCREEN_LOG_EACH);
	screen.locale = newlocale(LC_CTYPE_MASK, "", NULL);
	if (!screen.locale)
		screen.locale = newlocale(LC_CTYPE_MASK, "C", NULL);
	run_say_before(screen_say_before);
}

int each_screen_timeout(void)
{
	uint64_t now = storm_now();

	if (!screen.open)
		return -1;
	return now >= screen.next ? 0 :
				    (int) ((screen.next - now) / STORM_MS) + 1;
}

static uint32_t screen_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col)
		return SCREEN_COLUMNS;
	return size.ws_col;
}

/* Not while it would have to wait, and not over what another program does in the
 * foreground. */
static bool screen_is_free(void)
{
	struct pollfd p = { STDERR_FILENO, POLLOUT, 0 };
	pid_t group = tcgetpgrp(STDERR_FILENO);

	return !screen.midway && poll(&p, 1, 0) == 1 && p.revents == POLLOUT &&
	       (group < 0 || group == getpgrp());
}

static void screen_lines(const struct each_counts *c)
{
	/* in the last column some terminals begin another line */
	uint32_t columns = screen_columns() - 1;
	char line[EACH_LINE_MAX], slowest[EACH_LINE_MAX];
	char all[2 * EACH_LINE_MAX + 32];

	each_progress_line(c, screen.bar, columns, &line);
	each_progress_slowest(c, columns, screen.locale, &slowest);
	snprintf(all, sizeof(all), "%s%s%s%s%s", screen_away, line,
		 *slowest ? "\r\n" : "", slowest, *slowest ? screen_up : "\r");
	screen_write(all);
	screen.shown = true;
}

void each_screen_draw(const struct each_counts *c)
{
	char line[EACH_LINE_MAX];

	screen.next =
		storm_now() + (screen.terminal ? SCREEN_EACH : SCREEN_LOG_EACH);
	if (!screen.terminal) {
		each_progress_line(c, false, EACH_LINE_MAX, &line);
		run_say("%s", line);
	} else if (screen_is_free()) {
		screen_lines(c);
	}
}

void each_screen_yield(int fd)
{
	if (!screen.shown || !screen.also[fd])
		return;
	screen.shown = false;
	screen_write(screen_away);
}

void each_screen_wrote(int fd, uint8_t last)
{
	if (screen.open && screen.also[fd])
		screen.midway = last != '\n';
}

void each_screen_close(void)
{
	if (!screen.open)
		return;
	each_screen_yield(STDERR_FILENO);
	screen.open = false;
	freelocale(screen.locale);
}
