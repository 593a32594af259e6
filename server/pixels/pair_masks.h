// Where keypoints of pairs are looked for: the masks and the region of a stream, the masks of a pair.
#ifndef GLINT_SERVER_PIXELS_PAIR_MASKS_H_
#define GLINT_SERVER_PIXELS_PAIR_MASKS_H_

#include <memory>
#include <mutex>

#include "absl/status/status.h"
#include "features/camera/remap_table.h"
#include "features/options.h"
#include "features/types.h"
#include "server/pixels/image_pair.h"
#include "server/pixels/image_source.h"
#include "server/pixels/stream_mask.h"
#include "server/schedule/lane_context.h"

namespace glint {

// The mask of a rectified image: 255 where all pixels that the image's pixel is mixed from lie in the source, and
// `mask`, of table.source's shape, is not 0 at them; else 0.
void RectifyMask(const ImageView& mask, const RemapTable& table, Image* rectified);

// What a stream says of all its pairs. A mask of one image says nothing of the other. A mask of a pair is in place of
// the stream's mask of the same image; the region holds with both. Thread-safe. Memory of a stream: a copy of its
// masks, and these decoded, or rectified in place of the copy.
class PairMasks {
 public:
  // Nothing.
  PairMasks() : PairMasks(PairMaskSources(), Region()) {}
  // Copies the bytes of the masks. Masks and region are of the images as they come, before they are rectified.
  PairMasks(const PairMaskSources& masks, const Region& region)
      : region_(region), left_(masks.left), right_(masks.right) {}

  // Sets the masks of a decoded pair; `own` are those that came with it. With tables its images have been remapped by
  // them, and so are the masks; they are null otherwise, and always the same for a stream. A pair without a right image
  // is an image with depth. Adds a warning of values that `detector` takes in cv::ORB's way. Allocates nothing once it
  // has seen the stream's masks and the largest of pairs. INVALID_ARGUMENT names mask, right_mask, or a field of
  // region: no picture, another size than the image's, a region that leads out of the image, a right mask without an
  // image. RESOURCE_EXHAUSTED: a mask of more pixels than an image of a pair may have.
  absl::Status Use(const LaneContext& context, const DetectorOptions& detector, const PairMaskSources& own,
                   const RemapTable* left_table, const RemapTable* right_table, ImagePairPixels* pair,
                   FrameJob* job) const;

 private:
  // The stream's mask of one image.
  struct Side {
    explicit Side(const ImageSource& source);

    const bool has_mask;
    mutable std::unique_ptr<StreamMask> mask;  // null: none, or it has been rectified
    // With a table: mask and region.
    mutable std::once_flag made;
    mutable absl::Status status;
    mutable Image rectified;
  };
  struct Wanted;

  absl::Status Find(const LaneContext& context, const Side& side, const Wanted& wanted, Pixels* mask,
                    double* other_values) const;

  const Region region_;
  const Side left_, right_;
};

}  // namespace glint

#endif  // GLINT_SERVER_PIXELS_PAIR_MASKS_H_
