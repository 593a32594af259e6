#include "calibration/formats/opencv_matrices.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace glint::calibration::opencv {
namespace {

using Words = std::vector<std::string>;

bool HasWord(const Words& words, std::initializer_list<absl::string_view> wanted) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

// Takes the side off an end of a word of a matrix's: "mtxl", "kr", "leftcam".
bool TakeOffSide(absl::string_view word, absl::string_view* rest, absl::string_view* side) {
  const auto is_of_matrix = [](absl::string_view stem) {
    constexpr absl::string_view kStems[] = {
        "k",   "d",      "m",     "r",      "p",         "t",          "mtx",        "dist", "cam", "camera",
        "mat", "matrix", "coeff", "coeffs", "intrinsic", "intrinsics", "distortion", "proj", "xi"};
    return std::find(std::begin(kStems), std::end(kStems), stem) != std::end(kStems);
  };
  for (const absl::string_view end : {"left", "right", "l", "r"}) {
    *side = end;
    *rest = word;
    if (absl::ConsumeSuffix(rest, end) && is_of_matrix(*rest)) return true;
    *rest = word;
    if (end.size() > 1 && absl::ConsumePrefix(rest, end) && is_of_matrix(*rest)) return true;  // "rmat" is a rotation
  }
  return false;
}

// "cameraMatrix_L2" is camera, matrix, l, 2; "KL" and "Kright" are k, l and k, right; "mtxl" is mtx, l.
Words NameWords(absl::string_view name) {
  Words words(1);
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const char before = i > 0 ? name[i - 1] : '_';
    const bool is_digit = absl::ascii_isdigit(c);
    const bool starts = is_digit != absl::ascii_isdigit(before) ||
                        (absl::ascii_isupper(c) &&
                         (!absl::ascii_isupper(before) || (i + 1 < name.size() && absl::ascii_islower(name[i + 1]))));
    if ((starts || !absl::ascii_isalnum(c)) && !words.back().empty()) words.emplace_back();
    if (absl::ascii_isalnum(c)) words.back() += absl::ascii_tolower(c);
  }
  if (words.back().empty()) words.pop_back();
  Words split;
  for (const std::string& word : words) {
    absl::string_view rest, side;
    if (TakeOffSide(word, &rest, &side)) {
      split.emplace_back(rest);
      split.emplace_back(side);
    } else {
      split.push_back(word);
    }
  }
  return split;
}

// The 9 numbers are those of a camera matrix, right or not.
bool LooksLikeIntrinsics(const std::vector<double>& m) {
  return m[3] == 0 && m[6] == 0 && m[7] == 0 && m[8] == 1 && std::abs(m[0]) > 2 && std::abs(m[4]) > 2;
}

// The camera matrix of fx, fy, cx, cy.
std::vector<double> MatrixOfFour(const std::vector<double>& f) { return {f[0], 0, f[2], 0, f[1], f[3], 0, 0, 1}; }

bool NamesRotation(const Words& words) {
  return HasWord(words, {"rot", "rotation", "rmat", "rmatrix", "rvec", "om", "rectification", "rectify"});
}

bool StartsWord(const Words& words, absl::string_view start) {
  return std::any_of(words.begin(), words.end(), [&](const std::string& w) { return absl::StartsWith(w, start); });
}

bool IsSizeName(const Words& words) {
  const bool of_other = HasWord(words, {"board", "pattern", "grid", "square", "squares", "corner", "corners", "chess",
                                        "chessboard", "checkerboard", "marker", "tag", "roi", "new", "circle"});
  return !of_other && (HasWord(words, {"size", "resolution", "shape", "dims", "imsize"}));
}

bool IsIntrinsicsName(const Words& words) {
  return HasWord(words, {"k", "m", "mtx", "kmat"}) || StartsWord(words, "intrinsic") ||
         (StartsWord(words, "cam") && StartsWord(words, "mat")) || HasWord(words, {"cameramatrix"});
}

bool IsLensName(const Words& words) {
  return !HasWord(words, {"distance"}) &&
         (HasWord(words, {"d", "kc"}) || StartsWord(words, "dist") || StartsWord(words, "coef"));
}

Role RoleOf(const Words& words, const std::vector<double>& values) {
  const bool of_new_image = StartsWord(words, "new") || StartsWord(words, "optimal") || StartsWord(words, "undist") ||
                            StartsWord(words, "rect");
  const bool is_camera_matrix = values.size() == 9 && LooksLikeIntrinsics(values);  // "Kc", beside the lens "kc"
  if (IsLensName(words) && values.size() != 1 && values.size() <= 14 && !is_camera_matrix) return Role::kLens;
  switch (values.size()) {
    case 1:
      if (HasWord(words, {"baseline"}) && !StartsWord(words, "focal")) return Role::kBaseline;
      return HasWord(words, {"xi"}) ? Role::kXi : Role::kNone;
    case 2:
      return IsSizeName(words) ? Role::kSize : Role::kNone;
    case 3:
      if (HasWord(words, {"t", "trans", "translation", "tvec"})) return Role::kTranslation;
      return NamesRotation(words) || HasWord(words, {"r"}) ? Role::kRotation : Role::kNone;
    case 4:  // fx, fy, cx, cy
      return IsIntrinsicsName(words) && LooksLikeIntrinsics(MatrixOfFour(values)) ? Role::kIntrinsics : Role::kNone;
    case 5:
    case 8:
    case 14:
      return HasWord(words, {"k"}) ? Role::kLens : Role::kNone;  // "k" beside "K"
    case 9:
      if (is_camera_matrix || (IsIntrinsicsName(words) && !NamesRotation(words))) {
        return of_new_image ? Role::kNone : Role::kIntrinsics;
      }
      return NamesRotation(words) || HasWord(words, {"r", "rect"}) ? Role::kRotation : Role::kNone;
    case 12:
      if (HasWord(words, {"p", "proj", "projection", "pmat"}) || (values[8] == 0 && values[9] == 0 && values[10] == 1))
        return Role::kProjection;
      break;
    default:
      break;
  }
  if (values.size() != 12 && values.size() != 16) return Role::kNone;
  return HasWord(words, {"rt", "t", "pose", "transform"}) || StartsWord(words, "extrinsic") ? Role::kPose : Role::kNone;
}

// Sets eye and direction from the words that name no role: "R_l" is a rotation of the left camera, "stereo_R" of none.
void FindEye(Words words, Matrix* matrix) {
  if (matrix->role == Role::kRotation && !NamesRotation(words)) {
    if (const auto r = std::find(words.begin(), words.end(), "r"); r != words.end()) words.erase(r);
  }
  std::vector<int> eyes;
  for (const std::string& word : words) {
    int digit = 0;
    if (word == "l" || word == "left" || word == "first") eyes.push_back(0);
    if (word == "r" || word == "right" || word == "second") eyes.push_back(1);
    if (word.size() == 1 && absl::SimpleAtoi(word, &digit)) {
      eyes.push_back(digit);
      matrix->has_digit = true;
    }
  }
  if (eyes.size() == 1 || (eyes.size() == 2 && eyes[0] == eyes[1])) matrix->eye = eyes[0];
  if (eyes.size() == 2 && eyes[0] > eyes[1] && HasWord(words, {"to"})) matrix->inverse = true;
  if (matrix->eye == kNoEye) matrix->has_digit = false;
}

// A value that tells the model of a fisheye lens: "model: fisheye", "fisheye_model: 1".
bool SaysFisheye(const Node& node) {
  const std::string name = absl::AsciiStrToLower(node.name), text = absl::AsciiStrToLower(node.text);
  if (absl::StrContains(name, "fisheye")) return text != "0" && text != "false";
  return absl::StrContains(name, "model") &&
         (absl::StrContains(text, "fisheye") || absl::StrContains(text, "equidistant") ||
          absl::StrContains(text, "kannala"));
}

// The matrix of a rotation vector, row by row.
std::vector<double> RotationOf(const std::vector<double>& vector) {
  const Eigen::Vector3d turn(vector.data());
  Eigen::Matrix<double, 3, 3, Eigen::RowMajor> rotation = Eigen::Matrix3d::Identity();
  if (turn.norm() > 0) rotation = Eigen::AngleAxisd(turn.norm(), turn.normalized()).toRotationMatrix();
  return {rotation.data(), rotation.data() + rotation.size()};
}

void Add(const Source& source, const std::string& name, std::vector<double> values, Found* found) {
  const Words words = NameWords(name);
  Matrix matrix;
  matrix.source = &source;
  matrix.name = name;
  matrix.role = RoleOf(words, values);
  if (matrix.role == Role::kNone) return;
  matrix.values = matrix.role == Role::kRotation && values.size() == 3 ? RotationOf(values) : std::move(values);
  if (matrix.role == Role::kIntrinsics && matrix.values.size() == 4) matrix.values = MatrixOfFour(matrix.values);
  FindEye(words, &matrix);
  if (matrix.role == Role::kBaseline) {
    const double unit = HasWord(words, {"mm", "millimeters", "millimetres"})   ? 1e-3
                        : HasWord(words, {"cm", "centimeters", "centimetres"}) ? 1e-2
                                                                               : 1;
    matrix.is_metres = unit != 1 || HasWord(words, {"m", "meters", "metres"});
    matrix.values[0] *= unit;
  }
  found->fisheye = found->fisheye || (matrix.role == Role::kLens && HasWord(words, {"fe"}));  // "D_LEFT_FE"
  const bool of_camera = HasWord(words, {"rect", "rectification", "rectify"}) || matrix.eye != kNoEye;
  if (matrix.role == Role::kRotation && of_camera) matrix.role = Role::kRectification;
  if (matrix.role == Role::kSize && HasWord(words, {"shape"})) std::swap(matrix.values[0], matrix.values[1]);
  found->matrices.push_back(std::move(matrix));
}

// Adds width and height of a map: "image_width" and "image_height", "w" and "h".
void AddSize(const Source& source, const Node& map, const std::string& prefix, Found* found) {
  for (const Node& width : map.children) {
    Words words = NameWords(width.name);
    const auto at = std::find_if(words.begin(), words.end(), [](const std::string& word) {
      return word == "width" || word == "w" || word == "cols";
    });
    if (at == words.end() || width.kind != Node::Kind::kScalar) continue;
    Words size = words;
    size.push_back("size");
    if (!IsSizeName(size)) continue;
    *at = *at == "cols" ? "rows" : *at == "w" ? "h" : "height";
    for (const Node& height : map.children) {
      if (height.kind != Node::Kind::kScalar || NameWords(height.name) != words) continue;
      const auto w = NumberOf(width), h = NumberOf(height);
      if (w.ok() && h.ok()) Add(source, absl::StrCat(prefix, width.name, " size"), {*w, *h}, found);
    }
  }
}

// Adds K and D of a map of numbers with a name each: fx, fy, cx, cy, k1, k2, p1, p2, ...
void AddNamedNumbers(const Source& source, const Node& map, const std::string& prefix, Found* found) {
  const auto numbers = [&](std::initializer_list<absl::string_view> names) {
    std::vector<double> values;
    for (const absl::string_view name : names) {
      const Node* node = map.Find(name);
      const auto value = node == nullptr ? absl::NotFoundError("") : NumberOf(*node);
      if (!value.ok()) break;
      values.push_back(*value);
    }
    return values;
  };
  const std::vector<double> k = numbers({"fx", "fy", "cx", "cy"});
  if (k.size() != 4) return;
  Add(source, absl::StrCat(prefix, "k"), {k[0], 0, k[2], 0, k[1], k[3], 0, 0, 1}, found);
  std::vector<double> d =
      numbers({"k1", "k2", "p1", "p2", "k3", "k4", "k5", "k6", "s1", "s2", "s3", "s4", "tau_x", "tau_y"});
  if (d.size() == 2) d = numbers({"k1", "k2", "k3", "k4"});
  if (!d.empty()) Add(source, absl::StrCat(prefix, "d"), d, found);
}

void Collect(const Source& source, const Node& node, const std::string& prefix, Found* found) {
  const std::string name = absl::StrCat(prefix, node.name);
  found->fisheye = found->fisheye || SaysFisheye(node) ||
                   (node.kind != Node::Kind::kScalar && absl::StrContains(absl::AsciiStrToLower(node.name), "fisheye"));
  const bool is_matrix = node.kind == Node::Kind::kMap && node.Find("data") != nullptr;
  if (is_matrix || node.kind == Node::Kind::kList || node.kind == Node::Kind::kScalar) {
    if (auto values = NumbersOf(node); values.ok()) Add(source, name, *std::move(values), found);
    if (node.kind != Node::Kind::kList) return;
  }
  const std::string inner = name.empty() ? "" : absl::StrCat(name, "/");
  if (node.kind == Node::Kind::kMap) {
    AddSize(source, node, inner, found);
    AddNamedNumbers(source, node, inner, found);
  }
  for (size_t i = 0; i < node.children.size(); ++i) {
    const Node& child = node.children[i];
    const bool is_element = node.kind == Node::Kind::kList;
    if (!is_element || child.kind == Node::Kind::kMap) {
      Collect(source, child, is_element ? absl::StrCat(inner, i, "/") : inner, found);
    }
  }
}

}  // namespace

Found Collect(const Source& source) {
  Found found;
  Collect(source, source.root, "", &found);
  return found;
}

bool Has(const Found& found, Role role) {
  return std::any_of(found.matrices.begin(), found.matrices.end(), [&](const Matrix& m) { return m.role == role; });
}

}  // namespace glint::calibration::opencv
