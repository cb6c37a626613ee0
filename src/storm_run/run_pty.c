/*
 * run_pty.c - see run_pty.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "run_pty.h"
#include "run_say.h"
#include "src/storm_launcher/run_sock.h"

static struct {
	struct termios before;
	bool changed;
} run_pty;

static bool run_pty_size(struct run_window *w)
{
	struct winsize size;

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &size))
		return false;
	*w = (struct run_window) { size.ws_row, size.ws_col, size.ws_xpixel,
				   size.ws_ypixel };
	return true;
}

bool run_pty_tell(struct run_what *w)
{
	w->pty = run_pty_size(&w->window);
	w->direct = false;
	return w->pty;
}

void run_pty_end(void)
{
	pid_t group = tcgetpgrp(STDIN_FILENO);

	/* in the background the terminal is another one's by now */
	if (run_pty.changed && (group < 0 || group == getpgrp()))
		tcsetattr(STDIN_FILENO, TCSANOW, &run_pty.before);
	run_pty.changed = false;
	run_say_raw(false);
}

void run_pty_send_size(int sock)
{
	uint8_t frame[RUN_FRAME_HEADER + RUN_WINDOW_LEN];
	struct storm_out o = { frame + RUN_FRAME_HEADER, frame + sizeof(frame),
			       false };
	struct run_window w;

	if (!run_pty_size(&w))
		return;
	run_frame_head(frame, RUN_WINDOW, RUN_WINDOW_LEN);
	run_window_put(&o, &w);
	run_sock_send(sock, frame, sizeof(frame), NULL);
}

static void run_pty_change(int sock)
{
	struct termios raw = run_pty.before;

	cfmakeraw(&raw);
	run_pty.changed = !tcsetattr(STDIN_FILENO, TCSANOW, &raw);
	run_say_raw(run_pty.changed);
	run_pty_send_size(sock);
}

void run_pty_begin(int sock)
{
	if (!run_pty.changed && !tcgetattr(STDIN_FILENO, &run_pty.before))
		run_pty_change(sock);
}

void run_pty_resume(int sock)
{
	if (run_pty.changed)
		run_pty_change(sock);
}
