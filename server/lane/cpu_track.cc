#include "server/lane/cpu_track.h"

#include <cstring>

namespace glint {
namespace {

class CpuTrackFrames final : public TrackFrames {
 public:
  CpuTrackFrames(Shape shape, int levels) : levels_(levels) {
    for (Frame& frame : frames_) frame.image.Resize(shape);
  }

  void Advance() override { next_ = 1 - next_; }

  ImageView SetNext(const Pixels& pixels) {
    Frame& frame = frames_[next_];
    Image& image = frame.image;
    if (pixels.rows != nullptr) {
      pixels.rows->CopyRows(0, image.height(), image.row(0), image.stride());
    } else {
      for (int y = 0; y < image.height(); ++y) {
        std::memcpy(image.row(y), pixels.view.row(y), static_cast<size_t>(image.width()));
      }
    }
    frame.levels.Build(image, levels_);
    return image;
  }
  TrackPyramid last() const { return frames_[1 - next_].levels.view(); }
  TrackPyramid next() const { return frames_[next_].levels.view(); }

 private:
  struct Frame {
    Image image;
    cpu::TrackLevels levels;
  };

  const int levels_;
  std::array<Frame, 2> frames_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<TrackFrames> CpuTrack::MakeFrames(Shape shape, int levels) {
  return std::make_unique<CpuTrackFrames>(shape, levels);
}

ImageView CpuTrack::SetNext(TrackFrames* frames, const Pixels& image) {
  return static_cast<CpuTrackFrames*>(frames)->SetNext(image);
}

void CpuTrack::Track(TrackFrames* frames, const TrackInput& points, const TrackOptions& options, TrackResult* result) {
  const auto* const of = static_cast<const CpuTrackFrames*>(frames);
  TrackInput input = points;
  input.from = of->last();
  input.to = of->next();
  tracker_.Track(input, options, result);
}

}  // namespace glint
