// Sequences of messages of MatchStream and StereoStream, and calls of Match, against a server in this process
// (session.h): images, descriptors in the message, sets that are kept and edited, conditions, pairs side by side.
// Input: a byte for the method; then steps, each a byte for what to do, and numbers or bytes for how.
#include <google/protobuf/stubs/logging.h>

#include <cstring>
#include <string>

#include "glint/v1/matching.pb.h"
#include "tests/fuzz/targets/session.h"

namespace glint {
namespace {

using fuzz::Input;

// One of eight is any value there is: NaN, infinities, the huge and the tiny.
float Float(Input* input) {
  const auto number = input->Number<uint8_t>();
  if (number % 8 != 0) return static_cast<float>(number) / 4 - 8;
  const auto bits = input->Number<uint32_t>();
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

int32_t Int(Input* input) {
  const auto number = input->Number<uint8_t>();
  return number % 8 != 0 ? number / 4 - 8 : static_cast<int32_t>(input->Number<uint32_t>());
}

template <typename Make, typename Field>
void Fill(int count, Make make, Input* input, Field* field) {
  for (int i = 0; i < count; ++i) field->Add(make(input));
}

std::string Bytes(Input* input) { return fuzz::ToString(input->Take(input->Number<uint16_t>() % 2000)); }

// Arrays have one element a descriptor, or none, or one too many.
void SetDescriptors(Input* input, v1::DescriptorSet* set) {
  const int count = input->Number<uint8_t>() % 24;
  const auto form = input->Number<uint8_t>();
  const int bytes = form % 4 == 3 ? input->Number<uint8_t>() : 32;
  const auto value = input->Number<uint8_t>();
  set->set_descriptor_bytes(form % 64 == 63 ? -bytes : bytes);
  std::string* const data = set->mutable_data();
  for (int i = 0; i < count * bytes; ++i) data->push_back(static_cast<char>(i * value + i / 32));
  const int elements = count + (form % 32 == 31 ? 1 : 0);
  if ((form & 4) != 0) Fill(elements, Float, input, set->mutable_x());
  if ((form & 4) != 0) Fill(elements, Float, input, set->mutable_y());
  if ((form & 8) != 0) Fill(elements, Int, input, set->mutable_octave());
  if ((form & 16) != 0) Fill(elements, Float, input, set->mutable_angle());
}

void SetName(Input* input, std::string* name) {
  name->assign(1, static_cast<char>('a' + input->Number<uint8_t>() % 3));
}

void SetSide(Input* input, v1::MatchSide* side) {
  switch (input->Number<uint8_t>() % 4) {
    case 0:
      return fuzz::SetImage(input, side->mutable_image());
    case 1:
      return SetName(input, side->mutable_set());
    default:
      return SetDescriptors(input, side->mutable_descriptors());
  }
}

void SetOptions(Input* input, v1::MatchOptions* options) {
  const auto which = input->Number<uint8_t>();
  if ((which & 1) != 0) options->set_k(Int(input));
  options->set_cross_check((which & 2) != 0);
  if ((which & 4) != 0) options->set_ratio(Float(input) / 8);
  if ((which & 8) != 0) options->set_max_distance(Int(input));
  if ((which & 16) != 0) options->set_max_angle_difference(Float(input) * 8);
  options->set_rotation_histogram((which & 32) != 0);
  if ((which & 64) != 0) options->set_window_radius(Float(input));
  if ((which & 128) != 0) options->set_max_octave_difference(Int(input));
}

void SetOptions(Input* input, v1::StereoOptions* options) {
  const auto which = input->Number<uint16_t>();
  if ((which & 1) != 0) options->set_max_distance(Int(input));
  if ((which & 2) != 0) options->set_band(Float(input));
  if ((which & 4) != 0) options->set_max_octave_difference(Int(input));
  if ((which & 8) != 0) options->set_min_disparity(Float(input));
  if ((which & 16) != 0) options->set_max_disparity(Float(input));
  if ((which & 32) != 0) options->set_cross_check(false);
  if ((which & 64) != 0) options->set_refine(false);
  if ((which & 128) != 0) options->set_median_cut(false);
  if ((which & 256) != 0) options->set_check_pair(false);
  if ((which & 512) != 0) options->set_focal_length(Float(input));
  if ((which & 1024) != 0) options->set_baseline(Float(input));
}

template <typename Options>
void SetStream(Input* input, Options* options) {
  options->mutable_detector()->set_preset("orb");
  options->mutable_detector()->set_max_features(1 + input->Number<uint8_t>() % 64);
  options->set_overload_policy(static_cast<v1::OverloadPolicy>(input->Number<uint8_t>() % 6));
  options->set_max_in_flight(input->Number<uint8_t>() % 6);
}

template <typename Pair>
void SetPair(Input* input, Pair* pair) {
  SetSide(input, pair->mutable_query());
  SetSide(input, pair->mutable_train());
  const auto which = input->Number<uint8_t>();
  const int bytes = pair->query().descriptors().descriptor_bytes();
  const int count =
      bytes <= 0 ? input->Number<uint8_t>() % 8 : static_cast<int>(pair->query().descriptors().data().size()) / bytes;
  v1::MatchConditions* const conditions = pair->mutable_conditions();
  if ((which & 1) != 0) Fill(count, Float, input, conditions->mutable_x());
  if ((which & 1) != 0) Fill(count, Float, input, conditions->mutable_y());
  if ((which & 2) != 0) Fill(count, Float, input, conditions->mutable_radius());
  if ((which & 4) != 0) Fill(count, Int, input, conditions->mutable_min_octave());
  if ((which & 8) != 0) Fill(count, Int, input, conditions->mutable_max_octave());
}

enum MatchStep { kBytes, kOptions, kPair, kEdit, kDamaged, kMatchSteps };

std::string MatchMessage(int step, Input* input) {
  if (step == kBytes) return Bytes(input);
  v1::MatchStreamRequest request;
  if (step == kOptions) {
    SetStream(input, request.mutable_options());
    SetOptions(input, request.mutable_options()->mutable_match());
  } else if (step == kEdit) {
    v1::ForgetSet forget;
    forget.set_frame_id(input->Number<uint8_t>());
    SetName(input, forget.mutable_set());
    const auto which = input->Number<uint8_t>();
    if (which % 8 == 0) {
      *request.mutable_forget_set() = forget;
    } else {
      v1::UpdateSet* const update = request.mutable_update_set();
      update->set_frame_id(forget.frame_id());
      update->set_set(forget.set());
      Fill(which % 5, Int, input, update->mutable_remove());
      if (which % 3 != 0) SetDescriptors(input, update->mutable_add());
    }
  } else {
    request.mutable_pair()->set_frame_id(input->Number<uint8_t>());
    SetPair(input, request.mutable_pair());
  }
  const std::string bytes = request.SerializeAsString();
  return step == kDamaged ? fuzz::Damage(input, bytes) : bytes;
}

enum CallStep { kCallBytes, kCall, kDamagedCall, kCallSteps };

std::string CallMessage(int step, Input* input) {
  if (step == kCallBytes) return Bytes(input);
  v1::MatchRequest request;
  request.mutable_detector()->set_preset("orb");
  SetOptions(input, request.mutable_match());
  SetPair(input, &request);
  const std::string bytes = request.SerializeAsString();
  return step == kDamagedCall ? fuzz::Damage(input, bytes) : bytes;
}

enum StereoStep { kStereoBytes, kStereoOptions, kTwoImages, kSideBySide, kDamagedPair, kStereoSteps };

std::string StereoMessage(int step, Input* input) {
  if (step == kStereoBytes) return Bytes(input);
  v1::StereoStreamRequest request;
  if (step == kStereoOptions) {
    SetStream(input, request.mutable_options());
    SetOptions(input, request.mutable_options()->mutable_stereo());
    return request.SerializeAsString();
  }
  v1::StereoPair* const pair = request.mutable_pair();
  pair->set_frame_id(input->Number<uint8_t>());
  pair->set_left_time_ns(Int(input));
  pair->set_right_time_ns(Int(input));
  fuzz::SetImage(input, pair->mutable_left());
  if (step != kSideBySide) fuzz::SetImage(input, pair->mutable_right());
  const std::string bytes = request.SerializeAsString();
  return step == kDamagedPair ? fuzz::Damage(input, bytes) : bytes;
}

void CheckMatches(const v1::Matches& matches) {
  FUZZ_CHECK(matches.query_size() == matches.train_size() && matches.query_size() == matches.distance_size());
  for (const uint32_t query : matches.query()) FUZZ_CHECK(query < static_cast<uint32_t>(matches.queries()));
  for (const uint32_t train : matches.train()) FUZZ_CHECK(train < static_cast<uint32_t>(matches.trains()));
}

void CheckMatchReply(const std::string& reply) {
  v1::MatchStreamResponse response;
  FUZZ_CHECK(response.ParseFromString(reply));
  FUZZ_CHECK((response.status().code() == 0) == (response.answer_case() != v1::MatchStreamResponse::ANSWER_NOT_SET));
  CheckMatches(response.result().matches());
}

void CheckCallReply(const std::string& reply) {
  v1::MatchResponse response;
  FUZZ_CHECK(response.ParseFromString(reply) && response.has_result());
  CheckMatches(response.result().matches());
}

void CheckStereoReply(const std::string& reply) {
  v1::StereoStreamResponse response;
  FUZZ_CHECK(response.ParseFromString(reply));
  FUZZ_CHECK((response.status().code() == 0) == response.has_result());
  const v1::StereoMatches& matches = response.result().matches();
  FUZZ_CHECK(matches.left_size() == matches.disparity_size() && matches.left_size() == matches.distance_size());
  for (const uint32_t left : matches.left())
    FUZZ_CHECK(left < static_cast<uint32_t>(response.result().left().x_size()));
}

constexpr fuzz::Method kMatchStream = {"/glint.v1.FeatureMatching/MatchStream", kMatchSteps, MatchMessage,
                                       CheckMatchReply};
constexpr fuzz::Method kMatch = {"/glint.v1.FeatureMatching/Match", kCallSteps, CallMessage, CheckCallReply};
constexpr fuzz::Method kStereoStream = {"/glint.v1.FeatureMatching/StereoStream", kStereoSteps, StereoMessage,
                                        CheckStereoReply};

}  // namespace
}  // namespace glint

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const google::protobuf::LogSilencer quiet;
  static glint::fuzz::Session* const session = new glint::fuzz::Session();  // not destroyed: libFuzzer ends by exit()
  glint::fuzz::Input input(data, size);
  switch (input.Number<uint8_t>() % 4) {
    case 0:
      session->Call(glint::kMatch, input);
      break;
    case 1:
      session->Stream(glint::kStereoStream, input);
      break;
    default:
      session->Stream(glint::kMatchStream, input);
  }
  return 0;
}
