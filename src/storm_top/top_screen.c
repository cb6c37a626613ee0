/*
 * top_screen.c - see top_screen.h.
 *
 * The texts are printable ASCII (top_text.h), so each character is one cell.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <curses.h>

#include "src/libstorm/base/minmax.h"
#include "src/storm_common/show_options.h"
#include "top_live.h"
#include "top_screen.h"

#define TICK 1000 /* ms after which ages and the time are drawn again */
#define RED_PAIR 1

static volatile sig_atomic_t ended_by;

struct top_show {
	struct top_known *known;
	double delay;
	struct top_text text;
	uint32_t first; /* the first line below the head */
	bool help;
	bool colour;
};

static const char *const help[] = {
	"storm top: keys",
	"",
	"q           end",
	"j, Down     a line down      k, Up       a line up",
	"Space, PgDn a screen down    b, PgUp     a screen up",
	"g, Home     to the top       G, End      to the end",
	"h, ?        this help, and back",
	"",
	"Matrix: a job stands in the row of its first slot; (80) stands still;",
	"all: it takes no turns; !: the node's agent does not answer.",
	"storm-top(1) has all of it.",
};

static void top_signal(int sig)
{
	ended_by = sig;
}

/* ------------------------------------------------------------------ drawing --- */

static void top_show_layout(struct top_show *s)
{
	time_t now = time(NULL);
	char text[32] = "";
	struct top_view v;
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(text, sizeof(text), "%H:%M:%S", &tm);
	top_text_clear(&s->text);
	s->text.columns = (unsigned int) COLS;
	if (s->help) {
		for (size_t i = 0; i < sizeof(help) / sizeof(*help); i++)
			top_text_add(&s->text, i ? TOP_PLAIN : TOP_HEAD, "%s",
				     help[i]);
		return;
	}
	pthread_mutex_lock(&s->known->lock);
	v = top_view_of(s->known, s->delay, text);
	top_layout(&v, &s->text);
	pthread_mutex_unlock(&s->known->lock);
}

static void top_show_line(const struct top_show *s, int y, uint32_t i)
{
	static const attr_t look[] = {
		[TOP_PLAIN] = A_NORMAL, [TOP_HEAD] = A_BOLD, [TOP_BAD] = A_NORMAL
	};
	const struct top_line *l = &s->text.line[i];
	attr_t attr = look[l->look];

	if (l->look == TOP_BAD)
		attr = s->colour ? (attr_t) COLOR_PAIR(RED_PAIR) : A_BOLD;
	attron(attr);
	mvaddnstr(y, 0, l->text, COLS);
	attroff(attr);
}

/* Rows for lines below the head, and above the last row. */
static uint32_t top_show_room(void)
{
	return LINES > 2 ? (uint32_t) LINES - 2 : 0;
}

static void top_show_draw(struct top_show *s)
{
	uint32_t room = top_show_room(), body, last;
	char foot[128];

	top_show_layout(s);
	body = s->text.count ? s->text.count - 1 : 0;
	s->first =
		(uint32_t) storm_min(s->first, body > room ? body - room : 0);
	last = (uint32_t) storm_min(body, (uint64_t) s->first + room);
	erase();
	if (s->text.count)
		top_show_line(s, 0, 0);
	for (uint32_t i = s->first; i < last; i++)
		top_show_line(s, (int) (i - s->first) + 1, i + 1);
	if (LINES > 1) {
		snprintf(foot, sizeof(foot),
			 "q end, j/k scroll, h help: lines %u-%u of %u%s",
			 last ? s->first + 1 : 0, last, body,
			 s->text.failed ? "; out of memory" : "");
		attron(A_REVERSE);
		mvaddnstr(LINES - 1, 0, foot, COLS);
		attroff(A_REVERSE);
	}
	refresh();
}

/* -------------------------------------------------------------------- keys --- */

static void top_show_move(struct top_show *s, int64_t lines)
{
	int64_t first = (int64_t) s->first + lines;

	s->first = first < 0 ?
			   0 :
			   (uint32_t) storm_min((uint64_t) first, UINT32_MAX);
}

/* False: that is the end. */
static bool top_show_key(struct top_show *s, int key)
{
	int64_t page = (int64_t) storm_max(top_show_room(), 1);

	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case 'j':
	case KEY_DOWN:
		top_show_move(s, 1);
		break;
	case 'k':
	case KEY_UP:
		top_show_move(s, -1);
		break;
	case ' ':
	case KEY_NPAGE:
		top_show_move(s, page);
		break;
	case 'b':
	case KEY_PPAGE:
		top_show_move(s, -page);
		break;
	case 'g':
	case KEY_HOME:
		s->first = 0;
		break;
	case 'G':
	case KEY_END:
		s->first = UINT32_MAX;
		break;
	case 'h':
	case '?':
		s->help = !s->help;
		s->first = 0;
		break;
	default:
		break;
	}
	return true;
}

static bool top_show_keys(struct top_show *s)
{
	int key;

	while ((key = getch()) != ERR)
		if (!top_show_key(s, key))
			return false;
	return true;
}

static void top_show_loop(struct top_show *s, int news)
{
	struct pollfd fd[] = { { .fd = STDIN_FILENO, .events = POLLIN },
			       { .fd = news, .events = POLLIN } };
	eventfd_t count;

	do {
		top_show_draw(s);
		if (poll(fd, 2, TICK) < 0 && errno != EINTR)
			return;
		if (fd[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			return; /* the terminal is gone */
		(void) eventfd_read(news, &count);
	} while (!ended_by && top_show_keys(s));
}

/* ------------------------------------------------------------------ begin, end --- */

static void top_catch(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction sa = { .sa_handler = top_signal };

	for (size_t i = 0; i < sizeof(caught) / sizeof(*caught); i++)
		sigaction(caught[i], &sa, NULL);
}

/* Messages of libraries would spoil the screen.  Returns what standard error was, or
 * -1. */
static int top_silence(void)
{
	int was, null;

	if (!isatty(STDERR_FILENO))
		return -1;
	was = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (was >= 0 && null >= 0)
		dup2(null, STDERR_FILENO);
	if (null >= 0)
		close(null);
	return was;
}

static void top_colours(struct top_show *s)
{
	s->colour = !getenv("NO_COLOR") && has_colors() &&
		    start_color() == OK && use_default_colors() == OK &&
		    init_pair(RED_PAIR, COLOR_RED, -1) == OK;
}

int top_screen(struct top_known *k, double delay)
{
	struct top_show s = { .known = k, .delay = delay };
	struct top_live *live = top_live_start(k, delay);
	SCREEN *screen;
	int was;

	if (!live) {
		perror("storm: top cannot start a thread");
		_exit(SHOW_WRONG); /* the other one may run, and use k */
	}
	setlocale(LC_CTYPE, "");
	top_catch(); /* else ncurses takes them, and ends the process */
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		fputs("storm: top cannot draw on this terminal: use storm top --once\n",
		      stderr);
		_exit(SHOW_USAGE);
	}
	was = top_silence();
	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	curs_set(0);
	top_colours(&s);
	top_show_loop(&s, top_live_fd(live));
	endwin();
	delscreen(screen);
	top_text_clear(&s.text);
	if (was >= 0) {
		dup2(was, STDERR_FILENO);
		close(was);
	}
	if (!top_live_stop(live))
		_exit(ended_by ? 128 + ended_by : SHOW_FINE);
	return ended_by ? 128 + ended_by : SHOW_FINE;
}
