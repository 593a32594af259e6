// What Glint can do with the topics of a recording.
#ifndef GLINT_CLIENT_CLI_BAG_USES_H_
#define GLINT_CLIENT_CLI_BAG_USES_H_

#include <string>
#include <utility>
#include <vector>

#include "client/cli/bag/survey.h"
#include "client/cli/source/bag_file.h"

namespace glint::cli {

// Topics by what they are, as indices.
struct Uses {
  std::vector<int> cameras, depths;
  std::vector<int> imus, gyroscopes, accelerometers;  // of the last two: sensors that are one of both
  std::vector<std::pair<int, int>> pairs;             // left and right, as their names or their CameraInfo say
  std::vector<std::pair<int, int>> with_depth;        // a camera and depths of its pixels
  std::vector<std::pair<int, int>> calibrations;      // a CameraInfo and its camera
};
Uses UsesOf(const BagFile& bag, const std::vector<TopicFacts>& facts);

// For people: "left camera of a pair with /cam1/image_raw, 752x480 mono8", "not used: type tf2_msgs/msg/TFMessage".
std::string UseText(const BagFile& bag, const std::vector<TopicFacts>& facts, const Uses& uses, int topic);

// Command lines that make most of it: a stereo camera's, one's with depth, else a camera's.
std::vector<std::string> CommandLines(BagFile* bag, const Uses& uses);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BAG_USES_H_
