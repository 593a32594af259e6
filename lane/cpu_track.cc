#include "lane/cpu_track.h"

#include <cstring>

namespace glint {
namespace {

class CpuTrackFrames final : public TrackFrames {
 public:
  CpuTrackFrames(Shape shape, int levels, int count) : levels_(levels), frames_(static_cast<size_t>(count)) {
    for (Frame& frame : frames_) frame.image.Resize(shape);
  }

  ImageView Set(int number, const Pixels& pixels) {
    Frame& frame = frames_[static_cast<size_t>(number)];
    Image& image = frame.image;
    if (pixels.view.empty()) {
      pixels.rows->CopyRows(0, image.height(), image.row(0), image.stride());
    } else {
      for (int y = 0; y < image.height(); ++y) {
        std::memcpy(image.row(y), pixels.view.row(y), static_cast<size_t>(image.width()));
      }
    }
    frame.levels.Build(image, levels_);
    return image;
  }
  TrackPyramid pyramid(int number) const { return frames_[static_cast<size_t>(number)].levels.view(); }

 private:
  struct Frame {
    Image image;
    cpu::TrackLevels levels;
  };

  const int levels_;
  std::vector<Frame> frames_;
};

}  // namespace

std::unique_ptr<TrackFrames> CpuTrack::MakeFrames(Shape shape, int levels, int count) {
  return std::make_unique<CpuTrackFrames>(shape, levels, count);
}

ImageView CpuTrack::SetFrame(TrackFrames* frames, int number, const Pixels& image) {
  return static_cast<CpuTrackFrames*>(frames)->Set(number, image);
}

void CpuTrack::Follow(TrackFrames* frames, int to, const TrackInput& points, absl::Span<const TrackSegment> segments,
                      const TrackOptions& options, TrackResult* result) {
  const auto* const of = static_cast<const CpuTrackFrames*>(frames);
  TrackInput input;
  input.to = of->pyramid(to);
  result->Resize(static_cast<size_t>(points.count));
  int begin = 0;
  for (const TrackSegment& segment : segments) {
    input.from = of->pyramid(segment.frame);
    input.count = segment.count;
    input.x = points.x + begin;
    input.y = points.y + begin;
    input.to_x = points.to_x + begin;
    input.to_y = points.to_y + begin;
    tracker_.Track(input, options, &part_);
    result->Put(static_cast<size_t>(begin), part_);
    begin += segment.count;
  }
}

}  // namespace glint
