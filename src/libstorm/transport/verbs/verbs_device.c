/*
 * verbs_device.c - the RDMA device and port that a rail is on.
 *
 * The connection manager finds peers by IP addresses, so a network interface
 * identifies a device: RoCE's own, or IPoIB's.  This file detects everything
 * that may be missing on a host.  Each message names what is missing, where,
 * and the remedy.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "verbs_private.h"

#define GIDS 64 /* entries of the GID table that are read */

static const char *verbs_rail_key(const struct storm_verbs *v)
{
	return storm_verbs_key(v, "DataRail", "StrobeRail");
}

static int verbs_no_device(struct storm_verbs *v)
{
	if (v->set.device[0])
		storm_verbs_log(v,
				"there is no RDMA device %s: `rdma link` "
				"lists the devices; correct %s in storm.conf",
				v->set.device, verbs_rail_key(v));
	else
		storm_verbs_log(v, "there is no RDMA device: load its driver "
				   "(then `rdma link` lists it), or set "
				   "Transport=udp in storm.conf");
	errno = ENODEV;
	return STORM_ESYS;
}

/* ------------------------------------------------------------ which port */

/* The IPoIB interface of a port: its device's directory names it. */
static bool ipoib_name(const char *device, unsigned int port,
		       char (*name)[IF_NAMESIZE])
{
	char path[320];
	struct dirent *e;
	bool found = false;
	unsigned int n;
	DIR *d;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/net",
		 device);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof(*name))
			continue;
		snprintf(path, sizeof(path), "/sys/class/net/%.15s/dev_port",
			 e->d_name);
		f = fopen(path, "re");
		if (!f)
			continue;
		found = fscanf(f, "%u", &n) == 1 && n + 1 == port;
		fclose(f);
		if (found)
			strcpy(*name, e->d_name);
	}
	if (d)
		closedir(d);
	return found;
}

static bool gid_is_mapped(const union ibv_gid *g)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(g->raw, prefix, sizeof(prefix));
}

/* Find the interface of a port.  False: it has none with an IPv4 address. */
static bool port_interface(struct ibv_context *ctx, unsigned int port,
			   bool ethernet, char (*name)[IF_NAMESIZE])
{
	struct ibv_gid_entry g[GIDS];
	ssize_t n;

	if (!ethernet)
		return ipoib_name(ibv_get_device_name(ctx->device), port, name);
	n = ibv_query_gid_table(ctx, g, GIDS, 0);
	for (ssize_t i = 0; i < n; i++)
		if (g[i].port_num == port && gid_is_mapped(&g[i].gid) &&
		    if_indextoname(g[i].ndev_ifindex, *name))
			return true;
	return false;
}

/* Bytes per second: the speed of a lane, in units of 2.5 Gb/s, times lanes. */
static uint64_t port_speed(const struct ibv_port_attr *a)
{
	uint32_t lanes = a->active_width == 1  ? 1 :
			 a->active_width == 16 ? 2 :
			 a->active_width == 2  ? 4 :
			 a->active_width == 4  ? 8 :
						 12;
	uint32_t lane = !a->active_speed ? 1 :
			a->active_speed <= 4 ? a->active_speed :
			a->active_speed == 8 ? 4 :	/* FDR10 */
			a->active_speed == 16 ? 6 :	/* FDR */
			a->active_speed == 32 ? 10 :	/* EDR */
			a->active_speed == 64 ? 20 : 40;	/* HDR, NDR */

	return (uint64_t) lanes * lane * 312500000;
}

struct choice {
	char interface[IF_NAMESIZE];
	uint64_t speed;
	bool device, inactive; /* found any; found a port that is down */
	int err;
};

static void verbs_look_at_device(const struct storm_verbs *v,
				 struct ibv_device *dev, struct choice *best)
{
	struct ibv_context *ctx = ibv_open_device(dev);
	struct ibv_device_attr d;
	struct ibv_port_attr a;
	char name[IF_NAMESIZE];

	best->device = true;
	if (!ctx || ibv_query_device(ctx, &d)) {
		best->err = errno;
		d.phys_port_cnt = 0;
	}
	for (uint8_t p = 1; p <= d.phys_port_cnt; p++) {
		if ((v->set.ib_port && v->set.ib_port != p) ||
		    ibv_query_port(ctx, p, &a))
			continue;
		if (a.state != IBV_PORT_ACTIVE)
			best->inactive = true;
		else if (port_interface(ctx, p,
					a.link_layer == IBV_LINK_LAYER_ETHERNET,
					&name) &&
			 port_speed(&a) > best->speed) {
			best->speed = port_speed(&a);
			strcpy(best->interface, name);
		}
	}
	if (ctx)
		ibv_close_device(ctx);
}

int storm_verbs_choose(struct storm_verbs *v)
{
	struct choice best = { .speed = 0 };
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (struct ibv_device **d = list; d && *d; d++)
		if (!v->set.device[0] ||
		    !strcmp(v->set.device, ibv_get_device_name(*d)))
			verbs_look_at_device(v, *d, &best);
	if (list)
		ibv_free_device_list(list);
	if (best.speed) {
		strcpy(v->set.interface, best.interface);
		return STORM_OK;
	}
	if (!best.device)
		return verbs_no_device(v);
	errno = best.err ? best.err : ENETDOWN;
	if (best.err)
		return storm_verbs_fail(v, "cannot open the RDMA device");
	storm_verbs_log(v, "no port of %s%s %s: %s",
			v->set.device[0] ? "RDMA device " : "an RDMA device",
			v->set.device,
			best.inactive ? "is active" :
					"has an interface with an IPv4 address",
			best.inactive ? "`rdma link` shows their states; "
					"InfiniBand also needs a subnet "
					"manager" :
					"give it one (InfiniBand: IPoIB)");
	errno = ENETDOWN;
	return STORM_ESYS;
}

/* --------------------------------------------------------------- the port */

/* RoCE: the v2 entry of our address.  InfiniBand: the first entry. */
static int verbs_find_gid(struct storm_verbs *v)
{
	static const union ibv_gid none;
	struct verbs_port *p = &v->port;
	struct ibv_gid_entry g[GIDS];
	ssize_t n;

	if (v->set.gid_index >= 0 || !p->ethernet) {
		p->gid_index = v->set.gid_index >= 0 ? v->set.gid_index : 0;
		/* free entries are zero */
		if (!ibv_query_gid(p->ctx, p->number, p->gid_index, &p->gid) &&
		    memcmp(&p->gid, &none, sizeof(none)))
			return STORM_OK;
		storm_verbs_log(v,
				"RDMA device %s, port %u has no GID %d: "
				"`ibv_devinfo -v` lists its GIDs; correct %s "
				"in storm.conf, or leave it out",
				p->device, p->number, p->gid_index,
				storm_verbs_key(v, "GidIndex",
						"StrobeGidIndex"));
		errno = EINVAL;
		return STORM_ESYS;
	}
	n = ibv_query_gid_table(p->ctx, g, GIDS, 0);
	for (ssize_t i = 0; i < n; i++) {
		if (g[i].port_num != p->number ||
		    g[i].gid_type != IBV_GID_TYPE_ROCE_V2 ||
		    memcmp(g[i].gid.raw, v->self.ip, sizeof(v->self.ip)))
			continue;
		p->gid_index = (int) g[i].gid_index;
		p->gid = g[i].gid;
		return STORM_OK;
	}
	errno = EADDRNOTAVAIL;
	return storm_verbs_fail(v, "the GID table has no RoCE v2 entry "
				   "for the interface's address");
}

static int verbs_find_pkey(struct storm_verbs *v, const struct rdma_cm_id *id,
			   const struct ibv_port_attr *a)
{
	uint16_t want = v->set.pkey ? v->set.pkey :
				      ntohs(id->route.addr.addr.ibaddr.pkey);
	struct verbs_port *p = &v->port;
	__be16 pkey;

	p->pkey_index = 0;
	/* RoCE has only the default one */
	if (!want || (p->ethernet && !v->set.pkey))
		return STORM_OK;
	for (uint16_t i = 0; i < a->pkey_tbl_len; i++) {
		/* full and limited members can reach each other */
		if (ibv_query_pkey(p->ctx, p->number, i, &pkey) ||
		    (ntohs(pkey) & 0x7fff) != (want & 0x7fff))
			continue;
		p->pkey_index = i;
		return STORM_OK;
	}
	storm_verbs_log(v,
			"P_Key 0x%04x is not in the table of RDMA device "
			"%s, port %u: have the subnet manager add it, or "
			"correct %s in storm.conf",
			want, p->device, p->number,
			storm_verbs_key(v, "PKey", "StrobePKey"));
	errno = EINVAL;
	return STORM_ESYS;
}

static int verbs_check_port(struct storm_verbs *v, const struct rdma_cm_id *id)
{
	struct verbs_port *p = &v->port;
	struct ibv_port_attr a;
	int rc;

	if (ibv_query_device(p->ctx, &p->limits) ||
	    ibv_query_port(p->ctx, p->number, &a))
		return storm_verbs_fail(v, "cannot query the port");
	if (a.state != IBV_PORT_ACTIVE) {
		errno = ENETDOWN;
		return storm_verbs_fail(v, "the port is not active: check "
					   "its cable and switch");
	}
	p->ethernet = a.link_layer == IBV_LINK_LAYER_ETHERNET;
	p->mtu = 128u << a.active_mtu;
	if (v->set.mtu && v->set.mtu < p->mtu)
		p->mtu = v->set.mtu;
	rc = verbs_find_gid(v);
	return rc ? rc : verbs_find_pkey(v, id, &a);
}

/* The device or port of the settings must be the one of the address. */
static int verbs_check_settings(struct storm_verbs *v)
{
	const struct verbs_port *p = &v->port;

	if (v->set.device[0] && strcmp(v->set.device, p->device)) {
		storm_verbs_log(v,
				"interface %s belongs to RDMA device %s, "
				"not to %s: Interface and %s in storm.conf "
				"contradict each other",
				v->set.interface[0] ? v->set.interface :
						      "of the route",
				p->device, v->set.device, verbs_rail_key(v));
	} else if (v->set.ib_port && v->set.ib_port != p->number) {
		storm_verbs_log(v,
				"interface %s belongs to port %u of RDMA "
				"device %s, not to port %u: Interface and "
				"%s in storm.conf contradict each other",
				v->set.interface[0] ? v->set.interface :
						      "of the route",
				p->number, p->device, v->set.ib_port,
				verbs_rail_key(v));
	} else {
		return STORM_OK;
	}
	errno = EINVAL;
	return STORM_EINVAL;
}

/* For verbs_port_is_as_opened(). */
static void verbs_remember_pkey(struct verbs_port *p)
{
	if (ibv_query_pkey(p->ctx, p->number, p->pkey_index, &p->pkey))
		p->pkey = 0;
}

/* Open a context of our own: librdmacm's is shared by the process, and each
 * event is delivered once per context. */
int storm_verbs_port_open(struct storm_verbs *v, const struct rdma_cm_id *id)
{
	struct verbs_port *p = &v->port;
	int rc;

	snprintf(p->device, sizeof(p->device), "%s",
		 ibv_get_device_name(id->verbs->device));
	p->number = id->port_num;
	rc = verbs_check_settings(v);
	if (rc)
		return rc;
	p->ctx = ibv_open_device(id->verbs->device);
	if (!p->ctx)
		return storm_verbs_fail(v, "cannot open the device");
	rc = verbs_check_port(v, id);
	if (rc)
		return rc;
	verbs_remember_pkey(p);
	p->pd = ibv_alloc_pd(p->ctx);
	p->channel = p->pd ? ibv_create_comp_channel(p->ctx) : NULL;
	if (!p->channel)
		return storm_verbs_fail(v, "cannot allocate a protection "
					   "domain or completion channel");
	if (fcntl(p->ctx->async_fd, F_SETFL, O_NONBLOCK) ||
	    fcntl(p->channel->fd, F_SETFL, O_NONBLOCK) ||
	    storm_verbs_watch(v, p->ctx->async_fd, VERBS_FD_ASYNC) ||
	    storm_verbs_watch(v, p->channel->fd, VERBS_FD_CHANNEL))
		return storm_verbs_fail(v, "cannot watch the device");
	return STORM_OK;
}

void storm_verbs_port_close(struct storm_verbs *v)
{
	struct verbs_port *p = &v->port;

	if (p->channel)
		ibv_destroy_comp_channel(p->channel);
	if (p->pd)
		ibv_dealloc_pd(p->pd);
	if (p->ctx)
		ibv_close_device(p->ctx);
	memset(p, 0, sizeof(*p));
}

/* ----------------------------------------------------------------- memory */

/* After a fork the device must not write to copied pages, so a child does not
 * inherit them. */
int storm_verbs_memory(struct storm_verbs *v, struct verbs_memory *m,
		       size_t len)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	char what[64];

	m->len = (len + page - 1) / page * page;
	m->at = mmap(NULL, m->len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->at == MAP_FAILED) {
		m->at = NULL;
		return STORM_ENOMEM;
	}
	madvise(m->at, m->len, MADV_DONTFORK);
	m->mr = ibv_reg_mr(v->port.pd, m->at, m->len, IBV_ACCESS_LOCAL_WRITE);
	if (m->mr)
		return STORM_OK;
	snprintf(what, sizeof(what), "cannot register %zu KiB of memory",
		 m->len / 1024);
	return storm_verbs_fail(v, what);
}

void storm_verbs_memory_free(struct verbs_memory *m)
{
	if (m->mr)
		ibv_dereg_mr(m->mr);
	if (m->at)
		munmap(m->at, m->len);
	memset(m, 0, sizeof(*m));
}
