#include "client/cli/match/colmap.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/status_macros.h"

namespace glint::cli {
namespace {

constexpr int kColmapDimensions = 128;
constexpr float kPi = 3.14159265f;

}  // namespace

std::string ColmapFeatures(const Features& f) {
  std::string out = absl::StrCat(f.count(), " ", kColmapDimensions, "\n");
  for (size_t i = 0; i < f.count(); ++i) {
    const float values[] = {f.x[i] + 0.5f, f.y[i] + 0.5f, f.size[i] / 2, f.angle[i] < 0 ? 0 : f.angle[i] * kPi / 180};
    for (const float value : values) {
      AppendFloat(value, &out);
      out += ' ';
    }
    for (int d = 0; d < kColmapDimensions; ++d) {
      const size_t row = i * static_cast<size_t>(f.descriptor_bytes);
      absl::StrAppend(&out, d < f.descriptor_bytes ? f.descriptors[row + static_cast<size_t>(d)] : 0,
                      d + 1 < kColmapDimensions ? " " : "\n");
    }
  }
  return out;
}

std::string ColmapMatches(const std::string& first, const std::string& second, const MatchResult& matches) {
  std::string out = absl::StrCat(first, " ", second, "\n");
  for (int q = 0; q < matches.queries; ++q) {
    const int32_t train = matches.index[static_cast<size_t>(q) * static_cast<size_t>(matches.k)];
    if (train != kNoMatch) absl::StrAppend(&out, q, " ", train, "\n");
  }
  return out + "\n";
}

absl::StatusOr<ColmapWriter> ColmapWriter::Open(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  ColmapWriter writer(folder);
  GLINT_ASSIGN_OR_RETURN(auto matches, OutputFile::Open(absl::StrCat(folder, "/matches.txt")));
  writer.matches_.emplace(std::move(matches));
  return writer;
}

absl::Status ColmapWriter::AddPicture(const std::string& path, const Features& features, std::string* name) {
  *name = std::filesystem::path(path).filename().string();
  const auto [found, is_new] = paths_.emplace(*name, path);
  if (name->find_first_of(" \t\n") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": COLMAP's lists take no names with spaces"));
  }
  if (!is_new) {
    if (found->second == path) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(found->second, " and ", path, " have one name, and COLMAP tells pictures apart by it"));
  }
  return WriteWholeFile(absl::StrCat(folder_, "/", *name, ".txt"), ColmapFeatures(features));
}

absl::Status ColmapWriter::Add(const std::string& first, const std::string& second, const client::MatchFound& found) {
  std::string names[2];
  GLINT_RETURN_IF_ERROR(AddPicture(first, found.query, &names[0]));
  GLINT_RETURN_IF_ERROR(AddPicture(second, found.train, &names[1]));
  return matches_->Write(ColmapMatches(names[0], names[1], found.matches));
}

}  // namespace glint::cli
