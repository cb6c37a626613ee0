/*
 * test_metrics_http.c - storm metrics --listen: which requests are answered, and how; and
 * at which addresses it listens.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "src/storm_metrics/metrics_http.h"
#include "unit.h"

static enum metrics_status judged(const char *request)
{
	enum metrics_form form;

	return metrics_http_judge(request, strlen(request), &form);
}

START_TEST(test_requests)
{
	static const struct {
		const char *request;
		enum metrics_status status;
	} all[] = {
		{ "GET /metrics HTTP/1.1\r\n\r\n", METRICS_FINE },
		{ "GET /metrics HTTP/1.0\n\n", METRICS_FINE },
		{ "GET /metrics?name=x HTTP/1.1\r\nHost: a\r\n\r\n",
		  METRICS_FINE },
		{ "GET / HTTP/1.1\r\n\r\n", METRICS_NO_PATH },
		{ "GET /metrics/ HTTP/1.1\r\n\r\n", METRICS_NO_PATH },
		{ "GET /metricsx HTTP/1.1\r\n\r\n", METRICS_NO_PATH },
		{ "GET /metric HTTP/1.1\r\n\r\n", METRICS_NO_PATH },
		{ "GET ?/metrics HTTP/1.1\r\n\r\n", METRICS_NO_PATH },
		{ "GET /%6detrics HTTP/1.1\r\n\r\n", METRICS_NO_PATH },
		{ "GET /x/../metrics HTTP/1.1\r\n\r\n", METRICS_NO_PATH },
		{ "POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n",
		  METRICS_NO_METHOD },
		{ "HEAD /metrics HTTP/1.1\r\n\r\n", METRICS_NO_METHOD },
		{ "GETX /metrics HTTP/1.1\r\n\r\n", METRICS_NO_METHOD },
		{ "get /metrics HTTP/1.1\r\n\r\n", METRICS_NO_METHOD },
		{ "DELETE / HTTP/1.1\r\n\r\n", METRICS_NO_PATH },
		{ "GET /metrics\r\n", METRICS_BAD },
		{ "GET /metrics HTTP/2.0\r\n", METRICS_BAD },
		{ "GET /metrics HTTP/1.11\r\n", METRICS_BAD },
		{ "GET /metrics  HTTP/1.1\r\n", METRICS_BAD },
		{ " /metrics HTTP/1.1\r\n", METRICS_BAD },
		{ "\r\n", METRICS_BAD },
		{ "\n", METRICS_BAD },
		{ "GET\r\n", METRICS_BAD },
		{ "\x16\x03\x01\n", METRICS_BAD }, /* TLS */
		{ "", METRICS_MORE },
		{ "GET /metrics HTTP/1.1", METRICS_MORE },
		{ "POST / HTTP/1.1\r\n", METRICS_MORE },
		{ "GET /metrics HTTP/1.1\r\n\r", METRICS_MORE },
		{ "GET /metrics HTTP/1.1\r\nHost: a\r\n", METRICS_MORE },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (judged(all[i].request) != all[i].status)
			ck_abort_msg("%s", all[i].request);
}
END_TEST

/* Each beginning of it waits for more, and bytes of any kind are no harm. */
START_TEST(test_bytes)
{
	static const char whole[] = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n";
	char request[METRICS_REQUEST + 1];
	enum metrics_form form;

	for (size_t len = 0; len < strlen(whole); len++)
		must(metrics_http_judge(whole, len, &form) == METRICS_MORE);
	memset(request, 'x', sizeof(request));
	must(metrics_http_judge(request, METRICS_REQUEST - 1, &form) ==
	     METRICS_MORE);
	must(metrics_http_judge(request, METRICS_REQUEST, &form) ==
	     METRICS_TOO_LONG);
	memcpy(request, whole, strlen("GET /metrics HTTP/1.1\r\n"));
	must(metrics_http_judge(request, METRICS_REQUEST, &form) ==
	     METRICS_TOO_LONG);
	srand(7);
	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t) rand() % 64;

		for (size_t i = 0; i < len; i++)
			request[i] = " \r\n/?GETmetrics"[rand() % 16];
		must(metrics_http_judge(request, len, &form) != METRICS_FINE);
	}
}
END_TEST

START_TEST(test_forms)
{
	static const char plain[] =
		"GET /metrics HTTP/1.1\r\nAccept: text/plain\r\n"
		"X-Accept: application/openmetrics-text\r\n\r\n";
	static const char open[] =
		"GET /metrics HTTP/1.1\r\nHost: a\r\n"
		"accept: application/openmetrics-text;version=1.0.0,*/*\r\n\r\n";
	char head[METRICS_HEAD];
	enum metrics_form form;

	must(metrics_http_judge(plain, strlen(plain), &form) == METRICS_FINE);
	must(form == METRICS_PLAIN);
	metrics_http_head(METRICS_FINE, form, 12345, &head);
	must(!strncmp(head, "HTTP/1.1 200 OK\r\n", 17));
	must(strstr(head, "text/plain; version=0.0.4"));
	must(strstr(head, "Content-Length: 12345\r\n"));
	must(metrics_http_judge(open, strlen(open), &form) == METRICS_FINE);
	must(form == METRICS_OPEN);
	metrics_http_head(METRICS_FINE, form, SIZE_MAX, &head);
	must(strstr(head, "application/openmetrics-text; version=1.0.0"));
	must(!strcmp(head + strlen(head) - 4, "\r\n\r\n"));
	metrics_http_head(METRICS_NO_METHOD, form, 1, &head);
	must(strstr(head, " 405 Method Not Allowed\r\n"));
	must(strstr(head, "Allow: GET\r\n"));
	metrics_http_head(METRICS_TOO_LONG, form, SIZE_MAX, &head);
	must(!strcmp(head + strlen(head) - 4, "\r\n\r\n"));
	metrics_http_head(METRICS_NOT_YET, form, SIZE_MAX, &head);
	must(strstr(head, "Retry-After: 1\r\n"));
	must(!strcmp(head + strlen(head) - 4, "\r\n\r\n"));
}
END_TEST

START_TEST(test_addresses)
{
	static const char *const refused[] = {
		"0.0.0.0:9",
		"10.1.2.3:9",
		"128.0.0.1:9",
		"126.0.0.1:9",
		"[::]:9",
		"[fe80::1]:9",
		"[::ffff:1.2.3.4]:9",
		"[::ffff:127.0.0.1]:9",
		"localhost:9",
		"::1:9",
		":9",
		"127.0.0.1:0",
		"127.0.0.1:65536",
		"127.0.0.1:",
		"127.1:9",
		"0",
		"",
		"-1",
		" 9",
		"9x",
		"127.0.0.1",
		"[]:9",
		"[:9",
		"]:9",
		"[127.0.0.1]:9",
		"1111111111111111111111111111111111111111111111111111111:9",
	};
	struct sockaddr_storage at;
	struct sockaddr_in *four = (struct sockaddr_in *) &at;
	socklen_t len;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (!metrics_http_address(refused[i], &at, &len))
			ck_abort_msg("%s", refused[i]);
	must(!metrics_http_address("9", &at, &len));
	must(len == sizeof(*four) && four->sin_family == AF_INET);
	must(four->sin_port == htons(9));
	must(four->sin_addr.s_addr == htonl(INADDR_LOOPBACK));
	must(!metrics_http_address("127.9.0.1:65535", &at, &len));
	must(four->sin_port == 65535);
	must(!metrics_http_address("[::1]:80", &at, &len));
	must(len == sizeof(struct sockaddr_in6) && at.ss_family == AF_INET6);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("metrics_http");
	TCase *t = tcase_create("metrics_http");

	tcase_add_test(t, test_requests);
	tcase_add_test(t, test_bytes);
	tcase_add_test(t, test_forms);
	tcase_add_test(t, test_addresses);
	suite_add_tcase(s, t);
	return unit_main(s);
}
