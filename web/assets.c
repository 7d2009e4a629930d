/* The files of the page (web/ui), built in: see tools/ui-embed. */
#include "web/server_priv.h"

int assets_reply(struct web_request *q UNUSED)
{
	return ERR_NOT_FOUND;
}

bool assets_have(struct web_request *q UNUSED)
{
	return false;
}
