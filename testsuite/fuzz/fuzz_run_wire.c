/*
 * fuzz_run_wire.c - what clients, the head, launchers and the keeper tell each other,
 * and frames that come in pieces.
 *
 *   u8 which of these it is; the message, or: u8 the size of pieces, a stream; or: u8 which
 *   piece of a task's, a frame's body
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "fuzz.h"
#include "src/libstorm/base/minmax.h"
#include "src/storm_launcher/run_bind.h"
#include "src/storm_launcher/run_list.h"
#include "src/storm_launcher/run_pieces.h"
#include "src/storm_launcher/run_usage.h"

#define READS 6
#define READER_ROOM (RUN_FRAME_HEADER + RUN_FRAME_MAX + (1 << 15))

/* One message as bytes. */
struct packed {
	uint8_t *buf;
	size_t len;
};

static struct storm_out pack_begin(struct packed *p, size_t len)
{
	p->buf = malloc(len);
	must(p->buf);
	p->len = len;
	return (struct storm_out) { p->buf, p->buf + len, false };
}

/* It is as long as was said before. */
static void pack_end(const struct storm_out *o)
{
	must(!o->bad && o->p == o->end);
}

/* ------------------------------------------------------------- a client's wish --- */

/* A list that is valid has CPUs for each task. */
static void bind_read(const struct run_what *w)
{
	bool masks = w->bind == RUN_BIND_MASK;
	bool valid = run_bind_list_valid(w->bind_list, masks);

	for (uint32_t local = 0; local < 5; local++) {
		struct storm_idset s = { 0 };

		must(run_bind_list(w->bind_list, masks, local * 999999999u,
				   &s) == valid);
		must(!valid ||
		     (s.count && s.r[s.count - 1].last < RUN_BIND_CPUS));
		storm_idset_clear(&s);
	}
}

static bool ask_read(const uint8_t *buf, size_t len, struct packed *out)
{
	struct storm_in i = { buf, buf + len, false };
	struct run_what w;
	struct run_ask a;
	struct storm_out o;

	if (!run_ask_get(&i, &a) || !run_what_get(&i, &w))
		return false;
	bind_read(&w);
	must(w.argv[0] && !(w.umask & ~0777u) && w.input < RUN_INPUTS);
	o = pack_begin(out, run_ask_len(&a) + run_what_len(&w));
	run_ask_put(&o, &a);
	run_what_put(&o, &w);
	pack_end(&o);
	run_what_free(&w);
	return true;
}

/* ------------------------------------------------------------------ the start --- */

/* Ranks go up from node to node, and each node has some. */
static void must_be_start(const struct run_start *s)
{
	uint64_t nodes = storm_idset_size(&s->nodes);

	must_be_set(&s->past, UINT32_MAX - 1);
	must_be_set(&s->nodes, STORM_NODES_MAX - 1);
	must(nodes && !s->rank[0] && s->rank[nodes] == s->tasks);
	for (uint64_t k = 0; k < nodes; k++)
		must(s->rank[k] < s->rank[k + 1]);
	must((uint64_t) s->first + s->tasks < UINT32_MAX);
	for (uint32_t n = 0; n < 3; n++)
		must(run_place(&s->nodes, n) == UINT32_MAX ||
		     storm_idset_has(&s->nodes, n));
}

static bool start_read(const uint8_t *buf, size_t len, struct packed *out)
{
	struct storm_in i = { buf, buf + len, false };
	struct run_start s;
	struct storm_out o;

	if (!run_start_get(&i, &s))
		return false;
	must_be_start(&s);
	o = pack_begin(out, run_start_len(&s));
	run_start_put(&o, &s);
	pack_end(&o);
	run_start_free(&s);
	return true;
}

/* ------------------------------------------------------------------- the step --- */

static bool step_read(const uint8_t *buf, size_t len, struct packed *out)
{
	struct storm_in i = { buf, buf + len, false };
	struct run_step s;
	struct storm_out o;

	if (!run_step_get(&i, &s))
		return false;
	must(s.count && s.count <= STORM_NODES_MAX);
	o = pack_begin(out, run_step_len(&s));
	run_step_put(&o, &s);
	pack_end(&o);
	run_step_free(&s);
	return true;
}

/* --------------------------------------------------------------- a run of storm ps --- */

static bool listed_read(const uint8_t *buf, size_t len, struct packed *out)
{
	struct storm_in i = { buf, buf + len, false };
	struct run_listed l;
	struct storm_out o;

	if (!run_listed_get(&i, &l))
		return false;
	o = pack_begin(out, run_listed_len(&l));
	run_listed_put(&o, &l);
	pack_end(&o);
	return true;
}

/* --------------------------------------------------------------------- frames --- */

/* The frame that begins there, as a whole; 0: more is missing than this. */
static size_t frame_at(const uint8_t *buf, size_t len, size_t *body)
{
	struct storm_in i = { buf, buf + len, false };

	*body = storm_get32(&i);
	return len < RUN_FRAME_HEADER || len - RUN_FRAME_HEADER < *body ?
		       0 :
		       RUN_FRAME_HEADER + *body;
}

/* All frames that are whole come, in their order; *at is behind them.  False: one is
 * too long. */
static bool frames_come(struct run_reader *r, const uint8_t *buf, size_t len,
			size_t *at)
{
	struct storm_in body;
	enum run_kind kind;
	size_t n, whole;
	int got;

	while ((got = run_reader_next(r, &kind, &body)) > 0) {
		whole = frame_at(buf + *at, len - *at, &n);
		must(whole && (uint8_t) kind == buf[*at + 4]);
		must((size_t) (body.end - body.p) == n && !body.bad);
		must(!n || !memcmp(body.p, buf + *at + RUN_FRAME_HEADER, n));
		*at += whole;
	}
	whole = frame_at(buf + *at, len - *at, &n);
	if (got) {
		must(n > RUN_FRAME_MAX);
		return false;
	}
	must(!whole);
	must(run_reader_body(r) == (len - *at < RUN_FRAME_HEADER ? 0 : n));
	return true;
}

static void stream_read(const uint8_t *buf, size_t len)
{
	struct run_reader r = { 0 };
	size_t piece = len ? (size_t) buf[0] * buf[0] + 1 : 1, at = 1, to = 1;

	while (to < len) {
		size_t room, n;
		uint8_t *p = run_reader_room(&r, &room);

		must(p && room && r.room <= READER_ROOM);
		n = storm_min(storm_min(room, piece), len - to);
		memcpy(p, buf + to, n);
		r.have += n;
		to += n;
		if (!frames_come(&r, buf, to, &at))
			break;
	}
	run_reader_fini(&r);
}

/* ------------------------------------------------------------ what is of a task --- */

/* Sets have several encodings: what is read again is the same. */
static void folded_read(struct storm_in i)
{
	struct run_folded line, again;
	uint8_t fd, fd_again, *frame;

	if (run_folded_get(&i, 1000, &fd, &line)) {
		must_be_set(&line.ranks, 999);
		frame = malloc(run_folded_len(&line));
		must(frame);
		run_folded_put(frame, fd, &line);
		i = (struct storm_in) { frame + RUN_FRAME_HEADER,
					frame + run_folded_len(&line), false };
		must(run_folded_get(&i, 1000, &fd_again, &again));
		must(fd == fd_again && line.len == again.len &&
		     !memcmp(line.text, again.text, line.len));
		must(line.ranks.count == again.ranks.count &&
		     !memcmp(line.ranks.r, again.ranks.r,
			     line.ranks.count * sizeof(*line.ranks.r)));
		storm_idset_clear(&again.ranks);
		free(frame);
	}
	storm_idset_clear(&line.ranks);
}

/* The frame that is made anew is the one that was read. */
static void must_be_frame(const uint8_t *frame, size_t head, enum run_kind kind,
			  const uint8_t *body, size_t len)
{
	uint8_t again[RUN_FRAME_HEADER];

	run_frame_head(again, kind, len);
	must(!memcmp(again, frame, RUN_FRAME_HEADER));
	must(head >= RUN_FRAME_HEADER && head - RUN_FRAME_HEADER <= len);
	must(!memcmp(frame + RUN_FRAME_HEADER, body, head - RUN_FRAME_HEADER));
}

static void piece_read(const uint8_t *buf, size_t len)
{
	struct storm_in i = { buf, buf + len, false };
	uint8_t kind = storm_get8(&i) % 6, frame[RUN_USAGE_LEN];
	const uint8_t *body = i.p;
	size_t rest = (size_t) (i.end - i.p);
	struct run_piece p;
	struct run_usage used;
	uint32_t rank, code;
	uint64_t taken;

	if (i.bad)
		return;
	if (kind == 0 && run_input_get(&i, &p)) {
		must(p.len <= RUN_INPUT_PIECE && p.len == rest - 4);
		run_input_head(frame, p.rank, p.len);
		must_be_frame(frame, RUN_INPUT_HEADER, RUN_INPUT, body, rest);
	} else if (kind == 1 && run_output_of_get(&i, &p)) {
		must(p.len && p.len == rest - 5 && (p.fd == 1 || p.fd == 2));
		run_output_of_head(frame, p.rank, p.fd, p.len);
		must_be_frame(frame, RUN_OUTPUT_OF_HEADER, RUN_OUTPUT_OF, body,
			      rest);
	} else if (kind == 2 && run_room_get(&i, &rank, &taken)) {
		run_room_put(frame, rank, taken);
		must_be_frame(frame, RUN_ROOM_LEN, RUN_ROOM, body, rest);
	} else if (kind == 5 && run_usage_get(&i, &used)) {
		run_usage_put(frame, &used);
		must_be_frame(frame, RUN_USAGE_LEN, RUN_USED, body, rest);
	} else if (kind == 4) {
		folded_read(i);
	} else if (kind == 3 && run_gone_get(&i, &rank, &code)) {
		run_gone_put(frame, rank, code);
		must_be_frame(frame, RUN_GONE_LEN, RUN_GONE, body, rest);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool (*const read[])(const uint8_t *, size_t,
				    struct packed *) = { ask_read, start_read,
							 step_read, NULL,
							 listed_read };
	struct packed first, again;
	uint8_t *buf;

	if (!size)
		return 0;
	buf = exact(data + 1, size - 1);
	if (data[0] % READS == 3) {
		stream_read(buf, size - 1);
	} else if (data[0] % READS == 5) {
		piece_read(buf, size - 1);
	} else if (read[data[0] % READS](buf, size - 1, &first)) {
		/* there are several ways to write a set and a layout */
		must(first.len <= size - 1);
		must(read[data[0] % READS](first.buf, first.len, &again));
		must(again.len == first.len &&
		     !memcmp(again.buf, first.buf, first.len));
		free(first.buf);
		free(again.buf);
	}
	free(buf);
	return 0;
}
