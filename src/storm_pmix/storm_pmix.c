/*
 * storm_pmix.c - PMIx for ranks of MPI on one node, by libpmix.  A launcher starts it, and
 * has a socket to it.  What ranks bring to fences goes to the launcher, and comes back
 * from there with that of all nodes.
 *
 *	storm_pmix FD DIRECTORY NODE
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "serve.h"
#include "src/storm_launcher/px_tree.h"

#define GRACE 2 /* s, to end after the launcher */

static pid_t serve_parent;

/* -------------------------------------------------------------------- its end --- */

__attribute__((noreturn)) static void serve_end(int status)
{
	px_tree_remove(serve.dir);
	_exit(status); /* libpmix waits for its clients, and they are gone */
}

/* The launcher is gone: the loop sees that, unless libpmix keeps it. */
static void serve_orphaned(int sig)
{
	(void) sig;
	if (getppid() != serve_parent)
		alarm(GRACE);
}

/* Signals are for the launcher, who ends this process, and for tasks. */
static void serve_signals(void)
{
	static const int not_ours[] = { SIGTERM, SIGINT,  SIGHUP, SIGQUIT,
					SIGUSR1, SIGUSR2, SIGPIPE };
	struct sigaction act = { .sa_handler = serve_orphaned,
				 .sa_flags = SA_RESTART };

	for (size_t k = 0; k < sizeof(not_ours) / sizeof(*not_ours); k++)
		signal(not_ours[k], SIG_IGN);
	serve_parent = getppid();
	sigaction(SIGIO, &act, NULL);
	prctl(PR_SET_PDEATHSIG, SIGIO);
}

/* ------------------------------------------------------------------- the loop --- */

/* What the launcher says.  False: that is nothing. */
static bool serve_hear(enum px_kind kind, struct storm_in *body)
{
	struct px_register r;
	struct pmi_fenced f;
	struct px_msg m;

	if (kind == PX_REGISTER && px_register_get(body, &r)) {
		serve_register(&r);
		px_register_free(&r);
		return true;
	}
	if (kind == PX_FENCED && pmi_fenced_get(body, &f)) {
		serve_fenced(&f);
		pmi_fenced_free(&f);
		return true;
	}
	if (kind == PX_REGISTER || kind == PX_FENCED || !px_msg_get(body, &m))
		return false;
	if (kind == PX_DROP)
		serve_drop(m.run);
	else if (kind == PX_WANTED)
		serve_wanted(&m);
	else if (kind == PX_GIVEN)
		serve_given(&m);
	px_msg_free(&m);
	return true;
}

static void serve_loop(void)
{
	struct run_reader in = { 0 };

	for (;;) {
		enum run_kind kind;
		struct storm_in body;
		int whole = run_reader_next(&in, &kind, &body);
		size_t room;
		uint8_t *to;
		ssize_t n;

		if (whole > 0 && serve_hear((enum px_kind) kind, &body))
			continue;
		to = whole ? NULL : run_reader_room(&in, &room);
		if (!to)
			break;
		n = recv(serve.launcher, to, room, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		in.have += (size_t) n;
	}
	run_reader_fini(&in);
}

static bool serve_begin(void)
{
	bool no = false;
	pmix_info_t *info;
	pmix_status_t rc;

	PMIX_INFO_CREATE(info, 4);
	if (!info)
		return false;
	PMIX_INFO_LOAD(&info[0], PMIX_SERVER_TMPDIR, serve.dir, PMIX_STRING);
	PMIX_INFO_LOAD(&info[1], PMIX_SYSTEM_TMPDIR, serve.dir, PMIX_STRING);
	PMIX_INFO_LOAD(&info[2], PMIX_HOSTNAME, serve.node, PMIX_STRING);
	PMIX_INFO_LOAD(&info[3], PMIX_SERVER_TOOL_SUPPORT, &no, PMIX_BOOL);
	rc = PMIx_server_init(&serve_module, info, 4);
	PMIX_INFO_FREE(info, 4);
	if (rc == PMIX_SUCCESS)
		return true;
	serve_fault(0, "PMIx_server_init: %s", PMIx_Error_string(rc));
	return false;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fputs("storm_pmix: storm_launcher starts it\n", stderr);
		return 2;
	}
	/* as of the launcher: tasks are the same user's */
	prctl(PR_SET_DUMPABLE, 0);
	serve_signals();
	umask(077);
	serve.launcher = atoi(argv[1]);
	serve.dir = argv[2];
	serve.node = argv[3];
	if (!serve_begin())
		serve_end(1);
	serve_loop();
	serve_end(0);
}
