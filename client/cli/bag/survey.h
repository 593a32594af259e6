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

// Of a topic. But for times and number, what the first message says, and only of the kinds that Glint reads.
struct TopicFacts {
  int64_t read = 0;            // messages, of a scan
  int64_t largest_gap_ns = 0;  // between these, as recorded; 0: of fewer than two
  bool is_known = false;       // a message of it was looked into
  std::string problem;         // why the topic cannot be used; empty: nothing was found
  Shape image;                 // 0 x 0: unknown
  std::string encoding;        // of images: "mono8", "jpeg"
  bool is_depth = false;
  bool turns = false, accelerates = false;  // of inertial sensors: which of both it is
  std::optional<ros::CameraInfo> info;
};

struct BagFacts {
  std::vector<TopicFacts> topics;  // by their indices
  // Of a scan, which goes by times: how far it came.
  int64_t read = 0, last_ns = 0;
  bool is_whole = false;  // to the end: all damage was found
};

// A scan reads messages for at most so many seconds (infinite: all), which finds gaps and damage; 0: no scan. The first
// messages of topics that it does not reach are looked for afterwards, for a second at most; with no scan, first ones
// in their order for a second before. Errors of BagFile::Read().
absl::StatusOr<BagFacts> SurveyBag(BagFile* bag, double scan_seconds);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BAG_SURVEY_H_
