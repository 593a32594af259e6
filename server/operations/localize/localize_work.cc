#include "server/operations/localize/localize_work.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "lane/rectified_depth.h"
#include "server/base/allocations.h"
#include "server/pixels/image_pair.h"

namespace glint {
namespace {

using Kind = LocalizeTask::Kind;

// What a lane's thread reuses from pair to pair.
struct LocalizeScratch {
  Image left, right;  // pixels that do not lie side by side
  Image left_mask, right_mask;
  RectifiedDepth depths;  // of raw ones
  Location location;
  MapPart part;
};

// Clients know names of maps, not files.
absl::Status WithoutPath(const std::string& file, const absl::Status& status) {
  absl::string_view text = status.message();
  if (!absl::ConsumePrefix(&text, Echo(file))) return status;
  const std::string name = std::filesystem::path(file).stem().string();
  absl::Status about_map(status.code(), absl::StrCat("map ", name, text));
  auto info = ErrorInfoOf(status);
  if (!info.has_value()) return about_map;
  info->field = "name";
  if (info->value.empty()) info->value = name;
  return WithErrorInfo(about_map, *info);
}

absl::Status UseMap(const LaneContext& context, MapDirectory* maps, Localization* stream, LocalizeTask* task,
                    FrameJob* job) {
  const int64_t start = MonotonicNs();
  absl::Status status;
  if (task->kind == Kind::kRead) {
    MapPart& part = context.scratch->Of<LocalizeScratch>()->part;
    stream->Read(task->from, &part);
    task->part = &part;
  } else {
    const std::string& file = task->file;
    status = task->kind == Kind::kSave ? maps->Save(file, [&] { return stream->Save(file); }) : stream->Load(file);
    std::error_code error;
    const bool is_missing = absl::IsNotFound(status) && !std::filesystem::exists(file, error);
    status = is_missing ? maps->NoSuchMap(file) : WithoutPath(file, status);
  }
  job->times.adjust_ns = MonotonicNs() - start;
  return status;
}

// Puts the image that the camera with depth becomes, and the depths of its pixels, in place of the raw ones.
absl::Status RectifyDepth(const LaneContext& context, const Rectification& rectification, ImagePairPixels* pair,
                          DepthView* depth) {
  const Shape image = pair->left.shape(), camera = rectification.rgbd()->camera.image;
  if (image != camera) {
    return ContradictionError("left", absl::StrCat(image.width, "x", image.height, " is not the camera's ",
                                                   camera.width, "x", camera.height));
  }
  const Rectification::Tables& tables = rectification.tables();
  RectifiedRows& left = context.scratch->Of<ImageScratch>()->rectified_left;
  left.Use(pair->left, tables.left);
  left.LoadSource();
  pair->left = &left;
  RectifiedDepth& depths = context.scratch->Of<LocalizeScratch>()->depths;
  if (!rectification.rgbd()->depth_camera.has_value()) {
    *depth = depths.Remap(*depth, tables.left);
    return absl::OkStatus();
  }
  GLINT_ASSIGN_OR_RETURN(*depth, depths.Register(context.lane, *depth, tables.depth));
  return absl::OkStatus();
}

// The image with a view; but a raw one is for a device that remaps, where its source has one.
Pixels InMemory(const Lane& lane, Pixels image, Image* memory) {
  if (image.rows == nullptr || image.rows->remap() == nullptr || !lane.remaps()) image.view = ViewOf(image, memory);
  return image;
}

// The pixels of the task, in memory. An image with depths counts as the two images that it comes in.
absl::StatusOr<CameraView> ViewOfPair(const LaneContext& context, const LocalizeTask& task, FrameJob* job,
                                      int64_t* copy_ns) {
  ImageScratch& images = *context.scratch->Of<ImageScratch>();
  LocalizeScratch& scratch = *context.scratch->Of<LocalizeScratch>();
  CameraView view;
  ImagePairPixels pair;
  int64_t copied_depth = 0;
  if (task.depth.has_value()) {
    GLINT_ASSIGN_OR_RETURN(pair.left, DecodeImage(context, "left", task.left, &images.first, job));
    const int64_t pixels = pair.left.shape().pixels() + task.depth_shape.pixels();
    GLINT_RETURN_IF_ERROR(CheckPixels("left", pixels, context.max_pixels));
    const auto depth =
        DepthOf(task.right, *task.depth, task.depth_shape, context.decoder, &images.second, &copied_depth);
    if (!depth.ok()) return WithField("depth", depth.status());
    view.depth = *depth;
    if (task.rectification != nullptr) {
      GLINT_RETURN_IF_ERROR(RectifyDepth(context, *task.rectification, &pair, &view.depth));
    }
  } else {
    GLINT_ASSIGN_OR_RETURN(pair, DecodeImagePair(context, task.left, task.right, job));
    if (task.rectification != nullptr) {
      GLINT_RETURN_IF_ERROR(RectifyImagePair(context, *task.rectification, &pair));
      images.rectified_left.LoadSource();
      images.rectified_right.LoadSource();
    }
  }
  const Rectification::Tables* const tables = task.rectification == nullptr ? nullptr : &task.rectification->tables();
  GLINT_RETURN_IF_ERROR(task.stream_masks->Use(context, *task.detector, task.masks,
                                               tables == nullptr ? nullptr : &tables->left,
                                               tables == nullptr ? nullptr : &tables->right, &pair, job));
  const int64_t copy_at = MonotonicNs();
  view.left = InMemory(*context.lane, pair.left, &scratch.left);
  view.right = InMemory(*context.lane, pair.right, &scratch.right);
  view.left_mask = ViewOf(pair.left_mask, &scratch.left_mask);
  view.right_mask = ViewOf(pair.right_mask, &scratch.right_mask);
  *copy_ns = MonotonicNs() - copy_at;
  job->copied_bytes = images.first.rows.copied_bytes() + copied_depth;
  if (!view.has_depth()) job->copied_bytes += images.second.rows.copied_bytes();
  return view;
}

absl::Status LocatePair(const LaneContext& context, Localization* stream, LocalizeTask* task, FrameJob* job) {
  const int64_t start = MonotonicNs();
  int64_t copy_ns = 0;
  GLINT_ASSIGN_OR_RETURN(const CameraView view, ViewOfPair(context, *task, job, &copy_ns));
  const int64_t copy_at = MonotonicNs() - copy_ns;
  FrameTimes& times = job->times;
  times.decode_ns = copy_at - start;
  GLINT_RETURN_IF_ERROR(CheckNotCancelled(job));
  Location& location = context.scratch->Of<LocalizeScratch>()->location;
  GLINT_RETURN_IF_ERROR(task->kind == Kind::kRelocalize
                            ? stream->Relocalize(context.lane, view, &location, &times)
                            : stream->Track(context.lane, view, job->id, task->time_ns, &location, &times));
  location.warnings.insert(location.warnings.end(), job->warnings.begin(), job->warnings.end());
  if (location.inertial.has_value()) location.inertial->ahead_of_readings = task->ahead_of_readings;
  StageTimes& stages = times.stages;
  stages.upload_ns += copy_ns;
  // What lies between the stages counts as the last one's.
  stages.download_ns = std::max(stages.download_ns, MonotonicNs() - copy_at - stages.upload_ns - stages.detect_ns -
                                                        times.match_ns - times.locate_ns - times.adjust_ns);
  task->location = &location;
  return absl::OkStatus();
}

}  // namespace

absl::Status RunLocalize(const LaneContext& context, MapDirectory* maps, Localization* stream, LocalizeTask* task,
                         FrameJob* job) {
  const FramePathPause pause;
  absl::Status status =
      job->is_edit ? UseMap(context, maps, stream, task, job) : LocatePair(context, stream, task, job);
  task->size = stream->size();
  if (!job->is_edit) job->keypoints = 0;  // those of a location are not counted as detected
  return status;
}

}  // namespace glint
