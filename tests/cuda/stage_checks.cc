#include "tests/cuda/stage_checks.h"

#include <algorithm>
#include <iostream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cuda/pipeline.h"
#include "cuda/runtime/error.h"
#include "tests/support/random.h"

namespace glint::cuda {
namespace {

using reference::Corner;
using reference::LevelTrace;

bool RasterBefore(const Corner& a, const Corner& b) { return a.y != b.y ? a.y < b.y : a.x < b.x; }

std::string ToText(const Corner& c) { return absl::StrCat("(", c.x, ", ", c.y, ") ", c.response); }

}  // namespace

absl::Status* StageTest::unusable_ = nullptr;
std::vector<std::unique_ptr<StageDevice>>* StageTest::devices_ = nullptr;

void StageTest::SetUpTestSuite() {
  unusable_ = new absl::Status(ProbeDevice(0));
  if (!unusable_->ok()) {
    std::cout << "GLINT_SKIP_ALL: " << unusable_->message() << std::endl;
    return;
  }
  constexpr int kFew = 8;
  cudaDeviceProp properties{};
  *unusable_ = ToStatus(CudaApi().GetDeviceProperties(&properties, 0), "asking for the device's properties");
  devices_ = new std::vector<std::unique_ptr<StageDevice>>;
  devices_->push_back(std::make_unique<StageDevice>("all multiprocessors", 0, properties.multiProcessorCount));
  devices_->push_back(std::make_unique<StageDevice>("8 multiprocessors", kFew, kFew));
  if (absl::IsFailedPrecondition(devices_->back()->status()) || absl::IsInternal(devices_->back()->status())) {
    std::cout << "without green contexts: " << devices_->back()->status() << std::endl;
    devices_->back() = std::make_unique<StageDevice>("all, planned for 8", 0, kFew);
  }
  devices_->push_back(std::make_unique<StageDevice>("all, planned for 1", 0, 1));
}

void StageTest::TearDownTestSuite() {
  delete std::exchange(devices_, nullptr);
  delete std::exchange(unusable_, nullptr);
}

void StageTest::SetUp() {
  if (!unusable_->ok()) GTEST_SKIP() << unusable_->message();
  for (const auto& device : *devices_) ASSERT_TRUE(device->status().ok()) << device->name() << device->status();
}

void StageTest::ForEachDevice(const std::function<void(StageDevice*)>& run) {
  for (const auto& device : *devices_) {
    SCOPED_TRACE(device->name());
    run(device.get());
  }
}

::testing::AssertionResult SameCorners(std::vector<Corner> expected, const std::vector<Corner>& found) {
  std::sort(expected.begin(), expected.end(), RasterBefore);
  if (expected == found) return ::testing::AssertionSuccess();
  auto result = ::testing::AssertionFailure() << expected.size() << " corners expected, " << found.size() << " found";
  for (size_t i = 0; i < std::max(expected.size(), found.size()); ++i) {
    if (i < expected.size() && i < found.size() && expected[i] == found[i]) continue;
    return result << "; number " << i << ": expected " << (i < expected.size() ? ToText(expected[i]) : "none")
                  << ", found " << (i < found.size() ? ToText(found[i]) : "none");
  }
  return result;
}

::testing::AssertionResult SameKept(const LevelTrace& expected, const StageFrame& frame, int level, bool angles) {
  const size_t count = frame.KeptCount(level);
  if (count != expected.keypoints.size()) {
    return ::testing::AssertionFailure() << "level " << level << ": " << expected.keypoints.size()
                                         << " keypoints expected, " << count << " found";
  }
  const std::vector<KeptCorner> kept = frame.Kept(level);
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i].corner == expected.keypoints[i] && (!angles || kept[i].angle == expected.angles[i])) continue;
    return ::testing::AssertionFailure() << "level " << level << ", number " << i << " of " << count << ": expected "
                                         << ToText(expected.keypoints[i]) << " at " << expected.angles[i] << ", found "
                                         << ToText(kept[i].corner) << " at " << kept[i].angle;
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult SameImage(const ImageView& expected, const ImageView& found) {
  if (expected.shape() != found.shape()) return ::testing::AssertionFailure() << "shapes differ";
  for (int y = 0; y < expected.height; ++y) {
    for (int x = 0; x < expected.width; ++x) {
      if (expected.at(x, y) == found.at(x, y)) continue;
      return ::testing::AssertionFailure()
             << expected.width << "x" << expected.height << " differs first at (" << x << ", " << y << "): expected "
             << int{expected.at(x, y)} << ", found " << int{found.at(x, y)};
    }
  }
  return ::testing::AssertionSuccess();
}

std::vector<LevelTrace> TraceOf(const DetectorOptions& options, const ImageView& image, const ImageView& mask) {
  std::vector<LevelTrace> trace;
  reference::Detect(options, image, mask, &trace);
  return trace;
}

Image Dots(std::vector<uint8_t> scores, uint32_t seed, int spacing) {
  testing::Random random(seed);
  for (size_t i = scores.size(); i > 1; --i) {
    std::swap(scores[i - 1], scores[random.Bits() % i]);
  }
  int across = 1;
  while (static_cast<size_t>(across) * static_cast<size_t>(across) < scores.size()) ++across;
  const auto down = static_cast<int>((scores.size() + static_cast<size_t>(across) - 1) / static_cast<size_t>(across));
  Image image(across * spacing + 2, down * spacing + 2);
  for (int y = 0; y < image.height(); ++y) std::fill_n(image.row(y), image.width(), uint8_t{0});
  for (size_t i = 0; i < scores.size(); ++i) {
    const auto at = static_cast<int>(i);
    // A dot of 1 more than the score: its ring is darker by more than the score.
    image.row(at / across * spacing + 3)[at % across * spacing + 3] = static_cast<uint8_t>(scores[i] + 1);
  }
  return image;
}

std::vector<Shape> StageShapes() {
  std::vector<Shape> shapes;
  for (const int side : {1, 3, 7, 15, 16, 17, 31, 32, 33}) {
    shapes.push_back({side, side});
    shapes.push_back({side, 60});
    shapes.push_back({131, side});
  }
  shapes.push_back({631, 479});
  return shapes;
}

}  // namespace glint::cuda
