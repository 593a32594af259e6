// A frame's way to the device: its image, and the launches behind it.
#include <algorithm>
#include <cstring>

#include "cuda/pipeline_impl.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"
#include "features/options.h"
#include "features/pixels.h"

namespace glint::cuda {
namespace {

// Pageable rows are copied to pinned memory in bands, so that the device receives one while the next is copied.
constexpr int kBandBytes = 256 * 1024;
// Images of up to so many bands are copied as a whole, for the copy to the device to be part of the frame's graph.
constexpr int kBandsForGraph = 2;

void CopyRows(const Pixels& image, int first, int count, uint8_t* to, int pitch) {
  const ImageView& view = image.view;
  if (view.empty()) return image.rows->CopyRows(first, count, to, pitch);
  const auto width = static_cast<size_t>(view.width);
  if (view.stride == pitch && view.width == pitch) {
    std::memcpy(to, view.row(first), static_cast<size_t>(count) * width);
    return;
  }
  for (int y = 0; y < count; ++y) std::memcpy(to + static_cast<ptrdiff_t>(y) * pitch, view.row(first + y), width);
}

}  // namespace

// Rows `range` of the image; `staging_image` and `device_image` are where the image begins. Without the latter the
// device reads the former.
absl::Status Pipeline::Impl::Upload(cudaStream_t s, const Pixels& image, RowRange range, int pitch,
                                    uint8_t* staging_image, uint8_t* device_image) {
  const auto width = static_cast<size_t>(image.shape().width);
  const auto to_pitch = static_cast<size_t>(pitch);
  if (device_image != nullptr && !image.view.empty() && AttributesOf(api, image.view.data).type == cudaMemoryTypeHost) {
    const auto from_pitch = static_cast<size_t>(image.view.stride);
    const auto height = static_cast<size_t>(range.count);
    const uint8_t* const from = image.view.row(range.first);
    uint8_t* const to = device_image + static_cast<size_t>(range.first) * to_pitch;
    const bool contiguous = from_pitch == to_pitch && from_pitch == width;
    const cudaError_t error =
        contiguous ? api->MemcpyAsync(to, from, width * height, cudaMemcpyHostToDevice, s)
                   : api->Memcpy2DAsync(to, to_pitch, from, from_pitch, width, height, cudaMemcpyHostToDevice, s);
    return ToStatus(error, "copying pinned pixels to the device");
  }
  const int end = range.first + range.count;
  // Where the device is busy with other frames anyway, more copies only take longer.
  const bool in_bands = !image.view.empty() || begun_alone;
  const int band_rows = in_bands ? std::max(1, kBandBytes / pitch) : range.count;
  for (int first = range.first; first < end; first += band_rows) {
    const int count = std::min(band_rows, end - first);
    const size_t offset = static_cast<size_t>(first) * to_pitch;
    CopyRows(image, first, count, staging_image + offset, pitch);
    if (device_image == nullptr) continue;
    GLINT_RETURN_IF_ERROR(ToStatus(api->MemcpyAsync(device_image + offset, staging_image + offset,
                                                    static_cast<size_t>(count) * to_pitch, cudaMemcpyHostToDevice, s),
                                   "copying pixels to the device"));
  }
  return absl::OkStatus();
}

absl::Status Pipeline::Impl::UploadAll(const Prepared& prepared, const Pixels& image, const RemapSource* raw,
                                       const Pixels& mask) {
  const Plan& plan = prepared.plan;
  if (raw != nullptr) {
    GLINT_RETURN_IF_ERROR(UploadRaw(prepared, *raw));
  } else {
    GLINT_RETURN_IF_ERROR(Upload(stream.view().stream, image, {0, plan.key().shape.height}, plan.pitch(),
                                 staging.data(), device.integrated ? nullptr : prepared.frame().level[0].image));
  }
  return plan.key().masked ? UploadMask(prepared, mask) : absl::OkStatus();
}

// To integrated devices, too: each pixel is read many times, and their caches do not hold what is mapped.
absl::Status Pipeline::Impl::UploadRaw(const Prepared& prepared, const RemapSource& raw) {
  const StreamView s = stream.view();
  const Shape shape = raw.source.shape();
  GLINT_RETURN_IF_ERROR(remapper.Prepare(s, *raw.table));
  GLINT_RETURN_IF_ERROR(
      Upload(s.stream, raw.source, {0, shape.height}, shape.width, remapper.staging(), remapper.source()));
  return remapper.Enqueue(s, prepared.frame().level[0].image, prepared.plan.pitch());
}

absl::StatusOr<DepthView> Pipeline::Impl::RegisterDepth(const DepthView& depth, const DepthTable& table) {
  if (!registrar.Choose(table)) return DepthView();
  const Range range("depth");
  GLINT_RETURN_IF_ERROR(ToStatus(api->SetDevice(options.device), "choosing the device"));
  const StreamView s = stream.view();
  // On integrated devices in place: each sample is read once.
  GLINT_RETURN_IF_ERROR(registrar.Prepare(s, table, /*in_place=*/device.integrated));
  const ImageView bytes{depth.data, 2 * depth.width, depth.height, depth.stride};
  GLINT_RETURN_IF_ERROR(
      Upload(s.stream, bytes, {0, bytes.height}, bytes.width, registrar.staging(), registrar.source()));
  GLINT_RETURN_IF_ERROR(registrar.Enqueue(s, table, depth.sensor));
  GLINT_RETURN_IF_ERROR(Record(finished));
  GLINT_RETURN_IF_ERROR(WaitFor(finished, &depth_wait));
  return registrar.registered(depth.sensor.unit);
}

absl::Status Pipeline::Impl::UploadMask(const Prepared& prepared, const Pixels& mask) {
  const Plan& plan = prepared.plan;
  const DetectorOptions& options = plan.key().options;
  const SetMaskRows set(mask);
  const bool any_value = options.pyramid == Pyramid::kCascaded && AnyMaskValueIsSet(options);
  return Upload(stream.view().stream, any_value ? Pixels(&set) : mask, {0, plan.key().shape.height}, plan.pitch(),
                staging.data() + plan.image_bytes(), device.integrated ? nullptr : prepared.frame().level[0].mask);
}

absl::Status Pipeline::Impl::Launch(const Prepared& prepared, int part) {
  const Range range("launch");
  return ToStatus(api->GraphLaunch(prepared.graphs[part].get(), stream.view().stream), "launching the frame's graph");
}

// Pinned memory without gaps that a graph can copy the image from, which is written there if it has to be; null if the
// image goes another way.
const uint8_t* Pipeline::Impl::SourceForGraph(const Prepared& prepared, const Pixels& image) {
  if (prepared.upload_frame.get() == nullptr) return nullptr;
  const ImageView& view = image.view;
  if (view.empty()) {
    const Shape shape = image.shape();
    if (shape.pixels() > kBandsForGraph * kBandBytes) return nullptr;
    image.rows->CopyRows(0, shape.height, staging.data(), shape.width);
    return staging.data();
  }
  if (view.stride != view.width) return nullptr;
  // Asked for each frame, as the graph would go on to read what is not there any more. With an address of its own on
  // the device, memory could change that and keep the host's.
  const cudaPointerAttributes attributes = AttributesOf(api, view.data);
  return attributes.type == cudaMemoryTypeHost && attributes.devicePointer == view.data ? view.data : nullptr;
}

absl::Status Pipeline::Impl::LaunchWithUpload(Prepared* prepared, const uint8_t* source) {
  const cudaGraphExec_t frame = prepared->upload_frame.get();
  // Memory of others may have been given back, and other memory pinned at its address: a graph that is not told again
  // copies from what was there, which ends the process's use of the device.
  if (prepared->source != source || source != staging.data()) {
    const auto bytes = static_cast<size_t>(prepared->plan.key().shape.pixels());
    GLINT_RETURN_IF_ERROR(
        ToStatus(api->GraphExecSetUpload(frame, prepared->upload_node, prepared->frame().level[0].image, source, bytes),
                 "changing a graph's copy"));
    prepared->source = source;
  }
  const Range range("launch");
  return ToStatus(api->GraphLaunch(frame, stream.view().stream), "launching the frame's graph");
}

// Everything up to EndOf(timed). `timed`: records the other events.
absl::Status Pipeline::Impl::Run(const Prepared& prepared, const Pixels& image, const RemapSource* raw,
                                 const Pixels& mask, bool timed) {
  if (prepared.plan.key().parts > 1) return RunInParts(prepared, image, timed);
  if (timed) GLINT_RETURN_IF_ERROR(Record(begun));
  {
    const Range range("upload");
    GLINT_RETURN_IF_ERROR(UploadAll(prepared, image, raw, mask));
  }
  if (timed) GLINT_RETURN_IF_ERROR(Record(uploaded));
  GLINT_RETURN_IF_ERROR(Launch(prepared, 0));
  return Record(EndOf(timed));
}

absl::Status Pipeline::Impl::RunInParts(const Prepared& prepared, const Pixels& image, bool timed) {
  const Plan& plan = prepared.plan;
  const StreamView up = upload_stream.view();
  if (timed) GLINT_RETURN_IF_ERROR(Record(begun, up));
  int first = 0;
  for (int part = 0; part < plan.key().parts; ++part) {
    const int end = plan.part_end(part);
    {
      const Range range("upload");
      GLINT_RETURN_IF_ERROR(Upload(up.stream, image, {first, end - first}, plan.pitch(), staging.data(),
                                   prepared.frame().level[0].image));
    }
    const bool is_last = part + 1 == plan.key().parts;
    if (is_last && timed) GLINT_RETURN_IF_ERROR(Record(uploaded, up));
    GLINT_RETURN_IF_ERROR(Record(part_uploaded[part], up));
    GLINT_RETURN_IF_ERROR(ToStatus(api->StreamWaitEvent(stream.view().stream, part_uploaded[part].get()),
                                   "waiting for a part of the image"));
    GLINT_RETURN_IF_ERROR(Launch(prepared, part));
    first = end;
  }
  return Record(EndOf(timed));
}

absl::Status Pipeline::Impl::Record(const Event& event, StreamView on) {
  return ToStatus(api->EventRecord(event.get(), on.stream), "recording an event");
}

}  // namespace glint::cuda
