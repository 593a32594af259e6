#include "client/cli/bag/survey.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/base/command.h"
#include "decode/decode.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "ros/image.h"

namespace glint::cli {
namespace {

constexpr int kLookedInto = 100;  // messages of an inertial sensor; one of others
constexpr double kLookSeconds = 1;

// Why a topic is of no use whatever its messages say; empty: its first message tells.
std::string ProblemOf(const bag::Topic& topic) {
  if (KindOf(topic) == TopicKind::kOther) return "";
  if (Echo(topic.name) != topic.name) return "its name is no text of at most 100 bytes";
  if (topic.messages == 0) return "no messages";
  if (IsCompressedDepth(topic)) return "compressedDepth";
  if (topic.encoding != "cdr" && topic.encoding != "ros1") {
    return absl::StrCat("messages are encoded as '", Echo(topic.encoding), "'");
  }
  return "";
}

absl::Status ReadImageFacts(const bag::Topic& topic, absl::Span<const uint8_t> bytes, TopicFacts* facts) {
  ros::Image image;
  ros::ImagePixels pixels;
  GLINT_RETURN_IF_ERROR(ReadMessage(topic, bytes, &image));
  // REP 118: depths are 16UC1 or 32FC1. Some cameras publish them as mono16.
  facts->is_depth = image.encoding == "16UC1" || image.encoding == "32FC1" ||
                    (image.encoding == "mono16" && absl::StrContains(topic.name, "depth"));
  const auto use = facts->is_depth ? ros::ImageUse::kDepth : ros::ImageUse::kPicture;
  GLINT_RETURN_IF_ERROR(ros::PixelsOf(image, use, &pixels));
  facts->image = pixels.shape;
  facts->encoding = image.encoding;
  return absl::OkStatus();
}

absl::Status ReadCompressedFacts(const bag::Topic& topic, absl::Span<const uint8_t> bytes, TopicFacts* facts) {
  ros::CompressedImage image;
  GLINT_RETURN_IF_ERROR(ReadMessage(topic, bytes, &image));
  GLINT_ASSIGN_OR_RETURN(const auto file, ros::FileOf(image));
  facts->encoding = decode::IsJpeg(file) ? "jpeg" : "png";
  facts->is_depth = absl::StartsWith(image.format, "16UC1");
  return absl::OkStatus();
}

absl::Status ReadImuFacts(const bag::Topic& topic, absl::Span<const uint8_t> bytes, TopicFacts* facts) {
  ros::Imu imu;
  GLINT_RETURN_IF_ERROR(ReadMessage(topic, bytes, &imu));
  facts->turns = facts->turns || HasValue(imu.angular_velocity, imu.angular_velocity_covariance);
  facts->accelerates = facts->accelerates || HasValue(imu.linear_acceleration, imu.linear_acceleration_covariance);
  return absl::OkStatus();
}

absl::Status ReadFacts(const bag::Topic& topic, absl::Span<const uint8_t> bytes, TopicFacts* facts) {
  switch (KindOf(topic)) {
    case TopicKind::kImage:
      return ReadImageFacts(topic, bytes, facts);
    case TopicKind::kCompressedImage:
      return ReadCompressedFacts(topic, bytes, facts);
    case TopicKind::kImu:
      return ReadImuFacts(topic, bytes, facts);
    case TopicKind::kCameraInfo:
      return ReadMessage(topic, bytes, &facts->info.emplace());
    case TopicKind::kOther:
      break;
  }
  return absl::OkStatus();
}

using Clock = std::chrono::steady_clock;

Clock::time_point In(double seconds) {
  if (seconds > 1e9) return Clock::time_point::max();
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class Survey {
 public:
  explicit Survey(BagFile* bag) : bag_(*bag), topics_(bag->topics().size()), asked_(topics_.size()) {
    for (size_t i = 0; i < topics_.size(); ++i) {
      const bag::Topic& topic = bag_.topics()[i];
      topics_[i].problem = ProblemOf(topic);
      if (!topics_[i].problem.empty() || KindOf(topic) == TopicKind::kOther) continue;
      asked_[i] = KindOf(topic) == TopicKind::kImu ? kLookedInto : 1;
      asked_topics_.push_back(static_cast<int>(i));
    }
  }

  absl::StatusOr<BagFacts> Run(double scan_seconds) {
    BagFacts facts;
    if (scan_seconds > 0) {
      GLINT_RETURN_IF_ERROR(Scan(scan_seconds, &facts));
    } else {
      GLINT_RETURN_IF_ERROR(LookInto(asked_topics_, In(kLookSeconds)));
    }
    const Clock::time_point end = In(kLookSeconds);
    for (const int i : asked_topics_) {
      TopicFacts& topic = topics_[static_cast<size_t>(i)];
      if (!topic.is_known && !facts.is_whole) GLINT_RETURN_IF_ERROR(LookInto({i}, end));
      if (!topic.is_known) {
        topic.problem =
            facts.is_whole || Clock::now() < end ? "no message of it can be read" : "it was not looked into";
      } else if (KindOf(bag_.topic(i)) == TopicKind::kImu && topic.problem.empty() && !topic.turns &&
                 !topic.accelerates) {
        topic.problem = "neither angular velocities nor accelerations";
      }
    }
    facts.topics = std::move(topics_);
    return facts;
  }

 private:
  absl::Status Scan(double seconds, BagFacts* facts) {
    const Clock::time_point end = In(seconds);
    std::vector<int> all(topics_.size());
    std::iota(all.begin(), all.end(), 0);
    std::vector<int64_t> last_ns(topics_.size());
    GLINT_ASSIGN_OR_RETURN(const auto reader, bag_.Read(all));
    bag::Message message;
    while (Clock::now() < end && !Interrupted()) {
      const absl::Status next = reader->Next(&message);
      facts->is_whole = absl::IsOutOfRange(next);
      if (facts->is_whole) break;
      GLINT_RETURN_IF_ERROR(next);
      ++facts->read;
      facts->last_ns = message.time_ns;
      TopicFacts& topic = topics_[static_cast<size_t>(message.topic)];
      int64_t& last = last_ns[static_cast<size_t>(message.topic)];
      if (topic.read++ > 0) topic.largest_gap_ns = std::max(topic.largest_gap_ns, message.time_ns - last);
      last = message.time_ns;
      Take(message);
    }
    return absl::OkStatus();
  }

  // Reads these topics until as much as is asked of them is known.
  absl::Status LookInto(const std::vector<int>& topics, Clock::time_point end) {
    int asked = 0;
    for (const int i : topics) asked += asked_[static_cast<size_t>(i)];
    GLINT_ASSIGN_OR_RETURN(const auto reader, bag_.Read(topics));
    bag::Message message;
    while (asked > 0 && Clock::now() < end && !Interrupted()) {
      const absl::Status next = reader->Next(&message);
      if (absl::IsOutOfRange(next)) break;
      GLINT_RETURN_IF_ERROR(next);
      asked -= Take(message) ? 1 : 0;
    }
    return absl::OkStatus();
  }

  // Whether it was asked for.
  bool Take(const bag::Message& message) {
    const auto i = static_cast<size_t>(message.topic);
    if (asked_[i] == 0) return false;
    --asked_[i];
    TopicFacts& topic = topics_[i];
    topic.is_known = true;
    const absl::Status read = ReadFacts(bag_.topics()[i], message.data, &topic);
    if (!read.ok()) topic.problem = std::string(read.message());
    return true;
  }

  BagFile& bag_;
  std::vector<TopicFacts> topics_;
  std::vector<int> asked_;  // messages to look into, of each topic
  std::vector<int> asked_topics_;
};

}  // namespace

absl::StatusOr<BagFacts> SurveyBag(BagFile* bag, double scan_seconds) { return Survey(bag).Run(scan_seconds); }

}  // namespace glint::cli
