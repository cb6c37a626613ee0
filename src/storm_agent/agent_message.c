/*
 * agent_message.c - see agent_message.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <string.h>

#include "slurm/slurm.h"
#include "src/common/slurm_protocol_common.h"
#include "src/common/slurm_protocol_defs.h"

#include "agent_message.h"
#include "agent_session.h"

/* Slurm's header up to the length of the body, after the message's own */
#define SLURM_HEAD 10
/* Slurm 22.05's protocol version, the first one with that header */
#define SLURM_HEAD_SINCE (38 << 8)
/* of REQUEST_SIGNAL_TASKS: a step's id, flags, the signal.  From 24.11 on the id
 * begins with 8 bytes more. */
#define SIGNAL_BODY 16
#define SIGNAL_BODY_LONG 24

/*
 * A version of Slurm's protocol that slurmd reads, and answers in.  srun uses that
 * of the oldest node when the job began.  So in a rolling upgrade a node that is
 * upgraded gets an older one.
 */
static bool agent_message_reads(uint16_t version)
{
	return version <= SLURM_PROTOCOL_VERSION &&
	       version >= SLURM_MIN_PROTOCOL_VERSION &&
	       version >= SLURM_HEAD_SINCE;
}

static uint16_t agent_message_16(const uint8_t *at)
{
	uint16_t n;

	memcpy(&n, at, sizeof(n));
	return ntohs(n);
}

static uint32_t agent_message_32(const uint8_t *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return ntohl(n);
}

/*
 * The return code in slurmd's answer.  Slurm packs {u32 length of what follows,
 * u16 protocol version, u16 flags, u16 type, u32 length of the body, ...; the
 * sender's credential; the body}.  The body begins with the u32 return code.
 * In RESPONSE_SLURM_RC_MSG, with which slurmd answers a launch, a text follows,
 * or none: u32 length, then so many bytes, of which the last is 0.
 */
bool agent_message_rc(const uint8_t *buf, size_t len, uint32_t *rc,
		      const char **text)
{
	uint32_t body;
	uint16_t type;

	if (len < 4 + SLURM_HEAD)
		return false;
	type = agent_message_16(buf + 8);
	body = agent_message_32(buf + 10);
	if (!agent_message_reads(agent_message_16(buf + 4)) ||
	    (type != RESPONSE_SLURM_RC_MSG && type != RESPONSE_SLURM_RC) ||
	    body < sizeof(*rc) || body > len - 4 - SLURM_HEAD)
		return false;
	*rc = agent_message_32(buf + len - body);
	*text = NULL;
	if (body > 8 && !buf[len - 1])
		*text = (const char *) buf + len - body + 8;
	return true;
}

/*
 * Only one well-formed message of this type may reach slurmd, and none to
 * forward.  Slurm packs it as {u32 length of what follows, u16 protocol version,
 * u16 flags, u16 type, u32 length of the body, u16 nodes to forward to ...}.
 */
static bool agent_message_is(const uint8_t *msg, size_t len, uint16_t type)
{
	return len >= 16 && agent_message_32(msg) == len - 4 &&
	       agent_message_reads(agent_message_16(msg + 4)) &&
	       agent_message_16(msg + 8) == type && !agent_message_16(msg + 14);
}

bool agent_message_is_launch(const uint8_t *msg, size_t len)
{
	return agent_message_is(msg, len, REQUEST_LAUNCH_TASKS);
}

bool agent_message_is_signal(const uint8_t *msg, size_t len,
			     const struct agent_step *step)
{
	const uint8_t *id;
	uint32_t body;

	if (!agent_message_is(msg, len, REQUEST_SIGNAL_TASKS))
		return false;
	id = msg + len - SIGNAL_BODY;
	body = agent_message_32(msg + 10);
	return (body == SIGNAL_BODY || body == SIGNAL_BODY_LONG) &&
	       body <= len - 4 - SLURM_HEAD &&
	       agent_message_32(id) == step->job_id &&
	       agent_message_32(id + 4) == step->step_id &&
	       agent_message_32(id + 8) == step->het &&
	       !agent_message_16(id + 12);
}
