// camera FILE WIDTH HEIGHT FOCAL BASELINE COUNT: a stereo camera of ROS 2 on Cyclone DDS, and nothing of Glint. Sends
// COUNT pairs of grey images, 20 a second, with CameraInfo; FILE has the pixels of some, left and right in turns, which
// it goes through there and back. Writes "sent NUMBER NANOSECONDS" of each, where NUMBER counts pairs of FILE, and
// "odometry NANOSECONDS X Y Z" of each message on /odometry. Domain: ROS_DOMAIN_ID.
#include <dds/dds.h>

#include <array>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "robot.h"

namespace {

using Image = sensor_msgs_msg_dds__Image_;
using Info = sensor_msgs_msg_dds__CameraInfo_;
using Odometry = nav_msgs_msg_dds__Odometry_;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPeriod{50};
constexpr std::chrono::seconds kPatience{20};
constexpr int64_t kSecond = 1'000'000'000;

dds_entity_t Must(dds_entity_t entity, const char* what) {
  if (entity >= 0) return entity;
  std::fprintf(stderr, "%s: %s\n", what, dds_strretcode(entity));
  std::exit(1);
}

class Camera {
 public:
  Camera(int width, int height, double focal, double baseline) {
    const auto domain = static_cast<dds_domainid_t>(std::strtoul(std::getenv("ROS_DOMAIN_ID"), nullptr, 10));
    participant_ = Must(dds_create_participant(domain, nullptr, nullptr), "participant");
    qos_ = dds_create_qos();
    dds_qset_reliability(qos_, DDS_RELIABILITY_RELIABLE, DDS_SECS(1));
    dds_qset_history(qos_, DDS_HISTORY_KEEP_LAST, 100);
    for (size_t side = 0; side < 2; ++side) {
      const std::string base = side == 0 ? "rt/left/" : "rt/right/";
      images_[side] = Writer(base + "image_rect", sensor_msgs_msg_dds__Image__desc);
      infos_[side] = Writer(base + "camera_info", sensor_msgs_msg_dds__CameraInfo__desc);
      const double k[9] = {focal, 0, width / 2.0, 0, focal, height / 2.0, 0, 0, 1};
      Info& info = info_[side];
      info.header.frame_id = frame_.data();
      info.distortion_model = model_.data();
      info.width = static_cast<uint32_t>(width);
      info.height = static_cast<uint32_t>(height);
      info.d._buffer = lens_.data();
      info.d._length = info.d._maximum = static_cast<uint32_t>(lens_.size());
      for (size_t i = 0; i < 9; ++i) {
        info.k[i] = k[i];
        info.r[i] = i % 4 == 0 ? 1 : 0;
        info.p[i / 3 * 4 + i % 3] = k[i];
      }
      info.p[3] = side == 0 ? 0 : -focal * baseline;
      Image& image = image_[side];
      image.header.frame_id = frame_.data();
      image.encoding = encoding_.data();
      image.width = image.step = info.width;
      image.height = info.height;
    }
    reader_ =
        Must(dds_create_reader(participant_, Topic("rt/odometry", nav_msgs_msg_dds__Odometry__desc), qos_, nullptr),
             "reader");
  }
  ~Camera() {
    dds_delete_qos(qos_);
    dds_delete(participant_);
  }

  bool Matched() const {
    for (const dds_entity_t writer : {images_[0], images_[1], infos_[0], infos_[1]}) {
      if (dds_get_matched_subscriptions(writer, nullptr, 0) <= 0) return false;
    }
    return dds_get_matched_publications(reader_, nullptr, 0) > 0;
  }
  void Send(int64_t stamp_ns, uint8_t* left, uint8_t* right) {
    for (size_t side = 0; side < 2; ++side) {
      Image& image = image_[side];
      for (auto* stamp : {&image.header.stamp, &info_[side].header.stamp}) {
        stamp->sec = static_cast<int32_t>(stamp_ns / kSecond);
        stamp->nanosec = static_cast<uint32_t>(stamp_ns % kSecond);
      }
      image.data._buffer = side == 0 ? left : right;
      image.data._length = image.data._maximum = image.height * image.step;
      Must(dds_write(infos_[side], &info_[side]), "CameraInfo");
      Must(dds_write(images_[side], &image), "Image");
    }
  }
  // How many came.
  int Read() {
    void* samples[16] = {};
    dds_sample_info_t infos[16];
    int all = 0;
    for (int count; (count = dds_take(reader_, samples, infos, 16, 16)) > 0; all += count) {
      for (int i = 0; i < count; ++i) {
        const auto& odometry = *static_cast<const Odometry*>(samples[i]);
        const auto& stamp = odometry.header.stamp;
        const auto& p = odometry.pose.pose.position;
        if (infos[i].valid_data) {
          std::printf("odometry %" PRId64 " %.6f %.6f %.6f\n", stamp.sec * kSecond + stamp.nanosec, p.x, p.y, p.z);
        }
      }
      dds_return_loan(reader_, samples, count);
    }
    return all;
  }

 private:
  dds_entity_t Topic(const std::string& name, const dds_topic_descriptor_t& type) const {
    return Must(dds_create_topic(participant_, &type, name.c_str(), nullptr, nullptr), name.c_str());
  }
  dds_entity_t Writer(const std::string& topic, const dds_topic_descriptor_t& type) const {
    return Must(dds_create_writer(participant_, Topic(topic, type), qos_, nullptr), topic.c_str());
  }

  std::string frame_ = "left_optical", model_ = "plumb_bob", encoding_ = "mono8";
  std::array<double, 5> lens_ = {};
  dds_entity_t participant_ = 0, reader_ = 0;
  dds_qos_t* qos_ = nullptr;
  std::array<dds_entity_t, 2> images_ = {}, infos_ = {};
  std::array<Image, 2> image_ = {};
  std::array<Info, 2> info_ = {};
};

int Run(char** words) {
  std::ifstream file(words[0], std::ios::binary);
  std::vector<uint8_t> pixels(std::istreambuf_iterator<char>(file), {});
  const int width = std::atoi(words[1]), height = std::atoi(words[2]), count = std::atoi(words[5]);
  const size_t size = static_cast<size_t>(width) * static_cast<size_t>(height);
  const int pairs = static_cast<int>(pixels.size() / size / 2);
  if (pairs < 2) return 2;
  Camera camera(width, height, std::atof(words[3]), std::atof(words[4]));
  for (const auto end = steady_clock::now() + kPatience; !camera.Matched();) {
    if (steady_clock::now() > end) {
      std::fprintf(stderr, "nobody reads the images, or writes odometry\n");
      return 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  auto due = steady_clock::now();
  for (int i = 0; i < count; ++i) {
    const int number = pairs - 1 - std::abs(pairs - 1 - i % (2 * pairs - 2));
    const int64_t now = std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
    uint8_t* const left = pixels.data() + 2 * static_cast<size_t>(number) * size;
    std::printf("sent %d %" PRId64 "\n", number, now);
    camera.Send(now, left, left + size);
    std::this_thread::sleep_until(due += kPeriod);
    camera.Read();
  }
  for (int quiet = 0; quiet < 20; ++quiet) {  // two seconds without any
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    if (camera.Read() > 0) quiet = 0;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return argc == 7 ? Run(argv + 1) : 2; }
