/*
 * fuzz_local.c - the agent's local socket: what connects there is root's, and
 * still nothing that it writes may harm the agent.
 *
 *   {u8 how, with MADE u8 type, u16 length, the frame or what follows its
 *   head} until the end
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"
#include "storm_config.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

/* what HELLO brings becomes the agent's stderr: ours is the fuzzer's */
#define dup3(from, to, flags) ((void) (from), (void) (to), (void) (flags))
#include "src/storm_agent/main/agent_local.c"
#undef dup3

#define MADE 0x1  /* the head is right */
#define FD 0x2	  /* a descriptor rides along */
#define ACKED 0x4 /* before it, the owner acknowledges what there is */
#define OVER 0x8  /* before it, the session ends */
#define FRAMES 64

static struct agent agent;
static struct agent_session session;

int agent_io_add(struct agent_ios *s, struct agent_io *io, uint32_t events)
{
	return s && io && events ? 0 : -1;
}

/* As the agent: released after the round. */
void agent_io_close(struct agent_ios *s, struct agent_io *io)
{
	must(io->fd >= 0);
	close(io->fd);
	io->fd = -1;
	io->next_dead = s->dead;
	s->dead = io;
}

struct agent_session *agent_session_of_step(struct agent *a,
					    const struct agent_step *step)
{
	return a == session.a && step->job_id == session.step.job_id ?
		       &session :
		       NULL;
}

void agent_peers_doubt(void)
{
}

void agent_gang_steps(struct agent *a)
{
	must(a);
}

void agent_gang_no_slurmd(struct agent *a)
{
	(void) a;
}

void agent_gang_door(struct agent *a, const struct agent_step *step, pid_t root,
		     int fd)
{
	must(a && step && root > 0);
	close(fd);
}

void agent_gang_account(struct agent *a, pid_t root, int fd)
{
	must(a && root > 0);
	close(fd);
}

void agent_stats(struct agent *a, char *buf, size_t size)
{
	must(a);
	snprintf(buf, size, "{}");
}

/* What is watched is forgotten once: the address sanitizer sees it. */
struct agent_stepd {
	uint32_t node, code;
};

struct agent_stepd *
agent_stepd_watch(struct agent_session *s, int sock, uint32_t node,
		  void (*drain)(struct agent *a, const struct agent_stepd *d))
{
	struct agent_stepd *d = malloc(sizeof(*d));

	must(s == &session && sock >= 0 && drain && d);
	*d = (struct agent_stepd) { .node = node };
	return d;
}

void agent_stepd_told(struct agent_stepd *d, uint8_t kind, uint32_t code,
		      const struct storm_idset *ids)
{
	must((kind < KINDS || kind == STEP_REPORT_PIDS) && ids->count);
	if (d)
		d->code = code;
}

void agent_stepd_closed(struct agent_stepd *d)
{
	free(d);
}

void agent_stepd_stop(struct agent *a)
{
	must(!a->local.conns);
}

static void net_drop(struct storm_net *net, uint32_t ppm, uint64_t seed)
{
	(void) net;
	(void) seed;
	must(ppm <= 1000000);
}

static const struct storm_driver driver = { .name = "fuzz", .drop = net_drop };

/* What the agent answers is a frame, too. */
static void drain(int sock)
{
	static struct local_frame f;
	enum local_type type;
	char text[256];

	while (local_recv(sock, &f, &type) == 1) {
		must(f.fd < 0);
		switch (type) {
		case LOCAL_HELLO_IS:
			local_get_str(&f, text, sizeof(text));
			/* fall through */
		case LOCAL_STATS_IS:
			local_get_str(&f, text, sizeof(text));
			break;
		case LOCAL_STEP_IS:
			local_get64(&f);
			break;
		case LOCAL_ACK:
			local_get8(&f);
			for (uint32_t n = local_get32(&f); n && !f.bad; n--)
				local_get32(&f);
			break;
		case LOCAL_CLOSED:
		case LOCAL_DROP_IS:
		case LOCAL_PORT_IS:
		case LOCAL_PING_IS:
			break;
		default:
			must(!"an answer of no known type");
		}
		must(local_end(&f));
	}
}

static void release(void)
{
	while (agent.ios.dead) {
		struct agent_io *io = agent.ios.dead;

		agent.ios.dead = io->next_dead;
		if (io->release)
			io->release(io);
	}
}

static void send_made(int sock, struct storm_in *i, int fd)
{
	static struct local_frame f;
	uint8_t *body, type = storm_get8(i);
	size_t len;

	local_begin(&f, type);
	body = some(i, LOCAL_FRAME_MAX, &len);
	for (size_t k = 0; k < len; k++)
		local_put8(&f, body[k]);
	free(body);
	local_send(sock, &f, type == LOCAL_HELLO ? -1 : fd);
}

static void send_raw(int sock, struct storm_in *i)
{
	size_t len;
	uint8_t *buf = some(i, LOCAL_FRAME_MAX, &len);

	send(sock, buf, len, MSG_NOSIGNAL);
	free(buf);
}

static void owner_has(uint8_t kind)
{
	struct storm_idset ids = { 0 };

	must(!storm_idset_add(&ids, 0, 99));
	agent_local_acked(&session, kind, &ids);
	storm_idset_clear(&ids);
}

static void converse(int sock, struct agent_conn *c, struct storm_in *i, int fd)
{
	for (int n = 0; n < FRAMES && i->p < i->end && !i->bad && c->io.fd >= 0;
	     n++) {
		uint8_t how = storm_get8(i);

		if (how & ACKED)
			owner_has(how >> 4);
		if (how & OVER && c->io.fd >= 0)
			agent_local_session_close(&session);
		if (how & MADE)
			send_made(sock, i, how & FD ? fd : -1);
		else
			send_raw(sock, i);
		if (c->io.fd >= 0)
			agent_local_ready(&agent, &c->io, EPOLLIN);
		drain(sock);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const log_options_t quiet_log = {
		LOG_LEVEL_QUIET, LOG_LEVEL_QUIET, LOG_LEVEL_QUIET, 1, 0, 0
	};
	static const uint8_t head[3] = { 0, 6, 0 };
	struct storm_in i = { data, data + size, false };
	struct storm_in h = { head, head + sizeof(head), false };
	struct agent_conn *c = xmalloc(sizeof(*c));
	static int null = -1;
	struct world w;
	int pair[2];

	if (null < 0) {
		log_init("fuzz_local", quiet_log, 0, NULL);
		null = open("/dev/null", O_RDWR | O_CLOEXEC);
	}
	world_start(&w, &h);
	memset(&agent, 0, sizeof(agent));
	agent.nm = w.nm;
	agent.net.driver = &driver;
	agent.net.port[0] = agent.net.port[1] = -1; /* none of slurmd */
	session = (struct agent_session) { .a = &agent,
					   .id = w.session,
					   .step.job_id = 7 };
	must(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair));
	c->io.fd = pair[0];
	c->io.release = agent_local_release;
	agent.local.conns = c;
	converse(pair[1], c, &i, null);
	close(pair[1]);
	if (agent.local.conns)
		agent_local_close(&agent, agent.local.conns);
	must(!agent.local.conns && !agent.slurmd.lifelines);
	release();
	world_end(&w);
	return 0;
}
