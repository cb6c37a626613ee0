/*
 * check_rdma_host.c - see check_rdma.h.  It only reads files: it needs no privilege,
 * sends nothing and changes nothing.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <glob.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check_host.h"
#include "check_rdma.h"

/* A path below the system's root. */
struct rdma_path {
	char text[PATH_MAX];
};

static struct rdma_path rdma_path_of(const char *fmt, ...)
	__attribute__((format(printf, 1, 2)));

static struct rdma_path rdma_path_of(const char *fmt, ...)
{
	struct rdma_path p;
	va_list args;

	va_start(args, fmt);
	vsnprintf(p.text, sizeof(p.text), fmt, args);
	va_end(args);
	return p;
}

static void rdma_line(char (*out)[RDMA_NAME], const char *folder,
		      const char *name)
{
	host_first_line(rdma_path_of("%s/%s", folder, name).text, *out,
			sizeof(*out));
}

static bool rdma_matches(const char *root, const char *pattern)
{
	glob_t g = { 0 };
	bool found =
		!glob(rdma_path_of("%s%s", root, pattern).text, 0, NULL, &g);

	globfree(&g);
	return found;
}

/* The names in a folder, sorted; the caller frees them. */
static int rdma_names(const char *folder, struct dirent ***names)
{
	int n = scandir(folder, names, NULL, alphasort);

	if (n < 0)
		*names = NULL;
	return *names ? n : 0;
}

static void rdma_names_free(struct dirent **names, int n)
{
	for (int i = 0; i < n; i++)
		free(names[i]);
	free(names);
}

static mode_t rdma_mode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? RDMA_NO_MODE : st.st_mode;
}

static bool rdma_library(const char *root, const char *name)
{
	static const char *const folders[] = {
		"/lib",
		"/usr/lib",
		"/lib64",
		"/usr/lib64",
		"/usr/local/lib",
		"/lib/*-linux-gnu*",
		"/usr/lib/*-linux-gnu*",
	};

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (rdma_matches(root,
				 rdma_path_of("%s/%s*", folders[i], name).text))
			return true;
	return false;
}

/* -------------------------------------------------------------- its interfaces --- */

/* An image has no addresses; a test's tree has a file. */
static void rdma_address(const char *root, struct rdma_netdev *d)
{
	struct ifaddrs *all = NULL;

	*d->address = '\0';
	if (*root) {
		rdma_line(
			&d->address,
			rdma_path_of("%s/sys/class/net/%s", root, d->name).text,
			"address4");
		return;
	}
	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *i = all; i && !*d->address; i = i->ifa_next)
		if (i->ifa_addr && i->ifa_addr->sa_family == AF_INET &&
		    (i->ifa_flags & IFF_UP) && !strcmp(i->ifa_name, d->name))
			inet_ntop(AF_INET,
				  &((const struct sockaddr_in *) i->ifa_addr)
					   ->sin_addr,
				  d->address, sizeof(d->address));
	freeifaddrs(all);
}

/* Its RoCE v2 GID: which rdma_cm uses. */
static void rdma_gid(const char *port, struct rdma_netdev *d)
{
	char gid[RDMA_NAME], type[RDMA_NAME], wanted[RDMA_NAME];
	struct dirent **names;
	uint8_t a[4];
	int n;

	*d->gid = '\0';
	if (inet_pton(AF_INET, d->address, a) != 1)
		return;
	snprintf(wanted, sizeof(wanted),
		 "0000:0000:0000:0000:0000:ffff:%02x%02x:%02x%02x", a[0], a[1],
		 a[2], a[3]);
	n = rdma_names(rdma_path_of("%s/gids", port).text, &names);
	for (int i = 0; i < n && !*d->gid; i++) {
		const char *number = names[i]->d_name;

		rdma_line(&gid, rdma_path_of("%s/gids", port).text, number);
		rdma_line(&type, rdma_path_of("%s/gid_attrs/types", port).text,
			  number);
		if (!strcmp(gid, wanted) && !strcmp(type, "RoCE v2"))
			snprintf(d->gid, sizeof(d->gid), "%.*s",
				 (int) sizeof(d->gid) - 1, number);
	}
	rdma_names_free(names, n);
}

static void rdma_netdev_read(const char *root, const char *port,
			     struct rdma_netdev *d)
{
	char mtu[RDMA_NAME], *end;

	rdma_address(root, d);
	rdma_gid(port, d);
	rdma_line(&mtu, rdma_path_of("%s/sys/class/net/%s", root, d->name).text,
		  "mtu");
	d->mtu = strtol(mtu, &end, 10);
	if (end == mtu || *end || d->mtu < 0)
		d->mtu = -1;
}

static bool rdma_has_netdev(const struct rdma_port *p, const char *name)
{
	for (size_t i = 0; i < p->netdevs; i++)
		if (!strcmp(p->netdev[i].name, name))
			return true;
	return false;
}

/* Each of its GIDs has an interface. */
static void rdma_netdevs(struct rdma_port *p, const char *root,
			 const char *port)
{
	struct rdma_path folder = rdma_path_of("%s/gid_attrs/ndevs", port);
	struct dirent **names;
	int n = rdma_names(folder.text, &names);
	char name[RDMA_NAME];

	for (int i = 0; i < n && p->netdevs < RDMA_NETDEVS; i++) {
		rdma_line(&name, folder.text, names[i]->d_name);
		if (!*name || strchr(name, '/') || rdma_has_netdev(p, name))
			continue;
		strcpy(p->netdev[p->netdevs].name, name);
		rdma_netdev_read(root, port, &p->netdev[p->netdevs++]);
	}
	rdma_names_free(names, n);
}

/* -------------------------------------------------------------------- a port --- */

static void rdma_pkeys(struct rdma_port *p, const char *port)
{
	struct rdma_path folder = rdma_path_of("%s/pkeys", port);
	struct dirent **names;
	int n = rdma_names(folder.text, &names);
	char line[RDMA_NAME];

	for (int i = 0; i < n && p->pkeys_n < RDMA_PKEYS; i++) {
		rdma_line(&line, folder.text, names[i]->d_name);
		if (*line)
			p->pkeys[p->pkeys_n++] =
				(uint16_t) strtoul(line, NULL, 16);
	}
	rdma_names_free(names, n);
}

static void rdma_driver(struct rdma_port *p, const char *root,
			const char *device)
{
	char link[PATH_MAX] = "";
	const char *name;

	if (readlink(rdma_path_of("%s/device/driver", device).text, link,
		     sizeof(link) - 1) > 0) {
		name = strrchr(link, '/') ? strrchr(link, '/') + 1 : link;
		snprintf(p->driver, sizeof(p->driver), "%.*s", RDMA_NAME - 1,
			 name);
	} else if (!access(rdma_path_of("%s/parent", device).text, F_OK)) {
		/* siw too, but that has no multicast */
		strcpy(p->driver, "rxe");
	}
	name = rdma_provider(p->driver);
	if (name)
		p->provider =
			!access(rdma_path_of("%s/etc/libibverbs.d/%s.driver",
					     root, name)
					.text,
				F_OK) ||
			!access(rdma_path_of("%s/usr/etc/libibverbs.d/%s.driver",
					     root, name)
					.text,
				F_OK);
}

static void rdma_uverbs(struct rdma_port *p, const char *root)
{
	struct rdma_path folder =
		rdma_path_of("%s/sys/class/infiniband_verbs", root);
	struct dirent **names;
	int n = rdma_names(folder.text, &names);
	char device[RDMA_NAME];

	for (int i = 0; i < n && !*p->uverbs; i++) {
		const char *name = names[i]->d_name;

		if (strncmp(name, "uverbs", 6))
			continue;
		rdma_line(&device,
			  rdma_path_of("%s/%s", folder.text, name).text,
			  "ibdev");
		if (strcmp(device, p->device))
			continue;
		snprintf(p->uverbs, sizeof(p->uverbs), "%.*s", RDMA_NAME - 1,
			 name);
		p->uverbs_mode = rdma_mode(
			rdma_path_of("%s/dev/infiniband/%s", root, name).text);
	}
	rdma_names_free(names, n);
}

static void rdma_port_read(struct rdma_host *h, const char *root,
			   const char *device, const char *port, uint16_t pkey)
{
	struct rdma_path folder =
		rdma_path_of("%s/sys/class/infiniband/%s", root, device);
	struct rdma_path at = rdma_path_of("%s/ports/%s", folder.text, port);
	struct rdma_port *p = &h->port[h->ports];

	if (h->ports == RDMA_PORTS)
		return;
	h->ports++;
	snprintf(p->device, sizeof(p->device), "%s", device);
	snprintf(p->port, sizeof(p->port), "%s", port);
	p->pkey = pkey;
	p->there = *port && !strchr(port, '/') && !access(at.text, F_OK);
	if (!p->there)
		return;
	rdma_line(&p->state, at.text, "state");
	rdma_line(&p->rate, at.text, "rate");
	rdma_line(&p->link, at.text, "link_layer");
	rdma_line(&p->sm_lid, at.text, "sm_lid");
	rdma_pkeys(p, at.text);
	rdma_netdevs(p, root, at.text);
	rdma_driver(p, root, folder.text);
	rdma_uverbs(p, root);
}

/* ---------------------------------------------------------------- which ports --- */

typedef bool (*rdma_visit_fn)(void *arg, const char *device, const char *port,
			      const char *folder);

/* Every port, in order, until visit() returns true. */
static bool rdma_ports(const char *root, const char *only, rdma_visit_fn visit,
		       void *arg)
{
	struct rdma_path all = rdma_path_of("%s/sys/class/infiniband", root);
	struct dirent **device, **port;
	int devices = rdma_names(all.text, &device), ports;
	bool done = false;

	for (int i = 0; i < devices && !done; i++) {
		const char *name = device[i]->d_name;
		struct rdma_path at =
			rdma_path_of("%s/%s/ports", all.text, name);

		if (*name == '.' || (only && strcmp(name, only)))
			continue;
		ports = rdma_names(at.text, &port);
		for (int k = 0; k < ports && !done; k++)
			if (*port[k]->d_name != '.')
				done = visit(arg, name, port[k]->d_name,
					     rdma_path_of("%s/%s", at.text,
							  port[k]->d_name)
						     .text);
		rdma_names_free(port, ports);
	}
	rdma_names_free(device, devices);
	return done;
}

static bool rdma_is_active(const char *folder)
{
	char state[RDMA_NAME];

	rdma_line(&state, folder, "state");
	return !strncmp(state, "4:", 2);
}

/* What is looked for, and where it was found. */
struct rdma_found {
	const char *netdev; /* a port with it; NULL: an active one */
	char device[RDMA_NAME], port[RDMA_NAME];
};

static bool rdma_found_here(void *arg, const char *device, const char *port,
			    const char *folder)
{
	struct rdma_path ndevs = rdma_path_of("%s/gid_attrs/ndevs", folder);
	struct rdma_found *f = arg;
	bool here = !f->netdev && rdma_is_active(folder);
	struct dirent **names;
	char line[RDMA_NAME];
	int n = 0;

	if (f->netdev)
		n = rdma_names(ndevs.text, &names);
	for (int i = 0; i < n; i++) {
		rdma_line(&line, ndevs.text, names[i]->d_name);
		here = here || !strcmp(line, f->netdev);
	}
	if (f->netdev)
		rdma_names_free(names, n);
	if (here) {
		snprintf(f->device, sizeof(f->device), "%s", device);
		snprintf(f->port, sizeof(f->port), "%s", port);
	}
	return here;
}

/* rail: a device or an interface, and perhaps a port. */
static void rdma_rail_read(struct rdma_host *h, const char *root,
			   const char *rail, uint16_t pkey)
{
	const char *colon = strchr(rail, ':');
	struct rdma_found f = { .port = "1" };
	char name[RDMA_NAME];

	snprintf(name, sizeof(name), "%.*s", (int) strcspn(rail, ":"), rail);
	if (*name && !strchr(name, '/') &&
	    !access(rdma_path_of("%s/sys/class/infiniband/%s", root, name).text,
		    F_OK)) {
		strcpy(f.device, name);
		rdma_ports(root, name, rdma_found_here, &f);
	} else {
		f.netdev = name;
		if (!rdma_ports(root, NULL, rdma_found_here, &f)) {
			h->unknown[h->unknowns++] = rail;
			return;
		}
	}
	if (colon)
		snprintf(f.port, sizeof(f.port), "%s", colon + 1);
	rdma_port_read(h, root, f.device, f.port, pkey);
}

struct rdma_every {
	struct rdma_host *h;
	const char *root;
	uint16_t pkey;
	bool active; /* those alone */
};

static bool rdma_every_read(void *arg, const char *device, const char *port,
			    const char *folder)
{
	const struct rdma_every *e = arg;

	if (!e->active || rdma_is_active(folder))
		rdma_port_read(e->h, e->root, device, port, e->pkey);
	return false;
}

static void rdma_ports_read(struct rdma_host *h, const char *root,
			    const char *const *rails, size_t n,
			    const struct storm_settings *set)
{
	struct rdma_every e = { h, root, set->pkey, true };

	for (size_t i = 0; i < n && i < RDMA_RAILS; i++)
		rdma_rail_read(h, root, rails[i],
			       i ? set->strobe_pkey : set->pkey);
	if (!n)
		rdma_ports(root, NULL, rdma_every_read, &e);
	/* what is wrong with those that are not active is told */
	e.active = false;
	if (!n && !h->ports)
		rdma_ports(root, NULL, rdma_every_read, &e);
}

/* ------------------------------------------------------------------- the limits --- */

static struct rdma_lock rdma_lock_of(rlim_t bytes)
{
	return (struct rdma_lock) { .known = true,
				    .unlimited = bytes == RLIM_INFINITY,
				    .kib = bytes / 1024 };
}

static void rdma_locks(struct rdma_host *h)
{
	char line[RDMA_NAME * 4], *end;
	struct rlimit own;
	pid_t slurmd;

	if (h->is_image)
		return;
	if (geteuid() && !getrlimit(RLIMIT_MEMLOCK, &own))
		h->command = rdma_lock_of(own.rlim_cur);
	slurmd = host_daemon("slurmd");
	if (!slurmd || !host_line_of(slurmd, "limits", "Max locked memory",
				     line, sizeof(line)))
		return;
	h->slurmd = rdma_lock_of(strtoull(line, &end, 10));
	h->slurmd.unlimited = end == line; /* the word */
}

void rdma_host_read(struct rdma_host *h, const char *root,
		    const char *const *rails, size_t n,
		    const struct storm_settings *set)
{
	char enforce[RDMA_NAME] = "";

	h->is_image = *root;
	h->libibverbs = rdma_library(root, "libibverbs.so.1");
	h->librdmacm = rdma_library(root, "librdmacm.so.1");
	h->device = rdma_matches(root, "/sys/class/infiniband/*");
	if (h->device)
		rdma_ports_read(h, root, rails, n, set);
	h->rdma_cm_mode =
		rdma_mode(rdma_path_of("%s/dev/infiniband/rdma_cm", root).text);
	rdma_locks(h);
	if (!*root)
		rdma_line(&enforce, "/sys/fs/selinux", "enforce");
	h->selinux = !strcmp(enforce, "1");
}
