/*
 * launcher_files.c - descriptors of the clients on this host, which the head
 * passes for their runs.  See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "launcher_base.h"
#include "launcher_private.h"
#include "src/libstorm/base/clock.h"

/* Descriptors of a run were sent before the run itself. */
#define FILES_LIMIT 5000 /* ms */

/* Descriptors for a run; -1: none were left here to receive them. */
struct files {
	struct files *next;
	uint64_t number;
	int fd[RUN_SOCK_FDS];
};

static void launcher_files_close(uint64_t run)
{
	struct files **at = &launcher.files, *f;

	while (*at && (*at)->number != run)
		at = &(*at)->next;
	f = *at;
	if (!f)
		return;
	*at = f->next;
	for (int k = 0; k < RUN_SOCK_FDS; k++)
		if (f->fd[k] >= 0)
			close(f->fd[k]);
	free(f);
}

static void launcher_files_add(uint64_t run, const int fd[RUN_SOCK_FDS])
{
	struct files *f =
		launcher_copy(&(struct files) { .number = run }, sizeof(*f));

	memcpy(f->fd, fd, sizeof(f->fd));
	f->next = launcher.files;
	launcher.files = f;
}

/* Descriptors come with one frame, and with them the kernel ends what it returns at
 * once; frames without any may be before it. */
void launcher_files_receive(void)
{
	static const int none[RUN_SOCK_FDS] = { -1, -1, -1 };
	enum run_kind kind;
	struct storm_in body;
	int fd[RUN_SOCK_FDS],
		n = run_sock_receive(launcher.head, &launcher.from_head, &fd);

	while (run_reader_next(&launcher.from_head, &kind, &body) > 0)
		if (kind == RUN_FILES && n == RUN_SOCK_FDS) {
			launcher_files_add(storm_get64(&body), fd);
			n = 0;
		} else if (kind == RUN_FILES) {
			launcher_files_add(storm_get64(&body), none);
		} else if (kind == RUN_NO_FILES) {
			launcher_files_close(storm_get64(&body));
		}
	if (n < 0) { /* the head is gone, and the domain will be */
		close(launcher.head);
		launcher.head = -1;
	}
	while (n > 0)
		close(fd[--n]);
}

/* 0, or an errno. */
int launcher_files_take(struct launched *run)
{
	uint64_t until = storm_now() + FILES_LIMIT * STORM_MS;

	for (;;) {
		struct files **at = &launcher.files, *f;
		struct pollfd p = { .fd = launcher.head, .events = POLLIN };

		while (*at && (*at)->number != run->start.number)
			at = &(*at)->next;
		f = *at;
		if (f) {
			memcpy(run->fd, f->fd, sizeof(f->fd));
			*at = f->next;
			free(f);
			return run->fd[0] < 0 ? EMFILE : 0;
		}
		if (launcher.head < 0 || storm_now() > until)
			return EPIPE;
		if (poll(&p, 1, FILES_LIMIT) > 0)
			launcher_files_receive();
	}
}
