// Where tracks may begin and live: the masks of a stream or of a frame, within the stream's region.
#ifndef GLINT_SERVER_OPERATIONS_TRACK_TRACK_MASKS_H_
#define GLINT_SERVER_OPERATIONS_TRACK_TRACK_MASKS_H_

#include <array>
#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "features/types.h"
#include "server/config/track_limits.h"
#include "server/pixels/image_source.h"
#include "server/pixels/job_pixels.h"
#include "server/pixels/stream_mask.h"
#include "server/schedule/lane_context.h"

namespace glint {

// Thread-compatible. Memory: a copy of the stream's masks as they came, and a byte for each pixel of a frame's images,
// rows padded to 64.
class TrackMasks {
 public:
  // Copies the bytes of `masks`: none, or one of each camera.
  TrackMasks(absl::Span<const ImageSource> masks, const Region& region);

  // The mask of an image of the camera: 255 where tracks may be, else 0; empty: they may be everywhere. `own` is the
  // frame's, in place of the stream's, or of kind kNone. Called for the cameras of a frame in order; valid until the
  // next frame. Allocates only after an image of another shape than the camera's last. INVALID_ARGUMENT names
  // masks[camera] or a field of region: no picture, another size than the image's, a region that leads out of the
  // image.
  absl::StatusOr<ImageView> Of(const LaneContext& context, int camera, Shape image, const ImageSource& own,
                               PixelScratch* scratch);

 private:
  struct Camera {
    std::unique_ptr<StreamMask> mask;  // the stream's, or null
    Image drawn;
    bool is_streams = false;  // `drawn` is of the stream's mask and region
  };

  const Region region_;
  std::array<Camera, kMaxTrackCameras> cameras_;
};

}  // namespace glint

#endif  // GLINT_SERVER_OPERATIONS_TRACK_TRACK_MASKS_H_
