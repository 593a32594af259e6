// Pictures of a recording's topic.
#ifndef GLINT_CLIENT_CLI_SOURCE_BAG_SOURCE_H_
#define GLINT_CLIENT_CLI_SOURCE_BAG_SOURCE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/source/bag_file.h"
#include "client/cli/source/source.h"

namespace glint::cli {

// The images of a topic of sensor_msgs/Image or CompressedImage, in the order of the recording. Picture::time is that
// of the header, and so is the one in its name, "/cam0/image_raw@1403636579.763555584". Errors of
// BagFile::FindCamera(). A message that cannot be read is an error of Next(); with `needs_times`, one whose header has
// no time, or one that is not after that of the picture before, too.
absl::StatusOr<std::unique_ptr<Source>> OpenTopic(std::shared_ptr<BagFile> bag, const std::string& topic,
                                                  SendFormat format, bool needs_times);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_BAG_SOURCE_H_
