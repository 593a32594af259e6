// Runs single stages of the CUDA backend through their launchers, from inputs and to outputs in the terms of
// features/reference. Needs a GPU.
//
//   StageTest::ForEachDevice([&](StageDevice* device) {
//     StageFrame frame(device, {options, shape});
//     frame.SetLevels(trace);          // images and masks that an earlier stage would have made
//     frame.FindCorners();
//     EXPECT_TRUE(SameCorners(trace[0].inside, frame.Candidates(0)));
//   });
#ifndef GLINT_TESTS_CUDA_STAGE_HARNESS_H_
#define GLINT_TESTS_CUDA_STAGE_HARNESS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cuda/enqueue_frame.h"
#include "cuda/plan/plan.h"
#include "cuda/runtime/owners.h"
#include "features/reference/corner.h"
#include "features/reference/reference.h"
#include "features/types.h"

namespace glint::cuda {

// A stream on device 0 and memory that frames use one after the other.
class StageDevice {
 public:
  // `multiprocessors`: how many the stream is confined to, 0: none; `planned`: how many frames are planned for.
  StageDevice(std::string name, int multiprocessors, int planned);

  const std::string& name() const { return name_; }
  const absl::Status& status() const { return status_; }
  StreamView stream() const { return stream_.view(); }
  int planned() const { return planned_; }

 private:
  friend class StageFrame;

  // At least `bytes` of device memory, filled with `value`.
  uint8_t* Fill(DeviceBuffer* buffer, size_t bytes, int value);

  std::string name_;
  absl::Status status_;
  int planned_;
  Stream stream_;
  DeviceBuffer scratch_, tables_, counters_, state_, result_;
};

// A corner in the result.
struct KeptCorner {
  reference::Corner corner;
  float angle = 0;
  std::array<uint8_t, kRbriefBytes> descriptor{};
};

// One frame: its plan, its memory, its stages. Memory that a kernel must not read holds a pattern; counters are zero,
// as before the first frame. Every call waits for the device; what fails there is a failure of the test.
class StageFrame {
 public:
  // Uses the device's memory: only the last one made may be used.
  StageFrame(StageDevice* device, const PlanKey& key);

  int levels() const { return frame().levels; }
  Shape shape(int level) const { return {frame().level[level].width, frame().level[level].height}; }
  const Frame& frame(int part = 0) const { return placed_[static_cast<size_t>(part)].frame; }
  const Schedule& schedule(int part = 0) const { return plan_.schedule(part); }
  const Plan& plan() const { return plan_; }

  // Inputs.
  void SetImage(int level, const ImageView& image);
  void SetMask(int level, const ImageView& mask);
  void SetRows(const ImageView& image, int first, int end);  // of level 0
  void SetLevels(const std::vector<reference::LevelTrace>& trace);
  void SetKept(int level, const std::vector<KeptCorner>& corners);  // positions and angles

  // Stages, by the launches of their schedule, and single launches of it.
  void BuildPyramid(int part = 0) { RunStage(Stage::kPyramid, part); }
  void FindCorners(int part = 0) { RunStage(Stage::kCorners, part); }
  void Select() { RunStage(Stage::kSelect, plan_.key().parts - 1); }      // from corners to the result
  void Describe() { RunStage(Stage::kDescribe, plan_.key().parts - 1); }  // angles after the ranking, and descriptors
  void Run(const Launch& launch);

  // Outputs.
  Image GetImage(int level) const;
  Image GetMask(int level) const;
  // What the corner stage found, or the best of each cell of this level, in raster order; not for
  // CornerTest::kEveryPixel.
  std::vector<reference::Corner> Candidates(int level) const;
  // How many the level kept; and these, as many as the result has room for, in its order.
  size_t KeptCount(int level) const;
  std::vector<KeptCorner> Kept(int level) const;
  // Sums of the pixels at or above and left of each, in raster order.
  std::vector<uint32_t> Integral(int level) const;

 private:
  void RunStage(Stage stage, int part);
  const SelectionParams& params() const { return placed_.back().params; }
  void Upload(uint8_t* to, int pitch, const ImageView& from);
  Image Download(const uint8_t* from, const Level& level) const;
  template <typename T>
  std::vector<T> Read(const T* from, size_t count) const;
  template <typename T>
  void Write(T* to, const std::vector<T>& values);
  void Wait() const;
  float ResponseOf(uint32_t key) const;  // of a record of the result
  std::vector<Candidate> ListedCandidates(int level) const;

  StageDevice* device_;
  Plan plan_;
  std::vector<PlacedFrame> placed_;  // of each part
  bool described_ = false;
};

}  // namespace glint::cuda

#endif  // GLINT_TESTS_CUDA_STAGE_HARNESS_H_
