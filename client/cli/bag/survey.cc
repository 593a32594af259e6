#include "client/cli/bag/survey.h"

#include <algorithm>

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

}  // namespace

absl::StatusOr<std::vector<TopicFacts>> SurveyBag(BagFile* bag, bool all) {
  struct Seen {
    int asked = 0;  // messages to look into
    int64_t messages = 0, last_ns = 0;
  };
  std::vector<TopicFacts> facts(bag->topics().size());
  std::vector<Seen> seen(facts.size());
  std::vector<int> topics;
  int asked = 0;
  for (size_t i = 0; i < facts.size(); ++i) {
    const bag::Topic& topic = bag->topics()[i];
    facts[i].problem = ProblemOf(topic);
    const bool is_asked = facts[i].problem.empty() && KindOf(topic) != TopicKind::kOther;
    if (is_asked) seen[i].asked = KindOf(topic) == TopicKind::kImu ? kLookedInto : 1;
    asked += seen[i].asked;
    if (all || is_asked) topics.push_back(static_cast<int>(i));
  }
  if (topics.empty()) return facts;
  GLINT_ASSIGN_OR_RETURN(const auto reader, bag->Read(topics));
  bag::Message message;
  while ((all || asked > 0) && !Interrupted()) {
    const absl::Status next = reader->Next(&message);
    if (absl::IsOutOfRange(next)) break;
    GLINT_RETURN_IF_ERROR(next);
    const auto i = static_cast<size_t>(message.topic);
    if (seen[i].messages++ > 0) {
      facts[i].largest_gap_ns = std::max(facts[i].largest_gap_ns, message.time_ns - seen[i].last_ns);
    }
    seen[i].last_ns = message.time_ns;
    if (seen[i].asked == 0) continue;
    --seen[i].asked, --asked;
    const absl::Status read = ReadFacts(bag->topics()[i], message.data, &facts[i]);
    if (!read.ok()) facts[i].problem = std::string(read.message());
  }
  for (size_t i = 0; i < facts.size(); ++i) {
    const bool is_imu = KindOf(bag->topics()[i]) == TopicKind::kImu && facts[i].problem.empty();
    if (is_imu && !facts[i].turns && !facts[i].accelerates) {
      facts[i].problem = "neither angular velocities nor accelerations";
    }
  }
  return facts;
}

}  // namespace glint::cli
