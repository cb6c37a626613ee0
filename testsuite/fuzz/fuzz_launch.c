/*
 * fuzz_launch.c - what an agent takes for a launch message, or for a signal to the
 * session's step, and what it makes of slurmd's answer.
 *
 *   u16 length, the answer, as it comes in pieces of so many bytes: u8;
 *   then the memory that was transferred
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <unistd.h>

#include "world.h"

#include "src/storm_agent/agent_launch.c"
#include "src/storm_agent/agent_message.c"

static struct agent_io *dead;

int agent_io_add(struct agent_ios *s, struct agent_io *io, uint32_t events)
{
	return s && io && events ? 0 : -1;
}

void agent_io_change(struct agent_ios *s, struct agent_io *io, uint32_t events)
{
	must(s && io && events);
}

void agent_io_close(struct agent_ios *s, struct agent_io *io)
{
	must(s && io->fd >= 0 && !dead);
	close(io->fd);
	io->fd = -1;
	dead = io;
}

/* Read again, in other words: one message of this type, after `head` bytes. */
static bool is_one(const uint8_t *p, size_t len, size_t head, uint16_t wanted)
{
	struct storm_in i = { p, p + len, false };
	uint16_t version, type;
	uint32_t left;

	for (size_t k = 0; k < head; k++)
		storm_get8(&i);
	left = storm_get32(&i);
	if (i.bad || left != (size_t) (i.end - i.p))
		return false;
	version = storm_get16(&i);
	storm_get16(&i); /* flags */
	type = storm_get16(&i);
	storm_get32(&i); /* length of the body */
	return !storm_get16(&i) && !i.bad && type == wanted &&
	       version == SLURM_PROTOCOL_VERSION;
}

/* A message that signals a step does so for that of the session alone. */
static bool is_signal(const struct agent_session *s, const uint8_t *p,
		      size_t len)
{
	struct storm_in i;

	if (!is_one(p, len, STEP_SIGNAL_HEAD, REQUEST_SIGNAL_TASKS))
		return false;
	/* the length of the body, then its end */
	i = (struct storm_in) { p + 14, p + len, false };
	switch (storm_get32(&i)) {
	case 16:
		if (len < STEP_SIGNAL_HEAD + 4 + 10 + 16)
			return false;
		break;
	case 24:
		if (len < STEP_SIGNAL_HEAD + 4 + 10 + 24)
			return false;
		break;
	default:
		return false;
	}
	i.p = i.end - 16;
	return storm_get32(&i) == s->step.job_id &&
	       storm_get32(&i) == s->step.step_id &&
	       storm_get32(&i) == s->step.het && !storm_get16(&i);
}

/* slurmd has been given it all. */
static void answer(struct agent *a, struct agent_launch *l, const uint8_t *buf,
		   size_t len, size_t piece)
{
	int pair[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair));
	l->io.fd = pair[0];
	l->written = l->len;
	l->retry_at = 0;
	l->give_up = 0;
	for (size_t at = 0; at < len && !dead; at += piece) {
		must(send(pair[1], buf + at,
			  len - at < piece ? len - at : piece,
			  MSG_NOSIGNAL) > 0);
		agent_launch_ready(a, &l->io, EPOLLIN);
	}
	close(pair[1]);
	for (int i = 0; i < 2 && !dead; i++)
		agent_launch_ready(a, &l->io, EPOLLIN);
	must(dead == &l->io);
	agent_launch_release(dead);
	dead = NULL;
}

/* Orders are numbered: a second time the same is none. */
static void signaled(struct agent_session *s, const uint8_t *buf, size_t len,
		     uint64_t now)
{
	struct storm_in i = { buf, buf + len, false };
	uint32_t order = storm_get32(&i);

	s->order = 0;
	agent_launch_signal(s, buf, len, now);
	must(!s->launches == (i.bad || !order));
	if (!s->launches)
		return;
	must(s->order == order && !s->launches->next);
	must(s->launches->len ==
	     (is_signal(s, buf, len) ? len - STEP_SIGNAL_HEAD : 0));
	agent_launch_signal(s, buf, len, now);
	must(!s->launches->next);
}

/* Only the first record of a session counts, and only of a true step. */
static void told(struct agent *a, struct agent_session *s, const uint8_t *buf,
		 size_t len)
{
	struct launch_record r;

	agent_launch_told(s, buf, len);
	must(!s->told && !a->launches.added);
	s->stepd = true;
	agent_launch_told(s, buf, len);
	must(s->told);
	must(a->launches.added == launch_record_unpack(&r, buf, len));
	if (!a->launches.added)
		return;
	must(a->launches.last[0].len == len &&
	     !memcmp(a->launches.last[0].record, buf, len));
	must(a->launches.last[0].job == 7);
	a->launches.last[0].len = 0;
	agent_launch_told(s, buf, len);
	must(!a->launches.last[0].len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const log_options_t quiet_log = {
		LOG_LEVEL_QUIET, LOG_LEVEL_QUIET, LOG_LEVEL_QUIET, 1, 0, 0
	};
	static const uint8_t head[3] = { 0, 6, 0 };
	struct storm_in i = { data, data + size, false };
	struct storm_in h = { head, head + sizeof(head), false };
	static bool begun;
	struct agent a = { 0 };
	struct agent_session s = { .a = &a, .step = { .job_id = 7 } };
	size_t len, n, piece;
	uint8_t *buf, *said;
	struct world w;

	if (!begun)
		log_init("fuzz_launch", quiet_log, 0, NULL);
	begun = true;
	said = some(&i, 4096, &n);
	piece = 16 * storm_get8(&i) + 1;
	len = (size_t) (i.end - i.p);
	buf = exact(i.p, len);
	world_start(&w, &h);
	a.nm = w.nm;
	s.id = w.session;
	agent_launch(&s, buf, len, w.now);
	must(s.launched && s.launches && !s.launches->next);
	if (is_one(buf, len, STEP_LAUNCH_HEAD, REQUEST_LAUNCH_TASKS)) {
		must(s.launches->len == len - STEP_LAUNCH_HEAD);
		answer(&a, s.launches, said, n, piece);
	} else {
		must(!s.launches->len);
		agent_launch_tick(&a, w.now); /* sessions: none here */
		agent_launch_try(&a, s.launches, w.now);
		must(a.count.launches_failed == 1);
	}
	must(!s.launches && a.count.launches == 1);
	signaled(&s, buf, len, w.now);
	told(&a, &s, buf, len);
	agent_launch_session_close(&s);
	free(buf);
	free(said);
	world_end(&w);
	return 0;
}
