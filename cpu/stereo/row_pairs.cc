#include "cpu/stereo/row_pairs.h"

#include <algorithm>

namespace glint::cpu {
namespace {

DescriptorView DescriptorsOf(const Features& f) {
  return {f.descriptors.data(), static_cast<int>(f.count()), f.descriptor_bytes};
}

// Sorts 0..count-1 by their bin, stably: those of bin b are at [first[b], first[b + 1]) of `numbers`.
void SortByBin(const int32_t* bin, size_t count, size_t bins, int32_t* first, int32_t* numbers) {
  std::fill(first, first + bins + 1, 0);
  for (size_t i = 0; i < count; ++i) ++first[bin[i]];
  // Where each bin ends; filling from the back makes that where it begins.
  for (size_t b = 1; b <= bins; ++b) first[b] += first[b - 1];
  for (size_t i = count; i-- > 0;) numbers[--first[bin[i]]] = static_cast<int32_t>(i);
}

}  // namespace

void RowPairs::Build(const StereoInput& input, const StereoOptions& options) {
  input_ = input;
  SortRight(options);
  FindRanges(options);
}

size_t RowPairs::Collect(CollectCandidates collect, const StereoOptions& options, int left, int32_t* numbers) const {
  const RowCandidates right = {x_.data(), low_.data(), high_.data(), octave_.data(), right_.data()};
  const size_t l = static_cast<size_t>(left);
  return collect(right, static_cast<size_t>(from_[l]), static_cast<size_t>(to_[l]), PointOf(*input_.left.features, l),
                 options, numbers);
}

MatchJob RowPairs::Job(const StereoOptions& options) {
  SortLeft();
  const Features& left = *input_.left.features;
  conditions_ = {left.x.data(),         left_row_.data(),
                 left.octave.data(),    x_.data(),
                 low_.data(),           high_.data(),
                 octave_.data(),        options.min_disparity,
                 options.max_disparity, options.max_octave_difference};
  MatchJob job;
  job.query = DescriptorsOf(left);
  job.train = DescriptorsOf(*input_.right.features);
  job.query_number = left_.data();
  job.from = from_.data();
  job.to = to_.data();
  job.train_number = right_.data();
  job.stereo = &conditions_;
  job.each = 2;
  return job;
}

// By rows of the image.
void RowPairs::SortRight(const StereoOptions& options) {
  const Features& right = *input_.right.features;
  const size_t rights = right.count();
  const size_t rows = static_cast<size_t>(input_.plan.level[0].shape.height);
  const size_t padded = PaddedTrains(static_cast<int>(rights)) + kCandidatePad;
  int32_t* const bin = bin_.Reserve(rights);
  for (size_t j = 0; j < rights; ++j) bin[j] = static_cast<int32_t>(right.y[j]);
  int32_t* const numbers = right_.Reserve(padded);
  SortByBin(bin, rights, rows, first_right_.Reserve(rows + 1), numbers);
  for (Buffer<float>* values : {&x_, &low_, &high_}) values->Reserve(padded);
  octave_.Reserve(padded);
  for (size_t place = 0; place < padded; ++place) {
    const StereoPoint point = PointOf(right, static_cast<size_t>(numbers[std::min(place, rights - 1)]));
    const StereoBand band = BandOf(options, point, input_.plan.level[static_cast<size_t>(point.octave)].scale);
    x_[place] = point.x;
    low_[place] = band.low;
    high_[place] = band.high;
    octave_[place] = point.octave;
  }
  std::fill(numbers + rights, numbers + padded, kNoKey);
}

void RowPairs::FindRanges(const StereoOptions& options) {
  const Features& left = *input_.left.features;
  const size_t lefts = left.count();
  const int rows = input_.plan.level[0].shape.height;
  from_.Reserve(lefts);
  to_.Reserve(lefts);
  pairs_ = 0;
  for (size_t i = 0; i < lefts; ++i) {
    const StereoPoint point = PointOf(left, i);
    const int highest = std::min(point.octave + options.max_octave_difference, input_.plan.levels - 1);
    // The band ends within two rows; see IsStereoPair().
    const float reach = options.band * input_.plan.level[static_cast<size_t>(highest)].scale + 2;
    const int top = std::clamp(static_cast<int>(point.y - reach), 0, rows - 1);
    const int bottom = std::clamp(static_cast<int>(point.y + reach), 0, rows - 1);
    from_[i] = first_right_[static_cast<size_t>(top)];
    to_[i] = first_right_[static_cast<size_t>(bottom) + 1];
    pairs_ += to_[i] - from_[i];
  }
}

// By octaves, whose bands are of different heights, then by rows.
void RowPairs::SortLeft() {
  const Features& left = *input_.left.features;
  const size_t lefts = left.count();
  const int rows = input_.plan.level[0].shape.height;
  const size_t bins = static_cast<size_t>(input_.plan.levels) * static_cast<size_t>(rows);
  int32_t* const bin = bin_.Reserve(lefts);
  float* const left_row = left_row_.Reserve(lefts);
  for (size_t i = 0; i < lefts; ++i) {
    const int row = static_cast<int>(left.y[i]);
    bin[i] = left.octave[i] * rows + row;
    left_row[i] = static_cast<float>(row);
  }
  SortByBin(bin, lefts, bins, first_left_.Reserve(bins + 1), left_.Reserve(lefts));
}

}  // namespace glint::cpu
