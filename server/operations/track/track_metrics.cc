#include "server/operations/track/track_metrics.h"

#include <utility>

namespace glint {

TrackMetrics::TrackMetrics(prometheus::Registry* registry)
    : live_(&metric::Gauges(registry, metric::kTracks).Add({})),
      streams_(&metric::Gauges(registry, metric::kTrackStreams).Add({})),
      begun_(&metric::Counters(registry, metric::kTracksBegun).Add({})),
      age_(&metric::Histograms(registry, metric::kTrackAge)
                .Add({}, prometheus::Histogram::BucketBoundaries{0, 1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 75, 100, 200,
                                                                 500, 1000, 10000})),
      seconds_(metric::Stage(registry, "track")) {
  auto& ended = metric::Counters(registry, metric::kTracksEnded);
  const std::pair<TrackState, const char*> reasons[] = {{TrackState::kFlat, "flat"},
                                                        {TrackState::kOutOfImage, "out_of_image"},
                                                        {TrackState::kMovedTooFar, "moved_too_far"},
                                                        {TrackState::kNotConverged, "not_converged"},
                                                        {TrackState::kHighResidual, "high_residual"},
                                                        {TrackState::kBackwardError, "backward_error"},
                                                        {TrackState::kImageResized, "image_resized"},
                                                        {TrackState::kLastFrameLost, "last_frame_lost"},
                                                        {TrackState::kReset, "reset"},
                                                        {TrackState::kForgotten, "forgotten"},
                                                        {TrackState::kMasked, "masked"}};
  for (const auto& [state, name] : reasons) ended_[static_cast<size_t>(state)] = &ended.Add({{"reason", name}});
}

void TrackMetrics::Changed(const CameraTracks& tracks) const {
  for (size_t i = 0; i < tracks.count(); ++i) {
    if (!tracks.lives(i)) {
      live_->Decrement();
      ended_[static_cast<size_t>(tracks.state[i])]->Increment();
      age_->Observe(tracks.age[i]);
    } else if (tracks.age[i] == 0) {
      live_->Increment();
      begun_->Increment();
    }
  }
}

}  // namespace glint
