/* See csv_priv.h. */
#include "web/csv_priv.h"

#include <string.h>

void csv_put(struct buf *b, const char *s)
{
	bool formula = s && *s && strchr("=+-@\t\r", *s);

	if (!s)
		return;
	if (!formula && !s[strcspn(s, ",\"\r\n")]) {
		buf_put(b, s, strlen(s));
		return;
	}
	buf_put_u8(b, '"');
	if (formula)
		buf_put_u8(b, '\'');
	for (; *s; s++) {
		if (*s == '"')
			buf_put_u8(b, '"');
		buf_put_u8(b, (uint8_t)*s);
	}
	buf_put_u8(b, '"');
}
