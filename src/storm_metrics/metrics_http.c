/*
 * metrics_http.c - see metrics_http.h.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#include "config.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "metrics_http.h"

#define PATH "/metrics"
#define LOOPBACK_NET 127 /* 127.0.0.0/8 */

/* Bytes until the end of the line at at, of those before end, without \r\n.  *next: the
 * line behind it; NULL: it has no end yet. */
static size_t metrics_http_line(const char *at, const char *end,
				const char **next)
{
	const char *nl = memchr(at, '\n', (size_t) (end - at));

	*next = nl ? nl + 1 : NULL;
	if (!nl)
		return (size_t) (end - at);
	return (size_t) (nl - at) - (nl > at && nl[-1] == '\r');
}

static bool metrics_http_is(const char *text, size_t len, const char *want)
{
	return len == strlen(want) && !memcmp(text, want, len);
}

/* METHOD PATH HTTP/1.x; a question behind the path is not looked at. */
static enum metrics_status metrics_http_first(const char *line, size_t len)
{
	const char *end = line + len;
	const char *path = memchr(line, ' ', len);
	const char *version =
		path ? memchr(path + 1, ' ', (size_t) (end - path - 1)) : NULL;
	size_t path_len;

	if (!version || path == line ||
	    (!metrics_http_is(version + 1, (size_t) (end - version - 1),
			      "HTTP/1.1") &&
	     !metrics_http_is(version + 1, (size_t) (end - version - 1),
			      "HTTP/1.0")))
		return METRICS_BAD;
	path_len = (size_t) (version - path - 1);
	if (memchr(path + 1, '?', path_len))
		path_len = (size_t) ((const char *) memchr(path + 1, '?',
							   path_len) -
				     path - 1);
	if (!metrics_http_is(path + 1, path_len, PATH))
		return METRICS_NO_PATH;
	return metrics_http_is(line, (size_t) (path - line), "GET") ?
		       METRICS_FINE :
		       METRICS_NO_METHOD;
}

static bool metrics_http_wants_open(const char *line, size_t len)
{
	static const char header[] = "Accept:";
	static const char type[] = "application/openmetrics-text";

	return len >= strlen(header) &&
	       !strncasecmp(line, header, strlen(header)) &&
	       memmem(line, len, type, strlen(type));
}

enum metrics_status metrics_http_judge(const char *request, size_t len,
				       enum metrics_form *form)
{
	const char *end = request + len, *at = request, *next;
	enum metrics_status status = METRICS_MORE;

	*form = METRICS_PLAIN;
	do {
		size_t n = metrics_http_line(at, end, &next);

		if (!next)
			break;
		if (at == request)
			status = metrics_http_first(at, n);
		else if (!n)
			return status;
		else if (metrics_http_wants_open(at, n))
			*form = METRICS_OPEN;
		at = next;
	} while (at < end);
	/* a peer that does not speak HTTP is not waited for */
	if (status == METRICS_BAD)
		return status;
	return len >= METRICS_REQUEST ? METRICS_TOO_LONG : METRICS_MORE;
}

const char *metrics_http_says(enum metrics_status status)
{
	switch (status) {
	case METRICS_NO_PATH:
		return "Not Found";
	case METRICS_NO_METHOD:
		return "Method Not Allowed";
	case METRICS_TOO_LONG:
		return "Request Header Fields Too Large";
	case METRICS_NOT_YET:
		return "Service Unavailable";
	case METRICS_FINE:
		return "OK";
	case METRICS_BAD:
	case METRICS_MORE:
		break;
	}
	return "Bad Request";
}

void metrics_http_head(enum metrics_status status, enum metrics_form form,
		       size_t len, char (*out)[METRICS_HEAD])
{
	const char *type =
		status != METRICS_FINE ?
			"text/plain" :
		form == METRICS_OPEN ?
			"application/openmetrics-text; version=1.0.0; charset=utf-8" :
			"text/plain; version=0.0.4; charset=utf-8";

	snprintf(*out, sizeof(*out),
		 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		 "%s%sConnection: close\r\n\r\n",
		 status, metrics_http_says(status), type, len,
		 status == METRICS_NO_METHOD ? "Allow: GET\r\n" : "",
		 status == METRICS_NOT_YET ? "Retry-After: 1\r\n" : "");
}

static bool metrics_http_port(const char *text, uint16_t *out)
{
	size_t len = strspn(text, "0123456789");
	unsigned long port = strtoul(text, NULL, 10);

	*out = htons((uint16_t) port);
	return len && len <= 5 && !text[len] && port && port <= UINT16_MAX;
}

const char *metrics_http_address(const char *text, struct sockaddr_storage *out,
				 socklen_t *len)
{
	const char *colon = strrchr(text, ':');
	struct sockaddr_in6 *six = (struct sockaddr_in6 *) out;
	struct sockaddr_in *four = (struct sockaddr_in *) out;
	char host[INET6_ADDRSTRLEN + 3] = "127.0.0.1";
	uint16_t port;
	size_t n;

	memset(out, 0, sizeof(*out));
	if (colon) {
		n = (size_t) (colon - text);
		if (n >= sizeof(host))
			return "it is no address";
		memcpy(host, text, n);
		host[n] = '\0';
	}
	if (!metrics_http_port(colon ? colon + 1 : text, &port))
		return "a port is 1 to 65535";
	n = strlen(host);
	if (host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		six->sin6_family = AF_INET6;
		six->sin6_port = port;
		*len = sizeof(*six);
		if (inet_pton(AF_INET6, host + 1, &six->sin6_addr) != 1)
			return "it is no address";
		return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ?
			       NULL :
			       "only [::1] is loopback";
	}
	four->sin_family = AF_INET;
	four->sin_port = port;
	*len = sizeof(*four);
	if (inet_pton(AF_INET, host, &four->sin_addr) != 1)
		return "it is no address";
	return ntohl(four->sin_addr.s_addr) >> 24 == LOOPBACK_NET ?
		       NULL :
		       "only 127.0.0.0/8 is loopback";
}
