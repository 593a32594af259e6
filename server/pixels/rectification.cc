#include "server/pixels/rectification.h"

#include "server/base/allocations.h"

namespace glint {

const Rectification::Tables& Rectification::tables() const {
  std::call_once(made_, [this] {
    const FramePathPause pause;
    tables_.left = MakeRemapTable(rig_.left, rectified_.rectified_from_left, rectified_.camera);
    tables_.right = MakeRemapTable(rig_.right, rectified_.rectified_from_right, rectified_.camera);
  });
  return tables_;
}

}  // namespace glint
