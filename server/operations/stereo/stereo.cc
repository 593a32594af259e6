#include "server/operations/stereo/stereo.h"

#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "features/error.h"
#include "features/status_macros.h"
#include "glint/v1/matching.pb.h"
#include "server/operations/stereo/stereo_parser.h"
#include "server/operations/stereo/stereo_reply.h"
#include "server/operations/stereo/stereo_work.h"
#include "server/wire/match_pairs.h"
#include "server/wire/options_images.h"
#include "server/wire/stereo_rig.h"

namespace glint {
namespace {

// Converts options to valid criteria. INVALID_ARGUMENT names the field.
absl::StatusOr<StereoCriteria> CriteriaFromProto(const v1::StereoOptions& proto) {
  StereoCriteria request;
  StereoOptions& o = request.options;
  if (proto.has_max_distance()) o.max_distance = proto.max_distance();
  if (proto.has_band()) o.band = proto.band();
  if (proto.has_max_octave_difference()) o.max_octave_difference = proto.max_octave_difference();
  if (proto.has_min_disparity()) o.min_disparity = proto.min_disparity();
  if (proto.has_max_disparity()) o.max_disparity = proto.max_disparity();
  if (proto.has_cross_check()) o.cross_check = proto.cross_check();
  if (proto.has_refine()) o.refine = proto.refine();
  if (proto.has_median_cut()) o.median_cut = proto.median_cut();
  if (proto.has_check_pair()) o.check_pair = proto.check_pair();
  o.focal_length = proto.focal_length();
  o.baseline = proto.baseline();
  GLINT_RETURN_IF_ERROR(ValidateStereoOptions(o));
  if (proto.has_max_time_difference_ns()) request.max_time_difference_ns = proto.max_time_difference_ns();
  GLINT_RETURN_IF_ERROR(CheckRange("max_time_difference_ns", request.max_time_difference_ns, int64_t{0},
                                   std::numeric_limits<int64_t>::max()));
  return request;
}

struct StereoPayload final : Payload {
  WireStereoStreamRequest request;
  StereoTask task;

  void Reset() override { task = StereoTask(); }
};

class StereoState final : public StreamState {
 public:
  // `rectification`: of raw images, or null.
  StereoState(const DetectorOptions& detector, const StereoCriteria& criteria, const PairMaskSources& masks,
              const Region& region, std::shared_ptr<const Rectification> rectification,
              prometheus::Histogram* match_seconds, Metrics* metrics)
      : detector_(detector),
        criteria_(criteria),
        masks_(masks, region),
        rectification_(std::move(rectification)),
        rectified_(rectification_ == nullptr ? "" : SerializeRectified(rectification_->rectified())),
        match_seconds_(match_seconds),
        metrics_(metrics) {}

  const WireEnvelope* Read(decode::Pieces message, FrameJob* job) override {
    WireStereoStreamRequest& request = PayloadOf(job)->request;
    return ParseStereoStreamRequest(message, &request) ? &request : nullptr;
  }

  absl::Status Parse(const Message& message, FrameJob* job) override {
    const WireStereoStreamRequest& request = PayloadOf(job)->request;
    StereoTask& task = PayloadOf(job)->task;
    task.detector = detector_;
    task.criteria = criteria_;
    task.masks = &masks_;
    task.rectification = rectification_.get();
    task.left_time_ns = request.left_time_ns;
    task.right_time_ns = request.right_time_ns;
    job->pixels = MatchPixels(detector_.max_features, detector_.max_features);
    auto pair = LocateImagePair(request.pair, message, &job->pixels);
    CountImagePair(request.pair, message, metrics_);
    GLINT_ASSIGN_OR_RETURN(task.pair, std::move(pair));
    return absl::OkStatus();
  }

  absl::Status Run(const LaneContext& context, FrameJob* job) override {
    return RunStereo(context, &PayloadOf(job)->task, job);
  }

  grpc::Slice Reply(const FrameJob& job) override {
    return SerializeStereoReply(job.id, PayloadOf(&job)->task, rectified_, job.warnings);
  }
  void Answered(const FrameJob& job) override { match_seconds_->Observe(metric::Seconds(job.times.match_ns)); }

 private:
  static StereoPayload* PayloadOf(const FrameJob* job) { return static_cast<StereoPayload*>(job->payload); }

  const DetectorOptions detector_;
  const StereoCriteria criteria_;
  const PairMasks masks_;
  const std::shared_ptr<const Rectification> rectification_;
  const std::string rectified_;  // its camera, serialized
  prometheus::Histogram* const match_seconds_;
  Metrics* const metrics_;
};

class StereoOperation final : public Operation {
 public:
  explicit StereoOperation(const Host& host)
      : Operation(host, "stereo"), match_seconds_(metric::Stage(host.metrics->registry(), "match")) {}

  std::unique_ptr<Payload> MakePayload() const override { return std::make_unique<StereoPayload>(); }

  absl::StatusOr<std::unique_ptr<StreamState>> Begin(const Message& first, SessionOptions* session) override {
    OptionImages images[] = {{v1::StereoStreamOptions::kMaskFieldNumber},
                             {v1::StereoStreamOptions::kRightMaskFieldNumber}};
    GLINT_ASSIGN_OR_RETURN(const auto request,
                           ParseOptionsAndImages<v1::StereoStreamRequest>(
                               first.pieces, v1::StereoStreamRequest::kPairFieldNumber, absl::MakeSpan(images)));
    const v1::StereoStreamOptions& proto = request.options();
    GLINT_ASSIGN_OR_RETURN(*session, SessionFromProto(proto, options()));
    GLINT_ASSIGN_OR_RETURN(const DetectorOptions detector,
                           FromProto(proto.detector(), MaxFeaturesPerImage(options()), kStereoDefaults));
    if (detector.descriptor == Descriptor::kNone) {
      return ContradictionError("detector.descriptor_kind", "none: images are matched by descriptors");
    }
    GLINT_RETURN_IF_ERROR(CheckMatchPairs("detector.max_features", detector.max_features, detector.max_features,
                                          kRbriefBytes, options().max_match_pairs));
    auto criteria = CriteriaFromProto(proto.stereo());
    if (!criteria.ok()) return WithField("stereo", criteria.status());
    std::shared_ptr<const Rectification> rectification;
    if (proto.has_rig()) {
      if (criteria->options.focal_length != 0) {
        return ContradictionError("stereo.focal_length", "is the rectified camera's, of `rig`: give either");
      }
      GLINT_ASSIGN_OR_RETURN(rectification, rectifications()->Get(proto.rig(), options().lanes.max_image_pixels));
      criteria->options.focal_length = rectification->rectified().camera.fx;
      criteria->options.baseline = rectification->rectified().baseline;
    }
    GLINT_ASSIGN_OR_RETURN(const PairMaskSources masks, LocateStreamMasks(images, first));
    return std::make_unique<StereoState>(detector, *criteria, masks, RegionFromProto(proto), std::move(rectification),
                                         match_seconds_, metrics());
  }

 private:
  prometheus::Histogram* const match_seconds_;
};

}  // namespace

std::unique_ptr<Operation> MakeStereoStream(const Host& host) { return std::make_unique<StereoOperation>(host); }

}  // namespace glint
