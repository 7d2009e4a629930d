/* base/crc32c: known values (RFC 3720 appendix B.4), both implementations, chaining. */
#include "base/crc32c.h"

#include <string.h>
#include "tests/unit/test.h"

START_TEST(known_values)
{
	uint8_t b[32];

	ck_assert_uint_eq(crc32c(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(crc32c(0, "", 0), 0);
	memset(b, 0, sizeof(b));
	ck_assert_uint_eq(crc32c(0, b, sizeof(b)), 0x8a9136aa);
	memset(b, 0xff, sizeof(b));
	ck_assert_uint_eq(crc32c(0, b, sizeof(b)), 0x62a8ab43);
	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)i;
	ck_assert_uint_eq(crc32c(0, b, sizeof(b)), 0x46dd794e);
}
END_TEST

START_TEST(implementations_agree)
{
	uint8_t b[100];

	for (size_t i = 0; i < sizeof(b); i++)
		b[i] = (uint8_t)(i * 151 + 7);
	for (size_t from = 0; from < 9; from++) {
		for (size_t n = 0; n + from < sizeof(b); n++) {
			uint32_t whole = crc32c(0, b + from, n);

			ck_assert_uint_eq(whole, crc32c_portable(0, b + from, n));
			ck_assert_uint_eq(whole, crc32c(crc32c(0, b + from, n / 3), b + from + n / 3, n - n / 3));
		}
	}
}
END_TEST

TEST_MAIN("crc32c", known_values, implementations_agree)
