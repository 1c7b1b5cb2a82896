// EMU_WIDE in front of a function that does the same for many lanes: it is compiled a second time, for processors whose
// vectors have 256 bits, and the loader chooses. Without a fused multiply-add, so both give the same bits.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11 && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define EMU_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define EMU_WIDE
#endif
