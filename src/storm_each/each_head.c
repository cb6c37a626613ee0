/*
 * each_head.c - see each_head.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "each_head.h"
#include "each_options.h"
#include "puller.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_launcher/run_pieces.h"
#include "src/storm_run/run_connect.h"
#include "src/storm_run/run_request.h"

#define EACH_HEADS 3		  /* heads that may end before they have it */
#define EACH_TO_HEAD (256u << 10) /* bytes that wait for the head, at most */
#define EACH_RANKS_MAX (1u << 20)

struct each_pipe {
	struct run_reader from;
	struct pull_bytes to;
	uint64_t sent, taken;
	bool ends, ended, gone;
};

static struct {
	const struct each_heard *heard;
	char journal[PATH_MAX];
	struct run_job job;
	int sock;
	struct run_reader in;
	struct pull_bytes out;
	struct each_pipe *pipe; /* by rank */
	uint32_t pipes;
	bool known; /* the head has the run */
	bool waits; /* for CPUs, and nobody was told */
	char waits_for[200];
	int tries;
	uint64_t since;
} head = { .sock = -1 };

/* -------------------------------------------------------------------- the run --- */

/* One puller for each node, which has all of its CPUs. */
static bool each_head_ask(void)
{
	static char program[] = PKGLIBEXECDIR "/storm_each",
		    pull[] = EACH_PULLER;
	static char *argv[] = { program, pull, NULL };
	static char cwd[PATH_MAX];
	const struct run_ask ask = { .with = "",
				     .without = "",
				     .journal = head.journal,
				     .keep = true,
				     .whole = true };
	struct run_what what = {
		.argv = argv,
		.cwd = cwd,
		.stream = { "", "", "" },
		.bind_list = "",
		.framed = true,
		.input = RUN_INPUT_EACH,
	};
	/* pullers have pipes; the request has descriptors all the same */
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fd[RUN_SOCK_FDS] = { null, null, null };
	bool sent = run_request_cwd(NULL, &cwd) &&
		    !run_request_send(head.sock, &ask, &what, fd);

	if (null >= 0)
		close(null);
	head.known = head.waits = false;
	head.since = storm_now();
	return sent;
}

static bool each_head_connect(void)
{
	head.sock = run_connect(&head.job, true);
	return head.sock >= 0 && each_head_ask();
}

bool each_head_open(const struct each_heard *heard, const char *journal)
{
	head.heard = heard;
	if (journal && *journal && !run_request_cwd(journal, &head.journal))
		return false;
	if (!run_job_find(&head.job))
		return false;
	return each_head_connect();
}

/* The head ends: the next one takes the run. */
static bool each_head_again(void)
{
	uint8_t piece[512];
	ssize_t n;

	while ((n = read(head.sock, piece, sizeof(piece))) > 0 ||
	       (n < 0 && errno == EINTR))
		;
	close(head.sock);
	run_reader_fini(&head.in);
	head.in = (struct run_reader) { 0 };
	return each_head_connect();
}

int each_head_fd(void)
{
	return head.sock;
}

int each_head_timeout(void)
{
	uint64_t until = head.since + SAY_WAITS * STORM_MS;
	uint64_t now = storm_now();

	if (!head.waits && (head.known || !head.since))
		return -1;
	return now >= until ? 0 : (int) ((until - now) / STORM_MS) + 1;
}

void each_head_patience(void)
{
	if (each_head_timeout())
		return;
	if (head.waits)
		run_say_waits(head.waits_for, &(struct run_ask) { .nodes = 0 });
	else
		run_say_unanswered();
	head.waits = false;
	head.since = 0;
}

/* ------------------------------------------------------------------ what comes --- */

static struct each_pipe *each_head_pipe(uint32_t rank)
{
	struct each_pipe *more;

	if (rank < head.pipes)
		return &head.pipe[rank];
	if (rank >= EACH_RANKS_MAX)
		return NULL;
	more = reallocarray(head.pipe, rank + 1, sizeof(*more));
	if (!more)
		return NULL;
	memset(more + head.pipes, 0, (rank + 1 - head.pipes) * sizeof(*more));
	head.pipe = more;
	head.pipes = rank + 1;
	return &head.pipe[rank];
}

/* Bytes of a puller, which frames are cut of anywhere.  False: it makes no sense. */
static bool each_head_puller(const struct run_piece *p)
{
	struct each_pipe *w = each_head_pipe(p->rank);
	const uint8_t *at = p->buf, *end = at + p->len;
	enum run_kind kind;
	struct storm_in body;
	int is = 0;

	while (w && at < end && is >= 0) {
		size_t room, n;
		uint8_t *to = run_reader_room(&w->from, &room);

		if (!to)
			return false;
		n = storm_min(room, (size_t) (end - at));
		memcpy(to, at, n);
		w->from.have += n;
		at += n;
		while ((is = run_reader_next(&w->from, &kind, &body)) > 0) {
			head.heard->frame(p->rank, (enum pull_kind) kind,
					  &body);
			/* it may have made another one */
			w = &head.pipe[p->rank];
		}
	}
	return w && is >= 0;
}

static bool each_head_piece(struct storm_in *body)
{
	struct run_piece p;

	if (!run_output_of_get(body, &p))
		return false;
	if (p.fd == STDOUT_FILENO)
		return each_head_puller(&p);
	head.heard->words(p.buf, p.len);
	return true;
}

static bool each_head_gone(struct storm_in *body)
{
	uint32_t rank, code;
	struct each_pipe *w;

	if (!run_gone_get(body, &rank, &code))
		return false;
	w = each_head_pipe(rank);
	if (w) {
		w->gone = true;
		pull_bytes_fini(&w->to);
	}
	head.heard->gone(rank, code);
	return w != NULL;
}

static bool each_head_room(struct storm_in *body)
{
	uint32_t rank;
	uint64_t taken;

	if (!run_room_get(body, &rank, &taken))
		return false;
	if (rank < head.pipes)
		head.pipe[rank].taken = taken;
	return true;
}

enum { EACH_ON = -1, EACH_ASKS_AGAIN = -2, EACH_NONSENSE = -3 };

/* One of these, or the run's exit status. */
static int each_head_one(enum run_kind kind, struct storm_in *body)
{
	int len = (int) (body->end - body->p);

	switch (kind) {
	case RUN_OUTPUT_OF:
		return each_head_piece(body) ? EACH_ON : EACH_NONSENSE;
	case RUN_GONE:
		return each_head_gone(body) ? EACH_ON : EACH_NONSENSE;
	case RUN_ROOM:
		return each_head_room(body) ? EACH_ON : EACH_NONSENSE;
	case RUN_SAY:
	case RUN_REFUSED:
		run_say("%.*s", len, (const char *) body->p);
		return kind == RUN_SAY ? EACH_ON : 1;
	case RUN_END:
		return storm_get8(body);
	case RUN_AGAIN:
		return EACH_ASKS_AGAIN;
	case RUN_PARENT:
		snprintf(head.waits_for, sizeof(head.waits_for), "%.*s", len,
			 (const char *) body->p);
		return EACH_ON;
	case RUN_QUEUED:
		head.known = true;
		head.waits = storm_get8(body);
		return EACH_ON;
	default:
		return EACH_ON;
	}
}

bool each_head_hear(int *status)
{
	int none[RUN_SOCK_FDS], is = EACH_ON;
	int got = run_sock_receive(head.sock, &head.in, &none);
	enum run_kind kind;
	struct storm_in body;

	while (is == EACH_ON && run_reader_next(&head.in, &kind, &body) > 0)
		is = each_head_one(kind, &body);
	if (is == EACH_ON && got < 0)
		is = !head.known && head.tries++ < EACH_HEADS ?
			     EACH_ASKS_AGAIN :
			     EACH_NONSENSE;
	if (is == EACH_ASKS_AGAIN && each_head_again())
		return true;
	if (is == EACH_NONSENSE)
		run_say("error: the launchers have ended, and all tasks with them");
	*status = is < 0 ? EACH_FAILED : is;
	return is == EACH_ON;
}

/* --------------------------------------------------------------- what is sent --- */

struct pull_bytes *each_head_to(uint32_t rank)
{
	struct each_pipe *w = each_head_pipe(rank);

	return w ? &w->to : NULL;
}

void each_head_end(uint32_t rank)
{
	struct each_pipe *w = each_head_pipe(rank);

	if (w)
		w->ends = true;
}

/* A piece of what waits for a puller.  False: none may be sent now. */
static bool each_head_send_one(uint32_t rank)
{
	struct each_pipe *w = &head.pipe[rank];
	size_t len =
		storm_min(pull_bytes_wait(&w->to), (size_t) RUN_INPUT_PIECE);
	uint8_t *to;

	if (w->gone || w->ended || (!len && !w->ends))
		return false;
	len = storm_min(len, (size_t) (w->taken + RUN_INPUT_WINDOW - w->sent));
	if (!len && pull_bytes_wait(&w->to))
		return false;
	to = pull_bytes_more(&head.out, RUN_INPUT_HEADER + len);
	if (!to)
		return false;
	run_input_head(to, rank, len);
	if (len)
		memcpy(to + RUN_INPUT_HEADER, w->to.buf + w->to.at, len);
	w->to.at += len;
	if (w->to.at == w->to.have)
		w->to.at = w->to.have = 0;
	w->sent += len;
	w->ended = !len;
	return true;
}

bool each_head_waits(void)
{
	return pull_bytes_wait(&head.out) > 0;
}

void each_head_send(void)
{
	for (uint32_t k = 0; k < head.pipes; k++)
		while (pull_bytes_wait(&head.out) < EACH_TO_HEAD &&
		       each_head_send_one(k))
			;
	/* of a head that is gone its last word tells more */
	run_sock_put(head.sock, head.out.buf, &head.out.at, head.out.have);
	if (!each_head_waits())
		head.out.at = head.out.have = 0;
}
