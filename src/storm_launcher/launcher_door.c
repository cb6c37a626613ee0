/*
 * launcher_door.c - clients on this node, which is not the head's: a door, and a carrier
 * to the head, which the first client opens and which stays.  See launcher_private.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "door.h"
#include "launcher_base.h"
#include "launcher_private.h"
#include "run_sweep.h"
#include "src/libstorm/base/clock.h"

/* A head with many strangers serves later. */
#define TRIES 10
#define BYE_LIMIT (2 * STORM_SEC)
#define TRY_AGAIN (1 * STORM_SEC)
#define ANSWER (RUN_FRAME_HEADER + SEALED_RANDOM)

/* The call to the head. */
static struct {
	struct door *door; /* NULL: the head is on this host, or has not spoken */
	struct storm_addr head;
	uint8_t key[STORM_KEY_LEN];
	int fd; /* -1: none */
	bool asked;
	uint32_t tries;
	uint64_t again_at;
	uint8_t caller[SEALED_RANDOM], answer[ANSWER];
	size_t come;
} door = { .fd = -1 };

void launcher_door_open(struct storm_in *in)
{
	char path[RUN_SOCK_PATH], why[256];
	const char *job = getenv("SLURM_JOB_ID");
	const uint8_t *key;

	storm_get_addr(in, &door.head);
	key = storm_get(in, STORM_KEY_LEN);
	/* the head's own socket has the name here */
	if (!storm_in_done(in) || launcher.head >= 0 || door.door || !job)
		return;
	memcpy(door.key, key, STORM_KEY_LEN);
	if (run_sock_path(job, &path, why, sizeof(why))) {
		run_sweep(path);
		door.door = door_create(path, true);
		snprintf(why, sizeof(why), "%s: %s", path, strerror(errno));
	}
	if (!door.door)
		storm_log(STORM_LOG_ERROR, "no storm run on this node: %s",
			  why);
}

/* The head's last words for clients come before the end of its stream. */
void launcher_door_close(void)
{
	uint64_t until = storm_now() + (launcher.ending ? 0 : BYE_LIMIT);

	while (door.door && door_carrier(door.door) && storm_now() < until) {
		struct pollfd p = { door_fd(door.door), POLLIN, 0 };

		poll(&p, 1, 100);
		door_serve(door.door);
	}
	door_destroy(door.door);
	door.door = NULL;
}

int launcher_door_files(uint32_t channel, int (*fd)[RUN_SOCK_FDS])
{
	return door.door ? door_files(door.door, channel, fd) : EPIPE;
}

/* ----------------------------------------------------------------- the call --- */

static void launcher_call_failed(const char *what)
{
	const char *why = strerror(errno);

	if (door.fd >= 0)
		close(door.fd);
	door.fd = -1;
	door.again_at = storm_now() + TRY_AGAIN;
	if (++door.tries < TRIES)
		return;
	door.tries = 0;
	storm_log(STORM_LOG_ERROR, "%s: %s", what, why);
	door_refuse(door.door);
}

static void launcher_call(void)
{
	struct sockaddr_in sin = launcher_sockaddr(&door.head);

	door.asked = false;
	door.come = 0;
	door.fd =
		socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (door.fd < 0 || storm_random(door.caller, sizeof(door.caller)) ||
	    (connect(door.fd, (struct sockaddr *) &sin, sizeof(sin)) &&
	     errno != EINPROGRESS))
		launcher_call_failed("the head cannot be reached");
}

/* It is connected, or not: so few bytes go at once. */
static void launcher_ask(void)
{
	uint8_t frame[RUN_FRAME_HEADER + 4 + 4 + SEALED_RANDOM];
	struct storm_out o = { frame + RUN_FRAME_HEADER, frame + sizeof(frame),
			       false };

	run_frame_head(frame, RUN_DOOR, sizeof(frame) - RUN_FRAME_HEADER);
	storm_put32(&o, RUN_VERSION);
	storm_put32(&o, launcher.self);
	storm_put(&o, door.caller, SEALED_RANDOM);
	door.asked = send(door.fd, frame, sizeof(frame), MSG_NOSIGNAL) ==
		     (ssize_t) sizeof(frame);
	if (!door.asked)
		launcher_call_failed("the head cannot be reached");
}

/* The head has the key, if what comes next is sealed with it. */
static void launcher_call_done(void)
{
	const struct sealed_form f = { .use = SEALED_DOOR,
				       .key = door.key,
				       .caller = door.caller,
				       .answerer =
					       door.answer + RUN_FRAME_HEADER,
				       .calls = true };
	struct sealed *s = sealed_create(&f);
	struct carrier *c = s ? carrier_create(s, true) : NULL;

	if (!c) {
		launcher_call_failed("no memory for a connection to the head");
		return;
	}
	door_give(door.door, door.fd, c);
	door.fd = -1;
	door.tries = 0;
}

/* No more is read than the answer: records follow. */
static void launcher_answered(void)
{
	uint8_t head[RUN_FRAME_HEADER];
	ssize_t n = recv(door.fd, door.answer + door.come,
			 sizeof(door.answer) - door.come, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (!n)
		errno = EPIPE;
	if (n <= 0) {
		launcher_call_failed("the head does not answer");
		return;
	}
	door.come += (size_t) n;
	if (door.come < ANSWER)
		return;
	run_frame_head(head, RUN_ANSWER, SEALED_RANDOM);
	errno = EPROTO;
	if (memcmp(head, door.answer, sizeof(head)))
		launcher_call_failed("another program has the head's port");
	else
		launcher_call_done();
}

int launcher_door_fd(void)
{
	return door.door ? door_fd(door.door) : -1;
}

int launcher_call_fd(short *events)
{
	*events = door.asked ? POLLIN : POLLOUT;
	return door.fd;
}

int launcher_door_patience(void)
{
	uint64_t now = storm_now();

	if (!door.door)
		return -1;
	if (!door_waits(door.door) || door.fd >= 0)
		return door_patience(door.door);
	return now >= door.again_at ?
		       0 :
		       (int) ((door.again_at - now) / STORM_MS) + 1;
}

void launcher_door_serve(bool door_came, bool call_came)
{
	if (!door.door)
		return;
	if (call_came && door.fd >= 0) {
		if (!door.asked)
			launcher_ask();
		else
			launcher_answered();
		door_came |= door.fd < 0;
	}
	if (door_came || door_patience(door.door) >= 0)
		door_serve(door.door);
	if (door_waits(door.door) && door.fd < 0 &&
	    storm_now() >= door.again_at)
		launcher_call();
}
