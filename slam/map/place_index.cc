#include "slam/map/place_index.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace glint::slam {
namespace {

constexpr int kMostBits = 50;  // of 256 that two observations of a point differ in; in proportion for other lengths
// A word of more than this many descriptors, or this share of all, is skipped.
constexpr size_t kCommon = 256;
constexpr size_t kCommonShare = 128;
constexpr int kLeastVotes = 8;

size_t WordOf(const uint8_t* descriptor, size_t table) {
  return static_cast<size_t>(descriptor[2 * table]) | static_cast<size_t>(descriptor[2 * table + 1]) << 8;
}

}  // namespace

int HammingDistance(const uint8_t* a, const uint8_t* b, int bytes) {
  int bits = 0;
  for (int i = 0; i < bytes; i += 4) {
    uint32_t x = 0;
    uint32_t y = 0;
    std::memcpy(&x, a + i, 4);
    std::memcpy(&y, b + i, 4);
    bits += __builtin_popcount(x ^ y);
  }
  return bits;
}

void PlaceIndex::Add(int64_t keyframe, const KeyframeFeatures& features) {
  if (features.strongest.empty()) return;
  bytes_ = features.descriptor_bytes;
  const auto owner = static_cast<uint32_t>(keyframes_.size());
  keyframes_.push_back(keyframe);
  for (const int32_t k : features.strongest) AddEntry(owner, features.descriptor(static_cast<size_t>(k)));
}

void PlaceIndex::AddEntry(uint32_t owner, const uint8_t* descriptor) {
  const auto bytes = static_cast<size_t>(bytes_);
  const size_t tables = bytes / 2;
  head_.resize(tables * kWords, -1);
  frequency_.resize(tables * kWords, 0);
  const auto entry = static_cast<int32_t>(owner_.size());
  owner_.push_back(owner);
  descriptors_.insert(descriptors_.end(), descriptor, descriptor + bytes);
  for (size_t t = 0; t < tables; ++t) {
    const size_t word = t * kWords + WordOf(descriptor, t);
    next_.push_back(head_[word]);
    head_[word] = entry;
    ++frequency_[word];
  }
}

void PlaceIndex::Retain(const std::function<bool(int64_t keyframe)>& is_kept) {
  size_t forgotten = 0;
  for (int64_t& k : keyframes_) {
    if (k != kForgotten && !is_kept(k)) k = kForgotten;
    forgotten += k == kForgotten ? 1 : 0;
  }
  if (forgotten == 0 || 8 * forgotten < keyframes_.size()) return;
  PlaceIndex kept;
  kept.bytes_ = bytes_;
  std::vector<uint32_t> owner(keyframes_.size());
  for (size_t k = 0; k < keyframes_.size(); ++k) {
    owner[k] = static_cast<uint32_t>(kept.keyframes_.size());
    if (keyframes_[k] != kForgotten) kept.keyframes_.push_back(keyframes_[k]);
  }
  for (size_t e = 0; e < owner_.size(); ++e) {
    if (keyframes_[owner_[e]] == kForgotten) continue;
    kept.AddEntry(owner[owner_[e]], descriptors_.data() + e * static_cast<size_t>(bytes_));
  }
  *this = std::move(kept);
}

std::vector<PlaceIndex::Candidate> PlaceIndex::Query(const KeyframeFeatures& features, int64_t last, size_t count) {
  std::vector<Candidate> candidates;
  if (keyframes_.empty() || features.descriptor_bytes != bytes_) return candidates;
  const auto bytes = static_cast<size_t>(bytes_);
  const size_t tables = bytes / 2;
  const size_t common = std::max(kCommon, owner_.size() / kCommonShare);
  const int most_bits = kMostBits * bytes_ / 32;
  votes_.assign(keyframes_.size(), 0);
  voter_.assign(keyframes_.size(), -1);
  for (size_t q = 0; q < features.strongest.size(); ++q) {
    const uint8_t* descriptor = features.descriptor(static_cast<size_t>(features.strongest[q]));
    for (size_t t = 0; t < tables; ++t) {
      const size_t word = t * kWords + WordOf(descriptor, t);
      if (frequency_[word] > common) continue;
      for (int32_t e = head_[word]; e >= 0; e = next_[static_cast<size_t>(e) * tables + t]) {
        const size_t owner = owner_[static_cast<size_t>(e)];
        if (voter_[owner] == static_cast<int32_t>(q) || keyframes_[owner] > last || keyframes_[owner] == kForgotten ||
            HammingDistance(descriptor, descriptors_.data() + static_cast<size_t>(e) * bytes, bytes_) > most_bits) {
          continue;
        }
        voter_[owner] = static_cast<int32_t>(q);
        ++votes_[owner];
      }
    }
  }
  for (size_t k = 0; k < keyframes_.size(); ++k) {
    if (votes_[k] >= kLeastVotes) candidates.push_back({keyframes_[k], votes_[k]});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.votes != b.votes ? a.votes > b.votes : a.keyframe < b.keyframe;
  });
  candidates.resize(std::min(candidates.size(), count));
  return candidates;
}

size_t PlaceIndex::MemoryBytes() const {
  return keyframes_.capacity() * sizeof(int64_t) + owner_.capacity() * sizeof(uint32_t) + descriptors_.capacity() +
         next_.capacity() * sizeof(int32_t) + head_.capacity() * sizeof(int32_t) +
         frequency_.capacity() * sizeof(uint32_t) + (votes_.capacity() + voter_.capacity()) * sizeof(int32_t);
}

}  // namespace glint::slam
