#include "server/operations/match/match_reply.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "glint/v1/matching.pb.h"
#include "server/wire/reply_writer.h"
#include "server/wire/wire_writer.h"

namespace glint {
namespace {

using reply::BytesFieldSize;
using reply::BytesOf;
using reply::FeaturesWriter;
using reply::kTagSize;
using reply::MessageSize;
using reply::NewSlice;
using reply::PackedVarints;
using reply::VarintFieldSize;
using reply::VarintSize;
using reply::WriteMessage;
using reply::Writer;

// StreamCall writes status and timings as those of a DetectStreamResponse, and DetectCall those of a DetectResponse.
template <typename Response>
constexpr bool kAsDetectStream =
    Response::kFrameIdFieldNumber == v1::DetectStreamResponse::kFrameIdFieldNumber&& Response::kStatusFieldNumber ==
    v1::DetectStreamResponse::kStatusFieldNumber&& Response::kTimingsFieldNumber ==
    v1::DetectStreamResponse::kTimingsFieldNumber;
static_assert(kAsDetectStream<v1::MatchStreamResponse> && kAsDetectStream<v1::StereoStreamResponse>);
static_assert(static_cast<int>(v1::MatchResponse::kTimingsFieldNumber) == v1::DetectResponse::kTimingsFieldNumber);

// A serialized glint.v1.Matches.
class MatchesWriter {
 public:
  explicit MatchesWriter(const PairFound& found) : found_(found) {
    const auto measure = [this](const auto& part) { size_ += part.size(); };
    ForEachArray(measure);
    size_ +=
        VarintFieldSize(static_cast<uint64_t>(found.queries)) + VarintFieldSize(static_cast<uint64_t>(found.trains));
  }
  size_t size() const { return size_; }
  void Write(Writer* out) const {
    ForEachArray([out](const auto& part) { part.Write(out); });
    out->VarintField(v1::Matches::kQueriesFieldNumber, static_cast<uint64_t>(found_.queries));
    out->VarintField(v1::Matches::kTrainsFieldNumber, static_cast<uint64_t>(found_.trains));
  }

 private:
  template <typename Visit>
  void ForEachArray(Visit visit) const {
    const MatchResult& m = *found_.matches;
    const auto each = [&m](auto value_of) {
      return [&m, value_of](auto take) {
        for (size_t i = 0; i < m.index.size(); ++i) {
          if (m.index[i] != kNoMatch) take(static_cast<uint64_t>(value_of(i)));
        }
      };
    };
    const size_t k = static_cast<size_t>(std::max(m.k, 1));
    visit(PackedVarints(v1::Matches::kQueryFieldNumber, each([k](size_t i) { return i / k; })));
    visit(PackedVarints(v1::Matches::kTrainFieldNumber, each([&m](size_t i) { return m.index[i]; })));
    visit(PackedVarints(v1::Matches::kDistanceFieldNumber, each([&m](size_t i) { return m.distance[i]; })));
  }

  const PairFound& found_;
  size_t size_ = 0;
};

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

// Field numbers of the two responses; 0: not there.
struct MatchFields {
  uint32_t id, matches, query, train, match_ns;
};

grpc::Slice Serialize(const MatchFields& fields, uint64_t id, const FrameJob& job, const Features& features) {
  static const Features kNone;
  const PairFound& found = job.found;
  const MatchesWriter matches(found);
  const FeaturesWriter query(job.match.query.is_image ? features : kNone);
  const FeaturesWriter train(found.second != nullptr ? *found.second : kNone);
  const uint64_t match_ns = static_cast<uint64_t>(job.times.match_ns);
  size_t size = VarintFieldSize(id) + MessageSize(matches) + VarintFieldSize(match_ns);
  if (job.match.query.is_image) size += MessageSize(query);
  if (found.second != nullptr) size += MessageSize(train);
  grpc::Slice slice = NewSlice(size);
  Writer out(BytesOf(slice));
  if (fields.id != 0) out.VarintField(fields.id, id);
  WriteMessage(fields.matches, matches, &out);
  if (job.match.query.is_image) WriteMessage(fields.query, query, &out);
  if (found.second != nullptr) WriteMessage(fields.train, train, &out);
  out.VarintField(fields.match_ns, match_ns);
  return slice;
}

// Fewer matches, or keypoints, than that say nothing about a pair.
constexpr int kTellingMatches = 20;
constexpr int kTellingKeypoints = 100;
constexpr float kMaxMedianDy = 1;  // pixels
constexpr float kMaxNegativeShare = 0.5f;
// Pairs of kitti_06 and rendered ones have 0.44 and more, pictures of different places 0.30 and less.
constexpr float kMinSharedScene = 1 / 3.0f;

}  // namespace

grpc::Slice SerializeMatchReply(const FrameJob& job, const Features& features) {
  using R = v1::MatchResponse;
  return Serialize({0, R::kMatchesFieldNumber, R::kQueryFieldNumber, R::kTrainFieldNumber, R::kMatchNsFieldNumber}, 0,
                   job, features);
}

grpc::Slice SerializeMatchStreamReply(uint64_t frame_id, const FrameJob& job, const Features& features) {
  using R = v1::MatchStreamResponse;
  return Serialize({R::kFrameIdFieldNumber, R::kMatchesFieldNumber, R::kQueryFieldNumber, R::kTrainFieldNumber,
                    R::kMatchNsFieldNumber},
                   frame_id, job, features);
}

grpc::Slice SerializeEditReply(uint64_t frame_id, int set_size) {
  using R = v1::MatchStreamResponse;
  const uint64_t size = static_cast<uint64_t>(set_size);
  grpc::Slice slice = NewSlice(VarintFieldSize(frame_id) + VarintFieldSize(size));
  Writer out(BytesOf(slice));
  out.VarintField(R::kFrameIdFieldNumber, frame_id);
  out.VarintField(R::kSetSizeFieldNumber, size);
  return slice;
}

std::vector<StereoWarning> WarningsOf(const StereoRequest& request, const StereoChecks& checks, int left, int right) {
  std::vector<StereoWarning> warnings;
  if (request.left_time_ns != 0 && request.right_time_ns != 0) {
    // Of any two times; the difference of unsigned numbers does not overflow.
    const uint64_t difference =
        request.left_time_ns > request.right_time_ns
            ? static_cast<uint64_t>(request.left_time_ns) - static_cast<uint64_t>(request.right_time_ns)
            : static_cast<uint64_t>(request.right_time_ns) - static_cast<uint64_t>(request.left_time_ns);
    if (difference > static_cast<uint64_t>(request.max_time_difference_ns)) {
      const float ms = static_cast<float>(difference) * 1e-6f;
      warnings.push_back({v1::STEREO_WARNING_KIND_OUT_OF_SYNC, ms,
                          absl::StrFormat("out of sync: the eyes were captured %.1f ms apart", ms)});
    }
  }
  if (!request.options.check_pair) return warnings;
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

grpc::Slice SerializeStereoReply(uint64_t frame_id, const FrameJob& job, const Features& left) {
  using R = v1::StereoStreamResponse;
  const StereoOptions& options = job.stereo.options;
  std::string warnings;
  for (const StereoWarning& w : WarningsOf(job.stereo, job.found.stereo->checks, job.found.queries, job.found.trains)) {
    v1::StereoWarning warning;
    warning.set_kind(static_cast<v1::StereoWarningKind>(w.kind));
    warning.set_figure(w.figure);
    warning.set_text(w.text);
    AppendBytesField(R::kWarningsFieldNumber, warning.SerializeAsString(), &warnings);
  }
  const FeaturesWriter features(left);
  const StereoMatchesWriter matches(*job.found.stereo, options.focal_length > 0);
  const uint64_t match_ns = static_cast<uint64_t>(job.times.match_ns);
  const uint64_t rights = static_cast<uint64_t>(job.found.trains);
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
