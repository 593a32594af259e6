// Makes trackers over any Api: how tests inject faults.
#ifndef GLINT_CUDA_TRACK_TRACKER_FACTORY_H_
#define GLINT_CUDA_TRACK_TRACKER_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cuda/runtime/api.h"
#include "cuda/track/tracker.h"

namespace glint::cuda {

class TrackerFactory {
 public:
  // As Tracker::Create(). `api` must outlive the tracker.
  static absl::StatusOr<std::unique_ptr<Tracker>> Create(const TrackerOptions& options, Api* api);
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_TRACK_TRACKER_FACTORY_H_
