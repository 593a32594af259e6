// Frames and options at random, good ones and such as no server may take.
#ifndef GLINT_TESTS_SOAK_FRAMES_H_
#define GLINT_TESTS_SOAK_FRAMES_H_

#include <string>
#include <vector>

#include "glint/v1/feature_detection.pb.h"
#include "tests/support/random.h"

namespace glint::soak {

// Picture files to send; made once.
class Files {
 public:
  Files();
  const std::string& Any(testing::Random* random) const {
    return files_[static_cast<size_t>(random->Uniform(0, static_cast<int>(files_.size()) - 1))];
  }

 private:
  std::vector<std::string> files_;
};

// Replaces `image` by a picture of any shape up to 1280x720, of any format, raw or a file.
void GoodImage(const Files& files, testing::Random* random, v1::Image* image);

// Looks at a part of the frame's image, if its shape is known.
void AnyRegion(testing::Random* random, v1::DetectFrame* frame);

// Makes a good frame (with or without a mask) one that fails with INVALID_ARGUMENT.
void Spoil(testing::Random* random, v1::DetectFrame* frame);

v1::DetectStreamOptions AnyOptions(testing::Random* random);

}  // namespace glint::soak

#endif  // GLINT_TESTS_SOAK_FRAMES_H_
