/* Seals a recording in the background after it was made. */
#ifndef CLI_SEALER_H
#define CLI_SEALER_H

#include "store/store.h"

/* Starts `hermit record seal` for it as a process of its own: new session, no terminal, no descriptor of ours, lowest priority.
 * It is nobody's child to wait for. A failure to start is only logged: the recording is complete and can be sealed later. */
void sealer_start(struct store *s, const struct store_id *id);

#endif
