#include "bench/remap_bench.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "bench/cpu_stages.h"
#include "bench/jpeg_input.h"
#include "bench/json.h"
#include "bench/machine.h"
#include "bench/picture.h"
#include "bench/rounds.h"
#include "cpu/rectify/register_depth.h"
#include "cpu/rectify/remap.h"
#include "cuda/benchmark/remap_timing.h"
#include "cuda/pipeline.h"
#include "cuda/stereo/stereo_pipeline.h"
#include "features/camera/depth_registration.h"
#include "features/camera/remap_table.h"
#include "features/error.h"
#include "features/status_macros.h"
#include "lane/rectified_rows.h"

namespace glint::bench {
namespace {

struct Found {
  Features left, right;
  StereoResult matches;
};

bool SameFound(const Found& a, const Found& b) {
  return SameFeatures(a.left, b.left) && SameFeatures(a.right, b.right) &&
         a.matches.right_index == b.matches.right_index && a.matches.disparity == b.matches.disparity;
}

// Both images of a pair in pinned memory, without gaps.
class PinnedPair {
 public:
  static absl::StatusOr<PinnedPair> Make(Shape shape) {
    GLINT_ASSIGN_OR_RETURN(auto memory, cuda::PinnedMemory::Allocate(2 * static_cast<size_t>(shape.pixels())));
    return PinnedPair(shape, std::move(memory));
  }
  uint8_t* data(int eye) const { return memory_.data() + eye * shape_.pixels(); }
  ImageView view(int eye) const { return {data(eye), shape_.width, shape_.height, shape_.width}; }

 private:
  PinnedPair(Shape shape, cuda::PinnedMemory memory) : shape_(shape), memory_(std::move(memory)) {}

  Shape shape_;
  cuda::PinnedMemory memory_;
};

// A sensor with a lens, 50 mm beside a pinhole of the same size, which sees hills 1 to 2 m away, and a twentieth of it
// not.
DepthTable DepthTableOfBench(Shape shape) {
  const double focal_length = 0.9 * shape.width, cx = (shape.width - 1) / 2.0, cy = (shape.height - 1) / 2.0;
  const Camera sensor = {CameraModel::kRadialTangential, shape, focal_length, focal_length, cx, cy, {0.08, -0.05}};
  RigidTransform to_from_depth;
  to_from_depth.translation = {0.05, 0.002, -0.003};
  return MakeDepthTable(sensor, to_from_depth, {CameraModel::kPinhole, shape, focal_length, focal_length, cx, cy, {}});
}
std::vector<uint16_t> DepthsOfBench(Shape shape) {
  std::vector<uint16_t> depths;
  uint32_t random = 1;
  for (int y = 0; y < shape.height; ++y) {
    for (int x = 0; x < shape.width; ++x) {
      random = random * 1664525 + 1013904223;
      const double hills = std::sin(20.0 * x / shape.width) * std::sin(15.0 * y / shape.height);
      depths.push_back(random >> 16 < 65536 / 20 ? 0 : static_cast<uint16_t>(1500 + 500 * hills + (random >> 29)));
    }
  }
  return depths;
}

absl::Status BenchDepth(const RemapBenchOptions& o, Shape shape, cuda::Pipeline* pipeline, RemapSizeReport* report) {
  const DepthTable table = DepthTableOfBench(shape);
  const std::vector<uint16_t> samples = DepthsOfBench(shape);
  GLINT_ASSIGN_OR_RETURN(const auto pinned, cuda::PinnedMemory::Allocate(2 * samples.size()));
  std::memcpy(pinned.data(), samples.data(), 2 * samples.size());
  DepthView depth = ViewOf(samples.data(), shape, {0.001, 0.3, 10});
  if (!o.subject.pageable) depth.data = pinned.data();
  GLINT_ASSIGN_OR_RETURN(const auto timing,
                         cuda::TimeRegisterDepth(o.subject.ordinal, o.subject.sm_limit, depth, table, o.repeat));
  const auto summarize = [](const std::vector<float>& us) {
    return Summarize(std::vector<double>(us.begin(), us.end()));
  };
  report->depth_kernels_us = summarize(timing.alone_us);
  report->depth_in_row_us = summarize(timing.in_row_us);
  DepthView on_device;
  std::vector<uint16_t> by_host(samples.size());
  const cpu::RegisterDepthFunction register_depth = cpu::BestRegisterDepth();
  std::vector<Contestant> contestants = {Timed("depth, on the device", Clock::kWall,
                                               [&] {
                                                 auto registered = pipeline->RegisterDepth(depth, table);
                                                 if (registered.ok()) on_device = *registered;
                                                 return registered.status();
                                               }),
                                         Timed("depth, by the host", Clock::kWall, [&] {
                                           register_depth(depth, table, by_host.data());
                                           return absl::OkStatus();
                                         })};
  GLINT_RETURN_IF_ERROR(RunRounds(o.repeat, &contestants));
  report->depth_on_device_us = Summarize(contestants[0].us);
  report->depth_by_host_us = Summarize(contestants[1].us);
  report->depths = std::count_if(by_host.begin(), by_host.end(), [](uint16_t d) { return d != 0; });
  report->same_depths = on_device.shape() == shape && on_device.stride == 2 * ptrdiff_t{shape.width} &&
                        std::memcmp(on_device.data, by_host.data(), 2 * by_host.size()) == 0;
  return absl::OkStatus();
}

absl::StatusOr<RemapSizeReport> BenchSize(const RemapBenchOptions& o, Shape shape) {
  RemapSizeReport report;
  report.shape = shape;
  const RemapTable table = LensOfBench(shape);
  // The right image: the left one, a little to the left.
  constexpr int kDisparity = 8;
  const Image picture = RenderPicture({shape.width + kDisparity, shape.height});
  GLINT_ASSIGN_OR_RETURN(const auto raw, PinnedPair::Make(shape));
  GLINT_ASSIGN_OR_RETURN(const auto rectified, PinnedPair::Make(shape));
  GLINT_ASSIGN_OR_RETURN(const auto rectified_before, PinnedPair::Make(shape));
  ImageView views[2];
  const cpu::RemapRows remap = cpu::BestRemapRows();
  for (int e = 0; e < 2; ++e) {
    views[e] = {picture.row(0) + e * kDisparity, shape.width, shape.height, picture.stride()};
    for (int y = 0; y < shape.height; ++y) {
      std::memcpy(raw.data(e) + static_cast<ptrdiff_t>(y) * shape.width, views[e].row(y),
                  static_cast<size_t>(shape.width));
    }
    remap(views[e], table, 0, shape.height, rectified_before.data(e), shape.width);
    if (!o.subject.pageable) views[e] = raw.view(e);
  }

  Image remapped;
  GLINT_ASSIGN_OR_RETURN(const auto timing, cuda::TimeRemap(o.subject.ordinal, o.subject.sm_limit, {views[0], &table},
                                                            o.repeat, &remapped));
  const auto summarize = [](const std::vector<float>& us) {
    return Summarize(std::vector<double>(us.begin(), us.end()));
  };
  report.kernel_us = summarize(timing.alone_us);
  report.empty_us = summarize(timing.empty_us);
  report.in_row_us = summarize(timing.in_row_us);
  report.same_pixels = true;
  for (int y = 0; y < shape.height; ++y) {
    report.same_pixels = report.same_pixels && std::memcmp(remapped.row(y), rectified_before.view(0).row(y),
                                                           static_cast<size_t>(shape.width)) == 0;
  }

  cuda::PipelineOptions options;
  options.device = o.subject.ordinal;
  options.wait = cuda::Wait::kSpin;  // the least latency: excludes the time to wake a thread
  options.max_image_pixels = shape.pixels();
  options.sm_limit = o.subject.sm_limit;
  GLINT_ASSIGN_OR_RETURN(const auto pipeline, cuda::StereoPipeline::Create(options));
  const auto detect = [&](const PixelPair& pair, Found* found) {
    return pipeline->Detect(o.detector, pair, {}, &found->left, &found->right, &found->matches, nullptr);
  };
  RectifiedRows rows[2];
  Found on_device, by_host, before;
  std::vector<Contestant> contestants = {Timed("on the device", Clock::kWall,
                                               [&] {
                                                 for (int e = 0; e < 2; ++e) rows[e].Use(views[e], table);
                                                 return detect({&rows[0], &rows[1]}, &on_device);
                                               }),
                                         Timed("by the host", Clock::kWall,
                                               [&] {
                                                 for (int e = 0; e < 2; ++e)
                                                   remap(views[e], table, 0, shape.height, rectified.data(e),
                                                         shape.width);
                                                 return detect({rectified.view(0), rectified.view(1)}, &by_host);
                                               }),
                                         Timed("beforehand", Clock::kWall, [&] {
                                           return detect({rectified_before.view(0), rectified_before.view(1)}, &before);
                                         })};
  GLINT_RETURN_IF_ERROR(RunRounds(o.repeat, &contestants));
  report.on_device_us = Summarize(contestants[0].us);
  report.by_host_us = Summarize(contestants[1].us);
  report.before_us = Summarize(contestants[2].us);
  report.matches = on_device.matches.matches;
  report.same_pair = SameFound(on_device, by_host) && SameFound(on_device, before);
  GLINT_ASSIGN_OR_RETURN(const auto of_depth, cuda::Pipeline::Create(options));
  GLINT_RETURN_IF_ERROR(BenchDepth(o, shape, of_depth.get(), &report));
  return report;
}

}  // namespace

absl::StatusOr<RemapReport> BenchRemap(const RemapBenchOptions& options) {
  if (options.repeat < 1 || options.repeat > kMaxRepeat) {
    return OutOfRangeError("repeat", options.repeat, 1, kMaxRepeat);
  }
  if (options.subject.device_resident) return ContradictionError("device-resident", "pairs come from the host");
  GLINT_RETURN_IF_ERROR(ValidateSubject(options.subject));
  GLINT_RETURN_IF_ERROR(ValidateOptions(options.detector));
  std::vector<Shape> shapes = {{640, 480}, {752, 480}, {1920, 1080}};
  if (!options.size.empty()) {
    GLINT_ASSIGN_OR_RETURN(const Shape shape, ParseSize(options.size));
    shapes = {shape};
  }
  GLINT_RETURN_IF_ERROR(cuda::ProbeDevice(options.subject.ordinal));
  RemapReport report;
  report.options = options;
  report.device = cuda::DeviceDescription(options.subject.ordinal);
  for (const Shape shape : shapes) {
    GLINT_ASSIGN_OR_RETURN(auto size, BenchSize(options, shape));
    report.sizes.push_back(size);
  }
  return report;
}

std::string ToJson(const RemapReport& report, const std::string& command) {
  const RemapBenchOptions& o = report.options;
  JsonWriter json;
  BeginReport(command, &json);
  json.Key("device").String(report.device);
  json.Key("preset").String(o.preset);
  json.Key("features").Int(o.detector.max_features);
  json.Key("sm_limit").Int(o.subject.sm_limit);
  json.Key("pageable").Bool(o.subject.pageable);
  json.Key("rounds").Int(o.repeat);
  json.Key("sizes").BeginArray();
  for (const RemapSizeReport& size : report.sizes) {
    json.BeginObject();
    json.Key("width").Int(size.shape.width).Key("height").Int(size.shape.height);
    for (const auto& [key, us] :
         {std::pair{"kernel_us", &size.kernel_us}, std::pair{"empty_us", &size.empty_us},
          std::pair{"in_row_us", &size.in_row_us}, std::pair{"on_device_us", &size.on_device_us},
          std::pair{"by_host_us", &size.by_host_us}, std::pair{"before_us", &size.before_us},
          std::pair{"depth_kernels_us", &size.depth_kernels_us}, std::pair{"depth_in_row_us", &size.depth_in_row_us},
          std::pair{"depth_on_device_us", &size.depth_on_device_us},
          std::pair{"depth_by_host_us", &size.depth_by_host_us}}) {
      json.Key(key);
      WriteSummary(*us, &json);
    }
    json.Key("matches").Int(size.matches);
    json.Key("same_pixels").Bool(size.same_pixels).Key("same_pair").Bool(size.same_pair);
    json.Key("depths").Int(size.depths).Key("same_depths").Bool(size.same_depths);
    json.EndObject();
  }
  json.EndArray().EndObject();
  return json.text() + "\n";
}

std::string ToTable(const RemapReport& report) {
  const RemapBenchOptions& o = report.options;
  std::string text =
      absl::StrFormat("rectification, %s, %d features, from %s memory\n%s, %d rounds\n", o.preset,
                      o.detector.max_features, o.subject.pageable ? "ordinary" : "pinned", report.device, o.repeat);
  for (const RemapSizeReport& size : report.sizes) {
    absl::StrAppendFormat(&text, "\n%-30s %10s %10s %10s\n",
                          absl::StrCat(size.shape.width, "x", size.shape.height, ", microseconds"), "median", "p10",
                          "p90");
    for (const auto& [name, us] :
         {std::pair{"kernel", &size.kernel_us}, std::pair{"  a kernel without work", &size.empty_us},
          std::pair{"kernel, one of 16 in a row", &size.in_row_us},
          std::pair{"raw pair, by the device", &size.on_device_us},
          std::pair{"raw pair, by the host", &size.by_host_us}, std::pair{"rectified pair", &size.before_us},
          std::pair{"depth, its two kernels", &size.depth_kernels_us},
          std::pair{"  those, one of 16 in a row", &size.depth_in_row_us},
          std::pair{"depth, by the device", &size.depth_on_device_us},
          std::pair{"depth, by the host", &size.depth_by_host_us}}) {
      absl::StrAppendFormat(&text, "%-30s %10.1f %10.1f %10.1f\n", name, us->median, us->p10, us->p90);
    }
    absl::StrAppendFormat(&text, "%d matches, %d depths; %s\n", size.matches, size.depths,
                          size.same_pixels && size.same_pair && size.same_depths
                              ? "the same pixels, features and depths each way"
                              : "NOT THE SAME EACH WAY");
  }
  return text;
}

}  // namespace glint::bench
