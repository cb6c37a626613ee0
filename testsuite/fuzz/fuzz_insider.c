/*
 * fuzz_insider.c - what an owner with a valid session may cost a node, whatever
 * it says, and what somebody without.  Each command is a well-formed message, or several of them: the
 * other harnesses look for crashes, this one for prices.  Judged, over a whole
 * script:
 *
 *   bytes out per byte in, beyond what time alone makes a node say
 *   memory that the node holds
 *   CPU time per datagram
 *   files: those that the owner has named, and no other
 *
 * An input is world.h's head and commands.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <malloc.h>
#include <time.h>

#include "src/libstorm/wire/cast.h"
#include "src/libstorm/wire/reports.h"
#include "src/libstorm/wire/request.h"
#include "src/libstorm/wire/status.h"
#include "world.h"

#define COMMANDS 30
#define AGAIN 32 /* a message in one command */
#define OPS 16	 /* operations that a script may begin */

/*
 * The limits.  A node relays to its children, and serves repairs to its
 * neighbours: both are its work, both have a price.
 */
#define OUT_PER_IN 80	    /* radix 64, and an answer */
#define OUT_BURST (8 << 20) /* repairs at once, before their rate holds */
#define OUT_PER_MS 4096	    /* status, and requests for repair */
#define HELD_MOST (48 << 20)
#define HELD_PER_IN 16
#define CPU_BASE (200 * STORM_MS)
#define CPU_PER_DATAGRAM (2 * STORM_MS) /* with sanitizers, on a busy host */

/* sanitizers have it; without them glibc knows */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

enum command {
	SAY_BEGIN,   /* {u8 kind, u8 path, u32 size, u8 how, u8 again} */
	SAY_STATE,   /* {u8 op, u32 size, u32 sent, u8 decision, u16 chunk, u8
		       how} */
	SAY_DATA,    /* {u8 sender, u8 op, u16 chunk, u16 length, u8 again} */
	SAY_NACK,    /* {u8 sender, u8 op, u16 first, u16 more, u8 again} */
	SAY_REPORT,  /* {u8 sender, u8 kind, u32 first, u32 more, u8 codes, u8
		       again} */
	SAY_STATUS,  /* {u8 sender, u8 op, u8 phase, u8 flags, u8 again} */
	SAY_ASK,     /* {u8 sender, u8 id, u8 length, u8 again} */
	SAY_TIME,    /* {u8 ms} */
	SAY_ANSWER,  /* {u8 err} */
	SAY_STRANGE, /* {u8 sender, u8 type, u16 length, u8 again}: with a seal
			that is wrong */
	SAY_COMMANDS
};

static const char *const paths[] = {
	"/tmp/x",	  "/tmp/../etc/shadow", "/", "relative", "/tmp/x/../y",
	"/proc/self/mem", "/tmp/.slurm-storm",
};
#define PATHS (sizeof(paths) / sizeof(paths[0]))

/* What the owner has named so far. */
static struct {
	const char *path[OPS + 2]; /* by operation */
	uint64_t op;		   /* the last one */
	uint64_t version;
	uint64_t asked; /* of time, in ms */
} said;

static uint64_t cpu_now(void)
{
	struct timespec t;

	must(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	return (uint64_t) t.tv_sec * STORM_SEC + (uint64_t) t.tv_nsec;
}

static size_t held_now(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

static void named(struct world *w, uint64_t op, const char *path)
{
	must(w && op <= said.op && said.path[op]);
	must(!strcmp(path, said.path[op]));
}

static void say(struct world *w, uint32_t sender, uint8_t type, uint8_t how,
		uint64_t op, const uint8_t *body, size_t len)
{
	struct storm_header h = { .type = type,
				  .epoch = w->sealer->epoch,
				  .op = op };
	struct storm_rx rx;

	sealer_make(w->sealer, sender < WORLD_NODES ? sender : WORLD_NODES,
		    how & (HOW_RELAY | HOW_GROUP), &h, body, len, &rx);
	world_receive(w, &rx);
}

static uint8_t again_next(struct storm_in *i)
{
	return storm_get8(i) % AGAIN;
}

static void say_begin(struct world *w, struct storm_in *i)
{
	uint8_t body[1400], kind = storm_get8(i) % 3, how, again;
	struct storm_out o = { body, body + sizeof(body), false };
	struct storm_begin b = { .op = said.op + 1 };
	const char *path = paths[storm_get8(i) % PATHS];
	size_t len;

	b.size = storm_get32(i);
	how = storm_get8(i);
	again = again_next(i);
	b.to.kind = kind == 0 ? STORM_TARGET_FILE :
		    kind == 1 ? STORM_TARGET_MEMORY :
				STORM_TARGET_SEGMENT;
	if (kind == 0)
		b.to.path = (char *) path;
	if (kind == 2)
		b.to.segment = 1;
	for (int n = 0; n <= again && said.op < OPS; n++) {
		b.op = ++said.op;
		said.path[b.op] = kind == 0 ? path : NULL;
		o.p = body;
		storm_put8(&o, STORM_CAST_BEGIN);
		storm_put16(&o, 0);
		storm_put16(&o, 1);
		len = storm_begin_pack(&b, o.p, (size_t) (o.end - o.p));
		if (len)
			say(w, WORLD_NODES, STORM_MSG_CAST, how, b.op, body,
			    (size_t) (o.p - body) + len);
	}
}

static void say_state(struct world *w, struct storm_in *i)
{
	uint8_t body[1400];
	struct storm_cast c = { .version = ++said.version };
	size_t len;

	c.op = storm_get8(i) % (OPS + 1);
	c.size = storm_get32(i);
	c.sent = storm_get32(i);
	c.decision = storm_get8(i) % 3;
	c.chunk = storm_get16(i);
	len = storm_cast_pack(&c, body, sizeof(body));
	if (len)
		say(w, WORLD_NODES, STORM_MSG_CAST, storm_get8(i), c.op, body,
		    len);
}

static void say_data(struct world *w, struct storm_in *i)
{
	uint8_t body[8 + 1500] = { 0 };
	uint32_t sender = storm_get8(i);
	uint64_t op = storm_get8(i), chunk = storm_get16(i);
	uint16_t len = storm_get16(i) % 1300, again = again_next(i);

	for (int n = 0; n <= again; n++) {
		struct storm_out o = { body, body + 8, false };

		storm_put64(&o, (chunk + (uint64_t) n) * len);
		say(w, sender, STORM_MSG_DATA, HOW_RELAY, op, body, 8u + len);
	}
}

static void say_nack(struct world *w, struct storm_in *i)
{
	uint8_t body[4 + 16];
	uint32_t sender = storm_get8(i);
	uint64_t op = storm_get8(i), first = storm_get16(i);
	uint64_t last = first + storm_get16(i);
	uint8_t again = again_next(i);
	struct storm_out o = { body, body + sizeof(body), false };

	storm_put32(&o, 1);
	storm_put64(&o, first);
	storm_put64(&o, last);
	for (int n = 0; n <= again; n++)
		say(w, sender, STORM_MSG_NACK, 0, op, body, sizeof(body));
}

static void say_report(struct world *w, struct storm_in *i)
{
	struct storm_reports r = { 0 };
	uint32_t sender = storm_get8(i), kind = storm_get8(i), first, last;
	uint8_t codes, again;

	first = storm_get32(i);
	last = first + storm_get32(i);
	codes = storm_get8(i);
	again = again_next(i);
	for (int n = 0; n <= again; n++) {
		struct storm_idset ids = { 0 }, fresh = { 0 };
		uint8_t body[1400], *whole;
		struct storm_out o = { body, body + sizeof(body), false };
		size_t len = 0;

		/* each time other ids with another code: they add up */
		first += 2;
		last += 2;
		if (first <= last && last < UINT32_MAX - 1 &&
		    !storm_idset_add(&ids, first, last))
			storm_reports_add(&r, kind % STORM_REPORT_KINDS,
					  codes + (uint32_t) n, &ids, &fresh);
		storm_idset_clear(&ids);
		storm_idset_clear(&fresh);
		whole = storm_reports_pack(&r, 0, &len);
		if (whole && len < 1300) {
			storm_put64(&o, (uint64_t) n + 1);
			storm_put16(&o, 0);
			storm_put16(&o, 1);
			storm_put32(&o, (uint32_t) len);
			storm_put(&o, whole, len);
			say(w, sender, STORM_MSG_REPORT, 0, 0, body,
			    (size_t) (o.p - body));
		}
		free(whole);
	}
	storm_reports_clear(&r);
}

static void say_status(struct world *w, struct storm_in *i)
{
	uint8_t body[1400], again;
	uint32_t sender = storm_get8(i);
	struct storm_status s = { .version = said.version };
	size_t len;

	s.op = storm_get8(i);
	s.phase = storm_get8(i) % (STORM_PHASE_ENDED + 1);
	s.flags = storm_get8(i) & STORM_STATUS_JOIN;
	again = again_next(i);
	for (int n = 0; n <= again; n++) {
		s.version++;
		len = storm_status_pack(&s, body, sizeof(body));
		if (len)
			say(w, sender, STORM_MSG_STATUS, 0, s.op, body, len);
	}
}

static void say_ask(struct world *w, struct storm_in *i)
{
	static const uint8_t data[255];
	uint8_t body[1400], again;
	uint32_t sender = storm_get8(i);
	struct storm_begin b = { .op = storm_get8(i) };
	size_t len;

	b.size = storm_get8(i);
	again = again_next(i);
	b.to.kind = STORM_TARGET_SEGMENT;
	b.to.segment = 1;
	for (int n = 0; n <= again; n++, b.op++) {
		len = storm_request_pack(&b, data, b.size, body, sizeof(body));
		if (len)
			say(w, sender, STORM_MSG_REQUEST, 0, b.op, body, len);
	}
}

/* A sender without a key gets no byte for what it sends. */
static void say_strange(struct world *w, struct storm_in *i)
{
	static const uint8_t body[1400];
	uint32_t sender = storm_get8(i);
	struct storm_header h = { .type = storm_get8(i),
				  .epoch = w->sealer->epoch };
	size_t len = storm_get16(i) % sizeof(body);
	uint8_t again = again_next(i);
	uint64_t out = w->bytes_out;

	for (int n = 0; n <= again; n++) {
		struct storm_rx rx;

		sealer_make(w->sealer,
			    sender < WORLD_NODES ? sender : WORLD_NODES, 0, &h,
			    body, len, &rx);
		rx.buf[rx.len - 1] ^= 1;
		world_receive(w, &rx);
	}
	must(w->bytes_out == out);
}

static void insider_step(struct world *w, struct storm_in *i)
{
	uint64_t before = w->now;

	switch (storm_get8(i) % SAY_COMMANDS) {
	case SAY_BEGIN:
		say_begin(w, i);
		break;
	case SAY_STATE:
		say_state(w, i);
		break;
	case SAY_DATA:
		say_data(w, i);
		break;
	case SAY_NACK:
		say_nack(w, i);
		break;
	case SAY_REPORT:
		say_report(w, i);
		break;
	case SAY_STATUS:
		say_status(w, i);
		break;
	case SAY_ASK:
		say_ask(w, i);
		break;
	case SAY_TIME:
		w->now += storm_get8(i) * STORM_MS;
		storm_nm_tick(w->nm, w->now);
		break;
	case SAY_ANSWER:
		world_answer(w, storm_get8(i) % 2 ? STORM_EACCES : STORM_OK);
		break;
	case SAY_STRANGE:
		say_strange(w, i);
		break;
	}
	said.asked += (w->now - before) / STORM_MS;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct storm_in i = { data, data + size, false };
	uint64_t cpu, out, most_out;
	size_t before, held = 0;
	struct world w;

	memset(&said, 0, sizeof(said));
	world_start(&w, &i);
	said.op = 1; /* it may be in the OPEN */
	said.path[1] = paths[0];
	w.begins = named;
	before = held_now();
	out = w.bytes_out;
	cpu = cpu_now();
	for (int n = 0; n < COMMANDS && i.p < i.end && !i.bad; n++) {
		size_t now;

		insider_step(&w, &i);
		now = held_now();
		if (now > before && now - before > held)
			held = now - before;
	}
	cpu = cpu_now() - cpu;
	most_out =
		OUT_BURST + OUT_PER_IN * w.bytes_in + OUT_PER_MS * said.asked;
	if (getenv("STORM_FUZZ_PRICES"))
		fprintf(stderr,
			"in %llu bytes, %llu datagrams; out %llu; held %zu; cpu %llu us\n",
			(unsigned long long) w.bytes_in,
			(unsigned long long) w.datagrams_in,
			(unsigned long long) (w.bytes_out - out), held,
			(unsigned long long) cpu / 1000);
	must(w.bytes_out - out <= most_out);
	must(held <= HELD_MOST + HELD_PER_IN * w.bytes_in);
	must(cpu <= CPU_BASE + CPU_PER_DATAGRAM * w.datagrams_in);
	world_end(&w);
	return 0;
}
