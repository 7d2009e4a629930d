/* CRC-32C (Castagnoli), the checksum of journal frames. */
#ifndef BASE_CRC32C_H
#define BASE_CRC32C_H

#include "base/macros.h"

/* Checksum of n bytes at p, continuing crc (0 to begin): crc32c(crc32c(0, a, n), b, m) is that of a and b joined.
 * crc32c(0, "123456789", 9) is 0xe3069283. Thread-safe. */
uint32_t crc32c(uint32_t crc, const void *p, size_t n);
/* The same without SSE4.2; for tests. */
uint32_t crc32c_portable(uint32_t crc, const void *p, size_t n);

#endif
