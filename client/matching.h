// Descriptor matching and sparse stereo: streams of the client, opened by Client. Rules and ranges are those of
// features/matcher.h and features/stereo.h; messages and errors are those of proto/glint/v1/matching.proto.
//
//   auto stream = client.OpenMatchStream({}, [](const MatchAnswer& answer) { ... });
//   status = (*stream)->UpdateSet(0, {"map", {}, map_descriptors});  // a set that the server keeps
//   status = (*stream)->Write(1, image, MatchSide::Set("map"));      // blocks while `in_flight` are unanswered
//   status = (*stream)->Finish();
#ifndef GLINT_CLIENT_MATCHING_H_
#define GLINT_CLIENT_MATCHING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "client/image.h"
#include "client/result.h"
#include "client/stream.h"
#include "features/camera/camera.h"
#include "features/camera/stereo_rig.h"
#include "features/gray_range.h"
#include "features/matcher.h"
#include "features/operation_defaults.h"
#include "features/options.h"
#include "features/stereo.h"
#include "features/warning.h"

namespace glint::client {

// Descriptors, borrowed until the call that takes them returns. Keypoint arrays have `rows.count` elements or are null.
struct DescriptorInput {
  DescriptorView rows;
  TrainKeypoints keypoints;

  DescriptorInput() = default;
  DescriptorInput(const DescriptorView& view) : rows(view) {}  // NOLINT(google-explicit-constructor)
  DescriptorInput(const Features& f);                          // NOLINT(google-explicit-constructor)
};

// Query or train set of a match: an image, descriptors, or a set that the stream keeps.
struct MatchSide {
  ImageInput image;
  DescriptorInput descriptors;
  std::string set;

  MatchSide() = default;
  MatchSide(const ImageInput& from) : image(from) {}             // NOLINT(google-explicit-constructor)
  MatchSide(const DescriptorInput& from) : descriptors(from) {}  // NOLINT(google-explicit-constructor)
  static MatchSide Set(std::string name) {
    MatchSide side;
    side.set = std::move(name);
    return side;
  }
};

// Two cameras as they are, whose raw images the server rectifies; ranges are those of glint.v1.StereoRig.
using glint::RectifiedPair;
using glint::StereoRig;

struct MatchSettings {
  DetectorOptions detector = DefaultDetector(kMatchDefaults);  // for sides that are images; needs a descriptor
  MatchOptions match;
  float window_radius = 0;         // pixels around the query's position, for pairs without windows; 0: no window
  int max_octave_difference = -1;  // for pairs without octave ranges; -1: any
  // Of sides that are images, whose size they have: the features of that side then have rays. Images are not changed.
  std::optional<Camera> query_camera, train_camera;
};

struct MatchFound {
  Features query, train;        // features of sides that are images; else empty
  Rays query_rays, train_rays;  // of these, with a camera
  MatchResult matches;
  int trains = 0;                 // size of the train set
  int set_size = 0;               // size of the edited set, after an edit
  std::vector<Warning> warnings;  // what makes the images doubtful
  Timings timings;
  absl::Duration round_trip;
};

// Answer to one pair or edit. If `status` is not OK, `found` is empty; the stream goes on.
struct MatchAnswer {
  uint64_t frame_id = 0;
  absl::Status status;
  DropReason drop_reason = DropReason::kNone;
  absl::Duration retry_after;
  MatchFound found;
};

// Options that streams of pairs share; the fields mean what they mean in StreamOptions.
struct PairStreamOptions {
  OverloadPolicy overload_policy = OverloadPolicy::kBlock;
  absl::Duration max_age = absl::ZeroDuration();
  GrayRange gray_range;
  int in_flight = 8;
  std::string traceparent;
  absl::Duration timeout = absl::InfiniteDuration();
};

struct MatchStreamOptions : PairStreamOptions {
  MatchSettings settings;
};

// Changes or begins a set that the stream keeps: rows `remove` (ascending) are removed, then `add` is appended.
struct SetUpdate {
  std::string set;
  std::vector<uint32_t> remove;
  DescriptorInput add;
};

// Stream of descriptor matches. Thread-safe apart from destruction; the callback has the rules of ResultCallback.
class MatchStream {
 public:
  ~MatchStream();
  // `conditions` have an element for each query (angles come with the query).
  absl::Status Write(uint64_t frame_id, const MatchSide& query, const MatchSide& train,
                     const QueryConditions& conditions = {});
  absl::Status UpdateSet(uint64_t frame_id, const SetUpdate& update);
  // NOT_FOUND, in the answer: there is no such set.
  absl::Status ForgetSet(uint64_t frame_id, const std::string& set);
  absl::Status Finish();
  void Cancel();

 private:
  friend class Client;
  struct Impl;
  explicit MatchStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};
using MatchCallback = std::function<void(const MatchAnswer& answer)>;

// Stereo matches: element i is that of left keypoint left_index[i]. `depth`: empty without focal length and baseline.
struct StereoAnswer {
  uint64_t frame_id = 0;
  absl::Status status;
  DropReason drop_reason = DropReason::kNone;
  absl::Duration retry_after;

  Features left;
  std::vector<uint32_t> left_index;
  std::vector<float> right_x, disparity, depth;
  std::vector<uint32_t> distance;
  std::vector<Warning> warnings;
  int right_keypoints = 0;
  std::optional<RectifiedPair> rectified;  // of a stream with a rig: the cameras that positions and depths are of
  Timings timings;
  absl::Duration round_trip;
};

struct StereoStreamOptions : PairStreamOptions {
  DetectorOptions detector = DefaultDetector(kStereoDefaults);  // needs a descriptor
  StereoOptions stereo;
  std::optional<StereoRig> rig;  // of raw images, which have its focal length and baseline; else they are rectified
  absl::Duration max_time_difference = absl::Milliseconds(5);
  // For pairs without a mask of their own: GRAY8 of the images' size, raw ones with a rig; keypoints are found where it
  // is not 0. Of the left image, and of the right one. Read by OpenStereoStream() only.
  ImageInput mask, right_mask;
  Region region;  // of both images, with masks where both allow it
};

// Stream of sparse stereo. Thread-safe apart from destruction; the callback has the rules of ResultCallback.
class StereoStream {
 public:
  ~StereoStream();
  // Without `right`, `left` has both images side by side. Capture times: nanoseconds of any clock; 0: unknown. Masks
  // are in place of the stream's.
  absl::Status Write(uint64_t frame_id, const ImageInput& left, const ImageInput& right = {}, int64_t left_time_ns = 0,
                     int64_t right_time_ns = 0, const ImageInput& mask = {}, const ImageInput& right_mask = {});
  absl::Status Finish();
  void Cancel();

 private:
  friend class Client;
  struct Impl;
  explicit StereoStream(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};
using StereoCallback = std::function<void(const StereoAnswer& answer)>;

}  // namespace glint::client

#endif  // GLINT_CLIENT_MATCHING_H_
