// Input and output of a detector: images, features, times. Host types, shared by backends, server and client. Depends
// on the standard library alone.
#ifndef GLINT_FEATURES_TYPES_H_
#define GLINT_FEATURES_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace glint {

// Width and height in pixels.
struct Shape {
  int width = 0;
  int height = 0;

  int64_t pixels() const { return static_cast<int64_t>(width) * height; }
  friend bool operator==(Shape a, Shape b) { return a.width == b.width && a.height == b.height; }
  friend bool operator!=(Shape a, Shape b) { return !(a == b); }
};

// A borrowed 8-bit, single-channel image: row y starts at data + y * stride, and only its first `width` bytes belong to
// the image. Nothing may be read past the last pixel of the last row. Empty (data == nullptr) stands for "no image",
// which is how an absent mask is passed.
struct ImageView {
  const uint8_t* data = nullptr;
  int width = 0;
  int height = 0;
  ptrdiff_t stride = 0;  // bytes from row to row, >= width

  bool empty() const { return data == nullptr; }
  Shape shape() const { return {width, height}; }
  const uint8_t* row(int y) const { return data + y * stride; }
  uint8_t at(int x, int y) const { return row(y)[x]; }
};

// Both images of a pair, of one shape, and their masks, which have it, too; an empty mask is none.
struct ImagePair {
  ImageView left, right;
  ImageView left_mask{}, right_mask{};
};

// The owner that goes with ImageView: 64-byte aligned memory whose rows are a multiple of 64 bytes apart. Resize()
// keeps the memory it has when that suffices, so an Image that has seen its largest shape allocates no more. Move-only.
class Image {
 public:
  Image() = default;
  Image(int width, int height) { Resize({width, height}); }
  Image(Image&& other) noexcept
      : memory_(std::move(other.memory_)),
        capacity_(std::exchange(other.capacity_, 0)),
        shape_(std::exchange(other.shape_, {})),
        stride_(std::exchange(other.stride_, 0)) {}
  Image& operator=(Image&& other) noexcept {
    memory_ = std::move(other.memory_);
    capacity_ = std::exchange(other.capacity_, 0);
    shape_ = std::exchange(other.shape_, {});
    stride_ = std::exchange(other.stride_, 0);
    return *this;
  }

  // The pixels are unspecified afterwards. Both sides must be >= 0.
  void Resize(Shape shape) {
    const size_t stride = (static_cast<size_t>(shape.width) + 63) / 64 * 64;
    const size_t bytes = stride * static_cast<size_t>(shape.height);
    if (bytes > capacity_) {
      memory_.reset(static_cast<uint8_t*>(::operator new (bytes, std::align_val_t{64})));
      capacity_ = bytes;
    }
    shape_ = shape;
    stride_ = static_cast<ptrdiff_t>(stride);
  }

  // Copies the pixels of `from`, whatever its stride.
  static Image CopyOf(const ImageView& from) {
    Image image(from.width, from.height);
    for (int y = 0; y < from.height; ++y) {
      std::memcpy(image.row(y), from.row(y), static_cast<size_t>(from.width));
    }
    return image;
  }

  uint8_t* row(int y) { return memory_.get() + y * stride_; }
  const uint8_t* row(int y) const { return memory_.get() + y * stride_; }
  int width() const { return shape_.width; }
  int height() const { return shape_.height; }
  ptrdiff_t stride() const { return stride_; }
  Shape shape() const { return shape_; }
  ImageView view() const { return {memory_.get(), shape_.width, shape_.height, stride_}; }
  operator ImageView() const { return view(); }  // NOLINT(google-explicit-constructor)

 private:
  struct Free {
    void operator()(uint8_t* p) const { ::operator delete (p, std::align_val_t{64}); }
  };
  std::unique_ptr<uint8_t, Free> memory_;
  size_t capacity_ = 0;
  Shape shape_;
  ptrdiff_t stride_ = 0;
};

// The keypoints of one image as a structure of arrays: element i of every array belongs to keypoint i. Order: octave,
// then response descending, then y, then x (level coordinates). Fields have cv::KeyPoint's meaning.
//
// The scale of `response` is that of the last score that ranked:
//   Score::kMaxThreshold  integers, fast_threshold..254: the largest threshold at which the pixel is a FAST corner
//   Score::kSadCircle     integers up to 4080 (16 pixels x 255), at least arc_length * (fast_threshold + 1)
//   Score::kSadArc        likewise, over the pixels of the arc alone
//   Score::kHarris        det(M) - k trace(M)^2 for pixels of 0..1 (HarrisResponse in features/math.h), below 0.25; the
//                         strongest corners of photographs have 1e-5 to 2e-2, edges are negative
//   Ranking::kHarris      likewise (preset orb)
//   Selection::kPyca      the sum of the scores of all levels that a keypoint was found on
struct Features {
  std::vector<float> x;         // pixels of the original image
  std::vector<float> y;         // pixels of the original image
  std::vector<float> size;      // diameter of the patch, pixels of the original image
  std::vector<float> angle;     // degrees in [0, 360), clockwise as y points down; -1 without an orientation stage
  std::vector<float> response;  // see above
  std::vector<int32_t> octave;  // pyramid level
  // Row i is bytes [i * descriptor_bytes, (i + 1) * descriptor_bytes); bit b of a descriptor is bit b % 8 of byte b
  // / 8.
  std::vector<uint8_t> descriptors;
  int descriptor_bytes = 0;  // 0 without a descriptor stage
  // More keypoints than OutputCapacity(options) were found; the first ones in the order above are here.
  bool truncated = false;

  size_t count() const { return x.size(); }

  // Sets the number of keypoints; allocates only beyond the largest number so far.
  void Resize(size_t count, int bytes_per_descriptor) {
    for (auto* v : {&x, &y, &size, &angle, &response}) v->resize(count);
    octave.resize(count);
    descriptor_bytes = bytes_per_descriptor;
    descriptors.resize(count * static_cast<size_t>(bytes_per_descriptor));
  }
  void Clear() {
    Resize(0, 0);
    truncated = false;
  }
};

// Where the time of one Detect() call went, in nanoseconds. upload + detect + download is the whole call. The stages
// below `detect` are a breakdown for backends that can tell (0 = not measured on its own, for example inside a fused
// kernel).
//
// On a GPU, events that separate upload from detection cost a tenth of a small frame, so they are recorded only on the
// first two frames of each shape and options and on one in 64. On those, upload is the copy, detect the device's work
// after it, download the rest. On all others, upload is the smaller of the last two measured uploads, but no larger
// share of the frame than it was of the measured one; detect is the remaining time until the device is done, including
// the host's work to start the frame; download is the time after that. The sum is exact on every frame.
struct StageTimes {
  int64_t upload_ns = 0;    // host memory to where the pipeline works on it
  int64_t detect_ns = 0;    // every stage of the pipeline
  int64_t download_ns = 0;  // device to host, and packing into Features

  int64_t pyramid_ns = 0;
  int64_t corners_ns = 0;  // corner test, score, suppression
  int64_t select_ns = 0;   // ranking, including Harris, and ordering
  int64_t orient_ns = 0;
  int64_t describe_ns = 0;  // blur and descriptor
};

}  // namespace glint

#endif  // GLINT_FEATURES_TYPES_H_
