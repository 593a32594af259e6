#include "features/reference/matcher.h"

#include <algorithm>

namespace glint::reference {
namespace {

struct Candidate {
  int distance = 0;
  int index = 0;
};

// The candidates of query q, best first; at most `most` of them.
std::vector<Candidate> CandidatesOf(const MatchInput& input, const MatchOptions& options, int q, size_t most) {
  std::vector<Candidate> best;
  for (int t = 0; t < input.train.count; ++t) {
    if (!IsAllowed(input.conditions, input.keypoints, options, q, t)) continue;
    const Candidate candidate{HammingDistance(input.query, q, input.train, t), t};
    // Behind equal distances: train indices ascend.
    const auto place = std::upper_bound(best.begin(), best.end(), candidate,
                                        [](const Candidate& a, const Candidate& b) { return a.distance < b.distance; });
    best.insert(place, candidate);
    if (best.size() > most) best.pop_back();
  }
  return best;
}

// The best candidate of train descriptor t; there is one.
int FirstQueryOf(const MatchInput& input, const MatchOptions& options, int t) {
  Candidate best{8 * kMaxDescriptorBytes + 1, kNoMatch};
  for (int q = 0; q < input.query.count; ++q) {
    if (!IsAllowed(input.conditions, input.keypoints, options, q, t)) continue;
    const int distance = HammingDistance(input.query, q, input.train, t);
    if (distance < best.distance) best = {distance, q};
  }
  return best.index;
}

}  // namespace

int HammingDistance(const DescriptorView& a, int i, const DescriptorView& b, int j) {
  int distance = 0;
  for (int byte = 0; byte < a.bytes; ++byte) {
    for (int bits = a.row(i)[byte] ^ b.row(j)[byte]; bits != 0; bits &= bits - 1) ++distance;
  }
  return distance;
}

MatchResult Match(const MatchInput& input, const MatchOptions& options) {
  MatchResult result;
  result.Reset(input.query.count, options.k);
  const size_t k = static_cast<size_t>(options.k);
  std::vector<int> first_query(static_cast<size_t>(input.train.count), kNoMatch);  // as far as asked for
  for (int q = 0; q < input.query.count; ++q) {
    const std::vector<Candidate> best = CandidatesOf(input, options, q, std::max<size_t>(k, 2));
    if (best.empty()) continue;
    if (options.ratio > 0 && best.size() > 1 && !PassesRatio(best[0].distance, best[1].distance, options.ratio)) {
      continue;
    }
    if (options.cross_check) {
      int& first = first_query[static_cast<size_t>(best[0].index)];
      if (first == kNoMatch) first = FirstQueryOf(input, options, best[0].index);
      if (first != q) continue;
    }
    for (size_t i = 0; i < std::min(k, best.size()) && best[i].distance <= options.max_distance; ++i) {
      result.index[static_cast<size_t>(q) * k + i] = best[i].index;
      result.distance[static_cast<size_t>(q) * k + i] = best[i].distance;
    }
  }
  if (options.rotation_histogram) KeepUsualRotations(input, &result);
  return result;
}

}  // namespace glint::reference
