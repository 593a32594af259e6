#include "client/cli/compare/compare_contender.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/base/connection.h"
#include "client/cli/base/detector_flags.h"
#include "client/cli/base/flags.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

ImageView ViewOf(const cv::Mat& gray) { return {gray.data, gray.cols, gray.rows, static_cast<ptrdiff_t>(gray.step)}; }

// A server's lanes.
class Served : public Contender {
 public:
  Served(const DetectorOptions& options, Connection connection)
      : options_(options), connection_(std::move(connection)) {}

  absl::StatusOr<Found> Detect(const cv::Mat& image, const cv::Mat& mask) const override {
    const client::ImageInput mask_input = mask.empty() ? client::ImageInput() : ViewOf(mask);
    GLINT_ASSIGN_OR_RETURN(auto answer, connection_.client().Detect(options_, ViewOf(image), mask_input));
    const auto& t = answer.timings;
    return Found{std::move(answer.features), static_cast<double>(t.upload_ns + t.detect_ns + t.download_ns) / 1000};
  }

 private:
  DetectorOptions options_;
  Connection connection_;
};

absl::StatusOr<DetectorOptions> ParseDetector(const std::string& text) {
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(':', 1));
  std::vector<std::string> arguments = {"--detector", parts[0]};
  if (parts.size() == 2) {
    for (const absl::string_view option : absl::StrSplit(parts[1], ',', absl::SkipEmpty())) {
      arguments.push_back(absl::StrCat("--", option));
    }
  }
  Flags flags;
  DetectorFlags detector;
  detector.AddTo(&flags);
  if (auto operands = flags.Parse(arguments); !operands.ok()) return operands.status();
  if (detector.gray_range().wanted()) {
    return absl::InvalidArgumentError("option '--range': pictures are compared in 8 bits");
  }
  return detector.Options();
}

absl::StatusOr<std::unique_ptr<Contender>> Open(const DetectorOptions& options, const std::string& server) {
  if (server == "opencv") return OpenOpenCv(options);
  ConnectionFlags where;
  where.server = "inproc";
  if (server == "cpu" || server == "cuda") {
    where.backend = server == "cpu" ? Backend::kCpu : Backend::kCuda;
  } else {
    where.server = server;
  }
  GLINT_ASSIGN_OR_RETURN(auto connection, Connection::Open(where));
  return std::make_unique<Served>(options, std::move(connection));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Contender>> OpenContender(const std::string& spec) {
  const std::vector<std::string> at = absl::StrSplit(spec, absl::MaxSplits('@', 1));
  const auto options = ParseDetector(at[0]);
  absl::StatusOr<std::unique_ptr<Contender>> contender =
      options.ok() ? Open(*options, at.size() == 2 ? at[1] : "cpu") : options.status();
  if (absl::IsInvalidArgument(contender.status())) {
    return absl::InvalidArgumentError(absl::StrCat("'", spec, "': ", contender.status().message()));
  }
  return contender;
}

}  // namespace glint::cli
