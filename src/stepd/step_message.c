/*
 * step_message.c - see step_message.h.
 *
 * Only srun's user can decode the messages' credentials, so they are not
 * checked here.  They need not be: only this process's own messages are read
 * (step_peer.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "src/common/forward.h"
#include "src/common/list.h"
#include "src/common/log.h"
#include "src/common/pack.h"
#include "src/common/read_config.h"
#include "src/common/slurm_protocol_api.h"
#include "src/common/slurm_protocol_pack.h"
#include "src/common/slurm_protocol_util.h"
#include "src/common/xmalloc.h"

#include "src/slurm/auth.h"
#include "src/storm_common/step_protocol.h"
#include "step_conn.h"
#include "step_message.h"

#define PEER_LIMIT 5 /* s; the same process writes at once */
#define FORWARD_TRIES 5
#define MESSAGE_MAX (64 << 20)

/* ------------------------------------------------------------------- bytes --- */

static bool step_message_write_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = send(fd, buf, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		buf += n;
		len -= n;
	}
	return true;
}

static bool step_message_read_all(int fd, void *buf, size_t len)
{
	while (len) {
		ssize_t n = recv(fd, buf, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		buf = (char *) buf + n;
		len -= n;
	}
	return true;
}

static void step_message_limit(int fd, int seconds)
{
	struct timeval t = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
}

/* The whole message with its length in front, or NULL. */
static char *step_message_read_bytes(int fd, size_t *len)
{
	uint32_t n;
	char *buf;

	if (!step_message_read_all(fd, &n, sizeof(n)) || ntohl(n) > MESSAGE_MAX)
		return NULL;
	*len = sizeof(n) + ntohl(n);
	buf = xmalloc(*len);
	memcpy(buf, &n, sizeof(n));
	if (!step_message_read_all(fd, buf + sizeof(n), ntohl(n)))
		xfree(buf);
	return buf;
}

/* ----------------------------------------------------------------- meaning --- */

static uint32_t *step_message_copy_ids(const uint32_t *ids, uint32_t n)
{
	uint32_t *copy = xcalloc(n, sizeof(*copy));

	if (n) /* else both are NULL */
		memcpy(copy, ids, n * sizeof(*copy));
	return copy;
}

/* Fill m from the unpacked message. */
static void step_message_interpret(struct step_message *m)
{
	const slurm_msg_t *msg = &m->msg;
	const launch_tasks_response_msg_t *start;
	const task_exit_msg_t *exited;

	switch (msg->msg_type) {
	case RESPONSE_LAUNCH_TASKS:
		start = msg->data;
		m->n = start->task_ids ? start->count_of_pids : 0;
		m->kind = m->n ? STEP_REPORT_STARTED : 0;
		m->code = start->return_code;
		m->ids = step_message_copy_ids(start->task_ids, m->n);
		if (!m->code && start->local_pids)
			m->pids =
				step_message_copy_ids(start->local_pids, m->n);
		break;
	case MESSAGE_TASK_EXIT:
		exited = msg->data;
		m->n = exited->task_id_list ? exited->num_tasks : 0;
		m->kind = m->n ? STEP_REPORT_EXITED : 0;
		m->code = exited->return_code;
		m->ids = step_message_copy_ids(exited->task_id_list, m->n);
		break;
	}
	m->unacked = m->n;
}

/* Unpack without a check of the credential: see above. */
static bool step_message_parse(struct step_message *m)
{
	slurm_msg_t *msg = &m->msg;
	/* the buffer's owner is pack.c from here on */
	char *copy = xmalloc(m->len - sizeof(uint32_t));
	buf_t *buf;
	header_t header;
	void *cred;
	bool ok = false;

	memcpy(copy, m->bytes + sizeof(uint32_t), m->len - sizeof(uint32_t));
	buf = create_buf(copy, m->len - sizeof(uint32_t));
	memset(&header, 0, sizeof(header));
	if (unpack_header(&header, buf))
		goto out;
	cred = auth_g_unpack(buf, header.version);
	if (!cred)
		goto out;
	msg->auth_index = auth_index(cred);
	auth_g_destroy(cred);
	msg->protocol_version = header.version;
	msg->msg_type = header.msg_type;
	msg->flags = header.flags;
	if (unpack_msg(msg, buf))
		goto out;
	step_message_interpret(m);
	slurm_free_msg_data(msg->msg_type, msg->data);
	msg->data = NULL;
	ok = true;
out:
	FREE_NULL_LIST(header.ret_list);
	destroy_forward(&header.forward);
	free_buf(buf);
	return ok;
}

/* ----------------------------------------------------------------- its life --- */

struct step_message *step_message_read(int fd)
{
	struct step_message *m = xmalloc(sizeof(*m));

	slurm_msg_t_init(&m->msg);
	m->fd = fd;
	step_message_limit(fd, PEER_LIMIT);
	m->bytes = step_message_read_bytes(fd, &m->len);
	if (m->bytes && step_message_parse(m))
		return m;
	step_message_destroy(m);
	return NULL;
}

void step_message_destroy(struct step_message *m)
{
	if (m->fd >= 0)
		close(m->fd);
	xfree(m->bytes);
	xfree(m->ids);
	xfree(m->pids);
	xfree(m);
}

void step_message_acked(struct step_message *m, uint8_t kind, uint32_t id)
{
	if (m->kind != kind)
		return;
	for (uint32_t i = 0; i < m->n; i++) {
		if (m->ids[i] == id) {
			m->ids[i] = NO_VAL;
			m->unacked--;
		}
	}
}

void step_message_answer(struct step_message *m)
{
	const int one = 1;

	/* Slurm writes it in four pieces: slurmstepd shall wake up once */
	setsockopt(m->fd, IPPROTO_TCP, TCP_CORK, &one, sizeof(one));
	m->msg.auth_uid = getuid();
	m->msg.AUTH_IDS_SET = true;
	/* sender and receiver are one process */
	m->msg.flags |= AUTH_NONE;
	if (step_conn_answer(&m->msg, m->fd) < 0)
		debug("storm: cannot answer slurmstepd: %m");
	m->fd = -1;
}

/* ----------------------------------------------------------------- to srun --- */

/* srun's answer only shows that it is alive. */
static bool step_message_forward_once(const struct step_message *m,
				      slurm_addr_t *srun)
{
	char *answer = NULL;
	size_t len;
	int fd = step_conn_open(srun);

	if (fd < 0)
		return false;
	step_message_limit(fd, slurm_conf.msg_timeout);
	if (step_message_write_all(fd, m->bytes, m->len))
		answer = step_message_read_bytes(fd, &len);
	close(fd);
	xfree(answer);
	return true;
}

void step_message_forward(const struct step_message *m, slurm_addr_t *srun)
{
	useconds_t delay = 100000;

	for (int i = 0; i < FORWARD_TRIES; i++) {
		if (step_message_forward_once(m, srun))
			return;
		/* a refusal is final: srun has gone */
		if (errno == ECONNREFUSED)
			break;
		usleep(delay);
		delay *= 2;
	}
	info("storm: cannot reach srun at %pA: %m", srun);
}
