/* SHA-256 as hexadecimal text, over nettle. */
#ifndef STORE_SHA_PRIV_H
#define STORE_SHA_PRIV_H

#include <nettle/sha2.h>
#include "store/event.h"

/* Ends the digest (and starts the next). */
static inline void sha_hex(struct sha256_ctx *ctx, char ret[65])
{
	static const char digits[] = "0123456789abcdef";
	uint8_t d[SHA256_DIGEST_SIZE];

	sha256_digest(ctx, sizeof(d), d);
	for (size_t i = 0; i < sizeof(d); i++) {
		ret[2 * i] = digits[d[i] >> 4];
		ret[2 * i + 1] = digits[d[i] & 15];
	}
	ret[64] = '\0';
}

#endif
