// camera.txt of DSO, LSD-SLAM, the TUM monocular data set and 4Seasons. A line of an optional model and its numbers (fx
// fy cx cy and the lens), then the image's size; what follows is of the image that the program makes of it. A centre
// below 1 is a share of the size, as are the focal lengths then, and pixels are counted from a corner.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "calibration/formats/matrices.h"
#include "calibration/formats/named_lens.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

constexpr size_t kMaxDsoBytes = 4096;

struct DsoFile {
  std::string model;            // empty: by the number of coefficients
  std::vector<double> numbers;  // fx fy cx cy and the lens
  std::vector<double> size;
};

std::optional<DsoFile> ReadDsoLines(const Source& source) {
  if (source.text.size() > kMaxDsoBytes) return std::nullopt;
  const std::vector<Line> lines = LinesOf(source.text);
  if (lines.size() < 2 || lines.size() > 5) return std::nullopt;
  std::vector<absl::string_view> words = WordsOf(lines[0].text);
  DsoFile file;
  if (!words.empty() && absl::ascii_isalpha(words[0][0])) {
    file.model = absl::AsciiStrToLower(words[0]);
    words.erase(words.begin());
  }
  const auto numbers = NumbersIn(absl::StrJoin(words, " ")), size = NumbersIn(lines[1].text);
  if (!numbers || !size || size->size() != 2 || numbers->size() < 4 || numbers->size() > 8) return std::nullopt;
  if (lines.size() == 2 && file.model.empty()) return std::nullopt;  // any two lines of numbers
  file.numbers = *numbers;
  file.size = *size;
  return file;
}

bool RecognisesDso(const Source& source) { return ReadDsoLines(source).has_value(); }

absl::StatusOr<Calibration> ReadDso(absl::Span<const Source> sources, const ReadOptions&) {
  const Source& source = sources[0];
  if (sources.size() > 1) {
    return FieldError(sources[1], "camera.txt", "DSO's files do not say where two cameras are to each other");
  }
  const DsoFile file = *ReadDsoLines(source);
  Calibration calibration;
  RigCamera& camera = calibration.rig.cameras.emplace_back();
  camera.name = "camera";
  GLINT_ASSIGN_OR_RETURN(camera.camera.image, ImageSize(source, "the second line", file.size[0], file.size[1]));
  std::vector<double> f(file.numbers.begin(), file.numbers.begin() + 4);
  if (f[2] > 0 && f[2] < 1 && f[3] > 0 && f[3] < 1) {
    for (size_t i = 0; i < 4; ++i) f[i] = f[i] * file.size[i % 2] - (i < 2 ? 0 : 0.5);
  }
  GLINT_RETURN_IF_ERROR(
      SetIntrinsics(source, "the first line", {f[0], 0, f[2], 0, f[1], f[3], 0, 0, 1}, &camera.camera));
  const std::vector<double> lens(file.numbers.begin() + 4, file.numbers.end());
  std::string model = file.model;
  if (model.empty()) model = lens.size() == 1 ? "fov" : "radtan";
  if (model == "pinhole") model = "none";
  GLINT_RETURN_IF_ERROR(SetNamedLens(source, "the first line", model, "the first line", lens, &camera.camera));
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kDso = {"dso", "DSO camera.txt", RecognisesDso, ReadDso, nullptr};

}  // namespace glint::calibration
