// Matching on a lane.
#ifndef GLINT_SERVER_OPERATIONS_MATCH_MATCH_WORK_H_
#define GLINT_SERVER_OPERATIONS_MATCH_MATCH_WORK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "decode/pieces.h"
#include "features/matcher.h"
#include "features/options.h"
#include "features/types.h"
#include "server/operations/match/descriptors.h"
#include "server/pixels/image_source.h"
#include "server/schedule/lane_context.h"
#include "server/wire/rays.h"

namespace glint {

struct WireMatch;

// Criteria that matches must meet.
struct MatchCriteria {
  MatchOptions options;            // valid
  float window_radius = 0;         // pixels around the query's position, unless the message has windows; 0: none
  int max_octave_difference = -1;  // unless the message has octave ranges; -1: any
};

struct MatchTask {
  DetectorOptions detector;  // of images; valid
  MatchCriteria criteria;
  int64_t max_pairs = 0;  // of descriptors to compare
  // One side: an image, a kept set, or descriptors in the message.
  struct Side {
    bool is_image = false;
    ImageSource image;
    const Camera* camera = nullptr;  // of an image; null: no rays
    const DescriptorSet* kept = nullptr;
  };
  Side query, train;
  decode::Pieces message;
  const WireMatch* wire = nullptr;  // content of the message
  // Unpacks the sides with descriptors in the message, and the conditions; clears the others.
  void (*unpack)(decode::Pieces message, const WireMatch& wire, DescriptorSet* query, DescriptorSet* train,
                 ConditionArrays* conditions) = nullptr;

  // Results, in the lane's memory.
  const MatchResult* matches = nullptr;
  int queries = 0, trains = 0;
  const Features *query_features = nullptr, *train_features = nullptr;  // null unless the side is an image
  const Rays *query_rays = nullptr, *train_rays = nullptr;              // of these; null without a camera
};

// Runs the match. The time of rays is the download's. INVALID_ARGUMENT: an image of another size than its camera, or
// what contradicts the options. RESOURCE_EXHAUSTED: the images together have more than the context's `max_pixels`, or
// the sides are more than the task's `max_pairs`.
absl::Status RunMatch(const LaneContext& context, MatchTask* task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_WORK_H_
