#include "tests/support/track_cases.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace glint::testing {
namespace {

Shape RandomShape(Random* random) {
  if (random->OneIn(2)) return {random->Uniform(1, 33), random->Uniform(1, 33)};
  return {random->Uniform(34, 150), random->Uniform(34, 110)};
}

// The second image: the first one moved by whole pixels, with another gain and offset, and a little noise; or another.
std::pair<Image, Image> RandomPair(Random* random, Shape shape) {
  if (random->OneIn(8)) return {Flat(shape, 90), Flat(shape, static_cast<uint8_t>(random->Uniform(0, 255)))};
  if (random->OneIn(8)) return {RandomImage(random, shape), RandomImage(random, shape)};
  constexpr int kMargin = 12;
  const Shape large = {shape.width + 2 * kMargin, shape.height + 2 * kMargin};
  const Image whole = random->OneIn(4) ? RandomImage(random, large) : Texture(large, random->Bits(), 3);
  const int most = random->OneIn(3) ? kMargin : 3;
  const int dx = random->Uniform(-most, most);
  const int dy = random->Uniform(-most, most);
  const float gain = random->OneIn(2) ? 1 : random->Uniform(0.6f, 1.5f);
  const float offset = random->OneIn(2) ? 0 : random->Uniform(-40.0f, 40.0f);
  const int noise = random->Uniform(0, 3);
  std::pair<Image, Image> pair{Image(shape.width, shape.height), Image(shape.width, shape.height)};
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) {
      pair.first.row(y)[x] = whole.row(y + kMargin)[x + kMargin];
      const float moved = static_cast<float>(whole.row(y + kMargin + dy)[x + kMargin + dx]);
      const int value = static_cast<int>(gain * moved + offset) + random->Uniform(-noise, noise);
      pair.second.row(y)[x] = static_cast<uint8_t>(std::clamp(value, 0, 255));
    }
  }
  return pair;
}

Image Half(const ImageView& image) {
  Image out(image.width / 2, image.height / 2);
  for (int y = 0; y < out.height(); ++y) {
    for (int x = 0; x < out.width(); ++x) {
      const int sum = image.at(2 * x, 2 * y) + image.at(2 * x + 1, 2 * y) + image.at(2 * x, 2 * y + 1) +
                      image.at(2 * x + 1, 2 * y + 1);
      out.row(y)[x] = static_cast<uint8_t>((sum + 2) / 4);
    }
  }
  return out;
}

// Along one side of an image: inside, at the borders, or outside.
float RandomCoordinate(Random* random, int side) {
  const float last = static_cast<float>(side) - 0.5f;
  switch (random->Uniform(0, 9)) {
    case 0:
      return -0.5f;
    case 1:
      return last - 0.001f;
    case 2:
      return static_cast<float>(random->Uniform(0, side - 1));
    case 3:
      return random->OneIn(3) ? random->Uniform(-40.0f, last + 40.0f) : 0;
    default:
      return random->Uniform(-0.5f, last);
  }
}

template <typename T>
bool SameBytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

TrackOptions RandomTrackOptions(Random* random) {
  TrackOptions o;
  o.levels = random->Uniform(1, random->OneIn(4) ? kMaxTrackLevels : 4);
  const int usual[] = {8, 16, 21};
  o.patch_size = random->OneIn(2) ? usual[random->Uniform(0, 2)] : random->Uniform(kMinTrackPatch, kMaxTrackPatch);
  o.coarse_patch_size = random->OneIn(2) ? o.patch_size : random->Uniform(kMinTrackPatch, kMaxTrackPatch);
  o.fine_levels = random->Uniform(0, 4);
  o.intensity = static_cast<IntensityModel>(random->Uniform(0, 3));
  o.max_iterations = random->OneIn(3) ? random->Uniform(1, 5) : 30;
  o.epsilon = random->OneIn(3) ? random->Uniform(0.0f, 0.3f) : 0.01f;
  o.min_eigenvalue = random->OneIn(3) ? random->Uniform(0.0f, 30.0f) : 0.1f;
  o.require_convergence = random->OneIn(3);
  o.max_move = random->OneIn(3) ? random->Uniform(0.0f, 10.0f) : kMaxTrackCoordinate;
  o.max_residual = random->OneIn(3) ? random->Uniform(0.0f, 10.0f) : 0;
  o.max_backward_error = random->OneIn(3) ? random->Uniform(0.001f, 1.0f) : 0;
  return o;
}

RandomTrackCase::RandomTrackCase(uint32_t seed) : name_("case " + std::to_string(seed)) {
  Random random(seed * 2654435761u + 1);
  const Shape shape = RandomShape(&random);
  options_ = RandomTrackOptions(&random);
  name_ += ", " + std::to_string(shape.width) + "x" + std::to_string(shape.height) + ", patches " +
           std::to_string(options_.patch_size) + " and " + std::to_string(options_.coarse_patch_size);
  std::pair<Image, Image> pair = RandomPair(&random, shape);
  Image* level[2] = {&pair.first, &pair.second};
  TrackPyramid* pyramids[2] = {&input_.from, &input_.to};
  for (int i = 0; i < 2; ++i) {
    const int levels = UsedTrackLevels(options_, shape);
    for (int l = 0; l < levels; ++l) {
      if (l > 0) *level[i] = Half(*level[i]);
      images_[i].emplace_back(*level[i], level[i]->width() + random.Uniform(0, 9));
    }
    for (const StridedImage& image : images_[i]) views_[i].push_back(image);
    *pyramids[i] = {views_[i].data(), levels};
  }
  const int points = random.Uniform(1, 24);
  const bool predicts = random.OneIn(3);
  for (int p = 0; p < points; ++p) {
    x_.push_back(RandomCoordinate(&random, shape.width));
    y_.push_back(RandomCoordinate(&random, shape.height));
    to_x_.push_back(x_.back() + random.Uniform(-6.0f, 6.0f));
    to_y_.push_back(random.OneIn(10) ? kMaxTrackCoordinate : y_.back() + random.Uniform(-6.0f, 6.0f));
  }
  input_.count = points;
  input_.x = x_.data();
  input_.y = y_.data();
  if (predicts) {
    input_.to_x = to_x_.data();
    input_.to_y = to_y_.data();
  }
}

::testing::AssertionResult SameTracks(const TrackResult& expected, const TrackResult& actual) {
  if (expected.count() != actual.count()) return ::testing::AssertionFailure() << "another number of points";
  for (size_t i = 0; i < expected.count(); ++i) {
    if (expected.status[i] != actual.status[i] || expected.x[i] != actual.x[i] || expected.y[i] != actual.y[i] ||
        expected.iterations[i] != actual.iterations[i]) {
      return ::testing::AssertionFailure()
             << "point " << i << ": (" << expected.x[i] << ", " << expected.y[i] << "), status "
             << static_cast<int>(expected.status[i]) << ", iterations " << expected.iterations[i] << "; but ("
             << actual.x[i] << ", " << actual.y[i] << "), status " << static_cast<int>(actual.status[i])
             << ", iterations " << actual.iterations[i];
    }
  }
  const bool same = SameBytes(expected.x, actual.x) && SameBytes(expected.y, actual.y) &&
                    SameBytes(expected.residual, actual.residual) && SameBytes(expected.gain, actual.gain) &&
                    SameBytes(expected.offset, actual.offset) &&
                    SameBytes(expected.backward_error, actual.backward_error);
  return same ? ::testing::AssertionSuccess()
              : ::testing::AssertionFailure() << "same positions, but other residuals, gains, offsets or errors";
}

void TrackStatusCounts::Add(const TrackResult& result) {
  for (const TrackStatus status : result.status) ++counts_[static_cast<size_t>(status)];
}

void TrackStatusCounts::ExpectAll() const {
  for (size_t i = 0; i < counts_.size(); ++i) EXPECT_GT(counts_[i], 20) << "status " << i;
}

}  // namespace glint::testing
