// Hamming distances of a group of queries to a block of trains, in vectors whose lanes are trains. Included once per
// target.
//
// With AVX-512's VPOPCNTD a lane is 32 bits of a train. Elsewhere it is a byte: popcount(q ^ t) of half a byte is a
// lookup in the table of q, 16 bytes that are the same for all trains, so that neither the exclusive or nor the mask
// of the usual method is left. Two lookups and two additions per byte; the halves of the trains' bytes and the
// queries' tables are laid out beforehand.
#if defined(GLINT_CPU_MATCH_HAMMING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef GLINT_CPU_MATCH_HAMMING_INL_H_
#undef GLINT_CPU_MATCH_HAMMING_INL_H_
#else
#define GLINT_CPU_MATCH_HAMMING_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "cpu/common/simd-inl.h"
#include "cpu/match/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace glint::cpu::HWY_NAMESPACE {

using V32 = hn::Vec<D32>;
constexpr int kGroup = 4;  // queries that share the loads of a block
constexpr int kLanes = static_cast<int>(HWY_LANES(int32_t));

// The train at `place` of the order, the last one again behind it.
inline const uint8_t* RowOf(const MatchJob& job, int place) {
  return job.train.row(job.train_number[std::min(place, job.train.count - 1)]);
}

#if HWY_TARGET == HWY_AVX3_DL

constexpr int kVectors = 1;  // of 32-bit lanes in a block
constexpr int kBlock = kVectors * kLanes;
inline size_t BlockBytes(int bytes) { return static_cast<size_t>(bytes) * kBlock; }
inline size_t PreparedBytes(int bytes) { return static_cast<size_t>(bytes); }

// Word w of train i is at (w * kBlock + i) * 4.
inline void PackBlock(const MatchJob& job, int block, uint8_t* out) {
  for (int i = 0; i < kBlock; ++i) {
    const uint8_t* row = RowOf(job, block * kBlock + i);
    for (int w = 0; w < job.train.bytes / 4; ++w) std::memcpy(out + (w * kBlock + i) * 4, row + w * 4, 4);
  }
}

inline void PrepareQuery(const uint8_t* row, int bytes, uint8_t* out) {
  std::memcpy(out, row, static_cast<size_t>(bytes));
}

// Distances in the bits from kKeyShift on. kBytes: of a descriptor, or 0 for any number.
template <int kBytes>
HWY_INLINE void Distances(const uint8_t* prepared, const uint8_t* block, int any_bytes, V32 (&out)[kGroup][kVectors]) {
  const int bytes = kBytes != 0 ? kBytes : any_bytes;
  const hn::RebindToUnsigned<D32> d;
  hn::Vec<decltype(d)> sum[kGroup];
  for (auto& s : sum) s = hn::Zero(d);
  for (int at = 0; at < bytes; at += 4) {
    const auto train = hn::Load(d, reinterpret_cast<const uint32_t*>(block + at * kBlock));
    for (int g = 0; g < kGroup; ++g) {
      uint32_t word;
      std::memcpy(&word, prepared + g * bytes + at, 4);
      sum[g] = hn::Add(sum[g], hn::PopulationCount(hn::Xor(train, hn::Set(d, word))));
    }
  }
  for (int g = 0; g < kGroup; ++g) out[g][0] = hn::BitCast(D32(), hn::ShiftLeft<kKeyShift>(sum[g]));
}

#else

constexpr int kVectors = 4;
constexpr int kBlock = kVectors * kLanes;
inline size_t BlockBytes(int bytes) { return static_cast<size_t>(bytes) * 2 * kBlock; }
inline size_t PreparedBytes(int bytes) { return static_cast<size_t>(bytes) * 32; }

// Byte p: a vector of lower halves, then one of upper halves. Lane 4 * i + v is train v * kLanes + i: a block's bytes
// become kVectors vectors of 32-bit lanes, and lane i of vector v is the train with that number.
inline void PackBlock(const MatchJob& job, int block, uint8_t* out) {
  for (int lane = 0; lane < kBlock; ++lane) {
    const int number = lane % kVectors * kLanes + lane / kVectors;
    const uint8_t* row = RowOf(job, block * kBlock + number);
    for (int p = 0; p < job.train.bytes; ++p) {
      out[p * 2 * kBlock + lane] = row[p] & 15;
      out[(p * 2 + 1) * kBlock + lane] = static_cast<uint8_t>(row[p] >> 4);
    }
  }
}

// Of each half byte, how many bits differ from each other half byte.
struct HalfByteTables {
  constexpr HalfByteTables() {
    for (int a = 0; a < 16; ++a) {
      for (int b = 0; b < 16; ++b) {
        int bits = 0;
        for (int rest = a ^ b; rest != 0; rest >>= 1) bits += rest & 1;
        differ[a][b] = static_cast<uint8_t>(bits);
      }
    }
  }
  alignas(16) uint8_t differ[16][16] = {};
};
constexpr HalfByteTables kHalfBytes;

inline void PrepareQuery(const uint8_t* row, int bytes, uint8_t* out) {
  for (int p = 0; p < bytes; ++p) {
    std::memcpy(out + p * 32, kHalfBytes.differ[row[p] & 15], 16);
    std::memcpy(out + p * 32 + 16, kHalfBytes.differ[row[p] >> 4], 16);
  }
}

template <int kBytes>
HWY_INLINE void Distances(const uint8_t* prepared, const uint8_t* block, int any_bytes, V32 (&out)[kGroup][kVectors]) {
  constexpr int kPiece = 16;  // bytes whose sum fits 8 bits
  const int bytes = kBytes != 0 ? kBytes : any_bytes;
  const D8 d8;
  const hn::Repartition<uint16_t, D8> d16;
  const auto low_bytes = hn::Set(d16, 0xff);
  hn::Vec<decltype(d16)> even[kGroup];
  hn::Vec<decltype(d16)> odd[kGroup];
  for (int g = 0; g < kGroup; ++g) even[g] = odd[g] = hn::Zero(d16);
  for (int piece = 0; piece < bytes; piece += kPiece) {
    V8 sum[kGroup];
    for (V8& s : sum) s = hn::Zero(d8);
    for (int p = piece; p < std::min(piece + kPiece, bytes); ++p) {
      const V8 low = hn::Load(d8, block + p * 2 * kBlock);
      const V8 high = hn::Load(d8, block + (p * 2 + 1) * kBlock);
      for (int g = 0; g < kGroup; ++g) {
        const uint8_t* tables = prepared + (g * bytes + p) * 32;
        sum[g] = hn::Add(sum[g], hn::Add(hn::TableLookupBytes(hn::LoadDup128(d8, tables), low),
                                         hn::TableLookupBytes(hn::LoadDup128(d8, tables + 16), high)));
      }
    }
    for (int g = 0; g < kGroup; ++g) {
      const auto pairs = hn::BitCast(d16, sum[g]);
      even[g] = hn::Add(even[g], hn::And(pairs, low_bytes));
      odd[g] = hn::Add(odd[g], hn::ShiftRight<8>(pairs));
    }
  }
  const D32 d32;
  const V32 upper = hn::Set(d32, static_cast<int32_t>(0xffff0000u));
  for (int g = 0; g < kGroup; ++g) {
    const V32 e = hn::BitCast(d32, even[g]);
    const V32 o = hn::BitCast(d32, odd[g]);
    out[g][0] = hn::ShiftLeft<kKeyShift>(e);
    out[g][1] = hn::ShiftLeft<kKeyShift>(o);
    out[g][2] = hn::ShiftLeft<kKeyShift - 16>(hn::And(e, upper));
    out[g][3] = hn::ShiftLeft<kKeyShift - 16>(hn::And(o, upper));
  }
}

#endif

}  // namespace glint::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
