// The frames and pairs that glint bench sends.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/bench/load_flags.h"
#include "client/cli/source/raw_flags.h"
#include "client/cli/source/shared_frames.h"
#include "decode/image_file.h"
#include "decode/jpeg_writer.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr int kSyntheticDisparity = 16;  // pixels, of the whole picture
constexpr int kDescriptorBytes = 32;

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream stream(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  if (stream.is_open() && !stream.bad()) return bytes;
  return absl::NotFoundError(absl::StrCat(path, ": ", errno != 0 ? std::strerror(errno) : "cannot be read"));
}

// Pictures of one frame, on their way into its message.
class Pictures {
 public:
  // No format: files as they are. `jpeg_quality`: pixels become JPEG files of that quality. `shared`: where pixels go
  // first; null: nowhere.
  Pictures(std::optional<client::PixelFormat> format, std::optional<int> jpeg_quality, SharedFrames* shared)
      : format_(format), jpeg_quality_(jpeg_quality), shared_(shared) {}

  absl::Status AddFile(const std::string& path) {
    if (!format_.has_value()) {
      GLINT_ASSIGN_OR_RETURN(bytes_[count_], ReadFile(path));
      inputs_[count_] = client::ImageInput::Encoded(bytes_[count_]);
      ++count_;
      return absl::OkStatus();
    }
    const auto gray = decode::ReadImageFile(path);
    return gray.ok() ? Add(*gray) : gray.status();
  }
  absl::Status Add(const ImageView& gray) {
    if (shape_ == Shape()) shape_ = gray.shape();
    if (jpeg_quality_.has_value()) {
      GLINT_ASSIGN_OR_RETURN(bytes_[count_], decode::WriteJpeg(gray, *jpeg_quality_));
      inputs_[count_] = client::ImageInput::Encoded(bytes_[count_]);
      ++count_;
      return absl::OkStatus();
    }
    bytes_[count_] = load::InFormat(gray, *format_);
    const auto raw = client::ImageInput::Raw(*format_, bytes_[count_].data(), gray.width, gray.height,
                                             static_cast<ptrdiff_t>(gray.width) * client::BytesPerPixel(*format_));
    const absl::StatusOr<client::ImageInput> input = shared_ != nullptr ? shared_->Put(raw) : raw;
    if (!input.ok()) return input.status();
    inputs_[count_++] = *input;
    return absl::OkStatus();
  }
  // Takes the pictures.
  absl::StatusOr<load::FrameBody> Frame(load::Task task) {
    count_ = 0;
    switch (task) {
      case load::Task::kStereo:
        return load::FrameBody::OfStereoPair(inputs_[0], inputs_[1]);
      case load::Task::kMatch:
        return load::FrameBody::OfPair(inputs_[0], inputs_[1]);
      case load::Task::kMatchDescriptors:
      case load::Task::kDetect:
        break;
    }
    return load::FrameBody::Of(inputs_[0]);
  }
  // Of the first picture; empty if it was a file.
  Shape shape() const { return shape_; }

 private:
  const std::optional<client::PixelFormat> format_;
  const std::optional<int> jpeg_quality_;
  SharedFrames* const shared_;
  std::string bytes_[2];
  client::ImageInput inputs_[2];
  size_t count_ = 0;
  Shape shape_;
};

absl::StatusOr<load::FrameBody> Descriptors(int count) {
  const auto query = load::SyntheticDescriptors(count, 1), train = load::SyntheticDescriptors(count, 2);
  const auto side = [count](const std::vector<uint8_t>& rows) {
    return client::DescriptorInput(DescriptorView{rows.data(), count, kDescriptorBytes});
  };
  return load::FrameBody::OfPair(side(query), side(train));
}

}  // namespace

absl::StatusOr<std::vector<load::FrameBody>> LoadFlags::Frames(const std::vector<std::string>& files,
                                                               const client::Client* client,
                                                               load::BenchReport* report) const {
  std::vector<load::FrameBody> frames;
  double bytes = 0;
  const auto add = [&](absl::StatusOr<load::FrameBody> frame) {
    if (!frame.ok()) return frame.status();
    bytes += static_cast<double>(frame->size());
    frames.push_back(*std::move(frame));
    return absl::OkStatus();
  };
  const size_t each = load::IsPair(task) ? 2 : 1;
  SharedFrames shared(client, static_cast<int>(std::max(files.size(), each)));
  Pictures pictures(format, send_jpeg ? std::optional<int>(jpeg.Quality()) : std::nullopt,
                    shared_memory ? &shared : nullptr);
  if (task == load::Task::kMatchDescriptors) {
    const int count = report->detector.max_features;
    GLINT_RETURN_IF_ERROR(add(Descriptors(count)));
    report->picture = absl::StrCat("two sets of ", count, " descriptors");
  } else if (files.empty()) {
    GLINT_ASSIGN_OR_RETURN(const auto shape, ParseSize("size", size.empty() ? kDefaultSize : size));
    const int disparity = load::IsPair(task) ? kSyntheticDisparity : 0;
    const Image scene = load::SyntheticPicture({shape.width + disparity, shape.height}, 1);
    for (size_t i = 0; i < each; ++i) {
      const ImageView view{scene.row(0) + static_cast<int>(i) * disparity, shape.width, shape.height, scene.stride()};
      GLINT_RETURN_IF_ERROR(pictures.Add(view));
    }
    GLINT_RETURN_IF_ERROR(add(pictures.Frame(task)));
    report->picture =
        absl::StrCat("a made-up ", load::IsPair(task) ? "pair" : "picture", " of ", shape.width, "x", shape.height);
  }
  for (size_t i = 0; i < files.size(); ++i) {
    GLINT_RETURN_IF_ERROR(pictures.AddFile(files[i]));
    if ((i + 1) % each != 0) continue;
    GLINT_RETURN_IF_ERROR(add(pictures.Frame(task)));
  }
  report->width = pictures.shape().width;
  report->height = pictures.shape().height;
  if (!files.empty()) {
    report->picture = frames.size() > 1 ? absl::StrCat(frames.size(), each == 2 ? " pairs" : " pictures")
                      : each == 2       ? absl::StrCat(files[0], " and ", files[1])
                                        : files[0];
    if (report->width > 0) absl::StrAppend(&report->picture, " (", report->width, "x", report->height, ")");
  }
  report->pictures = static_cast<int>(frames.size());
  report->frame_bytes = bytes / static_cast<double>(frames.size());
  if (task != load::Task::kMatchDescriptors) report->format = FormatName();
  return frames;
}

}  // namespace glint::cli
