#include "server/operations/operation.h"

namespace glint {

bool StreamState::Edit(FrameJob* job) {
  job->status = absl::InternalError("edit: there is nothing to edit");  // Read() finds none
  return true;
}

void StreamState::Answered(const FrameJob&) {}

}  // namespace glint
