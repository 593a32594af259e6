#include "tests/cuda/stage_harness.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cuda/runtime/error.h"
#include "cuda/select/quadtree_rounds.h"
#include "gtest/gtest.h"

namespace glint::cuda {
namespace {

using reference::Corner;
using reference::LevelTrace;

constexpr int kPattern = 0xa5;  // of memory that no stage has written

void Expect(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

bool RasterBefore(const Corner& a, const Corner& b) { return a.y != b.y ? a.y < b.y : a.x < b.x; }

}  // namespace

StageDevice::StageDevice(std::string name, int multiprocessors, int planned)
    : name_(std::move(name)), planned_(planned) {
  auto stream = Stream::Create(&CudaApi(), /*device=*/0, multiprocessors);
  status_ = stream.status();
  if (stream.ok()) stream_ = *std::move(stream);
}

uint8_t* StageDevice::Fill(DeviceBuffer* buffer, size_t bytes, int value) {
  if (buffer->bytes() < bytes) {
    *buffer = DeviceBuffer();
    auto made = DeviceBuffer::Create(stream(), bytes + bytes / 2);
    Expect(made.status());
    if (!made.ok()) return nullptr;
    *buffer = *std::move(made);
  }
  Expect(ToStatus(CudaApi().MemsetAsync(buffer->data(), value, bytes, stream().stream), "filling memory"));
  return buffer->data();
}

StageFrame::StageFrame(StageDevice* device, const PlanKey& key) : device_(device), plan_(key, device->planned()) {
  Expect(ValidateOptions(key.options));
  PlanMemory memory;
  memory.scratch = device->Fill(&device->scratch_, plan_.scratch_bytes(), kPattern);
  memory.tables = device->Fill(&device->tables_, std::max<size_t>(plan_.tables().size(), 1), kPattern);
  memory.counters = reinterpret_cast<Counters*>(device->Fill(&device->counters_, sizeof(Counters), 0));
  memory.result = device->Fill(&device->result_, plan_.result_bytes(), kPattern);
  Write(memory.tables, plan_.tables());
  uint8_t* state = nullptr;
  if (plan_.selection().has_value()) state = device->Fill(&device->state_, plan_.selection()->state_bytes(), 0);
  for (int part = 0; part < key.parts; ++part) {
    PlacedFrame placed{plan_.Place(memory, part), plan_.PlaceSmallLevels(memory, part), {}, {}};
    if (plan_.quadtree().has_value()) placed.quadtree = plan_.quadtree()->Place(memory.scratch);
    if (state != nullptr) {
      placed.params = plan_.selection()->Place(placed.frame, memory.scratch, memory.tables, state);
    }
    placed_.push_back(placed);
  }
}

void StageFrame::Wait() const {
  Expect(ToStatus(CudaApi().StreamSynchronize(device_->stream().stream), "waiting for a stage"));
}

template <typename T>
std::vector<T> StageFrame::Read(const T* from, size_t count) const {
  std::vector<T> values(count);
  Expect(ToStatus(
      CudaApi().MemcpyAsync(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, device_->stream().stream),
      "reading what a stage left"));
  Wait();
  return values;
}

template <typename T>
void StageFrame::Write(T* to, const std::vector<T>& values) {
  Expect(ToStatus(CudaApi().MemcpyAsync(to, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                                        device_->stream().stream),
                  "writing a stage's input"));
  Wait();
}

void StageFrame::Upload(uint8_t* to, int pitch, const ImageView& from) {
  if (from.height == 0) return;
  Expect(ToStatus(CudaApi().Memcpy2DAsync(to, static_cast<size_t>(pitch), from.data, static_cast<size_t>(from.stride),
                                          static_cast<size_t>(from.width), static_cast<size_t>(from.height),
                                          cudaMemcpyHostToDevice, device_->stream().stream),
                  "writing an image"));
  Wait();
}

Image StageFrame::Download(const uint8_t* from, const Level& level) const {
  Image image(level.width, level.height);
  Expect(ToStatus(
      CudaApi().Memcpy2DAsync(image.row(0), static_cast<size_t>(image.stride()), from, static_cast<size_t>(level.pitch),
                              static_cast<size_t>(level.width), static_cast<size_t>(level.height),
                              cudaMemcpyDeviceToHost, device_->stream().stream),
      "reading an image"));
  Wait();
  return image;
}

void StageFrame::SetImage(int level, const ImageView& image) {
  EXPECT_EQ(shape(level), image.shape());
  Upload(frame().level[level].image, frame().level[level].pitch, image);
}

void StageFrame::SetMask(int level, const ImageView& mask) {
  EXPECT_EQ(shape(level), mask.shape());
  Upload(frame().level[level].mask, frame().level[level].pitch, mask);
}

void StageFrame::SetRows(const ImageView& image, int first, int end) {
  const Level& level = frame().level[0];
  Upload(level.image + static_cast<size_t>(first) * level.pitch, level.pitch,
         {image.row(first), image.width, end - first, image.stride});
}

void StageFrame::SetLevels(const std::vector<LevelTrace>& trace) {
  for (int l = 0; l < levels(); ++l) {
    const LevelTrace& t = trace[static_cast<size_t>(l)];
    if (shape(l).width == 0) continue;
    SetImage(l, t.level);
    if (frame().level[l].mask != nullptr && t.mask.width() > 0) SetMask(l, t.mask);
  }
}

void StageFrame::SetKept(int level, const std::vector<KeptCorner>& corners) {
  std::vector<RankedCorner> ranked;
  for (const KeptCorner& c : corners) ranked.push_back({PackPosition(level, c.corner.x, c.corner.y), 0, c.angle, 0});
  Write(frame().level[level].ranked, ranked);
  const auto count = static_cast<uint32_t>(corners.size());
  Write(&frame().counters->kept[level], std::vector<uint32_t>{count});
  Write(&frame().result->kept[level], std::vector<uint32_t>{count});
  Write(frame().level[level].result, ranked);
}

void StageFrame::RunStage(Stage stage, int part) {
  Expect(EnqueueStage(device_->stream(), schedule(part), stage, placed_[static_cast<size_t>(part)]));
  Wait();
  described_ = described_ || stage == Stage::kDescribe;
}

void StageFrame::Run(const Launch& launch) {
  Expect(EnqueueLaunch(device_->stream(), schedule(), launch, placed_[0]));
  Wait();
}

Image StageFrame::GetImage(int level) const { return Download(frame().level[level].image, frame().level[level]); }
Image StageFrame::GetMask(int level) const { return Download(frame().level[level].mask, frame().level[level]); }

// Of a level with buckets: in these and, where they are full, beside them.
std::vector<Candidate> StageFrame::ListedCandidates(int level) const {
  const Level& from = frame().level[level];
  if (from.buckets == nullptr) {
    return Read(frame().candidates, Read(&frame().counters->candidates, 1)[0]);
  }
  const std::vector<uint32_t> counts = Read(frame().counters->histogram[level], kBins);
  const size_t room = static_cast<size_t>(from.bucket_room);
  const std::vector<Candidate> buckets = Read(from.buckets, kBins * room);
  std::vector<Candidate> found = Read(from.overflow, Read(&frame().counters->overflow[level], 1)[0]);
  for (size_t b = 0; b < kBins; ++b) {
    const auto first = buckets.begin() + static_cast<ptrdiff_t>(b * room);
    found.insert(found.end(), first, first + static_cast<ptrdiff_t>(std::min<size_t>(counts[b], room)));
  }
  return found;
}

std::vector<Corner> StageFrame::Candidates(int level) const {
  const bool harris = plan_.key().options.score == Score::kHarris;
  const bool has_selection = plan_.selection().has_value();
  const CornerOutput output = has_selection ? params().output : CornerOutput::kShortlists;
  const float key_scale = has_selection ? params().key_scale : 1;
  std::vector<Corner> found;
  const auto add = [&](uint32_t position, float response) {
    if (LevelOf(position) == level) found.push_back({XOf(position), YOf(position), response});
  };
  if (plan_.quadtree().has_value()) {
    const QuadtreeLevel& tree = placed_.back().quadtree.level[level];
    for (const QuadtreeCorner& c : Read(tree.found, Read(&frame().counters->found[level], 1)[0])) {
      const int x = PlaceX(c.place, tree.across.cell);
      const int y = PlaceY(c.place, tree.down.cell);
      EXPECT_EQ(c.score_and_bin >> 8, QuadtreeBinOf(tree, x, y));
      found.push_back({x + kQuadtreeBorder, y + kQuadtreeBorder, static_cast<float>(c.score_and_bin & 0xff)});
    }
  } else if (output == CornerOutput::kImageCells || output == CornerOutput::kLevelCells) {
    const uint32_t buffer = Read(&params().counters->buffer, 1)[0];
    for (const uint64_t entry : Read(params().cells + buffer * params().cell_count, params().cell_count)) {
      if (entry == 0) continue;
      const uint32_t raw = RawOf(entry);
      add(PositionOf(entry), harris ? FloatOf(FromOrderedKey(raw)) : static_cast<float>(raw));
    }
  } else {
    for (const Candidate& c : ListedCandidates(level)) {
      // Shortlists are made by scores as they are.
      const bool is_score = output == CornerOutput::kShortlists && !harris;
      add(c.position, is_score ? static_cast<float>(c.key) : FloatOf(FromOrderedKey(c.key)) / key_scale);
    }
  }
  std::sort(found.begin(), found.end(), RasterBefore);
  return found;
}

size_t StageFrame::KeptCount(int level) const {
  const uint32_t kept = Read(&frame().result->kept[level], 1)[0];
  EXPECT_EQ(kept, Read(&frame().counters->kept[level], 1)[0]);
  return kept;
}

float StageFrame::ResponseOf(uint32_t key) const {
  const DetectorOptions& options = plan_.key().options;
  if (plan_.selection().has_value()) return FloatOf(FromOrderedKey(key)) * plan_.selection()->response_scale();
  const bool harris = options.score == Score::kHarris || options.ranking == Ranking::kHarris;
  return harris ? FloatOf(FromOrderedKey(key)) : static_cast<float>(key);
}

std::vector<KeptCorner> StageFrame::Kept(int level) const {
  const Level& from = frame().level[level];
  const size_t count = std::min(KeptCount(level), static_cast<size_t>(from.ranked_capacity));
  std::vector<KeptCorner> kept(count);
  const bool in_result = described_ || !schedule(plan_.key().parts - 1).result_follows;
  const std::vector<RankedCorner> ranked = Read(in_result ? from.result : from.ranked, count);
  std::vector<uint8_t> descriptors;
  if (from.descriptors != nullptr) descriptors = Read(from.descriptors, count * kRbriefBytes);
  for (size_t i = 0; i < count; ++i) {
    const RankedCorner& r = ranked[i];
    EXPECT_EQ(LevelOf(r.position), level);
    kept[i].corner = {XOf(r.position), YOf(r.position), ResponseOf(r.key)};
    kept[i].angle = r.angle;
    if (!descriptors.empty()) std::copy_n(&descriptors[i * kRbriefBytes], kRbriefBytes, kept[i].descriptor.begin());
  }
  return kept;
}

std::vector<uint32_t> StageFrame::Integral(int level) const {
  const LevelParams& integral = params().level[level];
  const auto pitch = static_cast<size_t>(integral.integral_pitch);
  const auto height = static_cast<size_t>(shape(level).height);
  const auto width = static_cast<size_t>(shape(level).width);
  const std::vector<uint32_t> sums = Read(integral.sums, pitch * height);
  const std::vector<uint32_t> bands = Read(integral.bands, pitch * ((height + kBandRows - 1) / kBandRows));
  std::vector<uint32_t> whole;
  for (size_t y = 0; y < height; ++y) {
    for (size_t x = 0; x < width; ++x) whole.push_back(sums[y * pitch + x] + bands[y / kBandRows * pitch + x]);
  }
  return whole;
}

}  // namespace glint::cuda
