/*
 * test_window.c - nodes that stand still, crawl or fail in the midst of a transfer:
 * owner_window.c and owner_each.c, with real nodes in the simulator.  The window goes on
 * without a few of them after its limit.  They catch up by themselves or are named, and
 * the others finish as if they were not there.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <errno.h>

#include "src/libstorm/base/clock.h"
#include "src/libstorm/base/idset.h"
#include "src/libstorm/protocol/owner/owner_private.h"
#include "src/storm_sim/engine/sim.h"
#include "unit.h"

#define NODES 16
#define INNER 7 /* nodes that have others below them, with a radix of 2 */
#define FEW (NODES / OWNER_FEW)
#define SIZE (4u << 20)
#define WINDOW (512u << 10)
#define PATH "/tmp/app"
#define PAUSE (2 * STORM_SEC) /* shorter than what makes a node lost */
/* before and after the 0.2 s for which a node may be behind, and the questions */
#define SOON (150 * STORM_MS)
#define LATER (700 * STORM_MS)

/* Two thirds of a second for the file; by multicast, or along the chain. */
static struct storm_sim *sim;
static struct storm_owner *o;
static uint8_t *data;
static struct storm_outcome out;
static bool opened, ended;

static void on_opened(void *arg, struct storm_outcome *at)
{
	(void) arg;
	opened = at->state == STORM_DONE;
	storm_outcome_clear(at);
}

static void on_done(void *arg, void *token, struct storm_outcome *at)
{
	(void) arg;
	(void) token;
	out = *at;
	ended = true;
}

static void on_fault(void *arg, const struct storm_fault *f)
{
	(void) arg;
	(void) f;
}

static const struct storm_owner_ops ops = { .opened = on_opened,
					    .xfer_done = on_done,
					    .fault = on_fault };

static bool is(void *arg)
{
	return *(bool *) arg;
}

static bool moves(void *arg)
{
	return storm_owner_progress(o, arg) > WINDOW;
}

static void pass(uint64_t ns)
{
	storm_sim_run(sim, ns, NULL, NULL);
}

/* More than a window of the file is at all nodes. */
static void begin(bool each, bool multicast)
{
	struct storm_sim_conf c = { .seed = 7,
				    .nodes = NODES,
				    .latency = 50 * STORM_US,
				    .bandwidth = 6.25e6,
				    .mtu = 1472,
				    .multicast = multicast };
	const struct storm_target to = { .kind = STORM_TARGET_FILE,
					 .path = PATH,
					 .flags = each ? STORM_FILE_EACH : 0,
					 .mode = 0755 };
	struct rnd r = rnd_of(1);

	data = malloc(SIZE);
	must(data);
	rnd_fill(&r, data, SIZE);
	storm_settings_default(&c.set);
	c.set.radix = 2;
	c.set.window = WINDOW;
	c.set.multicast = multicast;
	c.set.socket_buffer = 64 << 10; /* it has to ask for what it missed */
	opened = ended = false;
	sim = storm_sim_create(&c, &ops, data);
	must(sim);
	o = storm_sim_owner(sim);
	must(!storm_owner_open(o, storm_sim_now(sim)));
	storm_sim_called(sim, STORM_NO_NODE);
	must(storm_sim_run(sim, 20 * STORM_SEC, is, &opened));
	must(!storm_owner_xfer(o, NULL, &to, data, SIZE, data,
			       storm_sim_now(sim)));
	storm_sim_called(sim, STORM_NO_NODE);
	must(storm_sim_run(sim, 5 * STORM_SEC, moves, data) && !ended);
}

static void end(void)
{
	storm_outcome_clear(&out);
	storm_sim_destroy(sim);
	free(data);
}

/* To the end of the transfer. */
static enum storm_state ends(void)
{
	must(storm_sim_run(sim, 60 * STORM_SEC, is, &ended));
	pass(STORM_SEC); /* those that are told last */
	return out.state;
}

static bool has(uint32_t node)
{
	uint32_t n;
	const struct storm_sim_file *f = storm_sim_files(sim, node, &n);

	must(n <= 1);
	must(!n || (f->size == SIZE && !memcmp(f->data, data, SIZE)));
	return n;
}

/* Do all others have it? */
static bool others_have(uint32_t first, uint32_t last)
{
	for (uint32_t i = 0; i < NODES; i++)
		if ((i < first || i > last) && !has(i))
			return false;
	return true;
}

static bool nobody_has(void)
{
	for (uint32_t i = 0; i < NODES; i++)
		if (has(i) || storm_sim_temporaries(sim, i))
			return false;
	return true;
}

static bool is_inner(uint32_t node)
{
	struct storm_idset below = { 0 };
	uint64_t n;

	must(!storm_tree_subtree(&o->tree, node, &below));
	n = storm_idset_size(&below);
	storm_idset_clear(&below);
	return n > 1;
}

/* The faults are of these nodes, and for this reason. */
static void named(uint32_t first, uint32_t last, enum storm_err why, int sys)
{
	ck_assert_uint_eq(out.nfaults, last - first + 1);
	for (uint32_t i = 0; i < out.faults_kept; i++)
		must(out.faults[i].node == first + i &&
		     out.faults[i].why == why && out.faults[i].sys == sys);
}

static void pauses(uint32_t first, uint32_t last)
{
	for (uint32_t i = first; i <= last; i++)
		storm_sim_pause(sim, i, PAUSE);
}

static uint64_t sent(void)
{
	return o->cast.sent;
}

/* ----------------------------------------------------------------- it stands --- */

/* An inner node stands: nobody leaves before the limit, it alone does so then, and the
 * others have the file while it still stands.  It catches up by itself. */
static void stands(uint32_t node, bool multicast)
{
	uint64_t before;

	begin(true, multicast);
	must(is_inner(node) == (node < INNER));
	pauses(node, node);
	pass(SOON);
	must(!o->window.slow.count);
	before = sent();
	must(before < SIZE && before <= o->operations.first->progress + WINDOW);
	pass(LATER - SOON);
	must(owner_window_has_left(o, node));
	must(storm_idset_size(&o->window.slow) == 1);
	pass(PAUSE - LATER - 10 * STORM_MS);
	must(!ended && sent() == SIZE && !has(node));
	must(others_have(node, node));
	must(ends() == STORM_DONE && !out.nfaults && has(node));
	end();
}

START_TEST(test_stands)
{
	stands((uint32_t) _i, true);
}
END_TEST

/* Those behind it in the chain have nothing from it, and are not blamed. */
START_TEST(test_stands_in_the_chain)
{
	stands(0, false);
	stands(5, false);
	stands(NODES - 1, false);
}
END_TEST

/* Where all or nobody is to have it all is sent meanwhile, and nobody shows it. */
START_TEST(test_stands_and_all_wait)
{
	begin(false, true);
	pauses(1, 1);
	pass(PAUSE - 10 * STORM_MS);
	must(!ended && owner_window_has_left(o, 1) && sent() == SIZE);
	for (uint32_t i = 0; i < NODES; i++)
		must(!has(i));
	must(ends() == STORM_DONE && !out.nfaults);
	must(others_have(NODES, NODES));
	end();
}
END_TEST

/* A quarter of the nodes leaves; one more is the pace of all, for which all wait. */
START_TEST(test_few)
{
	begin(true, true);
	pauses(0, FEW - 1);
	pass(PAUSE - 10 * STORM_MS);
	must(storm_idset_size(&o->window.slow) == FEW);
	must(!ended && others_have(0, FEW - 1));
	must(ends() == STORM_DONE && !out.nfaults);
	must(others_have(NODES, NODES));
	end();
	begin(true, true);
	pauses(0, FEW);
	pass(PAUSE - 10 * STORM_MS);
	must(!o->window.slow.count && sent() < SIZE);
	must(ends() == STORM_DONE && !out.nfaults);
	must(others_have(NODES, NODES));
	end();
}
END_TEST

/* Its disk crawls, and nothing else: the others do not wait for it at the end. */
START_TEST(test_crawls)
{
	uint64_t from;

	begin(true, true);
	storm_sim_slow(sim, 1, 2 * STORM_SEC);
	from = storm_sim_now(sim);
	while (!others_have(1, 1)) {
		must(!ended && storm_sim_now(sim) < from + 3 * STORM_SEC);
		pass(10 * STORM_MS);
	}
	must(!has(1));
	must(ends() == STORM_DONE && !out.nfaults && has(1));
	end();
}
END_TEST

/* ------------------------------------------------------------------- it fails --- */

/* It dies: it is named, and each other one has the file, or none has. */
START_TEST(test_dies)
{
	for (uint32_t node = 0; node < 4; node++) {
		begin(true, true);
		storm_sim_crash(sim, node);
		must(ends() == STORM_DONE && others_have(node, node));
		named(node, node, STORM_ELOST, 0);
		end();
	}
	begin(false, true);
	storm_sim_crash(sim, 1);
	must(ends() == STORM_ABORTED);
	named(1, 1, STORM_ELOST, 0);
	for (uint32_t i = 0; i < NODES; i++)
		must(!has(i));
	end();
}
END_TEST

/* Two stand until the others have it, and one fails then, for whatever reason: nothing can
 * be taken back, and the other one gets it. */
START_TEST(test_fails_behind)
{
	for (int disk = 0; disk < 2; disk++) {
		begin(true, true);
		pauses(1, 2);
		pass(PAUSE - 10 * STORM_MS);
		must(!ended && others_have(1, 2));
		if (disk)
			storm_sim_disk(sim, 1, EACCES);
		else
			storm_sim_crash(sim, 1);
		must(ends() == STORM_DONE && others_have(1, 1) && !has(1));
		named(1, 1, disk ? STORM_ESYS : STORM_ELOST, disk ? EACCES : 0);
		end();
	}
}
END_TEST

static void disks(uint32_t last, int sys)
{
	begin(true, true);
	for (uint32_t i = 0; i <= last; i++)
		storm_sim_disk(sim, i, sys);
}

/* Full disks of a few are their own fault; of more, or what is refused, all hear it. */
START_TEST(test_disks)
{
	disks(0, ENOSPC);
	must(ends() == STORM_DONE && others_have(0, 0) && !has(0));
	named(0, 0, STORM_ESYS, ENOSPC);
	must(!storm_sim_temporaries(sim, 0));
	end();
	disks(FEW - 1, EIO);
	must(ends() == STORM_DONE && others_have(0, FEW - 1));
	named(0, FEW - 1, STORM_ESYS, EIO);
	end();
	disks(FEW, ENOSPC);
	must(ends() == STORM_ABORTED && nobody_has());
	end();
	disks(0, EACCES);
	must(ends() == STORM_ABORTED && nobody_has());
	named(0, 0, STORM_ESYS, EACCES);
	end();
}
END_TEST

int main(void)
{
	Suite *s = suite_create("window");
	TCase *tc = tcase_create("window");

	tcase_set_timeout(tc, (double) (120 * unit_slower()));
	tcase_add_loop_test(tc, test_stands, 0, INNER);
	tcase_add_test(tc, test_stands_in_the_chain);
	tcase_add_test(tc, test_stands_and_all_wait);
	tcase_add_test(tc, test_few);
	tcase_add_test(tc, test_crawls);
	tcase_add_test(tc, test_dies);
	tcase_add_test(tc, test_fails_behind);
	tcase_add_test(tc, test_disks);
	suite_add_tcase(s, tc);
	return unit_main(s);
}
