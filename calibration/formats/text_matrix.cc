// A camera in text, as K.txt and intrinsics.txt of many data sets: a camera matrix of 9 numbers in one line or in
// three, or the first rows of a 4x4 matrix, or fx fy cx cy [k1 k2 p1 p2 [k3]] in one line (DROID-SLAM). A line of one
// number after a matrix is the baseline in metres of a rectified pair (FoundationStereo).
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "calibration/formats/fields.h"
#include "calibration/formats/formats.h"
#include "calibration/formats/lines.h"
#include "calibration/formats/matrices.h"
#include "features/status_macros.h"

namespace glint::calibration {
namespace {

constexpr size_t kMaxMatrixBytes = 4096;

struct TextMatrix {
  std::vector<double> k;     // 9 numbers
  std::vector<double> lens;  // OpenCV's, of one line alone
  std::optional<double> baseline;
};

// fx fy cx cy [k1 k2 p1 p2 [k3]], or something else. Four numbers alone may be anything: of a camera they are if its
// edges lie 11 to 76 degrees from the centre.
std::optional<TextMatrix> ReadOneLine(const std::vector<double>& row) {
  if (row.size() != 4 && row.size() != 8 && row.size() != 9) return std::nullopt;
  const bool is_camera = row[0] > 2 && row[1] > 2 && row[2] > 2 && row[3] > 2;
  const auto is_centre = [](double c, double f) { return c > 0.2 * f && c < 4 * f; };
  const bool is_lens = row.size() == 4 ? is_centre(row[2], row[0]) && is_centre(row[3], row[1])
                                       : std::abs(row[4]) < 2 && std::abs(row[6]) < 0.1 && std::abs(row[7]) < 0.1;
  if (!is_camera || !is_lens || std::abs(row[0] - row[1]) > 0.15 * row[0]) return std::nullopt;
  return TextMatrix{{row[0], 0, row[2], 0, row[1], row[3], 0, 0, 1}, {row.begin() + 4, row.end()}, std::nullopt};
}

std::optional<TextMatrix> ReadTextMatrix(const Source& source) {
  if (source.text.size() > kMaxMatrixBytes) return std::nullopt;
  std::vector<std::vector<double>> rows;
  for (const Line& line : LinesOf(source.text)) {
    const auto numbers = NumbersIn(line.text);
    if (!numbers || rows.size() == 5) return std::nullopt;
    rows.push_back(*numbers);
  }
  TextMatrix matrix;
  size_t used = 1;
  if (rows.empty()) return std::nullopt;
  if (rows.size() == 1) {
    if (auto line = ReadOneLine(rows[0])) return line;
  }
  if (rows[0].size() == 9) {
    matrix.k = rows[0];
  } else if (rows.size() >= 3) {
    for (used = 0; used < 3; ++used) {
      const std::vector<double>& row = rows[used];
      if (row.size() != rows[0].size() || (row.size() != 3 && !(row.size() == 4 && row[3] == 0))) return std::nullopt;
      matrix.k.insert(matrix.k.end(), row.begin(), row.begin() + 3);
    }
    used += used < rows.size() && rows[used] == std::vector<double>{0, 0, 0, 1};
  }
  if (used < rows.size() && rows[used].size() == 1) matrix.baseline = rows[used++][0];
  const std::vector<double>& k = matrix.k;
  const bool is_camera = k.size() == 9 && k[0] > 2 && k[4] > 2 && k[3] == 0 && k[6] == 0 && k[7] == 0 && k[8] == 1;
  if (!is_camera || used != rows.size()) return std::nullopt;
  return matrix;
}

bool RecognisesTextMatrix(const Source& source) { return ReadTextMatrix(source).has_value(); }

absl::StatusOr<Calibration> ReadTextMatrices(absl::Span<const Source> sources, const ReadOptions& options) {
  const Source& source = sources[0];
  if (sources.size() > 1) {
    return FieldError(sources[1], "K", "two matrices alone do not say where two cameras are to each other");
  }
  const TextMatrix matrix = *ReadTextMatrix(source);
  Camera camera;
  camera.image = options.image;
  GLINT_RETURN_IF_ERROR(SetIntrinsics(source, "K", matrix.k, &camera));
  GLINT_RETURN_IF_ERROR(SetOpenCvLens(source, "K", matrix.lens, &camera));
  Calibration calibration;
  if (matrix.baseline.has_value()) {
    if (!(*matrix.baseline > 0)) {
      return FieldError(source, "baseline", absl::StrCat(*matrix.baseline, " is not above 0, as a distance is"));
    }
    calibration.rig = RectifiedRig(camera, *matrix.baseline);
    calibration.notes.push_back(
        FieldWarning(source, "baseline", "beside one camera: taken as two of it, side by side, of rectified images"));
  } else {
    RigCamera& eye = calibration.rig.cameras.emplace_back();
    eye.name = "camera";
    eye.camera = camera;
  }
  FindWhetherRectified(&calibration);
  return calibration;
}

}  // namespace

const Format kTextMatrix = {"matrix", "camera matrix in text (K.txt)", RecognisesTextMatrix, ReadTextMatrices, nullptr};

}  // namespace glint::calibration
