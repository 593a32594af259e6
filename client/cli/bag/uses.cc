#include "client/cli/bag/uses.h"

#include <algorithm>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/source/bag_frames.h"
#include "features/error.h"

namespace glint::cli {
namespace {

// How the names of a pair's topics differ.
constexpr std::pair<const char*, const char*> kSides[] = {
    {"left", "right"},      {"infra1", "infra2"},     {"cam0", "cam1"},        {"cam_0", "cam_1"},
    {"camera0", "camera1"}, {"camera_0", "camera_1"}, {"image_0", "image_1"},  {"cam1", "cam2"},
    {"cam_1", "cam_2"},     {"camera1", "camera2"},   {"camera_1", "camera_2"}};

const TopicFacts& Of(const std::vector<TopicFacts>& facts, int topic) { return facts[static_cast<size_t>(topic)]; }

// CameraInfo of a camera's topic; -1: none.
int InfoOf(const BagFile& bag, const Uses& uses, int camera) {
  const std::string name = CameraInfoTopic(bag.topic(camera).name);
  for (const auto& [info, of] : uses.calibrations) {
    if (bag.topic(info).name == name) return info;
  }
  return -1;
}

bool IsIn(int topic, const std::vector<std::pair<int, int>>& pairs) {
  return std::any_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == topic || p.second == topic; });
}

void FindPairs(const BagFile& bag, const std::vector<TopicFacts>& facts, Uses* uses) {
  for (const auto& [left_word, right_word] : kSides) {
    for (int left : uses->cameras) {
      const std::string name = absl::StrReplaceAll(bag.topic(left).name, {{left_word, right_word}});
      for (int right : uses->cameras) {
        if (left == right || bag.topic(right).name != name || IsIn(left, uses->pairs) || IsIn(right, uses->pairs))
          continue;
        if (!(Of(facts, left).image == Of(facts, right).image)) continue;
        // The projection of the right one has the baseline.
        const int info = InfoOf(bag, *uses, left), other = InfoOf(bag, *uses, right);
        const bool swapped =
            info >= 0 && other >= 0 && Of(facts, info).info->p[3] < 0 && Of(facts, other).info->p[3] == 0;
        uses->pairs.emplace_back(swapped ? right : left, swapped ? left : right);
      }
    }
  }
}

void FindDepths(const BagFile& bag, const std::vector<TopicFacts>& facts, Uses* uses) {
  for (int depth : uses->depths) {
    const int info = InfoOf(bag, *uses, depth);
    for (int camera : uses->cameras) {
      const int other = InfoOf(bag, *uses, camera);
      if (info < 0 || other < 0 || IsIn(depth, uses->with_depth)) continue;
      if (HaveOnePixelGrid(*Of(facts, info).info, *Of(facts, other).info)) uses->with_depth.emplace_back(camera, depth);
    }
  }
}

// The best of several: calibrated, rectified, not compressed; the first of equal ones.
const std::pair<int, int>* BestOf(const BagFile& bag, const Uses& uses, const std::vector<std::pair<int, int>>& pairs) {
  const auto score = [&](const std::pair<int, int>& pair) {
    const int has_info = InfoOf(bag, uses, pair.first) >= 0 && InfoOf(bag, uses, pair.second) >= 0 ? 4 : 0;
    return has_info + (IsRectified(bag.topic(pair.first).name) ? 2 : 0) +
           (KindOf(bag.topic(pair.first)) == TopicKind::kImage ? 1 : 0);
  };
  const auto best =
      std::max_element(pairs.begin(), pairs.end(), [&](const auto& a, const auto& b) { return score(a) < score(b); });
  return best == pairs.end() ? nullptr : &*best;
}

// As a shell takes it for one word.
std::string Quoted(const std::string& word) {
  const bool plain = !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || absl::StrContains("_./:=@%+,-", c);
  });
  return plain ? word : absl::StrCat("'", absl::StrReplaceAll(word, {{"'", "'\\''"}}), "'");
}

// `camera`: what the sensor has to be placed beside; -1: a calibration says where it is.
std::string ImuOptions(BagFile* bag, const Uses& uses, int camera) {
  std::string topics;
  if (!uses.imus.empty()) {
    topics = bag->topic(uses.imus.front()).name;
  } else if (!uses.gyroscopes.empty() && !uses.accelerometers.empty()) {
    topics = absl::StrCat(bag->topic(uses.gyroscopes.front()).name, ",", bag->topic(uses.accelerometers.front()).name);
  }
  if (topics.empty()) return "";
  const bool is_placed = camera < 0 || CameraFromImu(bag, bag->topic(camera).name, topics).has_value();
  return absl::StrCat(" --imu ", Quoted(topics), is_placed ? "" : " --camera-from-imu FILE");
}

}  // namespace

Uses UsesOf(const BagFile& bag, const std::vector<TopicFacts>& facts) {
  Uses uses;
  for (int i = 0; i < static_cast<int>(facts.size()); ++i) {
    const TopicFacts& f = Of(facts, i);
    const TopicKind kind = KindOf(bag.topic(i));
    if (!f.problem.empty()) continue;
    if (IsCamera(kind)) (f.is_depth ? uses.depths : uses.cameras).push_back(i);
    if (kind == TopicKind::kImu) {
      (f.turns && f.accelerates ? uses.imus : f.turns ? uses.gyroscopes : uses.accelerometers).push_back(i);
    }
    if (kind == TopicKind::kCameraInfo && f.info.has_value()) uses.calibrations.emplace_back(i, -1);
  }
  for (auto& [info, camera] : uses.calibrations) {
    for (const auto* of : {&uses.depths, &uses.cameras}) {
      for (int i : *of) {
        if (CameraInfoTopic(bag.topic(i).name) == bag.topic(info).name) camera = i;
      }
    }
  }
  FindPairs(bag, facts, &uses);
  FindDepths(bag, facts, &uses);
  return uses;
}

std::string UseText(const BagFile& bag, const std::vector<TopicFacts>& facts, const Uses& uses, int topic) {
  const TopicFacts& f = Of(facts, topic);
  if (!f.problem.empty()) return absl::StrCat("not used: ", f.problem);
  const auto name = [&](int index) { return bag.topic(index).name; };
  std::string text;
  switch (KindOf(bag.topic(topic))) {
    case TopicKind::kOther:
      return absl::StrCat("not used: ", bag.topic(topic).type.empty() ? "no type" : "type ",
                          Echo(bag.topic(topic).type));
    case TopicKind::kImu:
      return f.turns && f.accelerates ? "IMU" : f.turns ? "gyroscope" : "accelerometer";
    case TopicKind::kCameraInfo:
      for (const auto& [info, camera] : uses.calibrations) {
        if (info == topic && camera >= 0) return absl::StrCat("calibration of ", name(camera));
      }
      return "calibration; no topic has its camera's images";
    case TopicKind::kImage:
    case TopicKind::kCompressedImage:
      text = f.is_depth ? "depth" : "camera";
      for (const auto& [left, right] : uses.pairs) {
        if (left == topic) text = absl::StrCat("left camera of a pair with ", name(right));
        if (right == topic) text = absl::StrCat("right camera of a pair with ", name(left));
      }
      for (const auto& [camera, depth] : uses.with_depth) {
        if (depth == topic) text = absl::StrCat("depth of ", name(camera));
      }
      break;
  }
  const bool has_shape = f.image.width > 0;
  return absl::StrCat(text, ", ", has_shape ? absl::StrCat(f.image.width, "x", f.image.height, " ") : "", f.encoding);
}

std::vector<std::string> CommandLines(BagFile* bag, const Uses& uses) {
  std::vector<std::string> lines;
  const std::string file = Quoted(bag->path());
  const auto name = [&](int index) { return Quoted(bag->topic(index).name); };
  if (const auto* pair = BestOf(*bag, uses, uses.pairs); pair != nullptr) {
    const bool calibrated = InfoOf(*bag, uses, pair->first) >= 0 && InfoOf(*bag, uses, pair->second) >= 0;
    lines.push_back(absl::StrCat("glint localize --bag ", file, calibrated ? "" : " --calibration PATH", " --left ",
                                 name(pair->first), " --right ", name(pair->second),
                                 ImuOptions(bag, uses, calibrated ? pair->first : -1)));
  }
  if (const auto* pair = BestOf(*bag, uses, uses.with_depth); pair != nullptr) {
    lines.push_back(absl::StrCat("glint localize --bag ", file, " --depth --left ", name(pair->first),
                                 " --depth-topic ", name(pair->second), ImuOptions(bag, uses, pair->first)));
  }
  if (lines.empty() && !uses.cameras.empty()) {
    lines.push_back(absl::StrCat("glint track --bag ", file, " --topic ", name(uses.cameras.front())));
  }
  return lines;
}

}  // namespace glint::cli
