/*
 * spank_signals_26_05.c - srun's signals in Slurm 26.05.  A handler writes them
 * to a pipe, and threads of srun note the last one, in srun_destroy_sig, and
 * count them, in an eventfd.  An exec would lose what is noted or on its way.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "spank_signals.h"

/* Milliseconds: a busy machine may not run srun's threads for a while. */
#define PATIENCE 200

/* It goes through the pipe behind all that came.  Only srun sends it to itself,
 * later, for --wait. */
#define MARK SIGALRM

/* What srun handles, but SIGCONT, which ends nothing. */
static const int ending[] = { SIGINT,  SIGQUIT, SIGTERM, SIGHUP, SIGUSR1,
			      SIGUSR2, SIGPIPE, SIGPROF, SIGTTIN };
#define ENDING (sizeof(ending) / sizeof(*ending))

static struct sigaction kept[ENDING];

/* srun's thread sets the handlers, all at once. */
static void spank_signals_await_handlers(void)
{
	struct sigaction now;

	for (int i = 0; i < PATIENCE; i++) {
		if (!sigaction(MARK, NULL, &now) && now.sa_handler != SIG_DFL)
			return;
		poll(NULL, 0, 1);
	}
}

/* The signal that has come, or 0.  Leaves srun as if the mark had not. */
static int spank_signals_noted(void)
{
	const int *event = dlsym(RTLD_DEFAULT, "srun_sig_eventfd");
	volatile int *noted = dlsym(RTLD_DEFAULT, "srun_destroy_sig");
	struct pollfd p = { .events = POLLIN };
	uint64_t count = 0;
	int signo;

	if (!event || !noted)
		return 0;
	if (*noted)
		return *noted;
	p.fd = *event;
	kill(getpid(), MARK);
	if (poll(&p, 1, PATIENCE) != 1 ||
	    read(p.fd, &count, sizeof(count)) != sizeof(count))
		return *noted;
	signo = *noted;
	*noted = 0;
	if (signo != MARK)
		return signo;
	return count > 1 ? SIGTERM : 0; /* the mark has replaced it */
}

void spank_signals_reset(void)
{
	static const struct sigaction by_default = { .sa_handler = SIG_DFL };
	int signo;

	spank_signals_await_handlers();
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending[i], &by_default, &kept[i]);
	if ((signo = spank_signals_noted()))
		raise(signo);
}

void spank_signals_restore(void)
{
	for (size_t i = 0; i < ENDING; i++)
		sigaction(ending[i], &kept[i], NULL);
}
