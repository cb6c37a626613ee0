/*
 * agent_port.c - see agent_port.h.
 *
 * The sockets go to each agent by inheritance.  A new slurmd gets them back
 * from the agent that it adopts, by LOCAL_PORT (local.h).  With verbs there is
 * no port to keep: the connection manager's belongs to the adapter.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "slurm/slurm.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"

#include "agent_port.h"
#include "src/libstorm/transport/udp/udp_port.h"
#include "src/storm_common/local/local.h"
#include "src/storm_common/storm_conf.h"

static struct {
	struct storm_udp_port port;
	bool lost; /* another process has it, which is logged */
} kept = { .port = STORM_UDP_PORT_NONE };

/* The agent's port; 0: none is to be kept.  False: storm.conf is invalid, which
 * the agent will say. */
static bool agent_port_wanted(const char *node, uint16_t *number)
{
	static struct storm_conf conf; /* large */
	char *dir = xstrdup_printf("%s/%s", STORM_RUNDIR, node), *why;
	enum storm_conf_state state;

	state = storm_conf_load_kept(dir, &conf, NULL, &why);
	xfree(why);
	xfree(dir);
	if (state == STORM_CONF_NONE)
		return false;
	*number = conf.set.transport == STORM_TRANSPORT_VERBS ? 0 :
								conf.set.port;
	return true;
}

static void agent_port_lost(uint16_t number)
{
	char holder[128];

	if (kept.lost)
		return;
	kept.lost = true;
	storm_udp_port_holder(number, holder, sizeof(holder));
	error("storm: no agent runs here: port %u is in use by %s: end it, or set another Port in storm.conf",
	      number, holder);
}

bool agent_port_take(const char *node)
{
	uint16_t number = kept.port.number;

	if (!agent_port_wanted(node, &number))
		return true;
	if (kept.port.udp >= 0 && kept.port.number == number)
		return true;
	agent_port_close();
	if (number && storm_udp_port_open(&kept.port, number)) {
		if (errno == EADDRINUSE) {
			agent_port_lost(number);
			return false;
		}
		error("storm: cannot keep port %u for the agent: %m", number);
	}
	if (kept.lost)
		info("storm: port %u is free again", number);
	kept.lost = false;
	return true;
}

void agent_port_sockets(int out[static 2])
{
	out[0] = kept.port.udp;
	out[1] = kept.port.tcp;
}

void agent_port_rest(void)
{
	storm_udp_port_rest(&kept.port);
}

/* The descriptor may be any number: child_spawn() wants a high one. */
static int agent_port_ask(int sock, uint8_t which)
{
	static struct local_frame f;
	enum local_type type;
	int fd = -1;

	local_begin(&f, LOCAL_PORT);
	local_put8(&f, which);
	if (local_send(sock, &f, -1) || local_recv(sock, &f, &type) != 1)
		return -1;
	if (type == LOCAL_PORT_IS && local_end(&f))
		fd = storm_udp_port_dup(f.fd);
	if (f.fd >= 0)
		close(f.fd);
	return fd;
}

void agent_port_adopt(int sock)
{
	if (kept.port.udp >= 0)
		return;
	kept.port.udp = agent_port_ask(sock, 0);
	kept.port.tcp = agent_port_ask(sock, 1);
	kept.port.number = storm_udp_port_number(kept.port.udp);
	if (!kept.port.number ||
	    storm_udp_port_number(kept.port.tcp) != kept.port.number)
		agent_port_close();
}

void agent_port_close(void)
{
	storm_udp_port_close(&kept.port);
}
