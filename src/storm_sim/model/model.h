/*
 * model.h - the STORM paper's scalability model ("STORM: Scalable Resource
 * Management for Large-Scale Parallel Computers", section 4.4), equations (1)
 * to (9), and networks to apply it to.
 *
 * Units: bytes, meters, nanoseconds, bytes per second.  The paper's megabyte
 * is STORM_MODEL_MB, 2^20 bytes: with it all 54 cells of Table 3 come out as
 * printed; with 10^6 not even the first one does.
 *
 * Plain arithmetic: no I/O, no state, any thread.  Networks may not be NULL.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MODEL_H
#define STORM_MODEL_H

#include <math.h>
#include <stdint.h>

#define STORM_MODEL_MB 1048576.0 /* bytes */

/* The bandwidth of an ES40's I/O bus and helper process, bytes/s: the 131 of
 * (8).  The ideal machine of (9) has STORM_MODEL_NO_BUS. */
#define STORM_MODEL_ES40_BUS (131 * STORM_MODEL_MB)
#define STORM_MODEL_NO_BUS HUGE_VAL

/* What section 4.4.1 measured on the ES40 for (2), bytes/s: a file read from a
 * RAM disk to main memory or to the NIC's, and a broadcast from there. */
#define STORM_MODEL_READ_MAIN (218 * STORM_MODEL_MB)
#define STORM_MODEL_CAST_MAIN (175 * STORM_MODEL_MB)
#define STORM_MODEL_READ_NIC (120 * STORM_MODEL_MB)
#define STORM_MODEL_CAST_NIC (312 * STORM_MODEL_MB)

#define STORM_MODEL_T_EXEC 10e6 /* ns: section 4.4.1, "about 10 ms" */
/* ns; the paper prints no value.  What it measured at 64 nodes (96 ms to
 * transfer, 14 to execute) is this much above 12 MB at 131 MB/s and T_exec; at
 * 16,384 nodes that makes 134 ms, where the paper's text has 135. */
#define STORM_MODEL_T_TIMESLICE 8e6

/* Table 2, and the two numbers that are the network's own in QsNet's case. */
struct storm_model_net {
	const char *name;   /* as storm_model_net() takes it */
	const char *title;  /* for output */
	double packet_size; /* bytes of data in a full packet */
	double header;	    /* bytes of them that are STORM's own */
	double t_packet;    /* ns: from one full packet to the next */
	double t_base;	    /* ns: both ends' share of a round trip */
	double t_cable;	    /* ns per meter, one way */
	double t_switch;    /* ns: a switch's share of a round trip */
	double arity;	    /* down links of a switch of the fat tree */
	double window;	    /* packets sent before the first one's
				   acknowledgement must be back */
};

/* All known networks, ended by a NULL name.  model.c has the source of each
 * number. */
extern const struct storm_model_net storm_model_nets[];
/* The network with this name, or NULL. */
const struct storm_model_net *storm_model_net(const char *name);

/* The diameter in meters, for at least one node.  (4) */
double storm_model_diameter(double nodes);
/* The most switches that a packet crosses, for at least one node; a real number
 * between full trees.  (5), but never less than one: (5) gives less if the
 * nodes do not fill a switch. */
double storm_model_switches(const struct storm_model_net *net, double nodes);

/* The ns from a packet's start to its acknowledgement's arrival, over so many
 * meters of cable and so many switches: the second argument of max() in (3).
 * Half of it is the latency of one way, if both ways are alike. */
double storm_model_round_trip(const struct storm_model_net *net, double cable,
			      double switches);
/* BW_QsNet(Cable, Switches), bytes/s.  (3), with the round trip shared by the
 * packets of a window; QsNet's window is one packet, and that is the paper's
 * equation. */
double storm_model_bandwidth(const struct storm_model_net *net, double cable,
			     double switches);
/* BW_QsNet(nodes), also called BW_broadcast, bytes/s.  (6) */
double storm_model_broadcast(const struct storm_model_net *net, double nodes);
/* The most that a pipeline of these stages carries, bytes/s.  (2) */
double storm_model_pipeline(double read, double broadcast, double write);
/* BW_transfer(nodes), bytes/s: (8) with STORM_MODEL_ES40_BUS, (9) with
 * STORM_MODEL_NO_BUS.  Headers pass the bus too. */
double storm_model_transfer(const struct storm_model_net *net, double nodes,
			    double bus);
/* T_launch of its parts, all ns.  (1) */
double storm_model_sum(double t_transfer, double t_exec, double t_timeslice);
/* T_launch(nodes) of a file of so many bytes, ns.  (7) */
double storm_model_launch(const struct storm_model_net *net, double nodes,
			  double bus, double size, double t_exec,
			  double t_timeslice);

/* Not the paper's, whose T_transfer has no latency: ns for the rounds of one
 * transfer.  In each a message goes to all nodes at once, and the answers come
 * up the levels of the combining tree. */
#define STORM_MODEL_ROUNDS 3 /* BEGIN, all staged, decided */
double storm_model_rounds(const struct storm_model_net *net, double nodes,
			  uint32_t radix);

#endif
