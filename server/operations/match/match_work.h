// A lane's part of a match.
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

namespace glint {

struct WireMatch;

// What descriptors must have to match.
struct MatchCriteria {
  MatchOptions options;            // valid
  float window_radius = 0;         // around each query's own position, without windows in the message; 0: none
  int max_octave_difference = -1;  // without octave ranges in the message; -1: any
};

struct MatchTask {
  DetectorOptions detector;  // of images; valid
  MatchCriteria criteria;
  // A side is an image or a set that is kept, or else in the message.
  struct Side {
    bool is_image = false;
    ImageSource image;
    const DescriptorSet* kept = nullptr;
  };
  Side query, train;
  decode::Pieces message;
  const WireMatch* wire = nullptr;  // what is in the message
  // Fills the sides that have descriptors in the message, and the conditions; clears the others.
  void (*unpack)(decode::Pieces message, const WireMatch& wire, DescriptorSet* query, DescriptorSet* train,
                 ConditionArrays* conditions) = nullptr;
  int64_t pixels = 0;  // that the matching is charged as

  // What was found, in memory of the lane.
  const MatchResult* matches = nullptr;
  int queries = 0, trains = 0;
  const Features *query_features = nullptr, *train_features = nullptr;  // of images, else null
};

// The images together must not have more than the context's `max_pixels`.
absl::Status RunMatch(const LaneContext& context, MatchTask* task, FrameJob* job);

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_MATCH_MATCH_WORK_H_
