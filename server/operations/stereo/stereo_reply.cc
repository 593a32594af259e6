#include "server/operations/stereo/stereo_reply.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "glint/v1/matching.pb.h"
#include "server/wire/envelope_reply.h"
#include "server/wire/reply_writer.h"
#include "server/wire/wire_writer.h"

namespace glint {
namespace {

using reply::BytesFieldSize;
using reply::BytesOf;
using reply::FeaturesWriter;
using reply::MessageSize;
using reply::NewSlice;
using reply::PackedVarints;
using reply::VarintFieldSize;
using reply::WriteMessage;
using reply::Writer;

static_assert(kHasEnvelope<v1::StereoStreamResponse>);

// A serialized glint.v1.StereoMatches.
class StereoMatchesWriter {
 public:
  StereoMatchesWriter(const StereoResult& result, bool has_depth) : result_(result), has_depth_(has_depth) {
    ForEachArray([this](const auto& part) { size_ += part.size(); });
    size_ += FloatFields() * BytesFieldSize(FloatBytes());
  }
  size_t size() const { return size_; }
  void Write(Writer* out) const {
    ForEachArray([out](const auto& part) { part.Write(out); });
    using M = v1::StereoMatches;
    Floats(M::kRightXFieldNumber, result_.right_x, out);
    Floats(M::kDisparityFieldNumber, result_.disparity, out);
    if (has_depth_) Floats(M::kDepthFieldNumber, result_.depth, out);
  }

 private:
  size_t FloatFields() const { return has_depth_ ? 3 : 2; }
  size_t FloatBytes() const { return static_cast<size_t>(result_.matches) * sizeof(float); }

  void Floats(uint32_t field, const std::vector<float>& values, Writer* out) const {
    if (result_.matches == 0) return;
    out->Tag(field, WireType::kBytes);
    out->Varint(FloatBytes());
    for (size_t i = 0; i < values.size(); ++i) {
      if (result_.right_index[i] != kNoMatch) out->Raw(&values[i], sizeof(float));
    }
  }

  template <typename Visit>
  void ForEachArray(Visit visit) const {
    const StereoResult& r = result_;
    const auto each = [&r](auto value_of) {
      return [&r, value_of](auto take) {
        for (size_t i = 0; i < r.right_index.size(); ++i) {
          if (r.right_index[i] != kNoMatch) take(static_cast<uint64_t>(value_of(i)));
        }
      };
    };
    visit(PackedVarints(v1::StereoMatches::kLeftFieldNumber, each([](size_t i) { return i; })));
    visit(PackedVarints(v1::StereoMatches::kDistanceFieldNumber, each([&r](size_t i) { return r.distance[i]; })));
  }

  const StereoResult& result_;
  const bool has_depth_;
  size_t size_ = 0;
};

// Fewer matches, or keypoints, than that say nothing about a pair.
constexpr int kTellingMatches = 20;
constexpr int kTellingKeypoints = 100;
constexpr float kMaxMedianDy = 1;  // pixels
constexpr float kMaxNegativeShare = 0.5f;
// Pairs of kitti_06 and rendered ones have 0.44 and more, pictures of different places 0.30 and less.
constexpr float kMinSharedScene = 1 / 3.0f;

}  // namespace

std::vector<StereoWarning> WarningsOf(const StereoTask& task, const StereoChecks& checks, int left, int right) {
  std::vector<StereoWarning> warnings;
  if (task.left_time_ns != 0 && task.right_time_ns != 0) {
    // Of any two times; the difference of unsigned numbers does not overflow.
    const uint64_t difference =
        task.left_time_ns > task.right_time_ns
            ? static_cast<uint64_t>(task.left_time_ns) - static_cast<uint64_t>(task.right_time_ns)
            : static_cast<uint64_t>(task.right_time_ns) - static_cast<uint64_t>(task.left_time_ns);
    if (difference > static_cast<uint64_t>(task.criteria.max_time_difference_ns)) {
      const float ms = static_cast<float>(difference) * 1e-6f;
      warnings.push_back({v1::STEREO_WARNING_KIND_OUT_OF_SYNC, ms,
                          absl::StrFormat("out of sync: the eyes were captured %.1f ms apart", ms)});
    }
  }
  if (!task.criteria.options.check_pair) return warnings;
  const int fewer = std::min(left, right);
  // Of the left keypoints that were looked at, as if of all.
  const float matches = left == 0 ? 0
                                  : static_cast<float>(checks.matches) * static_cast<float>(left) /
                                        static_cast<float>(CheckedKeypoints(left));
  if (const float share = fewer == 0 ? 0 : matches / static_cast<float>(fewer);
      fewer >= kTellingKeypoints && share < kMinSharedScene) {
    warnings.push_back({v1::STEREO_WARNING_KIND_DIFFERENT_SCENES, share,
                        absl::StrFormat("different scenes: %.1f %% of the keypoints have a match in the other eye; out "
                                        "of sync, or not of one camera",
                                        100 * share)});
    return warnings;  // what so few matches say of rows and order means nothing
  }
  if (checks.matches < kTellingMatches) return warnings;
  if (checks.sure >= kTellingMatches && checks.median_dy > kMaxMedianDy) {
    warnings.push_back(
        {v1::STEREO_WARNING_KIND_UNRECTIFIED, checks.median_dy,
         absl::StrFormat("not rectified, or out of sync: the median of |dy| is %.2f pixels", checks.median_dy)});
  }
  const float negative = static_cast<float>(checks.negative_disparities) / static_cast<float>(checks.matches);
  if (negative > kMaxNegativeShare) {
    warnings.push_back({v1::STEREO_WARNING_KIND_SWAPPED, negative,
                        absl::StrFormat("swapped: %.0f %% of the disparities are negative", 100 * negative)});
  }
  return warnings;
}

grpc::Slice SerializeStereoReply(uint64_t frame_id, const StereoTask& task) {
  using R = v1::StereoStreamResponse;
  const StereoOptions& options = task.criteria.options;
  std::string warnings;
  for (const StereoWarning& w :
       WarningsOf(task, task.matches->checks, static_cast<int>(task.left->count()), task.rights)) {
    v1::StereoWarning warning;
    warning.set_kind(static_cast<v1::StereoWarningKind>(w.kind));
    warning.set_figure(w.figure);
    warning.set_text(w.text);
    AppendBytesField(R::kWarningsFieldNumber, warning.SerializeAsString(), &warnings);
  }
  const FeaturesWriter features(*task.left);
  const StereoMatchesWriter matches(*task.matches, options.focal_length > 0);
  const uint64_t match_ns = static_cast<uint64_t>(task.match_ns);
  const uint64_t rights = static_cast<uint64_t>(task.rights);
  grpc::Slice slice = NewSlice(VarintFieldSize(frame_id) + MessageSize(features) + MessageSize(matches) +
                               warnings.size() + VarintFieldSize(match_ns) + VarintFieldSize(rights));
  Writer out(BytesOf(slice));
  out.VarintField(R::kFrameIdFieldNumber, frame_id);
  WriteMessage(R::kLeftFieldNumber, features, &out);
  WriteMessage(R::kMatchesFieldNumber, matches, &out);
  out.Raw(warnings.data(), warnings.size());
  out.VarintField(R::kMatchNsFieldNumber, match_ns);
  out.VarintField(R::kRightKeypointsFieldNumber, rights);
  return slice;
}

}  // namespace glint
