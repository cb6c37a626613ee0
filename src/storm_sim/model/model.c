/*
 * model.c - see model.h.
 *
 * The paper's Table 3 agrees with its equations in every cell.  Two remarks for
 * a comparison: (2) has BW_launch where the text around it has BW_transfer.
 * (4) gives 91 m for 4,096 nodes, just past Table 3, and 181 m for 16,384: Fig.
 * 8 extrapolates.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "model.h"
#include "src/libstorm/base/tree.h"
#include "src/libstorm/wire/wire.h"

/*
 * Sources of the numbers.  A number marked ASSUMED has no better source than
 * the text beside it.  It affects latency, hardly bandwidth: these networks do
 * not wait for each packet's acknowledgement, storm's window does.
 *
 * Gigabit Ethernet and 100 GbE packet     IEEE 802.3: 1500 bytes in a frame,
 * 1538 on the wire (14 header, 4 FCS, 8 preamble, 12 gap); less 20 for IPv4 and
 * 8 for UDP (RFC 791, 768) leaves 1472, of which 76 are storm's header and tag.
 * ASSUMED: no jumbo frames, which 802.3 does not have.  T_packet   1538 bytes
 * at the nominal rate.
 * T_base     ASSUMED 30 us for two sends and two receives through Linux's
 * sockets at either speed: the round trip that M. Majkowski, "How to achieve
 * low latency with 10Gbps Ethernet" (Cloudflare, 2015), had with UDP through
 * one switch, scheduling tuned.  Where the card coalesces interrupts it is
 * more: 125 us of TCP on Gigabit in E. Jones,
 * evanjones.ca/ethernet-latency.html.  T_cable    Gigabit: 5.38 ns/m, the most
 * that TIA lets category 5e have at 100 MHz (J. Trulove, "LAN Wiring", table
 * 12.7).
 * 100 GbE: group index 1.483 of OM4 fibre at 850 nm (Optokon's data sheet, rev.
 * 006-21/41) over 0.29979 m/ns.
 * T_switch   Gigabit: 5 us each way, what a switch added to small messages of
 * EMP (P. Wyckoff, pw.padd.com/emp/raw), and once the 12.304 us to store a full
 * frame: switches store multicast even where they could cut through (Extreme
 * Networks, "Default Switching Mode", EXOS manual).
 * 100 GbE: 300 ns each way (Spectrum-2: Linley Newsletter, July 31, 2017), and
 * 123 ns to store the frame, as above.  arity      ASSUMED: half the ports of a
 * usual switch, 48 and 32.
 *
 * InfiniBand NDR packet     InfiniBand Architecture Specification, vol. 1: MTU
 * 4096; around it LRH 8, GRH 40 (multicast has one), BTH 12, DETH 8 (unreliable
 * datagrams), ICRC 4, VCRC 2: 4170 bytes.  T_packet   4170 bytes at 400 Gbit/s,
 * the data rate of four lanes of 100 (106.25 on the wire, before coding;
 * NVIDIA, QM97XX user manual: 64 ports of 400 Gb/s).
 * T_base     1.72 us: twice the 0.86 us of ib_send_lat, unreliable datagrams of
 * 32 bytes between ConnectX-4 on half a meter of cable, in D. Potter's master's
 * thesis (RWTH Aachen, 2018), table "mtu performance".  ASSUMED to hold for
 * NDR's ConnectX-7.  T_cable    as for 100 GbE.
 * T_switch   ASSUMED 330 ns each way.  No figure of NVIDIA's own was found;
 * resellers and integrators print from under 150 to about 330, and this is the
 * cautious end.
 * arity      half of the 64 ports.
 *
 * window of all three: W, the protocol's default, in packets.  ASSUMED: nothing
 * is lost, and multicast crosses switches at the rate of unicast.
 */
#define FIBRE (1.483 / 0.299792458) /* ns/m */
#define W (16 << 20)		    /* bytes: storm_settings_default() */
#define HEADER (STORM_HEADER_LEN + STORM_DATA_HEADER_LEN + STORM_TAG_LEN)

const struct storm_model_net storm_model_nets[] = {
	{
		/* Table 2; a quaternary fat tree; one packet of 320 bytes, and
		 * the next only after its token (section 4.4.2) */
		.name = "qsnet",
		.title = "QsNet, the paper's Table 2",
		.packet_size = 320,
		.t_packet = 953,
		.t_base = 580,
		.t_cable = 3.94,
		.t_switch = 73,
		.arity = 4,
		.window = 1,
	},
	{
		.name = "gbe",
		.title = "Gigabit Ethernet, UDP multicast",
		.packet_size = 1472,
		.header = HEADER,
		.t_packet = 1538 * 8,
		.t_base = 30e3,
		.t_cable = 5.38,
		.t_switch = 2 * 5e3 + 1538 * 8,
		.arity = 24,
		.window = W / 1472,
	},
	{
		.name = "100gbe",
		.title = "100 Gigabit Ethernet, UDP multicast",
		.packet_size = 1472,
		.header = HEADER,
		.t_packet = 1538 * 8 / 100.0,
		.t_base = 30e3,
		.t_cable = FIBRE,
		.t_switch = 2 * 300 + 1538 * 8 / 100.0,
		.arity = 16,
		.window = W / 1472,
	},
	{
		.name = "ndr",
		.title = "InfiniBand NDR, multicast of unreliable datagrams",
		.packet_size = 4096,
		.header = HEADER,
		.t_packet = 4170 * 8 / 400.0,
		.t_base = 1720,
		.t_cable = FIBRE,
		.t_switch = 2 * 330,
		.arity = 32,
		.window = W / 4096,
	},
	{ .name = NULL },
};

const struct storm_model_net *storm_model_net(const char *name)
{
	const struct storm_model_net *net = storm_model_nets;

	while (net->name && strcmp(net->name, name))
		net++;
	return net->name ? net : NULL;
}

double storm_model_diameter(double nodes)
{
	return sqrt(2 * nodes);
}

double storm_model_switches(const struct storm_model_net *net, double nodes)
{
	return fmax(1, 2 * log(nodes) / log(net->arity) - 1);
}

double storm_model_round_trip(const struct storm_model_net *net, double cable,
			      double switches)
{
	return net->t_base + 2 * cable * net->t_cable +
	       switches * net->t_switch;
}

/* The file's bytes of each packet. */
static double model_payload(const struct storm_model_net *net)
{
	return net->packet_size - net->header;
}

double storm_model_bandwidth(const struct storm_model_net *net, double cable,
			     double switches)
{
	double wait = storm_model_round_trip(net, cable, switches);

	return model_payload(net) * 1e9 /
	       fmax(net->t_packet, wait / net->window);
}

double storm_model_broadcast(const struct storm_model_net *net, double nodes)
{
	return storm_model_bandwidth(net, storm_model_diameter(nodes),
				     storm_model_switches(net, nodes));
}

double storm_model_pipeline(double read, double broadcast, double write)
{
	return fmin(fmin(read, broadcast), write);
}

double storm_model_transfer(const struct storm_model_net *net, double nodes,
			    double bus)
{
	return storm_model_pipeline(bus * model_payload(net) / net->packet_size,
				    storm_model_broadcast(net, nodes),
				    STORM_MODEL_NO_BUS);
}

double storm_model_sum(double t_transfer, double t_exec, double t_timeslice)
{
	return t_transfer + t_exec + t_timeslice;
}

double storm_model_launch(const struct storm_model_net *net, double nodes,
			  double bus, double size, double t_exec,
			  double t_timeslice)
{
	return storm_model_sum(size * 1e9 /
				       storm_model_transfer(net, nodes, bus),
			       t_exec, t_timeslice);
}

double storm_model_rounds(const struct storm_model_net *net, double nodes,
			  uint32_t radix)
{
	double one_way =
		storm_model_round_trip(net, storm_model_diameter(nodes),
				       storm_model_switches(net, nodes)) /
		2;

	return STORM_MODEL_ROUNDS *
	       (1 + storm_tree_height((uint32_t) nodes, radix)) * one_way;
}
