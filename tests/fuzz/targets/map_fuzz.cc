// Map files (slam/map/map_file.h): foreign, cut short, damaged, made to deceive. A file is refused with a word about
// why, or read whole: written again it has the same bytes, and a localizer works with it. Neither takes much more
// memory than the file has bytes. Input: a byte for the kind; then the file, or edits of a good one, whose world may be
// level and which may be of the version before, and of which the checksum may be made right again.
#include <sanitizer/allocator_interface.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "features/options.h"
#include "slam/front_end/lane_front_end.h"
#include "slam/localizer.h"
#include "slam/map/map_file.h"
#include "tests/fuzz/targets/stereo_texture.h"

namespace glint {
namespace {

constexpr int kGoodPairs = 4;
// Reading: a vector may have room for twice what is in it.
constexpr size_t kMemoryPerByte = 6, kMemoryMore = 1 << 16;
// The index of places has tables of so many bytes for each two bytes of a descriptor, and then as below.
constexpr size_t kIndexTable = 65536 * 8, kIndexPerByte = 12;
constexpr size_t kChecksumBytes = sizeof(uint64_t);
constexpr size_t kVersionAt = 8;  // its first byte
constexpr slam::MapFileLimits kLimits = {64, 1000};

std::atomic<int64_t> allocated{0}, most_allocated{0};

void CountNew(const volatile void*, size_t bytes) {
  const int64_t now = allocated += static_cast<int64_t>(bytes);
  if (now > most_allocated) most_allocated = now;
}
void CountDelete(const volatile void* memory) {
  if (memory != nullptr) allocated -= static_cast<int64_t>(__sanitizer_get_allocated_size(memory));
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void MakeChecksumRight(std::string* file) {
  if (file->size() < kChecksumBytes) return;
  uint64_t sum = 14695981039346656037U;
  for (size_t i = 0; i + kChecksumBytes < file->size(); ++i) {
    sum = (sum ^ static_cast<uint8_t>((*file)[i])) * 1099511628211U;
  }
  std::memcpy(&(*file)[file->size() - kChecksumBytes], &sum, kChecksumBytes);
}

template <typename T>
void Put(T value, size_t at, std::string* file) {
  std::memcpy(&(*file)[at], &value, std::min(sizeof(value), file->size() - at));
}

enum Edit { kByte, kInt, kLong, kDouble, kCut, kInsert, kEdits };

void Change(fuzz::Input* input, std::string* file) {
  constexpr double kDoubles[] = {
      0, -1, 1e-300, 1e11, 1e300, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()};
  constexpr int64_t kLongs[] = {0,
                                -1,
                                1,
                                1000,
                                int64_t{1} << 32,
                                int64_t{1} << 53,
                                std::numeric_limits<int64_t>::max(),
                                std::numeric_limits<int64_t>::min()};
  const auto edit = input->Number<uint8_t>() % kEdits;
  const auto place = input->Number<int32_t>();  // negative: from the end
  const size_t at = place >= 0 ? static_cast<size_t>(place) % file->size()
                               : file->size() - 1 - static_cast<size_t>(~place) % file->size();
  switch (edit) {
    case kByte:
      return Put(input->Number<uint8_t>(), at, file);
    case kInt:
      return Put(input->Number<int32_t>(), at, file);
    case kLong:
      return Put(kLongs[input->Number<uint8_t>() % std::size(kLongs)], at, file);
    case kDouble:
      return Put(kDoubles[input->Number<uint8_t>() % std::size(kDoubles)], at, file);
    case kCut:
      return file->resize(at);
    default:
      file->insert(at, fuzz::ToString(input->Take(input->Number<uint8_t>())));
  }
}

class Target {
 public:
  Target() {
    __sanitizer_install_malloc_and_free_hooks(CountNew, CountDelete);
    const auto localizer = NewLocalizer();
    for (int i = 0; i < kGoodPairs; ++i) Take(i, localizer.get());
    FUZZ_CHECK(localizer->SaveMap(path_).ok());
    good_ = ReadFile(path_);
    Use(good_, true);
    // Without what the version before does not say; and with all of it.
    before_ = good_;
    before_.erase(before_.size() - kChecksumBytes - 1, 1);
    --before_[kVersionAt];
    MakeChecksumRight(&before_);
    Use(before_, true);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << good_;
    auto loaded = slam::ReadMapFile(path_, fuzz::StereoTexture::Camera(), front_end_.kind(), kLimits);
    FUZZ_CHECK(loaded.ok());
    loaded->map.SetLevel(loaded->map.keyframes().front().map_id, {0.01, {{{0.1, -0.1, 0}, {0.5, -0.5, 0}}, 0.01, 0.1}});
    FUZZ_CHECK(slam::WriteMapFile(path_, loaded->camera, loaded->scales, loaded->features, loaded->map).ok());
    level_ = ReadFile(path_);
    Use(level_, true);
  }
  ~Target() { std::filesystem::remove(path_); }
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  void Run(fuzz::Input input) {
    const auto kind = input.Number<uint8_t>();
    const std::string& good = kind / 4 % 4 == 1 ? level_ : kind / 4 % 4 == 2 ? before_ : good_;
    std::string file = good;
    if (kind % 4 == 0) {
      file = fuzz::ToString(input.Rest());
    } else {
      while (!input.empty() && !file.empty()) Change(&input, &file);
    }
    if (kind % 2 == 1) MakeChecksumRight(&file);
    Use(file, file == good);
  }

 private:
  std::unique_ptr<slam::Localizer> NewLocalizer() {
    slam::LocalizerOptions options;
    options.min_place_inliers = 10;
    options.odometry.min_inliers = 10;
    options.odometry.window = 3;
    auto made = slam::Localizer::Create(fuzz::StereoTexture::Camera(), options, &front_end_);
    FUZZ_CHECK(made.ok());
    return *std::move(made);
  }
  void Take(int pair, slam::Localizer* localizer) {
    fuzz::StereoTexture::Draw(pair, 0, &left_);
    fuzz::StereoTexture::Draw(pair, 1, &right_);
    slam::LocalizerResult result;
    const slam::FrameStamp stamp = {static_cast<uint64_t>(pair), (pair + 1) * int64_t{1'000'000'000}};
    FUZZ_CHECK(localizer->Track(left_.view(), right_.view(), stamp, &result).ok());
    FUZZ_CHECK(result.status != slam::TrackingStatus::kRelocalized || result.inliers >= 10);
  }

  void Use(const std::string& file, bool is_good) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << file;
    allocated = most_allocated = 0;
    const auto loaded = slam::ReadMapFile(path_, fuzz::StereoTexture::Camera(), front_end_.kind(), kLimits);
    FUZZ_CHECK(most_allocated <= static_cast<int64_t>(kMemoryPerByte * file.size() + kMemoryMore));
    if (!loaded.ok()) {
      FUZZ_CHECK(!is_good);
      FUZZ_CHECK(absl::IsInvalidArgument(loaded.status()) || absl::IsResourceExhausted(loaded.status()));
      FUZZ_CHECK(loaded.status().message().size() > path_.size());
      return;
    }
    FUZZ_CHECK(slam::WriteMapFile(path_, loaded->camera, loaded->scales, loaded->features, loaded->map).ok());
    FUZZ_CHECK(ReadFile(path_) == file || file[kVersionAt] != good_[kVersionAt]);
    Work(is_good, file.size(), static_cast<size_t>(loaded->map.keyframes().front().features->descriptor_bytes));
  }
  void Work(bool is_good, size_t bytes, size_t descriptor_bytes) {
    const auto localizer = NewLocalizer();
    const absl::Status status = localizer->LoadMap(path_);
    FUZZ_CHECK(status.ok());
    FUZZ_CHECK(localizer->MemoryBytes() <= kIndexTable * descriptor_bytes / 2 + kIndexPerByte * bytes + kMemoryMore);
    slam::LocalizerResult result;
    fuzz::StereoTexture::Draw(0, 0, &left_);
    fuzz::StereoTexture::Draw(0, 1, &right_);
    FUZZ_CHECK(localizer->Relocalize(left_.view(), right_.view(), &result).ok());
    FUZZ_CHECK(!is_good || result.status == slam::TrackingStatus::kRelocalized);
    for (int i = 0; i < kGoodPairs; ++i) Take(i, localizer.get());
    int64_t points = 0;
    localizer->VisitMap(nullptr, [&](const slam::MapPointView& point) {
      FUZZ_CHECK(point.observations > 0);
      ++points;
      return true;
    });
    FUZZ_CHECK(points <= kLimits.points + 1000);
    FUZZ_CHECK(localizer->SaveMap(path_).ok());
  }

  const std::string path_ =
      absl::StrCat(std::filesystem::temp_directory_path().string(), "/glint-fuzz-", getpid(), ".map");
  slam::LaneFrontEnd front_end_{fuzz::StereoTexture::Detector(), 1};
  Image left_, right_;
  std::string good_, level_, before_;
};

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static glint::Target target;
  target.Run(glint::fuzz::Input(data, size));
  return 0;
}
