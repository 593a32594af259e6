// --bag and its options: the topics of a recording as the sources of a command.
#ifndef GLINT_CLIENT_CLI_SOURCE_BAG_FLAGS_H_
#define GLINT_CLIENT_CLI_SOURCE_BAG_FLAGS_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/cli/source/bag_file.h"
#include "client/cli/source/calibration.h"
#include "client/cli/source/source.h"

namespace glint::cli {

class BagFlags {
 public:
  // What topics are named for: sources one by one (--topic), or a stereo camera (--left, --right).
  enum class Topics { kEach, kPair };

  void AddTo(Flags* flags, Topics topics);
  // Of a camera with depth, after AddTo(): --depth-topic in place of --right.
  void AddDepthTo(Flags* flags);

  bool given() const { return !path_.empty(); }
  const std::string& path() const { return path_; }
  // The sources: `operands`, or with --bag the topics as they are named, of which one may be empty. INVALID_ARGUMENT:
  // both, or options that need --bag.
  absl::StatusOr<std::vector<std::string>> Sources(const std::vector<std::string>& operands) const;
  // INVALID_ARGUMENT: with --depth --right in place of --depth-topic, and the other way round.
  absl::Status CheckDepth(bool depth) const;

  // With --bag, else nothing: opens it for OpenSource(), and puts whole names in `sources`. Errors of BagFile::Open()
  // and FindCamera().
  absl::Status Open(std::vector<std::string>* sources, VideoOptions* video);
  // After Open(); null without --bag.
  BagFile* file() const { return file_.get(); }
  // With --bag, and without a calibration: takes that of the recording for `cameras`, if it has one, and says so.
  // `needed`: else NOT_FOUND. With `depth` the second camera is a sensor's, whose pixels have to be the first one's.
  // `imu`: topics of an inertial sensor, whose place is taken from the recording, too, if it has that; empty: none.
  absl::Status SetCalibration(const std::vector<std::string>& sources, bool depth, bool needed, const std::string& imu,
                              CalibrationFlags* cameras, std::vector<std::string>* notes) const;
  // INVALID_ARGUMENT: depths of --bag are metres, once there was one, and not in this unit of metres.
  absl::Status CheckDepthUnit(double unit) const;
  // The exit status of a command that would end with `status`: says what of the recording was damaged, if anything,
  // which makes kFailed of kOk.
  int ExitStatus(const std::string& command, int status) const;

 private:
  Topics topics_ = Topics::kEach;
  std::string path_, topic_, left_, right_, depth_;
  std::shared_ptr<BagFile> file_;
};

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_SOURCE_BAG_FLAGS_H_
