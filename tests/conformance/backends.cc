#include "tests/conformance/backends.h"

#include <memory>
#include <utility>

#include "cpu/pipeline.h"
#include "cuda/pipeline.h"
#include "features/reference/reference.h"
#include "tests/conformance/oracle.h"
#include "tests/support/options.h"

namespace glint::testing {
namespace {

template <typename Pipeline>
Backend Wrap(std::string name, std::shared_ptr<Pipeline> pipeline) {
  const auto detect = [pipeline](const DetectorOptions& options, const ImageView& image, const ImageView& mask) {
    Features features;
    const absl::Status status = pipeline->Detect(options, image, mask, &features, /*times=*/nullptr);
    EXPECT_TRUE(status.ok()) << status;
    return features;
  };
  return {std::move(name), detect};
}

std::vector<Backend> MakeBackends() {
  std::vector<Backend> backends;
  backends.push_back({"reference", [](const DetectorOptions& options, const ImageView& image, const ImageView& mask) {
                        return reference::Detect(options, image, mask);
                      }});
  backends.push_back(Wrap("cpu, " + cpu::SimdTarget(), std::make_shared<cpu::Pipeline>()));
  if (cuda::ProbeDevice(0).ok()) {
    auto pipeline = cuda::Pipeline::Create({});
    EXPECT_TRUE(pipeline.ok()) << pipeline.status();
    if (pipeline.ok()) {
      backends.push_back(
          Wrap("cuda, " + cuda::DeviceDescription(0), std::shared_ptr<cuda::Pipeline>(*std::move(pipeline))));
    }
  }
  return backends;
}

}  // namespace

const std::vector<Backend>& Backends() {
  static const auto* const kBackends = new std::vector<Backend>(MakeBackends());
  return *kBackends;
}

::testing::AssertionResult BackendsEqualOrb(const DetectorOptions& options, const ImageView& image,
                                            const ImageView& mask) {
  const OrbAnswer orb = AskOrb(options, image, mask);
  ::testing::AssertionResult all = ::testing::AssertionSuccess();
  for (const Backend& backend : Backends()) {
    const ::testing::AssertionResult equal = EqualsOrb(orb, backend.detect(options, image, mask));
    if (equal) continue;
    if (all) {
      all = ::testing::AssertionFailure() << image.width << "x" << image.height << (mask.empty() ? "" : " with a mask")
                                          << ", " << ToString(options) << "\n";
    }
    all << backend.name << ": " << equal.message();
  }
  return all;
}

}  // namespace glint::testing
