/*
 * cheap_seal.c - seal.h for the harnesses with a domain around them: checksums
 * in place of HKDF, AES-GCM and SHA-256, which took a third of their time and
 * look at nothing that the fuzzer varies.  A datagram is refused as before if
 * the key, the incarnation, the sequence or the header differs from the
 * sealer's.  The rest of seal.c is the product's, and fuzz_seal has all of it.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later WITH Slurm OpenSSL exception
 */
#define storm_seal_create real_seal_create
#define storm_seal_destroy real_seal_destroy
#define storm_seal_seal real_seal_seal
#define storm_seal_open real_seal_open
#define storm_seal_open_data real_seal_open_data
#define storm_seal real_seal
#define storm_sha256 real_sha256
#include "src/libstorm/wire/seal.c"
#undef storm_seal_create
#undef storm_seal_destroy
#undef storm_seal_seal
#undef storm_seal_open
#undef storm_seal_open_data
#undef storm_seal
#undef storm_sha256

struct storm_seal {
	uint64_t key;
};

/* Declared in seal.h, which is included already, under the other names. */
struct storm_seal *storm_seal_create(const uint8_t key[STORM_KEY_LEN],
				     const uint8_t inc[STORM_INCARNATION_LEN],
				     uint64_t session, uint32_t sender,
				     enum storm_lane lane);
void storm_seal_destroy(struct storm_seal *s);
int storm_seal_seal(struct storm_seal *s, const uint8_t hdr[STORM_HEADER_LEN],
		    uint64_t sequence, const uint8_t *body, size_t len,
		    uint8_t *out);
int storm_seal_open(struct storm_seal *s, const uint8_t hdr[STORM_HEADER_LEN],
		    uint64_t sequence, const uint8_t *body, size_t len,
		    uint8_t *out);
uint8_t *storm_seal_open_data(struct storm_seal *s,
			      const uint8_t hdr[STORM_HEADER_LEN],
			      uint64_t sequence, const uint8_t *body,
			      size_t len,
			      uint8_t head[static STORM_DATA_HEADER_LEN],
			      storm_place_fn place, void *arg);
void storm_sha256(const void *buf, size_t len, uint8_t out[static 32]);

static uint64_t mix(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word) * 0x9e3779b97f4a7c15;
	return sum ^ sum >> 29;
}

static uint64_t mix_bytes(uint64_t sum, const uint8_t *p, size_t len)
{
	uint64_t word;

	sum = mix(sum, len);
	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		sum = mix(sum, word);
	}
	for (word = 0; len; len--)
		word = word << 8 | *p++;
	return mix(sum, word);
}

struct storm_seal *storm_seal_create(const uint8_t key[STORM_KEY_LEN],
				     const uint8_t inc[STORM_INCARNATION_LEN],
				     uint64_t session, uint32_t sender,
				     enum storm_lane lane)
{
	struct storm_seal *s = malloc(sizeof(*s));

	if (!s)
		return NULL;
	s->key = mix_bytes(lane, key, STORM_KEY_LEN);
	s->key = mix_bytes(s->key, inc, STORM_INCARNATION_LEN);
	s->key = mix(mix(s->key, session), sender);
	return s;
}

void storm_seal_destroy(struct storm_seal *s)
{
	free(s);
}

static void tag_of(const struct storm_seal *s, const uint8_t *hdr,
		   uint64_t sequence, const uint8_t *body, size_t len,
		   uint8_t tag[STORM_TAG_LEN])
{
	uint64_t sum[2];

	sum[0] = mix_bytes(mix(s->key, sequence), hdr, STORM_HEADER_LEN);
	sum[0] = mix_bytes(sum[0], body, len);
	sum[1] = mix(sum[0], s->key);
	memcpy(tag, sum, STORM_TAG_LEN);
}

int storm_seal_seal(struct storm_seal *s, const uint8_t hdr[STORM_HEADER_LEN],
		    uint64_t sequence, const uint8_t *body, size_t len,
		    uint8_t *out)
{
	memmove(out, body, len);
	tag_of(s, hdr, sequence, out, len, out + len);
	return STORM_OK;
}

int storm_seal_open(struct storm_seal *s, const uint8_t hdr[STORM_HEADER_LEN],
		    uint64_t sequence, const uint8_t *body, size_t len,
		    uint8_t *out)
{
	uint8_t tag[STORM_TAG_LEN];

	if (len < STORM_TAG_LEN)
		return STORM_EAUTH;
	len -= STORM_TAG_LEN;
	tag_of(s, hdr, sequence, body, len, tag);
	if (memcmp(tag, body + len, STORM_TAG_LEN)) {
		memset(out, 0xee, len); /* as promised: garbage */
		return STORM_EAUTH;
	}
	memmove(out, body, len);
	return STORM_OK;
}

uint8_t *storm_seal_open_data(struct storm_seal *s,
			      const uint8_t hdr[STORM_HEADER_LEN],
			      uint64_t sequence, const uint8_t *body,
			      size_t len,
			      uint8_t head[static STORM_DATA_HEADER_LEN],
			      storm_place_fn place, void *arg)
{
	uint8_t plain[STORM_DATAGRAM_MAX], *out;
	size_t rest = len - STORM_DATA_HEADER_LEN - STORM_TAG_LEN;
	int err;

	if (len < STORM_DATA_HEADER_LEN + STORM_TAG_LEN || len > sizeof(plain))
		abort();
	err = storm_seal_open(s, hdr, sequence, body, len, plain);
	memcpy(head, plain, STORM_DATA_HEADER_LEN);
	out = place(arg, head, rest);
	memcpy(out, plain + STORM_DATA_HEADER_LEN, rest);
	return err ? NULL : out;
}

void storm_sha256(const void *buf, size_t len, uint8_t out[static 32])
{
	uint64_t sum[4];

	sum[0] = mix_bytes(0, buf, len);
	for (int i = 1; i < 4; i++)
		sum[i] = mix(sum[i - 1], len);
	memcpy(out, sum, sizeof(sum));
}
