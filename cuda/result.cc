#include "cuda/result.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__ARM_NEON)
#include <arm_neon.h>
#endif

#include <algorithm>
#include <cstring>

namespace glint::cuda {
namespace {

constexpr size_t kVector = 4;

// Where corners go, and how: see ReadResult().
struct CornerOutput {
  float *x, *y, *response, *angle;
  float scale, response_scale;
  bool integer_keys;
};

void ReadOne(const RankedCorner& from, const CornerOutput& to, size_t i) {
  to.x[i] = static_cast<float>(XOf(from.position)) * to.scale;
  to.y[i] = static_cast<float>(YOf(from.position)) * to.scale;
  if (to.integer_keys) {
    to.response[i] = static_cast<float>(static_cast<int32_t>(from.key));
  } else {
    const uint32_t bits = FromOrderedKey(from.key);
    std::memcpy(&to.response[i], &bits, sizeof(bits));
    to.response[i] *= to.response_scale;
  }
  to.angle[i] = from.angle;
}

// Corners i..i+3 of `from`. They are in no cache: the fewer instructions a corner takes, the more of them a processor
// waits for at once. What compilers make of loops took 12.7 us for 2000 corners where this takes 4.5.
#if defined(__SSE2__)
void ReadVector(const RankedCorner* from, const CornerOutput& to, size_t i) {
  const auto* records = reinterpret_cast<const __m128i*>(from + i);
  const __m128i a = _mm_load_si128(records), b = _mm_load_si128(records + 1);
  const __m128i c = _mm_load_si128(records + 2), d = _mm_load_si128(records + 3);
  const __m128i ab = _mm_unpacklo_epi32(a, b), cd = _mm_unpacklo_epi32(c, d);
  const __m128i position = _mm_unpacklo_epi64(ab, cd);
  __m128i key = _mm_unpackhi_epi64(ab, cd);
  const __m128i angle = _mm_unpacklo_epi64(_mm_unpackhi_epi32(a, b), _mm_unpackhi_epi32(c, d));
  const __m128i mask = _mm_set1_epi32(0x3fff);
  const __m128 scale = _mm_set1_ps(to.scale);
  _mm_storeu_ps(to.x + i, _mm_mul_ps(_mm_cvtepi32_ps(_mm_and_si128(position, mask)), scale));
  _mm_storeu_ps(to.y + i, _mm_mul_ps(_mm_cvtepi32_ps(_mm_and_si128(_mm_srli_epi32(position, 14), mask)), scale));
  __m128 response;
  if (to.integer_keys) {
    response = _mm_cvtepi32_ps(key);
  } else {
    // FromOrderedKey(): all bits change, but the sign's alone where that is set.
    const __m128i negative = _mm_and_si128(_mm_srai_epi32(key, 31), _mm_set1_epi32(0x7fffffff));
    key = _mm_xor_si128(key, _mm_xor_si128(negative, _mm_set1_epi32(-1)));
    response = _mm_mul_ps(_mm_castsi128_ps(key), _mm_set1_ps(to.response_scale));
  }
  _mm_storeu_ps(to.response + i, response);
  _mm_storeu_ps(to.angle + i, _mm_castsi128_ps(angle));
}
#elif defined(__ARM_NEON)
void ReadVector(const RankedCorner* from, const CornerOutput& to, size_t i) {
  const uint32x4x4_t records = vld4q_u32(reinterpret_cast<const uint32_t*>(from + i));
  const uint32x4_t mask = vdupq_n_u32(0x3fff);
  const uint32x4_t y = vandq_u32(vshrq_n_u32(records.val[0], 14), mask);
  vst1q_f32(to.x + i, vmulq_n_f32(vcvtq_f32_u32(vandq_u32(records.val[0], mask)), to.scale));
  vst1q_f32(to.y + i, vmulq_n_f32(vcvtq_f32_u32(y), to.scale));
  const uint32x4_t key = records.val[1];
  if (to.integer_keys) {
    vst1q_f32(to.response + i, vcvtq_f32_s32(vreinterpretq_s32_u32(key)));
  } else {
    // FromOrderedKey(): all bits change, but the sign's alone where that is set.
    const int32x4_t sign = vshrq_n_s32(vreinterpretq_s32_u32(key), 31);
    const uint32x4_t kept = vandq_u32(vreinterpretq_u32_s32(sign), vdupq_n_u32(0x7fffffff));
    const uint32x4_t bits = veorq_u32(key, vmvnq_u32(kept));
    vst1q_f32(to.response + i, vmulq_n_f32(vreinterpretq_f32_u32(bits), to.response_scale));
  }
  vst1q_f32(to.angle + i, vreinterpretq_f32_u32(records.val[2]));
}
#else
void ReadVector(const RankedCorner* from, const CornerOutput& to, size_t i) {
  for (size_t k = i; k < i + kVector; ++k) ReadOne(from[k], to, k);
}
#endif

// Calls do_level(level's index, of which keypoint its first becomes, how many) for levels that have any.
template <typename DoLevel>
void ForEachLevel(const LevelCounts& counts, int levels, size_t room, DoLevel do_level) {
  size_t out = 0;
  for (int l = 0; l < levels; ++l) {
    const size_t count = std::min<size_t>(counts.kept[l], room - out);
    if (count > 0) do_level(l, out, count);
    out += count;
  }
}

}  // namespace

LevelCounts CountsOf(const Frame& frame) {
  LevelCounts counts;
  std::copy_n(frame.result->kept, frame.levels, counts.kept);
  return counts;
}

void FillByLevel(const Frame& frame, const DetectorOptions& detector, const LevelCounts& counts, Features* features) {
  size_t found = 0;
  for (int l = 0; l < frame.levels; ++l) found += counts.kept[l];
  const auto capacity = static_cast<size_t>(OutputCapacity(detector));
  features->Resize(std::min(found, capacity), detector.descriptor != Descriptor::kNone ? kRbriefBytes : 0);
  features->truncated = found > capacity;
  ForEachLevel(counts, frame.levels, features->count(), [&](int l, size_t out, size_t count) {
    std::fill_n(features->size.begin() + out, count, KeypointSize(detector, frame.level[l].scale));
    std::fill_n(features->octave.begin() + out, count, l);
  });
}

LevelCounts ReadResult(const Frame& frame, const DetectorOptions& detector, bool integer_keys, float response_scale,
                       const LevelCounts& filled, Features* features) {
  const LevelCounts counts = CountsOf(frame);
  if (!(counts == filled)) FillByLevel(frame, detector, counts, features);
  ForEachLevel(counts, frame.levels, features->count(), [&](int l, size_t out, size_t count) {
    const Level& level = frame.level[l];
    const CornerOutput to = {&features->x[out],     &features->y[out], &features->response[out],
                             &features->angle[out], level.scale,       response_scale,
                             integer_keys};
    size_t i = 0;
    for (; i + kVector <= count; i += kVector) ReadVector(level.result, to, i);
    for (; i < count; ++i) ReadOne(level.result[i], to, i);
    if (features->descriptor_bytes > 0 && level.descriptors != nullptr) {
      std::memcpy(features->descriptors.data() + out * kRbriefBytes, level.descriptors, count * kRbriefBytes);
    }
  });
  return counts;
}

}  // namespace glint::cuda
