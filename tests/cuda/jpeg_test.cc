// The JPEG decoder of the device against libjpeg. GLINT_JPEG_CASES and GLINT_JPEG_SEED in the environment: how many
// random files, and which.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <map>

#include "cuda/jpeg/jpeg_decoder.h"
#include "cuda/pipeline.h"
#include "features/options.h"
#include "tests/cuda/jpeg_cases.h"

namespace glint::cuda {
namespace {

class JpegOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (absl::Status status = ProbeDevice(0); !status.ok()) GTEST_SKIP() << status;
    auto made = Stream::Create(&CudaApi(), 0, 0);
    ASSERT_TRUE(made.ok()) << made.status();
    stream_ = *std::move(made);
  }

  // kNone: `*luma` is what the device made of it.
  JpegReason Decode(const std::vector<uint8_t>& file, Image* luma) {
    JpegPlan plan;
    const JpegReason reason = PlanJpeg(file.data(), file.size(), kMaxImagePixels, &plan);
    if (reason != JpegReason::kNone) return reason;
    const int pitch = plan.shape.width + static_cast<int>(file.size() % 3);
    const auto bytes = static_cast<size_t>(pitch) * static_cast<size_t>(plan.shape.height);
    if (bytes > pixels_.bytes()) {
      auto made = DeviceBuffer::Create(stream_.view(), bytes);
      EXPECT_TRUE(made.ok()) << made.status();
      pixels_ = *std::move(made);
    }
    const absl::Status status = decoder_.Enqueue(stream_.view(), plan, file.data(), file.size(), pixels_.data(), pitch);
    EXPECT_TRUE(status.ok()) << status;
    luma->Resize(plan.shape);
    EXPECT_EQ(cudaMemcpy2DAsync(luma->row(0), static_cast<size_t>(luma->stride()), pixels_.data(),
                                static_cast<size_t>(pitch), static_cast<size_t>(plan.shape.width),
                                static_cast<size_t>(plan.shape.height), cudaMemcpyDeviceToHost, stream_.view().stream),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_.view().stream), cudaSuccess);
    return decoder_.Result();
  }

  void Check(const std::vector<uint8_t>& file, const std::string& name) {
    const Expected expected = DecodeByLibjpeg(&libjpeg_, file);
    if (!expected.inspected.ok()) return;
    Image luma;
    const JpegReason reason = Decode(file, &luma);
    ++reasons_[reason];
    if (reason != JpegReason::kNone) return;
    EXPECT_TRUE(expected.decoded.ok()) << name << ": " << expected.decoded;
    if (expected.decoded.ok()) {
      EXPECT_EQ(Difference(expected.luma.view(), luma.view()), "") << name;
    }
  }

  void Report() {
    for (const auto& [reason, times] : reasons_) {
      RecordProperty(NameOf(reason), times);
      printf("  %s: %d\n", NameOf(reason), times);
    }
  }

  Stream stream_;
  DeviceBuffer pixels_;
  JpegDecoder decoder_;
  decode::Decoder libjpeg_;
  std::map<JpegReason, int> reasons_;
};

TEST_F(JpegOnDevice, HasTheLumaOfLibjpeg) {
  std::mt19937 random(static_cast<unsigned>(CountFrom("GLINT_JPEG_SEED", 11)));
  const int count = CountFrom("GLINT_JPEG_CASES", 2000);
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const JpegCase spec = RandomCase(&random, i % 4 == 0 ? 300 : 64);
    Check(WriteJpeg(spec), spec.Name());
  }
  EXPECT_GT(reasons_[JpegReason::kNone], count * 9 / 10);
  Report();
}

TEST_F(JpegOnDevice, GivesUpWhatIsDamaged) {
  std::mt19937 random(static_cast<unsigned>(CountFrom("GLINT_JPEG_SEED", 12)));
  const int count = CountFrom("GLINT_JPEG_CASES", 2000);
  for (int i = 0; i < count && !HasFailure(); ++i) {
    const JpegCase spec = RandomCase(&random, i % 8 == 0 ? 300 : 64);
    std::vector<uint8_t> file = WriteJpeg(spec);
    Damage(&random, &file);
    Check(file, spec.Name());
  }
  EXPECT_GT(reasons_[JpegReason::kNone], 0);
  Report();
}

// Many groups of subsequences, chunks and intervals.
TEST_F(JpegOnDevice, DecodesLargePictures) {
  for (const int quality : {30, 80, 95, 100}) {
    for (const int sampling : {0, 1, 2}) {
      for (const int restart : {0, 1, 120}) {
        JpegCase spec;
        spec.shape = {1917, 1079};
        spec.columns = spec.rows = sampling;
        spec.quality = quality;
        spec.restart_units = restart;
        spec.noise = 20;
        spec.seed = static_cast<uint32_t>(quality);
        Check(WriteJpeg(spec), spec.Name());
      }
    }
  }
  EXPECT_EQ(reasons_[JpegReason::kNone], 36);
  Report();
}

// Decoded and detected in one go: the features of the luma that libjpeg makes.
TEST_F(JpegOnDevice, DetectsInWhatItDecodes) {
  const auto pipeline = Pipeline::Create({});
  ASSERT_TRUE(pipeline.ok()) << pipeline.status();
  DetectorOptions options = *PresetOptions("orb");
  for (const Shape shape : {Shape{640, 480}, Shape{301, 203}, Shape{1280, 960}}) {
    JpegCase spec;
    spec.shape = shape;
    spec.columns = spec.rows = 2;
    spec.noise = 30;
    std::vector<uint8_t> file = WriteJpeg(spec);
    JpegPlan plan;
    ASSERT_EQ(PlanJpeg(file.data(), file.size(), kMaxImagePixels, &plan), JpegReason::kNone);
    Features wanted, found;
    StageTimes times;
    const Expected expected = DecodeByLibjpeg(&libjpeg_, file);
    ASSERT_TRUE((*pipeline)->Detect(options, expected.luma.view(), {}, &wanted, nullptr).ok());
    ASSERT_GT(wanted.count(), 0u);
    const auto reason = (*pipeline)->DetectJpeg(options, plan, file.data(), file.size(), {}, &found, &times);
    ASSERT_TRUE(reason.ok()) << reason.status();
    EXPECT_EQ(*reason, JpegReason::kNone);
    EXPECT_EQ(found.x, wanted.x);
    EXPECT_EQ(found.y, wanted.y);
    EXPECT_EQ(found.response, wanted.response);
    EXPECT_EQ(found.descriptors, wanted.descriptors);
    EXPECT_GT(times.upload_ns, 0);
    EXPECT_GT(times.detect_ns, 0);

    file.resize(file.size() / 2);
    const auto cut = (*pipeline)->DetectJpeg(options, plan, file.data(), file.size(), {}, &found, &times);
    ASSERT_TRUE(cut.ok()) << cut.status();
    EXPECT_EQ(*cut, JpegReason::kScan);
    EXPECT_EQ(found.count(), 0u);
  }
}

}  // namespace
}  // namespace glint::cuda
