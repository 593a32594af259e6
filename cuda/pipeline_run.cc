// A frame's way to the device: its image, and the launches behind it.
#include <algorithm>
#include <cstring>

#include "cuda/pipeline_impl.h"
#include "cuda/runtime/error.h"
#include "cuda/runtime/range.h"

namespace glint::cuda {
namespace {

// Pageable rows are copied to pinned memory in bands, so that the device receives one while the next is copied.
constexpr size_t kBandBytes = 256 * 1024;

}  // namespace

cudaPointerAttributes Pipeline::Impl::AttributesOf(const void* data) {
  cudaPointerAttributes attributes{};
  if (api->PointerGetAttributes(&attributes, data) == cudaSuccess) return attributes;
  api->GetLastError();  // pageable memory is an error to some drivers, and none to us
  return {};
}

absl::Status Pipeline::Impl::Upload(cudaStream_t s, const ImageView& image, int pitch, uint8_t* staging_image,
                                    uint8_t* device_image) {
  const auto width = static_cast<size_t>(image.width);
  const auto height = static_cast<size_t>(image.height);
  const auto to_pitch = static_cast<size_t>(pitch);
  if (!device.integrated && AttributesOf(image.data).type == cudaMemoryTypeHost) {
    const auto from_pitch = static_cast<size_t>(image.stride);
    const bool contiguous = from_pitch == to_pitch && from_pitch == width;
    const cudaError_t error =
        contiguous ? api->MemcpyAsync(device_image, image.data, width * height, cudaMemcpyHostToDevice, s)
                   : api->Memcpy2DAsync(device_image, to_pitch, image.data, from_pitch, width, height,
                                        cudaMemcpyHostToDevice, s);
    return ToStatus(error, "copying pinned pixels to the device");
  }
  const size_t band_rows = std::max<size_t>(1, kBandBytes / to_pitch);
  for (size_t first = 0; first < height; first += band_rows) {
    const size_t rows = std::min(band_rows, height - first);
    uint8_t* band = staging_image + first * to_pitch;
    if (image.stride == pitch && width == to_pitch) {
      std::memcpy(band, image.row(static_cast<int>(first)), rows * width);
    } else {
      for (size_t y = 0; y < rows; ++y) {
        std::memcpy(band + y * to_pitch, image.row(static_cast<int>(first + y)), width);
      }
    }
    if (device.integrated) continue;
    GLINT_RETURN_IF_ERROR(
        ToStatus(api->MemcpyAsync(device_image + first * to_pitch, band, rows * to_pitch, cudaMemcpyHostToDevice, s),
                 "copying pixels to the device"));
  }
  return absl::OkStatus();
}

absl::Status Pipeline::Impl::UploadAll(const Prepared& prepared, const ImageView& image, const ImageView& mask) {
  const Plan& plan = prepared.plan;
  const Level& level = prepared.frame().level[0];
  const cudaStream_t s = stream.view().stream;
  GLINT_RETURN_IF_ERROR(Upload(s, image, plan.pitch(), staging.data(), level.image));
  if (!plan.key().masked) return absl::OkStatus();
  return Upload(s, mask, plan.pitch(), staging.data() + plan.image_bytes(), level.mask);
}

absl::Status Pipeline::Impl::Launch(const Prepared& prepared, int part) {
  const Range range("launch");
  return ToStatus(api->GraphLaunch(prepared.graphs[part].get(), stream.view().stream), "launching the frame's graph");
}

bool Pipeline::Impl::UploadsInGraph(const Prepared& prepared, const ImageView& image) {
  if (prepared.upload_frame.get() == nullptr || image.stride != image.width) return false;
  // Asked for each frame, as the graph would go on to read what is not there any more. With an address of its own on
  // the device, memory could change that and keep the host's.
  const cudaPointerAttributes attributes = AttributesOf(image.data);
  return attributes.type == cudaMemoryTypeHost && attributes.devicePointer == image.data;
}

absl::Status Pipeline::Impl::LaunchWithUpload(Prepared* prepared, const ImageView& image) {
  const cudaGraphExec_t frame = prepared->upload_frame.get();
  if (prepared->source != image.data) {
    const auto bytes = static_cast<size_t>(image.shape().pixels());
    GLINT_RETURN_IF_ERROR(ToStatus(
        api->GraphExecSetUpload(frame, prepared->upload_node, prepared->frame().level[0].image, image.data, bytes),
        "changing a graph's copy"));
    prepared->source = image.data;
  }
  const Range range("launch");
  return ToStatus(api->GraphLaunch(frame, stream.view().stream), "launching the frame's graph");
}

// Everything up to EndOf(timed). `timed`: records the other events.
absl::Status Pipeline::Impl::Run(const Prepared& prepared, const ImageView& image, const ImageView& mask, bool timed) {
  if (prepared.plan.key().parts > 1) return RunInParts(prepared, image, timed);
  if (timed) GLINT_RETURN_IF_ERROR(Record(begun));
  {
    const Range range("upload");
    GLINT_RETURN_IF_ERROR(UploadAll(prepared, image, mask));
  }
  if (timed) GLINT_RETURN_IF_ERROR(Record(uploaded));
  GLINT_RETURN_IF_ERROR(Launch(prepared, 0));
  return Record(EndOf(timed));
}

absl::Status Pipeline::Impl::RunInParts(const Prepared& prepared, const ImageView& image, bool timed) {
  const Plan& plan = prepared.plan;
  const StreamView up = upload_stream.view();
  if (timed) GLINT_RETURN_IF_ERROR(Record(begun, up));
  int first = 0;
  for (int part = 0; part < plan.key().parts; ++part) {
    const int end = plan.part_end(part);
    const size_t offset = static_cast<size_t>(first) * plan.pitch();
    const ImageView rows = {image.row(first), image.width, end - first, image.stride};
    {
      const Range range("upload");
      GLINT_RETURN_IF_ERROR(
          Upload(up.stream, rows, plan.pitch(), staging.data() + offset, prepared.frame().level[0].image + offset));
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
