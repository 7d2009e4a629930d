/* The checks of hermit doctor: each tries one facility of this machine and describes what it found. */
#ifndef CLI_PROBE_H
#define CLI_PROBE_H

#include <stdbool.h>

struct probe_env {
	const char *data_dir; /* --data-dir or NULL */
};

struct probe_result {
	bool ok;
	char text[512]; /* what was found, or why not */
};

void probe_kernel(const struct probe_env *env, struct probe_result *ret);
/* Seizes a child, stops it, reads its registers. */
void probe_ptrace(const struct probe_env *env, struct probe_result *ret);
void probe_yama(const struct probe_env *env, struct probe_result *ret);
/* A child sets a filter without privileges; its system call has to stop for us. */
void probe_seccomp(const struct probe_env *env, struct probe_result *ret);
/* Writes to a read-only page of a child through /proc/PID/mem. */
void probe_memory(const struct probe_env *env, struct probe_result *ret);
/* The store's directory can be made or written; free space. */
void probe_store(const struct probe_env *env, struct probe_result *ret);
/* rdtsc must fault after prctl(PR_SET_TSC). */
void probe_tsc(const struct probe_env *env, struct probe_result *ret);
/* cpuid must fault after arch_prctl(ARCH_SET_CPUID, 0). */
void probe_cpuid(const struct probe_env *env, struct probe_result *ret);
/* PAGEMAP_SCAN ioctl, and userfaultfd with asynchronous write protection. */
void probe_pagemap(const struct probe_env *env, struct probe_result *ret);
void probe_kcmp(const struct probe_env *env, struct probe_result *ret);
/* Counts branches of a known loop. */
void probe_pmu(const struct probe_env *env, struct probe_result *ret);
void probe_userns(const struct probe_env *env, struct probe_result *ret);
void probe_cpus(const struct probe_env *env, struct probe_result *ret);
/* Model and x86-64 level; always ok. */
void probe_cpu_level(const struct probe_env *env, struct probe_result *ret);

#endif
