#include "tests/support/descriptors.h"

#include <cstring>
#include <sstream>

namespace glint::testing {
namespace {

constexpr int kPrototypes = 300;

void Fill(Random* random, uint8_t* row, int bytes) {
  for (int i = 0; i < bytes; ++i) row[i] = static_cast<uint8_t>(random->Bits() >> 24);
}

}  // namespace

DescriptorSet::DescriptorSet(int count, int bytes, Likeness likeness, uint32_t seed)
    : rows_(static_cast<size_t>(count) * static_cast<size_t>(bytes)), count_(count), bytes_(bytes) {
  Random of_width(static_cast<uint32_t>(bytes));
  std::vector<uint8_t> prototypes(static_cast<size_t>(kPrototypes * bytes));
  Fill(&of_width, prototypes.data(), kPrototypes * bytes);
  Random random(seed);
  for (int i = 0; i < count; ++i) {
    if (likeness == Likeness::kRandom) {
      Fill(&random, row(i), bytes);
      continue;
    }
    const int kinds = likeness == Likeness::kNoisy ? kPrototypes : likeness == Likeness::kFewValues ? 5 : 1;
    std::memcpy(row(i), prototypes.data() + random.Uniform(0, kinds - 1) * bytes, static_cast<size_t>(bytes));
    const int turned = likeness == Likeness::kNoisy ? random.Uniform(0, bytes) : 0;
    for (int n = 0; n < turned; ++n) {
      const int bit = random.Uniform(0, 8 * bytes - 1);
      row(i)[bit / 8] = static_cast<uint8_t>(row(i)[bit / 8] ^ 1 << bit % 8);
    }
  }
}

RandomConditions::RandomConditions(int queries, int trains, uint32_t seed) {
  Random random(seed);
  for (int q = 0; q < queries; ++q) {
    // Some windows lie outside everything.
    x_.push_back(random.Uniform(-30.0f, 670.0f));
    y_.push_back(random.Uniform(-30.0f, 510.0f));
    radius_.push_back(random.OneIn(20) ? 0.0f : random.Uniform(5.0f, 120.0f));
    min_octave_.push_back(random.Uniform(-1, 4));
    max_octave_.push_back(min_octave_.back() + random.Uniform(-1, 3));
    angle_.push_back(static_cast<float>(random.Uniform(0, 719)) / 2);
  }
  for (int t = 0; t < trains; ++t) {
    // Half of them on whole pixels, where windows end.
    const bool whole = random.OneIn(2);
    train_x_.push_back(whole ? static_cast<float>(random.Uniform(0, 639)) : random.Uniform(0.0f, 640.0f));
    train_y_.push_back(whole ? static_cast<float>(random.Uniform(0, 479)) : random.Uniform(0.0f, 480.0f));
    train_octave_.push_back(random.Uniform(0, 7));
    train_angle_.push_back(random.OneIn(3) ? random.Uniform(0.0f, 359.0f) : 10.0f * static_cast<float>(t % 5));
  }
  for (int q = 0; q < queries && trains > 0; q += 7) {
    // Edges exactly at a keypoint, which is then outside.
    const size_t t = static_cast<size_t>(random.Uniform(0, trains - 1));
    x_[static_cast<size_t>(q)] = train_x_[t] - radius_[static_cast<size_t>(q)];
    y_[static_cast<size_t>(q)] = train_y_[t];
  }
}

QueryConditions RandomConditions::windows() const { return {x_.data(), y_.data(), radius_.data()}; }
QueryConditions RandomConditions::octaves() const {
  return {nullptr, nullptr, nullptr, min_octave_.data(), max_octave_.data()};
}
QueryConditions RandomConditions::angles() const {
  return {nullptr, nullptr, nullptr, nullptr, nullptr, angle_.data()};
}
QueryConditions RandomConditions::all() const {
  return {x_.data(), y_.data(), radius_.data(), min_octave_.data(), max_octave_.data(), angle_.data()};
}
TrainKeypoints RandomConditions::keypoints() const {
  return {train_x_.data(), train_y_.data(), train_octave_.data(), train_angle_.data()};
}

std::vector<MatchOptions> OptionsToTry() {
  std::vector<MatchOptions> all(9);
  all[1].cross_check = true;
  all[2].ratio = 0.8f;
  all[3].cross_check = true;
  all[3].ratio = 1;
  all[3].max_distance = 40;
  all[4].k = 2;
  all[5].k = 3;
  all[5].ratio = 0.9f;
  all[5].max_distance = 90;
  all[6].k = 8;
  all[7].max_angle_difference = 35;
  all[7].cross_check = true;
  all[8].rotation_histogram = true;
  all[8].cross_check = true;
  return all;
}

std::string ToString(const MatchOptions& o) {
  std::ostringstream text;
  text << "k " << o.k << " cross_check " << o.cross_check << " ratio " << o.ratio << " max_distance " << o.max_distance
       << " max_angle_difference " << o.max_angle_difference << " rotation_histogram " << o.rotation_histogram;
  return text.str();
}

::testing::AssertionResult SameMatches(const MatchResult& expected, const MatchResult& actual) {
  if (expected.queries != actual.queries || expected.k != actual.k || expected.index.size() != actual.index.size() ||
      expected.distance.size() != actual.distance.size()) {
    return ::testing::AssertionFailure() << actual.queries << " queries, k " << actual.k << ", " << actual.index.size()
                                         << " entries; expected " << expected.queries << " queries, k " << expected.k
                                         << ", " << expected.index.size();
  }
  int wrong = 0;
  std::ostringstream text;
  for (size_t i = 0; i < expected.index.size(); ++i) {
    if (expected.index[i] == actual.index[i] && expected.distance[i] == actual.distance[i]) continue;
    if (++wrong > 5) continue;
    const size_t k = static_cast<size_t>(expected.k);
    text << "\n  query " << i / k << " entry " << i % k << ": " << actual.index[i] << " at " << actual.distance[i]
         << ", expected " << expected.index[i] << " at " << expected.distance[i];
  }
  if (wrong == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << wrong << " of " << expected.index.size() << " entries differ:" << text.str();
}

}  // namespace glint::testing
