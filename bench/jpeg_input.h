// The JPEG files that `glint-microbench jpeg` decodes. Thread-safe.
#ifndef GLINT_BENCH_JPEG_INPUT_H_
#define GLINT_BENCH_JPEG_INPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "decode/jpeg_writer.h"
#include "features/types.h"

namespace glint::bench {

struct JpegInputOptions {
  std::string picture;         // as LoadPicture() takes it; a JPEG file stays as it is if there are no `qualities`
  std::string size;            // WIDTHxHEIGHT of a rendered picture, where there is no `picture`
  std::vector<int> qualities;  // one file each; 80 where a picture must be encoded and there are none
  // Options of encoded files; default: 4:2:0 without restart markers.
  std::optional<decode::JpegSampling> sampling;
  std::optional<int> restart_rows;
};

struct JpegInput {
  std::string source;  // the picture, or "rendered"
  int quality = 0;     // 0: a file as it is
  std::string file;
};

// "420", "422", "440", "444", "grey".
absl::StatusOr<decode::JpegSampling> JpegSamplingNamed(const std::string& name);

// A picture without a source: edges, gradients and grain that compress as those of a photograph with much detail. The
// same on every machine.
Image RenderPicture(Shape shape);

// INVALID_ARGUMENT for options that contradict each other or are out of range; errors of LoadPicture and WriteJpeg.
absl::StatusOr<std::vector<JpegInput>> MakeJpegInputs(const JpegInputOptions& options);

}  // namespace glint::bench

#endif  // GLINT_BENCH_JPEG_INPUT_H_
