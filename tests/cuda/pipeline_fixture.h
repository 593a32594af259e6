// What tests of whole frames on a GPU share: a pipeline, and its comparison with the reference, byte for byte.
#ifndef GLINT_TESTS_CUDA_PIPELINE_FIXTURE_H_
#define GLINT_TESTS_CUDA_PIPELINE_FIXTURE_H_

#include <cstddef>
#include <iostream>
#include <memory>
#include <utility>

#include "cuda/pipeline.h"
#include "features/reference/reference.h"
#include "gtest/gtest.h"
#include "tests/support/features.h"
#include "tests/support/options.h"

namespace glint::cuda {

// Skips without a usable GPU and says why.
class PipelineFixture : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    device_ = new absl::Status(ProbeDevice(0));
    if (!device_->ok()) std::cout << "GLINT_SKIP_ALL: " << device_->message() << std::endl;
  }
  static void TearDownTestSuite() {
    delete device_;
    device_ = nullptr;
  }

  void SetUp() override {
    if (!device_->ok()) GTEST_SKIP() << device_->message();
    auto pipeline = Pipeline::Create({});
    ASSERT_TRUE(pipeline.ok()) << pipeline.status();
    pipeline_ = *std::move(pipeline);
  }

  ::testing::AssertionResult Equal(const DetectorOptions& options, const ImageView& image, const ImageView& mask = {}) {
    if (const absl::Status valid = ValidateOptions(options); !valid.ok()) {
      return ::testing::AssertionFailure() << valid;
    }
    const Features expected = reference::Detect(options, image, mask);
    found_ += expected.count();
    Features actual;
    const absl::Status status = pipeline_->Detect(options, image, mask, &actual, nullptr);
    if (!status.ok()) return ::testing::AssertionFailure() << status;
    return glint::testing::SameFeatures(expected, actual)
           << "\n"
           << image.width << "x" << image.height << (mask.empty() ? "" : " masked, ")
           << glint::testing::ToString(options);
  }

  std::unique_ptr<Pipeline> pipeline_;
  size_t found_ = 0;  // by the reference, in all

 private:
  static inline absl::Status* device_ = nullptr;
};

}  // namespace glint::cuda

#endif  // GLINT_TESTS_CUDA_PIPELINE_FIXTURE_H_
