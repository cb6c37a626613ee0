/*
 * check_rdma_judge.c - see check_rdma.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "check_rdma.h"
#include "check_tell.h"

#define COMMAND_MIB 16	  /* locked by srun and sbcast_storm */
#define ROCE_MTU_MIN 4200 /* for packets of 4096 bytes */
#define OPENSM \
	"start opensm on a host of the fabric, or the switch's subnet manager"

#define OK(...) check_tell(CHECK_OK, "", __VA_ARGS__)
#define NOTE(...) check_tell(CHECK_NOTE, "", __VA_ARGS__)
#define MISSING(...) check_tell(CHECK_MISSING, "", __VA_ARGS__)

const char *rdma_provider(const char *driver)
{
	static const char *const known[][2] = {
		{ "mlx5_core", "mlx5" }, { "mlx4_core", "mlx4" },
		{ "ice", "irdma" },	 { "i40e", "irdma" },
		{ "irdma", "irdma" },	 { "bnxt_en", "bnxt_re" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(driver, known[i][0]))
			return known[i][1];
	return strncmp(driver, "rxe", 3) ? NULL : "rxe";
}

static void rdma_judge_library(const char *name, bool there,
			       const char *package)
{
	if (there)
		OK("library %s", name);
	else
		MISSING("library %s: install the package %s", name, package);
}

static void rdma_judge_file(const char *name, mode_t mode, const char *remedy)
{
	if (mode == RDMA_NO_MODE)
		MISSING("/dev/infiniband/%s is not there: %s", name, remedy);
	else if ((mode & 6) == 6)
		OK("/dev/infiniband/%s is usable by all users", name);
	else
		MISSING("/dev/infiniband/%s has the mode %o, so users' sruns cannot use it: install rdma-core, whose udev rule sets 0666; until the next boot 'chmod 666'",
			name, (unsigned int) (mode & 07777));
}

static void rdma_judge_lock(const char *subject, const struct rdma_lock *l,
			    const char *remedy)
{
	char kib[32];

	snprintf(kib, sizeof(kib), "%" PRIu64, l->kib);
	if (l->unlimited || l->kib >= COMMAND_MIB * 1024)
		OK("%s may lock %s KiB of memory", subject,
		   l->unlimited ? "unlimited" : kib);
	else
		MISSING("%s may lock %s KiB of memory, %d MiB are needed: %s",
			subject, kib, COMMAND_MIB, remedy);
}

static void rdma_judge_locks(const struct rdma_host *h)
{
	if (h->is_image)
		return;
	/* a line for all users does not bind root */
	if (!h->command.known)
		NOTE("root cannot see how much memory users' commands may lock: run 'storm check --verbs' as a user, too");
	else
		rdma_judge_lock(
			"a command of this user", &h->command,
			"'* - memlock unlimited' in /etc/security/limits.d/, then log in again; jobs have the submitting host's limit, unless slurm.conf has PropagateResourceLimitsExcept=MEMLOCK");
	/* the agent is root, which has no limit */
	if (h->slurmd.known)
		rdma_judge_lock(
			"a process of slurmd (srun in a batch script)",
			&h->slurmd,
			"'LimitMEMLOCK=infinity' in slurmd.service (systemctl edit slurmd), then restart it");
	else
		NOTE("no slurmd runs here: on nodes its unit should have LimitMEMLOCK=infinity, for srun in batch scripts");
}

/* -------------------------------------------------------------------- a port --- */

static void rdma_judge_state(const struct rdma_port *p, const char *at)
{
	if (!strncmp(p->state, "4:", 2))
		OK("%s is active (%s, %s)", at, p->link, p->rate);
	else if (!strncmp(p->state, "2:", 2))
		MISSING("%s is in state INIT: no subnet manager has configured it: " OPENSM,
			at);
	else if (!strncmp(p->state, "1:", 2))
		MISSING("%s is down: check the cable and the switch port; for Ethernet 'ip link set INTERFACE up'",
			at);
	else
		MISSING("%s is in state %s: see ibstat and dmesg", at,
			p->state);
}

static void rdma_judge_fabric(const struct rdma_port *p, const char *at)
{
	bool member = false;

	if (!strcmp(p->sm_lid, "0x0"))
		MISSING("%s: no subnet manager is known: " OPENSM, at);
	if (!p->pkey)
		return;
	/* the highest bit is full membership */
	for (size_t i = 0; i < p->pkeys_n; i++)
		if (!((p->pkeys[i] ^ p->pkey) & 0x7fff))
			member = true;
	if (member)
		OK("%s is in the partition 0x%x", at, p->pkey);
	else
		MISSING("%s is not in the partition 0x%x of storm.conf: add it in opensm's partitions.conf, or set another PKey",
			at, p->pkey);
}

static void rdma_judge_address(const struct rdma_netdev *d, const char *at,
			       bool roce)
{
	OK("%s: interface %s has the address %s", at, d->name, d->address);
	if (!roce)
		return;
	if (d->mtu >= 0 && d->mtu < ROCE_MTU_MIN)
		NOTE("%s: interface %s has an MTU of %ld bytes; packets of 4096 bytes need %d (hosts and switches), smaller packets are slower",
		     at, d->name, d->mtu, ROCE_MTU_MIN);
	/* the GID that rdma_cm uses for the address */
	if (*d->gid)
		OK("%s: %s is GID %s, RoCE v2", at, d->address, d->gid);
	else
		MISSING("%s: no RoCE v2 GID of %s: use an adapter with RoCE v2, and give its own interface, or a VLAN of it, the address",
			at, d->address);
}

static void rdma_judge_netdevs(const struct rdma_port *p, const char *at,
			       bool roce)
{
	char names[RDMA_NETDEVS * (RDMA_NAME + 1)] = "";
	bool found = false;
	size_t end = 0;

	for (size_t i = 0; i < p->netdevs; i++) {
		const struct rdma_netdev *d = &p->netdev[i];

		end += (size_t) snprintf(names + end, sizeof(names) - end,
					 "%s%s", i ? " " : "", d->name);
		found = found || *d->address;
		if (*d->address)
			rdma_judge_address(d, at, roce);
	}
	if (found)
		return;
	if (!p->netdevs && !strcmp(p->link, "InfiniBand"))
		MISSING("%s has no network interface: 'modprobe ib_ipoib' (rdma_cm resolves addresses by IPoIB), and give it an IPv4 address",
			at);
	else
		MISSING("%s: none of its interfaces is up with an IPv4 address (%s): give one the address that NodeAddr or BcastAddr in slurm.conf names",
			at, names);
}

/* Without the provider programs see no device. */
static void rdma_judge_device(const struct rdma_port *p)
{
	const char *name = rdma_provider(p->driver);

	if (name && p->provider)
		OK("%s: libibverbs has the provider %s", p->device, name);
	else if (name)
		MISSING("%s: libibverbs lacks the provider %s: install the package ibverbs-providers (other distributions: libibverbs; or the vendor's rdma-core)",
			p->device, name);
	if (*p->uverbs)
		rdma_judge_file(p->uverbs, p->uverbs_mode,
				"have udev create it: 'udevadm trigger'");
	else
		MISSING("%s cannot be used by programs: 'modprobe ib_uverbs'",
			p->device);
}

static void rdma_judge_port(const struct rdma_port *p,
			    const struct storm_settings *set)
{
	bool roce = !strcmp(p->link, "Ethernet");
	char at[2 * RDMA_NAME];

	snprintf(at, sizeof(at), "%s:%s", p->device, p->port);
	if (!p->there) {
		MISSING("%s: the device has no such port: see ibv_devinfo", at);
		return;
	}
	rdma_judge_state(p, at);
	if (!strcmp(p->link, "InfiniBand"))
		rdma_judge_fabric(p, at);
	rdma_judge_netdevs(p, at, roce);
	rdma_judge_device(p);
	if (roce)
		NOTE("%s: full switches drop RoCE packets: enable priority flow control or ECN for DSCP %u (data), and prefer DSCP %u (control); see doc/verbs.md",
		     at, set->dscp, set->dscp_control);
}

/* ------------------------------------------------------------------- the host --- */

static void rdma_judge_conf(const struct rdma_host *h,
			    const struct storm_settings *set)
{
	if (h->conf_wrong)
		NOTE("%s is not judged, as it has errors: mend these first",
		     h->conf);
	else if (set->transport == STORM_TRANSPORT_VERBS)
		OK("%s has Transport=verbs",
		   h->conf_there ? h->conf : "plugstack.conf");
	else if (!h->conf_there)
		NOTE("%s is not there: without Transport=verbs in it UDP is used",
		     h->conf);
	else
		NOTE("%s has Transport=udp: set Transport=verbs to use RDMA",
		     h->conf);
}

void rdma_judge(const struct rdma_host *h, const struct storm_settings *set)
{
	rdma_judge_conf(h, set);
	rdma_judge_library("libibverbs.so.1", h->libibverbs, "libibverbs1");
	rdma_judge_library("librdmacm.so.1", h->librdmacm, "librdmacm1");
	if (!h->device)
		MISSING("no RDMA device: install an adapter and load its driver ('modprobe mlx5_ib', for example); to try without an adapter: 'modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth0'");
	for (size_t i = 0; i < h->unknowns; i++)
		MISSING("%s is no RDMA device, and no interface of one: 'ibv_devices' lists the devices; correct DataRail or StrobeRail in storm.conf",
			h->unknown[i]);
	for (size_t i = 0; i < h->ports; i++)
		rdma_judge_port(&h->port[i], set);
	rdma_judge_file(
		"rdma_cm", h->rdma_cm_mode,
		"'modprobe rdma_ucm' (rdma-core does that at each boot)");
	rdma_judge_locks(h);
	if (h->selinux)
		NOTE("SELinux is enforcing: a policy may forbid partitions and devices; look for 'infiniband' in the output of 'ausearch -m avc'");
}
