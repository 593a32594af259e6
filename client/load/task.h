// Task of a load generator, message after message on a stream.
#ifndef GLINT_CLIENT_LOAD_TASK_H_
#define GLINT_CLIENT_LOAD_TASK_H_

namespace glint::load {

enum class Task {
  kDetect,            // DetectStream: an image a message
  kStereo,            // StereoStream: the two images of a rectified pair
  kMatch,             // MatchStream: two images
  kMatchDescriptors,  // MatchStream: two sets of descriptors
};

constexpr bool IsPair(Task task) { return task != Task::kDetect; }

constexpr const char* NameOf(Task task) {
  switch (task) {
    case Task::kStereo:
      return "stereo";
    case Task::kMatch:
      return "match";
    case Task::kMatchDescriptors:
      return "match_descriptors";
    case Task::kDetect:
      break;
  }
  return "detect";
}

// What the report calls a message.
constexpr const char* UnitOf(Task task) { return IsPair(task) ? "pair" : "frame"; }

constexpr const char* MethodOf(Task task) {
  switch (task) {
    case Task::kStereo:
      return "/glint.v1.FeatureMatching/StereoStream";
    case Task::kMatch:
    case Task::kMatchDescriptors:
      return "/glint.v1.FeatureMatching/MatchStream";
    case Task::kDetect:
      break;
  }
  return "/glint.v1.FeatureDetection/DetectStream";
}

}  // namespace glint::load

#endif  // GLINT_CLIENT_LOAD_TASK_H_
