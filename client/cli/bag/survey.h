// What is in the topics of a recording: their messages' times, and what the first messages say.
#ifndef GLINT_CLIENT_CLI_BAG_SURVEY_H_
#define GLINT_CLIENT_CLI_BAG_SURVEY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/source/bag_file.h"
#include "features/types.h"
#include "ros/messages.h"

namespace glint::cli {

// Of a topic. But for the times, what the first message says, and only of the kinds that Glint reads.
struct TopicFacts {
  int64_t largest_gap_ns = 0;  // between messages, as recorded; 0: of fewer than two, or not looked for
  std::string problem;         // why the topic cannot be used; empty: nothing was found
  Shape image;                 // 0 x 0: unknown
  std::string encoding;        // of images: "mono8", "jpeg"
  bool is_depth = false;
  bool turns = false, accelerates = false;  // of inertial sensors: which of both it is
  std::optional<ros::CameraInfo> info;
};

// Of all topics, by their indices. `all`: reads all messages, which finds gaps and damage; else as far as the first
// ones of each kind are. Errors of BagFile::Read().
absl::StatusOr<std::vector<TopicFacts>> SurveyBag(BagFile* bag, bool all);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BAG_SURVEY_H_
