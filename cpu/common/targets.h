// Which of Highway's targets are compiled, for every file that includes Highway. Must come before it.
#ifndef GLINT_CPU_COMMON_TARGETS_H_
#define GLINT_CPU_COMMON_TARGETS_H_

// Kernels keep arrays of vectors, which the scalable types of SVE do not allow; NEON serves AArch64.
#define GLINT_CPU_SCALABLE_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#ifdef GLINT_CPU_FEW_TARGETS
#define HWY_DISABLED_TARGETS (GLINT_CPU_SCALABLE_TARGETS | HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL)
#else
#define HWY_DISABLED_TARGETS GLINT_CPU_SCALABLE_TARGETS
#endif
// AVX-512 with VBMI and its kin (Ice Lake, Zen 4 and later).
#define HWY_WANT_AVX3_DL
// Highway 1.0.3 gives up its portable target for GCC before 12.3, which miscompiles the multiplication of high halves
// (GCC bug 106322). No stage multiplies high halves, and the tests compare this target too.
#define HWY_BROKEN_EMU128 0

#endif  // GLINT_CPU_COMMON_TARGETS_H_
