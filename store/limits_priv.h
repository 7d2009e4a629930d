/* Limits on everything that a stranger's recording can ask us to allocate or to loop over. */
#ifndef STORE_LIMITS_PRIV_H
#define STORE_LIMITS_PRIV_H

/* Longest encoding of one event; the largest payload of a frame (an event never spans frames). */
#define EVENT_BYTES_MAX (64u << 20)
#define FRAME_RAW_MAX EVENT_BYTES_MAX
/* Payload after which the writer closes a frame, and the largest payload of a data frame. */
#define FRAME_TARGET (256u << 10)
#define DATA_FRAME_MAX (1u << 20)
/* Effect data up to this size sit inside the event. 256 keeps REGS effects (216 bytes) there: they are always needed. */
#define INLINE_MAX 256u
/* A frame is written at the latest when its first event is this old (guest time), so that a killed recorder loses little. */
#define FLUSH_AGE_NS 200000000u
/* Frames of one stream that a reader keeps in its table (24 bytes each): 16 Mi frames are 4 TiB of full frames. */
#define FRAMES_MAX (16u << 20)
/* Largest XSAVE area in an effect. */
#define XSTATE_MAX (64u << 10)
/* Text (paths, notes) and argv in an event. */
#define TEXT_MAX (1u << 20)
#define ARGV_MAX (8u << 20)

/* Compression: raw bytes gathered in one .xz block before it is closed (a frame never spans blocks), and what a reader
 * accepts for a block, for a decoder's memory and for the memory of a stream's block index. Whoever looks at one event pays for a block of each stream:
 * one full frame of events, two of data. Against blocks of 1 MiB that makes sealed recordings 4-8 % larger (docs/BENCHMARKS.md). */
#define XZ_BLOCK_EVENTS FRAME_TARGET
#define XZ_BLOCK_DATA (FRAME_TARGET * 5 / 2)
#define XZ_BLOCK_RAW_MAX (FRAME_RAW_MAX + (2u << 20))
#define XZ_DECODER_MEM_MAX (160u << 20)
#define XZ_INDEX_MEM_MAX (64u << 20)
/* Decoded blocks that are kept for all readers: how many at most, and how many of the largest that is kept there must be room for in memory. */
#define BLOCKS_MAX 4096u
#define BLOCKS_KEPT_MIN 8u

/* manifest.json */
#define MANIFEST_BYTES_MAX (64u << 20)
#define MANIFEST_STRINGS_MAX (1u << 18)
#define MANIFEST_PROCESSES_MAX (1u << 20)
#define MANIFEST_BLOBS_MAX (1u << 20)
/* Labels that people give, and the files with annotations beside a manifest. */
#define LABEL_BYTES_MAX 100
#define ANNOTATION_BYTES_MAX (64u << 10)

/* The blob cache is rewritten when it is larger than this; lines are short. */
#define CACHE_BYTES_MAX (8u << 20)
/* Recordings in a store that a listing gives. */
#define RECORDINGS_MAX (1u << 20)

/* Import: members, and bytes of one member (4 PiB). */
#define TAR_MEMBERS_MAX (MANIFEST_BLOBS_MAX + 16u)
#define TAR_MEMBER_MAX (UINT64_C(1) << 52)
#define TAR_PAX_MAX (64u << 10)

#endif
