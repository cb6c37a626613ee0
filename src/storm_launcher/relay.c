/*
 * relay.c - see relay.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "grow.h"
#include "launcher_base.h"
#include "relay.h"
#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/base/worker.h"
#include "src/libstorm/wire/credential.h"

#define ROOM (128u << 10) /* bytes that wait to be sent */
#define PIECE (16u << 10)
#define BODY_MAX \
	(4 + RUN_INPUT_PIECE) /* bytes: no frame of a head's has more */
/* A head that has too many strangers, or a munged that is started again, serves
 * later. */
#define TRIES 10
#define TRY_AGAIN (1 * STORM_SEC)

/* A credential on its way from munged. */
struct relay_asked {
	struct storm_job base;
	struct relay *relay; /* NULL: it is gone */
	uint8_t what[8 + 4 + RUN_LIFE + RUN_SECRET];
	char *cred;
	int err;
};

struct relay {
	const struct run_start *start;
	uint32_t node;
	struct storm_worker *munge;
	relay_input_fn *input; /* NULL: none comes */
	bool pmi;
	void *arg;
	struct relay_asked *asked; /* NULL: none is under way */
	uint8_t secret[RUN_SECRET];
	uint8_t deaf; /* bit k: nobody reads descriptor k */
	int fd;	      /* -1: not opened, or failed */
	int failed;   /* errno, or 0 */
	bool proven;  /* each knows who the other is: output may be sent */
	uint32_t tries;
	uint64_t again_at;
	char *proof; /* a frame */
	size_t proof_at, proof_len;
	uint8_t *out; /* [at, have) is to be sent */
	size_t at, have, room;
	uint64_t sent, taken;
	struct run_window window; /* the last one */
	bool resized;		  /* it is new */
	struct run_reader in;
};

struct relay *relay_create(const struct run_start *start, uint32_t node,
			   struct storm_worker *munge)
{
	struct relay *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->start = start;
	r->node = node;
	r->munge = munge;
	r->fd = -1;
	r->out = malloc(ROOM);
	r->room = ROOM;
	if (r->out)
		return r;
	free(r);
	return NULL;
}

void relay_await_input(struct relay *r, relay_input_fn *input, void *arg)
{
	r->input = input;
	r->arg = arg;
}

void relay_is_of_pmi(struct relay *r)
{
	r->pmi = true;
}

bool relay_put_pmi(struct relay *r, const void *body, size_t len)
{
	size_t need = r->have + RUN_FRAME_HEADER + len;

	if (r->failed || !grow_buffer(&r->out, &r->room, need))
		return false;
	run_frame_head(r->out + r->have, RUN_PMI, len);
	memcpy(r->out + r->have + RUN_FRAME_HEADER, body, len);
	r->have = need;
	return true;
}

static void relay_close(struct relay *r)
{
	if (r->fd >= 0)
		close(r->fd);
	r->fd = -1;
}

void relay_destroy(struct relay *r)
{
	if (!r)
		return;
	if (r->asked)
		r->asked->relay = NULL;
	relay_close(r);
	run_reader_fini(&r->in);
	free(r->proof);
	free(r->out);
	free(r);
}

/* Nothing is lost yet if the head has not seen the proof. */
static void relay_fail(struct relay *r, const char *what)
{
	int why = errno;

	relay_close(r);
	run_reader_fini(&r->in);
	if (!r->proven && ++r->tries < TRIES) {
		r->again_at = storm_now() + TRY_AGAIN;
		return;
	}
	storm_log(STORM_LOG_ERROR, "%s of run %llu is lost: %s: %s",
		  r->pmi   ? "PMI" :
		  r->input ? "input or output" :
			     "output",
		  (unsigned long long) r->start->number, what, strerror(why));
	r->failed = why ? why : EIO;
	r->at = r->have = 0;
}

static void relay_connect(struct relay *r)
{
	struct sockaddr_in sin = launcher_sockaddr(&r->start->relay);
	int one = 1;

	r->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (r->fd < 0) {
		relay_fail(r, "socket");
		return;
	}
	setsockopt(r->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (connect(r->fd, (struct sockaddr *) &sin, sizeof(sin)) &&
	    errno != EINPROGRESS)
		relay_fail(r, "the head cannot be reached");
}

/* The first frame names the user, who else may not send, and the run.  A credential
 * serves once. */
static bool relay_set_proof(struct relay *r, const char *cred)
{
	size_t len = strlen(cred) + 1;

	free(r->proof);
	r->proof = malloc(RUN_FRAME_HEADER + len);
	if (!r->proof)
		return false;
	run_frame_head((uint8_t *) r->proof, r->pmi ? RUN_PMI_PROOF : RUN_PROOF,
		       len);
	memcpy(r->proof + RUN_FRAME_HEADER, cred, len);
	r->proof_at = 0;
	r->proof_len = RUN_FRAME_HEADER + len;
	return true;
}

static void relay_asked_work(struct storm_job *j)
{
	struct relay_asked *asked = (struct relay_asked *) j;

	asked->err = storm_credential_encode(geteuid(), asked->what,
					     sizeof(asked->what), &asked->cred);
}

static void relay_asked_done(void *host, struct storm_job *j)
{
	struct relay_asked *asked = (struct relay_asked *) j;
	struct relay *r = asked->relay;

	(void) host;
	if (r) {
		r->asked = NULL;
		errno = ENOKEY;
		if (asked->err || !relay_set_proof(r, asked->cred))
			relay_fail(r, "MUNGE");
		else
			relay_connect(r);
	}
	if (!asked->err)
		free(asked->cred);
	free(asked);
}

/* A head that tells the secret in the credential could decode it, and so is this user's.
 * After a head's death its port may be another user's. */
static void relay_open(struct relay *r)
{
	struct relay_asked *asked = calloc(1, sizeof(*asked));
	struct storm_out o;

	if (!asked || getrandom(r->secret, RUN_SECRET, 0) != RUN_SECRET) {
		free(asked);
		relay_fail(r, "memory");
		return;
	}
	o = (struct storm_out) { asked->what, asked->what + sizeof(asked->what),
				 false };
	storm_put64(&o, r->start->number);
	storm_put32(&o, r->node);
	storm_put(&o, r->start->life, RUN_LIFE);
	storm_put(&o, r->secret, RUN_SECRET);
	asked->base.work = relay_asked_work;
	asked->base.done = relay_asked_done;
	asked->relay = r;
	r->asked = asked;
	if (storm_worker_add(r->munge, &asked->base))
		return;
	r->asked = NULL;
	free(asked);
	relay_fail(r, "a thread");
}

bool relay_has_room(const struct relay *r)
{
	return ROOM - r->have >= RUN_FRAME_HEADER + PIECE;
}

bool relay_read(struct relay *r, int pipe, uint8_t fd, uint32_t rank)
{
	/* the bytes are behind what a frame has before them */
	size_t head = rank == RUN_ALL_RANKS ? RUN_FRAME_HEADER + 1 :
					      RUN_OUTPUT_OF_HEADER;
	uint8_t frame[PIECE];

	while (relay_has_room(r)) {
		ssize_t n = read(pipe, frame + head, sizeof(frame) - head);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		r->sent += (uint64_t) n;
		if (r->failed)
			continue;
		if (rank == RUN_ALL_RANKS) {
			run_frame_head(frame, RUN_OUTPUT, 1 + (size_t) n);
			frame[RUN_FRAME_HEADER] = fd;
		} else {
			run_output_of_head(frame, rank, fd, (size_t) n);
		}
		memcpy(r->out + r->have, frame, head + (size_t) n);
		r->have += head + (size_t) n;
	}
	return true;
}

void relay_lines(struct relay *r, struct run_lines *l, uint8_t fd, bool over)
{
	for (;;) {
		uint8_t *frame = r->out + r->have;
		uint8_t *body = frame + RUN_FRAME_HEADER;
		size_t room = ROOM - r->have, n;

		if (room <= RUN_FRAME_HEADER + 1)
			return;
		room = storm_min(room - RUN_FRAME_HEADER - 1, PIECE - 1);
		n = run_lines_take(l, body + 1, room, over);
		if (!n)
			return;
		r->sent += n;
		if (r->failed)
			continue;
		body[0] = fd;
		run_frame_head(frame, RUN_OUTPUT, 1 + n);
		r->have += RUN_FRAME_HEADER + 1 + n;
	}
}

bool relay_folded(struct relay *r, uint8_t fd, const struct run_folded *line)
{
	if (r->failed)
		return true;
	if (!relay_has_room(r) || ROOM - r->have < run_folded_len(line))
		return false;
	run_folded_put(r->out + r->have, fd, line);
	r->have += run_folded_len(line);
	r->sent += line->len + 1;
	return true;
}

bool relay_usage(struct relay *r, const struct run_usage *u)
{
	if (r->failed)
		return true;
	if (ROOM - r->have < RUN_USAGE_LEN)
		return false;
	run_usage_put(r->out + r->have, u);
	r->have += RUN_USAGE_LEN;
	r->sent += RUN_USAGE_LEN;
	return true;
}

bool relay_room(struct relay *r, uint32_t rank, uint64_t taken)
{
	if (r->failed)
		return true;
	if (ROOM - r->have < RUN_ROOM_LEN)
		return false;
	run_room_put(r->out + r->have, rank, taken);
	r->have += RUN_ROOM_LEN;
	return true;
}

uint64_t relay_sent(const struct relay *r)
{
	return r->sent;
}

bool relay_has_taken(const struct relay *r, uint64_t sent)
{
	return r->failed || r->taken >= sent;
}

int relay_failed(const struct relay *r)
{
	return r->failed;
}

bool relay_window(struct relay *r, struct run_window *out)
{
	bool resized = r->resized;

	*out = r->window;
	r->resized = false;
	return resized;
}

bool relay_is_deaf(const struct relay *r, uint8_t fd)
{
	return r->deaf & 1 << fd;
}

int relay_again(const struct relay *r)
{
	uint64_t now = storm_now();

	if (r->fd >= 0 || r->failed || r->asked ||
	    !(r->have || r->input || r->pmi))
		return -1;
	return now >= r->again_at ? 0 :
				    (int) ((r->again_at - now) / STORM_MS) + 1;
}

int relay_fd(const struct relay *r, short *events)
{
	*events = POLLIN;
	if (r->proof_at < r->proof_len || (r->proven && r->have > r->at))
		*events |= POLLOUT;
	return r->fd;
}

/* False: no more can be sent now. */
static bool relay_write(struct relay *r, const void *buf, size_t *at,
			size_t end)
{
	while (*at < end) {
		ssize_t n = send(r->fd, (const char *) buf + *at, end - *at,
				 MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0) {
			relay_fail(r, "to the head");
			return false;
		}
		*at += (size_t) n;
	}
	return true;
}

static void relay_write_all(struct relay *r)
{
	if (!relay_write(r, r->proof, &r->proof_at, r->proof_len) || !r->proven)
		return;
	relay_write(r, r->out, &r->at, r->have);
	memmove(r->out, r->out + r->at, r->have - r->at);
	r->have -= r->at;
	r->at = 0;
}

/* Nothing of a stranger's counts. */
static void relay_hear(struct relay *r, enum run_kind kind,
		       struct storm_in *body)
{
	if (kind == RUN_PROVEN) {
		const uint8_t *secret = storm_get(body, RUN_SECRET);

		r->proven = secret && !memcmp(secret, r->secret, RUN_SECRET);
		errno = EPERM;
		if (!r->proven)
			relay_fail(r, "another user has the head's port");
	} else if (r->proven && kind == RUN_TAKEN) {
		r->taken = storm_get64(body);
	} else if (r->proven && kind == RUN_INPUT && r->input) {
		struct run_piece p;

		errno = EBADMSG;
		if (run_input_get(body, &p))
			r->input(r->arg, &p);
		else
			relay_fail(r, "from the head");
	} else if (r->proven && kind == RUN_WINDOW) {
		run_window_get(body, &r->window);
		r->resized = storm_in_done(body);
	} else if (r->proven && kind == RUN_DEAF) {
		r->deaf |= (uint8_t) (1 << (storm_get8(body) & 3));
	}
}

static void relay_receive(struct relay *r)
{
	enum run_kind kind;
	struct storm_in body;
	size_t room;
	uint8_t *to = run_reader_room(&r->in, &room);
	ssize_t n = to ? recv(r->fd, to, room, 0) : -1;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		if (!n)
			errno = EPIPE;
		relay_fail(r, "from the head");
		return;
	}
	r->in.have += (size_t) n;
	while (r->fd >= 0 && run_reader_next(&r->in, &kind, &body) > 0)
		relay_hear(r, kind, &body);
	errno = EBADMSG;
	if (r->fd >= 0 &&
	    run_reader_body(&r->in) > (r->proven ? BODY_MAX : RUN_SECRET))
		relay_fail(r, "from the head");
}

void relay_serve(struct relay *r, short events)
{
	if (!relay_again(r))
		relay_open(r);
	if (r->fd >= 0 && events & (POLLIN | POLLHUP | POLLERR))
		relay_receive(r);
	if (r->fd >= 0 && events & POLLOUT)
		relay_write_all(r);
}
