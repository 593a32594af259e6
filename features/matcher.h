// Matching binary descriptors by Hamming distance: what goes in, what comes out, and the rules that every backend
// follows. The result equals cv::BFMatcher(NORM_HAMMING) of OpenCV 4.6 (match, knnMatch, crossCheck; indices and
// distances); tests/conformance shows it. Plain values and pure functions: thread-safe.
//
// The rules, for each query descriptor on its own but for cross check and rotation histogram:
//   1. A pair of query and train descriptor is allowed if it meets every condition given in MatchInput (IsAllowed).
//   2. Candidates are the allowed pairs of a query in the order of distance, then train index: ties go to the lower
//      index. The first k are its matches; a query with fewer candidates has fewer matches.
//   3. max_distance: matches at a greater distance are dropped.
//   4. ratio: all matches of a query are dropped unless its first candidate passes PassesRatio beside the second (both
//      before rule 3). A query with one candidate passes.
//   5. cross_check: a query's match is dropped unless the query is the first candidate of its train descriptor, among
//      the allowed pairs of that train descriptor in the order of distance, then query index (before rules 3 and 4).
//      This is cv::BFMatcher's crossCheck, ties included.
//   6. rotation_histogram: of the matches that are left, those whose RotationBin is not in KeptRotationBins are
//      dropped.
//
// Where cv::BFMatcher fails, this contract answers or refuses: an empty set, with cross check or without, has no
// matches; k above the train set gives what there is (as knnMatch does); k above 1 with cross check is refused.
#ifndef GLINT_FEATURES_MATCHER_H_
#define GLINT_FEATURES_MATCHER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "features/match_limits.h"
#include "features/math.h"

namespace glint {

// Borrowed descriptors, one after another: descriptor i is bytes [i * bytes, (i + 1) * bytes). No alignment is needed,
// and nothing is read past the last one. `data` may be null if count is 0.
struct DescriptorView {
  const uint8_t* data = nullptr;
  int count = 0;  // 0..kMaxMatchDescriptors
  int bytes = 0;  // of one descriptor: a multiple of kDescriptorUnit, up to kMaxDescriptorBytes

  const uint8_t* row(int i) const { return data + static_cast<ptrdiff_t>(i) * bytes; }
};

// What is asked of a query's partner: arrays of query.count values, or null for no such condition. The train set's
// arrays that a condition needs must then be there.
struct QueryConditions {
  // Predicted position in the train image and half the side of a square window around it, pixels; all three or none. A
  // partner has |dx| < radius and |dy| < radius, the window of the ORB trackers. Within +-kMaxMatchCoordinate;
  // radius >= 0, and nothing lies in a window of radius 0.
  const float* x = nullptr;
  const float* y = nullptr;
  const float* radius = nullptr;
  // The partner's octave, both ends included; both or none. A range may be empty.
  const int32_t* min_octave = nullptr;
  const int32_t* max_octave = nullptr;
  // The query's own angle, degrees in [0, 360), for max_angle_difference and rotation_histogram.
  const float* angle = nullptr;
};

// What the conditions are asked of: arrays of train.count values, with the meaning of those of Features, or null.
struct TrainKeypoints {
  const float* x = nullptr;  // within +-kMaxMatchCoordinate
  const float* y = nullptr;  // likewise
  const int32_t* octave = nullptr;
  const float* angle = nullptr;  // degrees in [0, 360)
};

struct MatchInput {
  DescriptorView query;
  DescriptorView train;  // of the same number of bytes, unless one of the sets is empty
  QueryConditions conditions;
  TrainKeypoints keypoints;
};

struct MatchOptions {
  int k = 1;                                   // kMinMatchK..kMaxMatchK matches of each query
  bool cross_check = false;                    // needs k == 1
  float ratio = 0;                             // 0..1; 0: no such test
  int max_distance = 8 * kMaxDescriptorBytes;  // 0..8 * kMaxDescriptorBytes, bits
  float max_angle_difference = 180;            // 0..180 degrees; 180: no such condition
  bool rotation_histogram = false;             // needs k == 1
};

inline constexpr int32_t kNoMatch = -1;

// Matches as a structure of arrays: entries [q * k, (q + 1) * k) belong to query q, best first. Entries without a match
// come last and are kNoMatch in both arrays.
struct MatchResult {
  int queries = 0;
  int k = 0;
  std::vector<int32_t> index;     // of the train descriptor
  std::vector<int32_t> distance;  // bits that differ

  // Makes all entries kNoMatch; allocates only beyond the largest result so far.
  void Reset(int query_count, int entries_each) {
    queries = query_count;
    k = entries_each;
    const size_t count = static_cast<size_t>(query_count) * static_cast<size_t>(entries_each);
    index.assign(count, kNoMatch);
    distance.assign(count, kNoMatch);
  }
};

// OK, or INVALID_ARGUMENT that names the first bad field, its value and its range.
absl::Status ValidateMatchOptions(const MatchOptions& options);
// The same of sets and conditions; reads all arrays of conditions once. Backends take what passed both.
absl::Status ValidateMatchInput(const MatchInput& input, const MatchOptions& options);

// Rule 6, for matches with k == 1 that the other rules have left.
void KeepUsualRotations(const MatchInput& input, MatchResult* matches);

// ---- arithmetic of the rules

// Rule 4. Lowe's test, strict; a product of floats.
GLINT_HD inline bool PassesRatio(int best, int second, float ratio) {
  return static_cast<float>(best) < ratio * static_cast<float>(second);
}

// The smaller angle between two directions, 0..180 degrees; arguments in [0, 360).
GLINT_HD inline float AngleDifference(float a, float b) {
  const float difference = a < b ? b - a : a - b;
  return difference > 180.0f ? 360.0f - difference : difference;
}

GLINT_HD inline bool IsInWindow(float dx, float dy, float radius) {
  return (dx < 0 ? -dx : dx) < radius && (dy < 0 ? -dy : dy) < radius;
}

// The histogram of the ORB trackers (ORB-SLAM2 and 3, OpenVSLAM) has 30 bins, and they find the bin by dividing by the
// number of bins: bins are 30 degrees wide and centred at multiples of 30, 0..12 are used, and rotations around 0 are
// split between bin 0 (0 to 15) and bin 12 (345 to 360). Equal to them, halves away from zero.
inline constexpr int kRotationBins = 30;
GLINT_HD inline int RotationBin(float query_angle, float train_angle) {
  float rotation = query_angle - train_angle;
  if (rotation < 0.0f) rotation += 360.0f;
  const float bins = rotation * (1.0f / kRotationBins);
  const int bin = static_cast<int>(bins);
  return bins - static_cast<float>(bin) >= 0.5f ? bin + 1 : bin;
}

// Bit b: bin b is kept. The three fullest bins are, the lower first among equals and empty ones never; but the second
// and third only if the second has at least a tenth of the first, and the third only if it, too, has (in floats:
// count >= 0.1f * fullest). The rule of the ORB trackers.
GLINT_HD inline uint32_t KeptRotationBins(const int32_t count[kRotationBins]) {
  int bin[3] = {-1, -1, -1};
  int32_t most[3] = {0, 0, 0};
  for (int b = 0; b < kRotationBins; ++b) {
    int place = 3;
    while (place > 0 && count[b] > most[place - 1]) --place;
    if (place == 3) continue;
    for (int i = 2; i > place; --i) {
      bin[i] = bin[i - 1];
      most[i] = most[i - 1];
    }
    bin[place] = b;
    most[place] = count[b];
  }
  const float tenth = 0.1f * static_cast<float>(most[0]);
  uint32_t kept = 0;
  for (int i = 0; i < 3; ++i) {
    if (bin[i] < 0 || static_cast<float>(most[i]) < tenth) break;
    kept |= uint32_t{1} << bin[i];
  }
  return kept;
}

// Rule 1 for query q and train descriptor t.
GLINT_HD inline bool IsAllowed(const QueryConditions& c, const TrainKeypoints& t, const MatchOptions& options, int q,
                               int i) {
  if (c.x != nullptr && !IsInWindow(t.x[i] - c.x[q], t.y[i] - c.y[q], c.radius[q])) return false;
  if (c.min_octave != nullptr && (t.octave[i] < c.min_octave[q] || t.octave[i] > c.max_octave[q])) return false;
  return options.max_angle_difference >= 180.0f ||
         AngleDifference(c.angle[q], t.angle[i]) <= options.max_angle_difference;
}

}  // namespace glint

#endif  // GLINT_FEATURES_MATCHER_H_
