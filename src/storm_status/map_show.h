/*
 * map_show.h - one character a node, as Cplant's showmesh has it.  Without Slurm.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#ifndef STORM_MAP_SHOW_H
#define STORM_MAP_SHOW_H

#include <stdio.h>

#include "status_ask.h"

/* The worst come first.  The map shows the first one that holds for a node. */
enum map_mark {
	MAP_SILENT, /* its agent does not answer */
	MAP_BUILD,  /* another version than most nodes have */
	MAP_NO_SLURMD,
	MAP_UNWELL,
	MAP_NO_GANG, /* gang scheduling lacks something, or the node is excluded */
	MAP_DOWN,    /* for slurmctld */
	MAP_DRAIN,
	MAP_TURNS, /* jobs take turns */
	MAP_BUSY,  /* it has jobs */
	MAP_IDLE,
	MAP_ANSWERS, /* and what slurmctld says of it is not known */
	MAP_MARKS
};

/* What slurmctld says of a node. */
enum map_slurm {
	MAP_SLURM_UNKNOWN = 0,
	MAP_SLURM_IDLE,
	MAP_SLURM_BUSY,
	MAP_SLURM_DRAIN,
	MAP_SLURM_DOWN
};

struct map {
	const struct status_nodes *nodes;
	const struct status_answer *answer;
	const enum map_slurm
		*slurm; /* of each node; NULL: slurmctld said nothing */
};

/* Print rows of nodes in the nodes' order, each with its first node's name, on so many
 * columns, and what the characters mean.  Returns: is something wrong? */
bool map_show_text(FILE *f, const struct map *m, unsigned int columns,
		   bool colour);
bool map_show_json(FILE *f, const struct map *m);

#endif
