// Pictures and float maps to files, without OpenCV. An error names the file that could not be written, and why.
#ifndef GLINT_TESTS_SCENE_WRITE_IMAGE_H_
#define GLINT_TESTS_SCENE_WRITE_IMAGE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "features/types.h"
#include "tests/scene/depth_sensor.h"

namespace glint::scene {

// One byte per pixel (channels == 1), or rows of RGB triples (channels == 3; image.width is 3 * the picture's).
absl::Status WritePng(const std::string& path, const ImageView& image, int channels);
// A grey PNG of 16 bits.
absl::Status WriteDepthPng(const std::string& path, const DepthImage& depth);
// PGM for 1 channel, PPM for 3.
absl::Status WritePnm(const std::string& path, const ImageView& image, int channels);
// Portable float map, one channel, little-endian; rows from the bottom up, as the format has it.
absl::Status WritePfm(const std::string& path, const std::vector<float>& values, Shape shape);
absl::Status WriteText(const std::string& path, const std::string& text);

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_WRITE_IMAGE_H_
