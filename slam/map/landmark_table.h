// Landmarks of a map by id.
#ifndef GLINT_SLAM_MAP_LANDMARK_TABLE_H_
#define GLINT_SLAM_MAP_LANDMARK_TABLE_H_

#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace glint::slam {

struct MapLandmark {
  Eigen::Vector3d position = Eigen::Vector3d::Zero();  // world, metres
  int64_t keyframe = -1;                               // the last one that observes it, with which it is corrected
  int32_t observations = 0;                            // 0: no longer a point
  int32_t map_id = 0;                                  // of its keyframes
};

// Ids count up for as long as a camera is followed, so the memory of landmarks that are gone is given back in blocks.
class LandmarkTable {
 public:
  size_t size() const { return size_; }  // above all ids
  const MapLandmark& operator[](size_t id) const {
    static const MapLandmark none;
    return id < size_ && blocks_[id / kBlock] != nullptr ? (*blocks_[id / kBlock])[id % kBlock] : none;
  }
  // Makes a landmark without observations where there is none.
  MapLandmark& operator[](size_t id) {
    size_ = std::max(size_, id + 1);
    if (blocks_.size() <= id / kBlock) blocks_.resize(id / kBlock + 1);
    std::unique_ptr<Block>& block = blocks_[id / kBlock];
    if (block == nullptr) block = std::make_unique<Block>();
    return (*block)[id % kBlock];
  }
  // Frees the blocks whose landmarks have no observations.
  void Shrink() {
    const auto is_gone = [](const MapLandmark& p) { return p.observations == 0; };
    for (std::unique_ptr<Block>& block : blocks_) {
      if (block != nullptr && std::all_of(block->begin(), block->end(), is_gone)) block.reset();
    }
  }
  size_t MemoryBytes() const {
    const auto is_there = [](const std::unique_ptr<Block>& block) { return block != nullptr; };
    return blocks_.capacity() * sizeof(blocks_[0]) +
           static_cast<size_t>(std::count_if(blocks_.begin(), blocks_.end(), is_there)) * sizeof(Block);
  }

 private:
  static constexpr size_t kBlock = 64;
  using Block = std::array<MapLandmark, kBlock>;
  std::vector<std::unique_ptr<Block>> blocks_;
  size_t size_ = 0;
};

}  // namespace glint::slam

#endif  // GLINT_SLAM_MAP_LANDMARK_TABLE_H_
