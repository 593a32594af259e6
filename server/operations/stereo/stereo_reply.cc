#include "server/operations/stereo/stereo_reply.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "glint/v1/matching.pb.h"
#include "server/wire/envelope_reply.h"
#include "server/wire/reply_writer.h"
#include "server/wire/stereo_rig.h"

namespace glint {
namespace {

using reply::BytesFieldSize;
using reply::FeaturesWriter;
using reply::MessageSize;
using reply::PackedVarints;
using reply::SerializeAnswer;
using reply::VarintFieldSize;
using reply::WriteMessage;
using reply::Writer;

static_assert(kHasEnvelope<v1::StereoStreamResponse>);

// Packed field of the values of left keypoints that have a match.
class MatchedFloats {
 public:
  MatchedFloats(uint32_t field, const StereoResult& result, const std::vector<float>& values)
      : field_(field), result_(result), values_(values) {}
  size_t size() const { return BytesFieldSize(Bytes()); }
  void Write(Writer* out) const {
    if (result_.matches == 0) return;
    out->Tag(field_, WireType::kBytes);
    out->Varint(Bytes());
    for (size_t i = 0; i < values_.size(); ++i) {
      if (result_.right_index[i] != kNoMatch) out->Raw(&values_[i], sizeof(float));
    }
  }

 private:
  size_t Bytes() const { return static_cast<size_t>(result_.matches) * sizeof(float); }

  const uint32_t field_;
  const StereoResult& result_;
  const std::vector<float>& values_;
};

// A serialized glint.v1.StereoMatches.
class StereoMatchesWriter {
 public:
  StereoMatchesWriter(const StereoResult& result, bool has_depth) : result_(result), has_depth_(has_depth) {
    ForEachArray([this](const auto& part) { size_ += part.size(); });
  }
  size_t size() const { return size_; }
  void Write(Writer* out) const {
    ForEachArray([out](const auto& part) { part.Write(out); });
  }

 private:
  template <typename Visit>
  void ForEachArray(Visit visit) const {
    using M = v1::StereoMatches;
    const StereoResult& r = result_;
    const auto each = [&r](auto value_of) {
      return [&r, value_of](auto take) {
        for (size_t i = 0; i < r.right_index.size(); ++i) {
          if (r.right_index[i] != kNoMatch) take(static_cast<uint64_t>(value_of(i)));
        }
      };
    };
    visit(PackedVarints(M::kLeftFieldNumber, each([](size_t i) { return i; })));
    visit(MatchedFloats(M::kRightXFieldNumber, r, r.right_x));
    visit(MatchedFloats(M::kDisparityFieldNumber, r, r.disparity));
    if (has_depth_) visit(MatchedFloats(M::kDepthFieldNumber, r, r.depth));
    visit(PackedVarints(M::kDistanceFieldNumber, each([&r](size_t i) { return r.distance[i]; })));
  }

  const StereoResult& result_;
  const bool has_depth_;
  size_t size_ = 0;
};

// Minimum number of matches or keypoints for a warning.
constexpr int kTellingMatches = 20;
constexpr int kTellingKeypoints = 100;
constexpr float kMaxMedianDy = 1;  // pixels
constexpr float kMaxNegativeShare = 0.5f;
// Pairs of kitti_06 and rendered ones have 0.44 and more, pictures of different places 0.30 and less.
constexpr float kMinSharedScene = 1 / 3.0f;
// Median of a real pair, pixels; as of a located one (slam/front_end/calibration_watch.cc).
constexpr float kLeastDisparity = 0.3f;

// Whether most matches have less. Allocates nothing.
bool HasNoDisparity(const StereoResult& result) {
  int less = 0;
  for (size_t i = 0; i < result.right_index.size(); ++i) {
    if (result.right_index[i] != kNoMatch && std::abs(result.disparity[i]) < kLeastDisparity) ++less;
  }
  return result.matches >= kTellingMatches && 2 * less > result.matches;
}

// Element n / 2 of the n sorted disparities of the matches, of which there are some.
float MedianDisparity(const StereoResult& result) {
  std::vector<float> values;
  for (size_t i = 0; i < result.right_index.size(); ++i) {
    if (result.right_index[i] != kNoMatch) values.push_back(result.disparity[i]);
  }
  const auto median = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), median, values.end());
  return *median;
}

// A serialized glint.v1.StereoResult.
class StereoResultWriter {
 public:
  // `rectified`, `images`: as in SerializeStereoReply().
  StereoResultWriter(const StereoTask& found, absl::string_view rectified, const std::vector<Warning>& images)
      : left_(*found.left),
        matches_(*found.matches, found.criteria.options.focal_length > 0),
        rights_(static_cast<uint64_t>(found.rights)),
        warnings_(SerializeWarnings(v1::StereoResult::kWarningsFieldNumber, images) +
                  SerializeWarnings(
                      v1::StereoResult::kWarningsFieldNumber,
                      WarningsOf(found, found.matches->checks, static_cast<int>(found.left->count()), found.rights))),
        rectified_(rectified) {}
  size_t size() const {
    return MessageSize(left_) + MessageSize(matches_) + VarintFieldSize(rights_) + warnings_.size() + rectified_.size();
  }
  void Write(Writer* out) const {
    using R = v1::StereoResult;
    WriteMessage(R::kLeftFieldNumber, left_, out);
    WriteMessage(R::kMatchesFieldNumber, matches_, out);
    out->VarintField(R::kRightKeypointsFieldNumber, rights_);
    out->Raw(warnings_.data(), warnings_.size());
    out->Raw(rectified_.data(), rectified_.size());
  }

 private:
  const FeaturesWriter left_;
  const StereoMatchesWriter matches_;
  const uint64_t rights_;
  const std::string warnings_;  // serialized
  const absl::string_view rectified_;
};

}  // namespace

std::vector<Warning> WarningsOf(const StereoTask& task, const StereoChecks& checks, int left, int right) {
  std::vector<Warning> warnings;
  if (task.left_time_ns != 0 && task.right_time_ns != 0) {
    // Difference of any two times: unsigned subtraction does not overflow.
    const uint64_t difference =
        task.left_time_ns > task.right_time_ns
            ? static_cast<uint64_t>(task.left_time_ns) - static_cast<uint64_t>(task.right_time_ns)
            : static_cast<uint64_t>(task.right_time_ns) - static_cast<uint64_t>(task.left_time_ns);
    if (difference > static_cast<uint64_t>(task.criteria.max_time_difference_ns)) {
      const double ms = static_cast<double>(difference) * 1e-6;
      warnings.push_back({WarningKind::kOutOfSync, ms, "ms",
                          absl::StrFormat("out of sync: the images were captured %.1f ms apart", ms)});
    }
  }
  if (!task.criteria.options.check_pair) return warnings;
  const int fewer = std::min(left, right);
  // Number of matches, extrapolated from the examined left keypoints to all.
  const float matches = left == 0 ? 0
                                  : static_cast<float>(checks.matches) * static_cast<float>(left) /
                                        static_cast<float>(CheckedKeypoints(left));
  if (const float share = fewer == 0 ? 0 : matches / static_cast<float>(fewer);
      fewer >= kTellingKeypoints && share < kMinSharedScene) {
    warnings.push_back({WarningKind::kDifferentScenes, share, "1",
                        absl::StrFormat("different scenes: %.1f %% of the keypoints have a match in the other image; "
                                        "out of sync, or not of one camera",
                                        100 * share)});
    return warnings;  // what so few matches say of rows and order means nothing
  }
  if (checks.matches < kTellingMatches) return warnings;
  if (checks.sure >= kTellingMatches && checks.median_dy > kMaxMedianDy) {
    warnings.push_back(
        {WarningKind::kUnrectified, checks.median_dy, "px",
         absl::StrFormat("not rectified, or out of sync: the median of |dy| is %.2f pixels", checks.median_dy)});
  }
  const float negative = static_cast<float>(checks.negative_disparities) / static_cast<float>(checks.matches);
  if (negative > kMaxNegativeShare) {
    warnings.push_back({WarningKind::kSwapped, negative, "1",
                        absl::StrFormat("swapped: %.0f %% of the disparities are negative", 100 * negative)});
  } else if (HasNoDisparity(*task.matches)) {
    const float median = MedianDisparity(*task.matches) + 0.0f;  // 0 of -0
    warnings.push_back(
        {WarningKind::kNoDisparity, median, "px",
         absl::StrFormat("disparity is %.2f pixels (median): is one image, or one camera, given twice?", median)});
  }
  return warnings;
}

std::string SerializeRectified(const RectifiedPair& rectified) {
  v1::StereoResult result;
  ToProto(rectified, result.mutable_rectified());
  return result.SerializeAsString();
}

grpc::Slice SerializeStereoReply(uint64_t frame_id, const StereoTask& task, absl::string_view rectified,
                                 const std::vector<Warning>& images) {
  using Response = v1::StereoStreamResponse;
  return SerializeAnswer<Response>(frame_id, Response::kResultFieldNumber, StereoResultWriter(task, rectified, images));
}

}  // namespace glint
