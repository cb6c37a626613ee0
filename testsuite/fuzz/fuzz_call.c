/*
 * fuzz_call.c - what strangers send to the port of a keeper, before its head has called
 * (call.h, call_desk.h), and what credentials hide.
 *
 *   u8 which of these it is:
 *   0	{u8 another user, bytes} that a credential hides
 *   1	{u8 the key, secret, number, u16 a byte of what is hidden, u8 its change}
 *   2	a frame's body
 *   3	{u8 the size of pieces, a stream} to the desk
 *
 * MUNGE is replaced: a credential is "u" or "o", its user, and hexadecimal digits.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz.h"
#include "src/libstorm/base/minmax.h"
#include "src/libstorm/wire/credential.h"
#include "src/storm_launcher/call_desk.h"

#define KINDS 4
#define TURNS 4 /* of the desk for each piece */

static const uint8_t key[RUN_KEY] = "of this start";

/* --------------------------------------------------------------- credentials --- */

static int plain_encode(uint32_t to, const void *what, size_t len, char **cred)
{
	(void) to;
	(void) what;
	(void) len;
	(void) cred;
	must(!"a keeper makes none");
	return STORM_EAUTH;
}

static int plain_decode(const char *cred, void **what, size_t *len,
			uint32_t *uid, uint32_t *gid)
{
	size_t n = strlen(cred);
	uint8_t *p;

	if (n < 1 || n % 2 == 0 || (*cred != 'u' && *cred != 'o'))
		return STORM_EAUTH;
	*uid = geteuid() + (*cred == 'o');
	*gid = 0;
	*len = (n - 1) / 2;
	*what = p = malloc(*len + 1);
	must(p);
	for (size_t k = 0; k < *len; k++) {
		const char hex[] = { cred[1 + 2 * k], cred[2 + 2 * k], '\0' };

		p[k] = (uint8_t) strtoul(hex, NULL, 16);
	}
	return STORM_OK;
}

static const struct storm_credential_ops plain = { plain_encode, plain_decode };

/* ---------------------------------------------------------------- what is hidden --- */

static bool hidden_is_right(const uint8_t *buf, size_t len, uint32_t uid)
{
	uint8_t again[CALL_LEN];
	struct call c;

	if (call_read(&c, key, uid, geteuid(), buf, len))
		return false;
	/* its maker has the key of this start */
	must(uid == geteuid() && len == CALL_LEN &&
	     !memcmp(c.key, key, RUN_KEY));
	call_hide(&c, &again);
	must(!memcmp(again, buf, len));
	return true;
}

static void hidden_read(struct storm_in i)
{
	uint32_t uid = geteuid() + (storm_get8(&i) & 1);
	size_t len = (size_t) (i.end - i.p);
	uint8_t *buf = exact(i.p, len);

	hidden_is_right(buf, len, uid);
	free(buf);
}

/* One that is whole is believed, and no other. */
static void hidden_changed(struct storm_in i)
{
	uint8_t other = storm_get8(&i), hidden[CALL_LEN];
	const uint8_t *secret = storm_get(&i, CALL_SECRET);
	const uint8_t *caller = storm_get(&i, SEALED_RANDOM);
	size_t at = storm_get16(&i) % CALL_LEN;
	uint8_t change = storm_get8(&i);
	struct call c;

	if (i.bad)
		return;
	memcpy(c.key, key, RUN_KEY);
	memcpy(c.secret, secret, CALL_SECRET);
	memcpy(c.caller, caller, SEALED_RANDOM);
	c.key[other % RUN_KEY] ^= other / RUN_KEY;
	call_hide(&c, &hidden);
	hidden[at] ^= change;
	must(hidden_is_right(hidden, CALL_LEN, geteuid()) ==
	     (!change && !(other / RUN_KEY)));
}

/* ---------------------------------------------------------------------- frames --- */

static void body_read(struct storm_in i)
{
	size_t len = (size_t) (i.end - i.p), again;
	uint8_t *buf = exact(i.p, len), *frame;
	struct storm_in body = { buf, buf + len, false };
	const char *cred = call_cred(&body);

	if (cred) {
		/* it ends within the body, where it is made anew if it fills it */
		must((const uint8_t *) cred == buf + 4);
		must(strlen(cred) < len - 4);
		frame = call_frame(cred, &again);
		must(frame && again <= RUN_FRAME_HEADER + len);
		must(!memcmp(frame + RUN_FRAME_HEADER, buf,
			     again - RUN_FRAME_HEADER));
		free(frame);
	}
	free(buf);
}

/* ------------------------------------------------------------------------ desk --- */

/* Strangers need no network of this host. */
static int listener_of_all(void)
{
	static int listener = -1;
	struct sockaddr_un any = { .sun_family = AF_UNIX };

	if (listener >= 0)
		return dup(listener);
	listener =
		socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	must(listener >= 0);
	/* the kernel chooses an abstract name */
	must(!bind(listener, (struct sockaddr *) &any, sizeof(sa_family_t)));
	must(!listen(listener, 16));
	return dup(listener);
}

static int dial(int listener)
{
	struct sockaddr_un to;
	socklen_t len = sizeof(to);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	must(!getsockname(listener, (struct sockaddr *) &to, &len));
	must(fd >= 0 && !connect(fd, (struct sockaddr *) &to, len));
	return fd;
}

/* Is the first frame of the stream one that a keeper of this start answers? */
static bool is_call(const uint8_t *buf, size_t len)
{
	struct storm_in i = { buf, buf + len, false }, body;
	uint32_t n = storm_get32(&i), uid, gid;
	uint8_t kind = storm_get8(&i);
	const char *cred;
	void *what = NULL;
	bool right;

	if (i.bad || kind != RUN_CALL || n > CALL_MAX ||
	    n > (size_t) (i.end - i.p))
		return false;
	body = (struct storm_in) { i.p, i.p + n, false };
	cred = call_cred(&body);
	if (!cred || plain_decode(cred, &what, &len, &uid, &gid))
		return false;
	right = hidden_is_right(what, len, uid);
	free(what);
	return right;
}

static void desk_turns(struct call_desk *d)
{
	for (int k = 0; k < TURNS; k++) {
		struct pollfd p[CALL_DESK_POLLS];
		struct carrier *c = NULL;

		call_desk_polls(d, p);
		if (poll(p, CALL_DESK_POLLS, 0) <= 0)
			return;
		/* the stranger has not what the first record needs */
		must(call_desk_serve(d, p, &c) < 0 && !c);
	}
}

/* It gets no byte, or a call that is right the answer, and the keeper's first record. */
static void must_be_answer(int fd, bool right)
{
	uint8_t got[CALL_ANSWER + 200];
	ssize_t n = recv(fd, got, sizeof(got), MSG_DONTWAIT);

	must(n < (ssize_t) sizeof(got) && (n <= 0 || right));
	must(n <= 0 || (n >= CALL_ANSWER && got[4] == RUN_ANSWER));
}

static void stream_come(struct storm_in i)
{
	size_t piece = 1 + (size_t) storm_get8(&i) * 16, at = 0;
	size_t len = (size_t) (i.end - i.p);
	int listener = listener_of_all(), fd = dial(listener);
	struct call_desk *d = call_desk_create(listener, key);

	must(d);
	desk_turns(d);
	while (at < len) {
		size_t n = storm_min(piece, len - at);

		if (send(fd, i.p + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			break;
		at += n;
		desk_turns(d);
	}
	must_be_answer(fd, is_call(i.p, len));
	call_desk_destroy(d);
	close(fd);
}

static void quiet(enum storm_log_level level, const char *msg)
{
	(void) level;
	(void) msg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const read[KINDS])(struct storm_in) = {
		hidden_read, hidden_changed, body_read, stream_come
	};

	storm_credential_use(&plain);
	storm_log_set(quiet);
	if (size)
		read[*data % KINDS](
			(struct storm_in) { data + 1, data + size, false });
	return 0;
}
