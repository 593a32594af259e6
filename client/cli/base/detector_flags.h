// --detector and the options that change its stages.
#ifndef GLINT_CLIENT_CLI_BASE_DETECTOR_FLAGS_H_
#define GLINT_CLIENT_CLI_BASE_DETECTOR_FLAGS_H_

#include <deque>
#include <optional>
#include <string>
#include <tuple>

#include "absl/status/statusor.h"
#include "client/cli/base/flags.h"
#include "client/image.h"
#include "features/gray_range.h"
#include "features/operation_defaults.h"
#include "features/options.h"

namespace glint::cli {

class DetectorFlags {
 public:
  // `defaults`: of the operation.
  explicit DetectorFlags(const DetectorDefaults& defaults = kDetectDefaults)
      : defaults_(defaults), detector_(defaults.preset) {}
  DetectorFlags(const DetectorFlags&) = delete;
  DetectorFlags& operator=(const DetectorFlags&) = delete;

  // One option for each field of DetectorOptions. This object must live as long as `flags` parses.
  void AddTo(Flags* flags);
  // INVALID_ARGUMENT names the option as it is written on the command line.
  absl::StatusOr<DetectorOptions> Options() const;
  // Full without --range.
  GrayRange gray_range() const {
    GrayRange range = range_;
    range.equalize = equalize_;
    return range;
  }

  std::string mask;  // path; empty: none
  client::Region region;

 private:
  // What was given for the fields of one type. A deque, because Flags keeps the addresses of the values.
  template <typename T>
  struct Given {
    T DetectorOptions::*field;
    std::optional<T> value;
  };
  template <typename T>
  using AllGiven = std::deque<Given<T>>;

  template <typename T>
  AllGiven<T>& given() {
    return std::get<AllGiven<T>>(given_);
  }

  const DetectorDefaults defaults_;
  std::string detector_;
  std::optional<bool> describe_;
  GrayRange range_;
  bool equalize_ = false;
  std::tuple<AllGiven<int>, AllGiven<float>, AllGiven<bool>, AllGiven<Pyramid>, AllGiven<CornerTest>, AllGiven<Score>,
             AllGiven<Selection>, AllGiven<Ranking>, AllGiven<ThresholdUnit>, AllGiven<Orientation>,
             AllGiven<Descriptor>>
      given_;
};

// For commands whose pairs have neither: INVALID_ARGUMENT names the option.
absl::Status NoMaskOrRegion(const DetectorFlags& flags);

// The choices and numbers of every preset, and their ranges, as a table for people.
std::string DetectorTable();

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_BASE_DETECTOR_FLAGS_H_
