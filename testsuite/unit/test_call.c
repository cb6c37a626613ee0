/*
 * test_call.c - the head's call of its keeper: what a credential hides, who is believed,
 * the desk among strangers, and the ports of Slurm.  Credentials are plain text here,
 * which says whose they are.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "src/libstorm/wire/credential.h"
#include "src/storm_launcher/call_desk.h"
#include "src/storm_launcher/carrier_sock.h"
#include "src/storm_launcher/ports.h"
#include "unit.h"

#define OTHER (geteuid() + 1)
#define PATIENCE 200 /* turns of the desk of up to 50 ms */

static const uint8_t key[RUN_KEY] = "of this start", another[RUN_KEY] = "not";
static struct call_desk *desk;
static uint16_t port;
static struct carrier *keeper; /* the desk's end */
static int stream = -1;

/* --------------------------------------------------------------- credentials --- */

static int plain_encode(uint32_t to, const void *what, size_t len, char **cred)
{
	char *p = *cred = malloc(2 * len + 20);

	must(p && to == geteuid());
	p += sprintf(p, "%u:", geteuid());
	for (size_t k = 0; k < len; k++)
		p += sprintf(p, "%02x", ((const uint8_t *) what)[k]);
	return STORM_OK;
}

static int plain_decode(const char *cred, void **what, size_t *len,
			uint32_t *uid, uint32_t *gid)
{
	const char *hex = strchr(cred, ':');
	unsigned int byte;
	uint8_t *p;

	if (!hex)
		return STORM_EAUTH;
	*uid = (uint32_t) strtoul(cred, NULL, 10);
	*gid = 0;
	*len = strlen(++hex) / 2;
	*what = p = malloc(*len + 1);
	must(p);
	for (; sscanf(hex, "%2x", &byte) == 1; hex += 2)
		*p++ = (uint8_t) byte;
	return STORM_OK;
}

static const struct storm_credential_ops plain = { plain_encode, plain_decode };

/* ----------------------------------------------------------------------- call --- */

static const char *read_as(const struct call *c, uint32_t uid, size_t len)
{
	uint8_t text[CALL_LEN + 1];
	struct call got;

	call_hide(c, (uint8_t(*)[CALL_LEN]) text);
	return call_read(&got, key, uid, geteuid(), text, len);
}

START_TEST(test_believed)
{
	struct call c, d, theirs;

	must(call_begin(&c, key) && call_begin(&d, key));
	must(memcmp(c.secret, d.secret, CALL_SECRET));
	must(memcmp(c.caller, d.caller, SEALED_RANDOM));
	must(call_begin(&theirs, another));
	must(!read_as(&c, geteuid(), CALL_LEN));
	ck_assert_str_eq(read_as(&c, OTHER, CALL_LEN), "it is another user's");
	ck_assert_str_eq(read_as(&theirs, geteuid(), CALL_LEN),
			 "it is for another start of launchers");
	for (size_t len = 0; len <= CALL_LEN + 1; len++)
		if (len != CALL_LEN)
			must(read_as(&c, geteuid(), len));
}
END_TEST

/* The ends understand each other if they have the same secret, key and numbers. */
START_TEST(test_seals)
{
	uint8_t answer[SEALED_RANDOM] = { 1 }, other[SEALED_RANDOM] = { 2 };
	uint8_t buf[10 + SEALED_EXTRA], copy[sizeof(buf)];
	const uint8_t *text;
	struct call c, same, bad[3];
	size_t len;
	struct sealed *s;

	must(call_begin(&c, key));
	same = bad[0] = bad[1] = bad[2] = c;
	bad[0].secret[31] ^= 1;
	bad[1].caller[15] ^= 1;
	bad[2].key[15] ^= 1;
	s = call_sealed(&c, answer, true);
	must(s && sealed_put(s, "ten bytes.", 10, buf));
	sealed_destroy(s);
	for (int k = 0; k < 5; k++) {
		s = call_sealed(k < 3 ? &bad[k] : &same, k < 4 ? other : answer,
				false);
		memcpy(copy, buf, sizeof(buf));
		must((sealed_get(s, copy, sizeof(copy), &text, &len) > 0) ==
		     (k == 4));
		sealed_destroy(s);
	}
}
END_TEST

START_TEST(test_frame)
{
	size_t len;
	uint8_t *frame = call_frame("MUNGE:x:", &len);
	struct storm_in in = { frame + RUN_FRAME_HEADER, frame + len, false };

	ck_assert_str_eq(call_cred(&in), "MUNGE:x:");
	/* no end; nothing; another version */
	in = (struct storm_in) { frame + RUN_FRAME_HEADER, frame + len - 1,
				 false };
	must(!call_cred(&in));
	in.p = frame + RUN_FRAME_HEADER;
	in.end = in.p + 4;
	must(!call_cred(&in));
	frame[RUN_FRAME_HEADER]++;
	in = (struct storm_in) { frame + RUN_FRAME_HEADER, frame + len, false };
	must(!call_cred(&in));
	free(frame);
}
END_TEST

/* ----------------------------------------------------------------------- desk --- */

static void setup(void)
{
	const struct ports any = { 0, 0 };
	int listener = ports_listen(&any, &port);

	storm_credential_use(&plain);
	must(listener >= 0 && port);
	desk = call_desk_create(listener, key);
	must(desk);
	keeper = NULL;
	stream = -1;
}

static void teardown(void)
{
	call_desk_destroy(desk);
	carrier_destroy(keeper);
	if (stream >= 0)
		close(stream);
}

/* A turn of the desk. */
static void turn(int wait)
{
	struct pollfd p[CALL_DESK_POLLS];
	int patience = call_desk_polls(desk, p);

	poll(p, CALL_DESK_POLLS,
	     patience >= 0 && patience < wait ? patience : wait);
	if (stream < 0)
		stream = call_desk_serve(desk, p, &keeper);
}

static int dial(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(fd >= 0 && !connect(fd, (struct sockaddr *) &sin, sizeof(sin)));
	return fd;
}

static void show(int fd, const struct call *c, uint32_t uid)
{
	uint8_t text[CALL_LEN], *frame;
	char cred[2 * CALL_LEN + 20], *p = cred;
	size_t len;

	call_hide(c, &text);
	p += sprintf(p, "%u:", uid);
	for (size_t k = 0; k < CALL_LEN; k++)
		p += sprintf(p, "%02x", text[k]);
	frame = call_frame(cred, &len);
	must(send(fd, frame, len, 0) == (ssize_t) len);
	free(frame);
}

/* Bytes that the desk has answered, once some are there; 0: it has closed. */
static size_t heard(int fd, uint8_t *buf, size_t size)
{
	for (int k = 0; k < PATIENCE; k++) {
		ssize_t n = recv(fd, buf, size, MSG_DONTWAIT);

		if (n >= 0 || errno == ECONNRESET)
			return n > 0 ? (size_t) n : 0;
		turn(50);
	}
	ck_abort_msg("the desk says nothing");
}

/* The head's end of a call that the desk has believed; NULL: it has not. */
static struct carrier *answered(int fd, const struct call *c)
{
	uint8_t answer[CALL_ANSWER];
	struct sealed *s;
	size_t n = 0, more = 1;

	while (n < CALL_ANSWER && more) {
		more = heard(fd, answer + n, CALL_ANSWER - n);
		n += more;
	}
	if (n < CALL_ANSWER)
		return NULL;
	s = call_sealed(c, answer + RUN_FRAME_HEADER, true);
	must(s);
	return carrier_create(s, false);
}

/* Is it the head now, for the desk? */
static bool joins(int fd, struct carrier *c)
{
	for (int k = 0; k < PATIENCE && stream < 0; k++) {
		if (!carrier_sock_send(c, fd) || !carrier_sock_receive(c, fd))
			return false;
		turn(20);
	}
	return stream >= 0;
}

START_TEST(test_head)
{
	int fd = dial();
	struct call c;
	struct carrier *head;
	uint32_t channel;
	size_t len;

	must(call_begin(&c, key));
	show(fd, &c, geteuid());
	head = answered(fd, &c);
	must(head && joins(fd, head) && keeper);
	ck_assert_str_eq(call_desk_why(desk), "");
	/* both ways, the keeper's end opens channels */
	must(carrier_put(keeper, 0, "step", 4) == 4);
	must(carrier_put(keeper, carrier_open(keeper), "ask", 3) == 3);
	must(carrier_sock_send(keeper, stream));
	while (carrier_data(head, 1, &len), len < 3)
		must(carrier_sock_receive(head, fd));
	must(!memcmp(carrier_data(head, 0, &len), "step", 4) && len == 4);
	must(carrier_next(head, &channel));
	carrier_destroy(head);
	close(fd);
}
END_TEST

START_TEST(test_refused)
{
	static const char *const why[] = {
		"it is another user's", "it is for another start of launchers"
	};
	int fd = dial();
	struct call c;
	uint8_t byte;

	must(call_begin(&c, _i ? another : key));
	show(fd, &c, _i ? geteuid() : OTHER);
	must(!heard(fd, &byte, 1));
	ck_assert_str_eq(call_desk_why(desk), why[_i]);
	must(stream < 0);
	close(fd);
}
END_TEST

/* It repeats the head's call, and has no secret. */
START_TEST(test_replay)
{
	int fd = dial(), mine = dial();
	struct call c, guess;
	struct carrier *head, *replay;

	must(call_begin(&c, key) && call_begin(&guess, key));
	show(fd, &c, geteuid());
	replay = answered(fd, &guess);
	must(replay && !joins(fd, replay));
	show(mine, &c, geteuid());
	head = answered(mine, &c);
	must(head && joins(mine, head));
	carrier_destroy(head);
	carrier_destroy(replay);
	close(fd);
	close(mine);
}
END_TEST

/* Noise of all kinds ends at once; what is silent has its time, and the head, which
 * waits behind all, its turn. */
START_TEST(test_strangers)
{
	static const uint8_t noise[3][RUN_FRAME_HEADER + 3] = {
		{ 0xff, 0, 0, 5, RUN_CALL },
		{ 0, 0, 0, 1, RUN_CALL, 7 },
		{ 0, 0, 0, 1, RUN_DOOR, 7 },
	};
	int silent[CALL_DESK_GUESTS], fd;
	struct carrier *head;
	struct call c;
	uint8_t byte;

	for (int k = 0; k < 3; k++) {
		fd = dial();
		must(send(fd, noise[k], sizeof(noise[k]), 0) > 0);
		must(!heard(fd, &byte, 1));
		close(fd);
	}
	for (int k = 0; k < CALL_DESK_GUESTS; k++)
		silent[k] = dial();
	fd = dial();
	must(call_begin(&c, key));
	show(fd, &c, geteuid());
	head = answered(fd, &c);
	must(head && joins(fd, head));
	for (int k = 0; k < CALL_DESK_GUESTS; k++)
		close(silent[k]);
	carrier_destroy(head);
	close(fd);
}
END_TEST

/* ---------------------------------------------------------------------- ports --- */

START_TEST(test_ports_read)
{
	struct ports p = { 1, 1 };

	must(ports_read("Configuration data as of now\n"
			"SlurmdPort              = 6818\n"
			"SrunPortRange           = 60001-63000\n"
			"SrunProlog              = (null)\n",
			&p));
	must(p.first == 60001 && p.last == 63000);
	must(ports_read("SrunPortRange = 0-0", &p) && !p.first && !p.last);
	must(!ports_read("SrunPortRange = 9-3", &p));
	must(!ports_read("SrunPortRange = 60000-70000", &p));
	must(!ports_read("SrunPortRange = (null)\nX=1-2", &p));
	must(!ports_read("", &p));
}
END_TEST

/* Each of a range once, and then no more. */
START_TEST(test_ports_listen)
{
	struct ports few;
	uint16_t got[3], sum = 0;
	int fd[3], none;

	/* three that are free, where the kernel gives none to others */
	few.first = 20001;
	do {
		few.first = (uint16_t) (few.first + 3);
		few.last = (uint16_t) (few.first + 2);
		for (int k = 0; k < 3; k++)
			fd[k] = ports_listen(&few, &got[k]);
		for (int k = 0; k < 3 && fd[2] < 0; k++)
			if (fd[k] >= 0)
				close(fd[k]);
		must(few.first < 30000);
	} while (fd[2] < 0);
	for (int k = 0; k < 3; k++) {
		must(got[k] >= few.first && got[k] <= few.last);
		sum = (uint16_t) (sum + got[k] - few.first);
	}
	ck_assert_int_eq(sum, 0 + 1 + 2);
	none = ports_listen(&few, &got[0]);
	must(none < 0 && errno == EADDRINUSE);
	close(fd[1]);
	fd[1] = ports_listen(&few, &got[0]);
	must(fd[1] >= 0 && got[0] == got[1]);
	for (int k = 0; k < 3; k++)
		close(fd[k]);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("call");
	TCase *t = tcase_create("what is shown");

	tcase_add_test(t, test_believed);
	tcase_add_test(t, test_seals);
	tcase_add_test(t, test_frame);
	tcase_add_test(t, test_ports_read);
	tcase_add_test(t, test_ports_listen);
	suite_add_tcase(s, t);
	t = tcase_create("desk");
	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_head);
	tcase_add_loop_test(t, test_refused, 0, 2);
	tcase_add_test(t, test_replay);
	tcase_add_test(t, test_strangers);
	suite_add_tcase(s, t);
	return unit_main(s);
}
