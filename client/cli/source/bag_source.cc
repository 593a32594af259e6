#include "client/cli/source/bag_source.h"

#include <cstdint>
#include <cstring>
#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "client/cli/source/several_pictures.h"
#include "features/status_macros.h"
#include "ros/image.h"
#include "ros/messages.h"

namespace glint::cli {
namespace {

using client::PixelFormat;

class BagSource : public Source {
 public:
  BagSource(std::shared_ptr<BagFile> bag, int topic, SendFormat format, bool needs_times)
      : bag_(std::move(bag)), topic_(bag_->topic(topic)), index_(topic), format_(format), needs_times_(needs_times) {}

  absl::Status Rewind() override {
    last_ns_.reset();
    ended_ = false;
    reader_.reset();
    GLINT_ASSIGN_OR_RETURN(reader_, bag_->Read({index_}));
    return absl::OkStatus();
  }

  absl::Status Next(Picture* picture) override {
    if (ended_) return absl::OutOfRangeError("no more messages");
    bag::Message message;
    if (const absl::Status next = reader_->Next(&message); !next.ok()) {
      ended_ = true;
      return absl::IsOutOfRange(next) ? next
                                      : absl::Status(next.code(), absl::StrCat(topic_.name, ": ", next.message()));
    }
    // As long as its header cannot be read, by when it was recorded.
    picture->name = absl::StrCat(topic_.name, "@", StampText(message.time_ns));
    picture->file.clear();
    picture->raw.reset();
    picture->pixels.release();
    absl::Status read =
        KindOf(topic_) == TopicKind::kImage ? ReadImage(message.data, picture) : ReadCompressed(message.data, picture);
    if (read.ok()) return read;
    return absl::InvalidArgumentError(absl::StrCat(picture->name, ": ", read.message()));
  }

  int64_t count() const override { return topic_.messages; }
  double rate() const override {
    const double rate = RateOf(topic_);
    return rate >= 1 && rate <= 1000 ? rate : kDefaultRate;
  }
  TimeZero time_zero() const override { return TimeZero::kEpoch; }

 private:
  absl::Status ReadImage(absl::Span<const uint8_t> bytes, Picture* picture) {
    GLINT_RETURN_IF_ERROR(ReadMessage(topic_, bytes, &image_));
    GLINT_RETURN_IF_ERROR(SetTime(image_.header, picture));
    const bool is_depth = bag_->IsDepth(topic_.name);
    GLINT_RETURN_IF_ERROR(ros::PixelsOf(image_, is_depth ? ros::ImageUse::kDepth : ros::ImageUse::kPicture, &pixels_));
    if (is_depth) bag_->SetMetric(image_.encoding == "32FC1");
    switch (pixels_.format) {
      case PixelFormat::kGray8:
      case PixelFormat::kGray16:
        picture->pixels.create(pixels_.shape.height, pixels_.shape.width,
                               pixels_.format == PixelFormat::kGray8 ? CV_8U : CV_16U);
        CopyRows(picture->pixels.data);
        return absl::OkStatus();
      case PixelFormat::kBgr8:
        return TakeColour(CV_8UC3, cv::COLOR_BGR2GRAY, picture);
      case PixelFormat::kRgb8:
        return TakeColour(CV_8UC3, cv::COLOR_RGB2GRAY, picture);
      case PixelFormat::kBgra8:
        return TakeColour(CV_8UC4, cv::COLOR_BGRA2GRAY, picture);
      case PixelFormat::kRgba8:
        return TakeColour(CV_8UC4, cv::COLOR_RGBA2GRAY, picture);
      case PixelFormat::kYuyv:
        return TakeColour(CV_8UC2, cv::COLOR_YUV2GRAY_YUY2, picture);
      case PixelFormat::kBayerRggb8:
        if (format_ == SendFormat::kJpeg) return absl::InvalidArgumentError("--send jpeg is not for bayer_rggb8");
        return TakeRaw(picture);
      case PixelFormat::kNv12:
        break;
    }
    return absl::InvalidArgumentError(absl::StrCat("encoding ", image_.encoding, " is not read"));
  }
  absl::Status ReadCompressed(absl::Span<const uint8_t> bytes, Picture* picture) {
    GLINT_RETURN_IF_ERROR(ReadMessage(topic_, bytes, &compressed_));
    GLINT_RETURN_IF_ERROR(SetTime(compressed_.header, picture));
    GLINT_ASSIGN_OR_RETURN(const auto file, ros::FileOf(compressed_));
    picture->file.assign(file.begin(), file.end());
    return CheckOnePicture(picture->name, picture->file);
  }

  // As they are if colour is sent, else as grey.
  absl::Status TakeColour(int type, int to_gray, Picture* picture) {
    if (format_ == SendFormat::kColor) return TakeRaw(picture);
    // In the message's memory; only read.
    const cv::Mat colour(pixels_.shape.height, pixels_.shape.width, type, const_cast<uint8_t*>(pixels_.data),
                         pixels_.stride);
    cv::cvtColor(colour, picture->pixels, to_gray);
    return absl::OkStatus();
  }
  absl::Status TakeRaw(Picture* picture) {
    picture->raw = RawLayout{pixels_.format, pixels_.shape};
    picture->file.resize(pixels_.row_bytes * static_cast<size_t>(pixels_.shape.height));
    CopyRows(reinterpret_cast<uint8_t*>(picture->file.data()));
    return absl::OkStatus();
  }
  // Without gaps.
  void CopyRows(uint8_t* to) const {
    for (size_t y = 0; y < static_cast<size_t>(pixels_.shape.height); ++y) {
      std::memcpy(to + y * pixels_.row_bytes, pixels_.data + y * pixels_.stride, pixels_.row_bytes);
    }
  }

  absl::Status SetTime(const ros::Header& header, Picture* picture) {
    const int64_t time_ns = ros::NanosecondsOf(header.stamp);
    picture->time = absl::Nanoseconds(time_ns);
    if (time_ns == 0) {
      if (needs_times_) return absl::InvalidArgumentError("header.stamp is 0: no partner can be found by it");
      if (!std::exchange(told_of_no_time_, true)) {
        Complain("", absl::StrCat(picture->name, ": warning: header.stamp is 0: such pictures have no time"));
      }
      picture->time.reset();
      return absl::OkStatus();
    }
    picture->name = absl::StrCat(topic_.name, "@", StampText(time_ns));
    if (needs_times_ && last_ns_.has_value() && time_ns <= *last_ns_) {
      return absl::InvalidArgumentError(
          absl::StrCat("header.stamp is not after that of an image before, ", StampText(*last_ns_)));
    }
    last_ns_ = time_ns;
    return absl::OkStatus();
  }

  const std::shared_ptr<BagFile> bag_;
  const bag::Topic topic_;
  const int index_;
  const SendFormat format_;
  const bool needs_times_;
  std::shared_ptr<bag::Bag> reader_;
  bool ended_ = false;
  std::optional<int64_t> last_ns_;
  bool told_of_no_time_ = false;
  ros::Image image_;
  ros::CompressedImage compressed_;
  ros::ImagePixels pixels_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Source>> OpenTopic(std::shared_ptr<BagFile> bag, const std::string& topic,
                                                  SendFormat format, bool needs_times) {
  GLINT_ASSIGN_OR_RETURN(const int index, bag->FindCamera(topic));
  auto source = std::make_unique<BagSource>(std::move(bag), index, format, needs_times);
  GLINT_RETURN_IF_ERROR(source->Rewind());
  return source;
}

}  // namespace glint::cli
