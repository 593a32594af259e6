// Samples of 16 bits of which a camera uses 10, 12 or 14: with a range every operation finds what it finds in 8 bits,
// without one it says so. And what is said of masks with values between 0 and 255.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "decode/clahe.h"
#include "glint/v1/localization.grpc.pb.h"
#include "glint/v1/matching.grpc.pb.h"
#include "glint/v1/tracking.grpc.pb.h"
#include "tests/decode/files.h"
#include "tests/server/harness.h"
#include "tests/server/localize_pairs.h"
#include "tests/support/images.h"

namespace glint::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr Shape kShape = {320, 200};

// Which form an image is sent in: 8 bits, or samples of `bits` bits in 16, raw or as a PNG.
struct Form {
  int bits = 8;
  bool png = false;
};

int SampleOf(int gray, int bits) { return (gray * ((1 << bits) - 1) + 127) / 255; }

std::string Png16(const Image& image, int bits) {
  const auto number = [](uint32_t value) {
    decode::testing::Bytes bytes;
    for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<uint8_t>(value >> shift));
    return bytes;
  };
  decode::testing::Bytes header = number(static_cast<uint32_t>(image.width())), rows;
  for (const uint8_t byte : number(static_cast<uint32_t>(image.height()))) header.push_back(byte);
  for (const int byte : {16, 0, 0, 0, 0}) header.push_back(static_cast<uint8_t>(byte));  // depth, grey
  for (int y = 0; y < image.height(); ++y) {
    rows.push_back(0);
    for (int x = 0; x < image.width(); ++x) {
      const int sample = SampleOf(image.row(y)[x], bits);
      rows.push_back(static_cast<uint8_t>(sample >> 8));
      rows.push_back(static_cast<uint8_t>(sample & 255));
    }
  }
  std::string file = "\x89PNG\r\n\x1a\n";
  for (const auto& chunk :
       {decode::testing::PngChunk("IHDR", header), decode::testing::PngChunk("IDAT", decode::testing::Deflate(rows)),
        decode::testing::PngChunk("IEND", {})}) {
    file.append(chunk.begin(), chunk.end());
  }
  return file;
}

void Set(const Image& image, Form form, v1::Image* proto) {
  if (form.png) {
    proto->mutable_encoded()->set_data(Png16(image, form.bits));
    return;
  }
  v1::RawImage* const raw = proto->mutable_raw();
  raw->set_format(form.bits == 8 ? v1::PIXEL_FORMAT_GRAY8 : v1::PIXEL_FORMAT_GRAY16);
  raw->set_width(static_cast<uint32_t>(image.width()));
  raw->set_height(static_cast<uint32_t>(image.height()));
  std::string* const data = raw->mutable_data();
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) {
      const int sample = SampleOf(image.row(y)[x], form.bits);
      *data += static_cast<char>(sample & 255);
      if (form.bits != 8) *data += static_cast<char>(sample >> 8);
    }
  }
}

template <typename Options>
void SetRange(Form form, Options* options) {
  if (form.bits != 8) options->mutable_gray_range()->set_highest((1 << form.bits) - 1);
}

constexpr Form kForms[] = {{10, false}, {12, false}, {14, false}, {16, false}, {10, true}, {12, true}, {14, true}};

std::vector<v1::WarningKind> KindsOf(const google::protobuf::RepeatedPtrField<v1::Warning>& warnings) {
  std::vector<v1::WarningKind> kinds;
  for (const v1::Warning& warning : warnings) kinds.push_back(warning.kind());
  return kinds;
}

class GrayRanges : public ::testing::Test {
 protected:
  v1::DetectResponse Detect(const v1::DetectRequest& request, grpc::Status* status = nullptr) {
    grpc::ClientContext context;
    v1::DetectResponse response;
    const grpc::Status end = server_.stub()->Detect(&context, request, &response);
    if (status != nullptr) {
      *status = end;
    } else {
      EXPECT_TRUE(end.ok()) << end.error_message();
    }
    return response;
  }

  // The answers of a stream to its messages, of which the first has the options, without what differs from run to run.
  // All frames are sent before the first answer is read, so that all lanes could have some.
  template <typename Response, typename Request>
  static std::vector<Response> Answers(std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> stream,
                                       const std::vector<Request>& messages) {
    std::vector<Response> answers;
    for (const Request& message : messages) EXPECT_TRUE(stream->Write(message));
    for (size_t i = 1; i < messages.size(); ++i) {
      Response response;
      if (!stream->Read(&response)) break;
      EXPECT_EQ(response.status().message(), "");
      response.clear_timings();
      answers.push_back(response);
    }
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return answers;
  }

  // All operations on a few pairs, serialized.
  std::vector<std::string> RunAll(Form form) {
    std::vector<std::string> all;
    const auto take = [&all](const auto& responses) {
      for (const auto& response : responses) all.push_back(response.SerializeAsString());
    };
    {
      v1::DetectRequest request;
      Set(pairs_[0].left, form, request.mutable_image());
      SetRange(form, &request);
      v1::DetectResponse response = Detect(request);
      EXPECT_GT(response.features().x_size(), 100);
      response.clear_timings();
      all.push_back(response.SerializeAsString());
    }
    {
      std::vector<v1::DetectStreamRequest> messages(1, OptionsMessage());
      SetRange(form, messages[0].mutable_options());
      for (const Pair& pair : pairs_) {
        Set(pair.left, form, messages.emplace_back().mutable_frame()->mutable_image());
      }
      grpc::ClientContext context;
      take(Answers(server_.stub()->DetectStream(&context), messages));
    }
    const auto matching = v1::FeatureMatching::NewStub(server_.channel());
    {
      v1::MatchRequest request;
      Set(pairs_[0].left, form, request.mutable_query()->mutable_image());
      Set(pairs_[0].right, form, request.mutable_train()->mutable_image());
      SetRange(form, &request);
      grpc::ClientContext context;
      v1::MatchResponse response;
      EXPECT_TRUE(matching->Match(&context, request, &response).ok());
      EXPECT_GT(response.result().matches().query_size(), 100);
      response.clear_timings();
      all.push_back(response.SerializeAsString());
    }
    {
      std::vector<v1::MatchStreamRequest> messages(1);
      SetRange(form, messages[0].mutable_options());
      v1::MatchPair* const pair = messages.emplace_back().mutable_pair();
      Set(pairs_[0].left, form, pair->mutable_query()->mutable_image());
      Set(pairs_[0].right, form, pair->mutable_train()->mutable_image());
      grpc::ClientContext context;
      take(Answers(matching->MatchStream(&context), messages));
    }
    {
      std::vector<v1::StereoStreamRequest> messages(1);
      SetRange(form, messages[0].mutable_options());
      v1::StereoPair* const pair = messages.emplace_back().mutable_pair();
      Set(pairs_[0].left, form, pair->mutable_left());
      Set(pairs_[0].right, form, pair->mutable_right());
      grpc::ClientContext context;
      const auto answers = Answers(matching->StereoStream(&context), messages);
      EXPECT_GT(answers.at(0).result().matches().left_size(), 100);
      take(answers);
    }
    {
      std::vector<v1::TrackStreamRequest> messages(1);
      SetRange(form, messages[0].mutable_options());
      for (const Pair& pair : pairs_) Set(pair.left, form, messages.emplace_back().mutable_frame()->add_images());
      const auto stub = v1::FeatureTracking::NewStub(server_.channel());
      grpc::ClientContext context;
      const auto answers = Answers(stub->TrackStream(&context), messages);
      EXPECT_GT(answers.at(1).tracks().cameras(0).id_size(), 50);
      take(answers);
    }
    {
      std::vector<v1::LocalizeStreamRequest> messages(1);
      v1::LocalizeStreamOptions* const options = messages[0].mutable_options();
      SetRange(form, options);
      v1::StereoCamera* const camera = options->mutable_camera();
      camera->set_width(kShape.width);
      camera->set_height(kShape.height);
      camera->set_focal_length(kFocal);
      camera->set_centre_x(kShape.width / 2.0);
      camera->set_centre_y(kShape.height / 2.0);
      camera->set_baseline(kBaseline);
      for (size_t i = 0; i < pairs_.size(); ++i) {
        v1::LocalizePair* const pair = messages.emplace_back().mutable_pair();
        pair->set_time_ns(static_cast<int64_t>(i + 1) * kFrameNs);
        Set(pairs_[i].left, form, pair->mutable_left());
        Set(pairs_[i].right, form, pair->mutable_right());
      }
      const auto stub = v1::Localization::NewStub(server_.channel());
      grpc::ClientContext context;
      const auto answers = Answers(stub->LocalizeStream(&context), messages);
      EXPECT_EQ(answers.at(1).location().status(), v1::LOCATION_STATUS_TRACKING);
      take(answers);
    }
    return all;
  }

  static ServerOptions Options() {
    ServerOptions options = TestOptions();
    options.lanes.lanes = 3;
    return options;
  }

  TestServer server_{Options()};
  const std::vector<Pair> pairs_ = PairsAlongAWall(kShape, 3);
};

TEST_F(GrayRanges, EveryOperationFindsWhatItFindsInEightBits) {
  const std::vector<std::string> expected = RunAll(Form());
  for (const Form form : kForms) EXPECT_TRUE(RunAll(form) == expected) << form.bits << (form.png ? " PNG" : "");
}

TEST_F(GrayRanges, WithoutARangeItIsSaid) {
  for (const Form form : {Form{10, false}, {12, false}, {12, true}}) {
    v1::DetectRequest request;
    Set(pairs_[0].left, form, request.mutable_image());
    const v1::DetectResponse response = Detect(request);
    ASSERT_THAT(KindsOf(response.warnings()), ElementsAre(v1::WARNING_KIND_NARROW_RANGE));
    const v1::Warning& warning = response.warnings(0);
    EXPECT_LT(warning.figure(), 1 / 16.0);
    EXPECT_EQ(warning.unit(), "1");
    EXPECT_THAT(warning.text(), HasSubstr("gray_range"));
  }
  for (const Form form : {Form{8, false}, {14, false}, {16, true}}) {
    v1::DetectRequest request;
    Set(pairs_[0].left, form, request.mutable_image());
    EXPECT_THAT(Detect(request).warnings(), IsEmpty()) << form.bits;
  }
}

// Of 8 bits, too: the least difference that is not narrow is 16 grey levels, wherever the one pixel lies.
TEST_F(GrayRanges, SixteenGreyLevelsAreNotNarrow) {
  for (const Shape shape : {Shape{1, 1}, Shape{40, 33}}) {
    for (const int difference : {0, 15, 16}) {
      Image image = Flat(shape, 100);
      image.row(shape.height - 1)[shape.width - 1] = static_cast<uint8_t>(100 + difference);
      v1::DetectRequest request;
      Set(image, Form(), request.mutable_image());
      const bool narrow = shape.pixels() == 1 || difference < 16;
      EXPECT_EQ(Detect(request).warnings_size(), narrow ? 1 : 0) << shape.width << " " << difference;
    }
  }
}

TEST_F(GrayRanges, EveryOperationWarns) {
  const Form form = {10, false};
  const auto matching = v1::FeatureMatching::NewStub(server_.channel());
  {
    v1::MatchRequest request;
    Set(pairs_[0].left, Form(), request.mutable_query()->mutable_image());
    Set(pairs_[0].right, form, request.mutable_train()->mutable_image());
    grpc::ClientContext context;
    v1::MatchResponse response;
    EXPECT_TRUE(matching->Match(&context, request, &response).ok());
    ASSERT_THAT(KindsOf(response.warnings()), ElementsAre(v1::WARNING_KIND_NARROW_RANGE));
    EXPECT_THAT(response.warnings(0).text(), HasSubstr("train.image: narrow range"));
  }
  {
    std::vector<v1::StereoStreamRequest> messages(2);
    messages[0].mutable_options();
    Set(pairs_[0].left, form, messages[1].mutable_pair()->mutable_left());
    Set(pairs_[0].right, form, messages[1].mutable_pair()->mutable_right());
    grpc::ClientContext context;
    EXPECT_THAT(KindsOf(Answers(matching->StereoStream(&context), messages).at(0).result().warnings()),
                ElementsAre(v1::WARNING_KIND_NARROW_RANGE, v1::WARNING_KIND_NARROW_RANGE));
  }
  {
    std::vector<v1::TrackStreamRequest> messages(2);
    messages[0].mutable_options();
    Set(pairs_[0].left, form, messages[1].mutable_frame()->add_images());
    const auto stub = v1::FeatureTracking::NewStub(server_.channel());
    grpc::ClientContext context;
    EXPECT_THAT(KindsOf(Answers(stub->TrackStream(&context), messages).at(0).warnings()),
                ElementsAre(v1::WARNING_KIND_NARROW_RANGE));
  }
}

// The image with its grey values halved, so that its own range is half as wide.
Image Halved(const Image& image) {
  Image dark(image.width(), image.height());
  for (int y = 0; y < image.height(); ++y) {
    for (int x = 0; x < image.width(); ++x) dark.row(y)[x] = static_cast<uint8_t>(image.row(y)[x] / 2);
  }
  return dark;
}

// Two images are the first ones: the range of the stream is that of both, and a third does not change it.
TEST_F(GrayRanges, ByPercentileIsFixedAfterTheFirstImages) {
  const Form form = {14, false};
  const Image& bright = pairs_[0].left;
  const Image dark = Halved(bright);
  int lowest = 255, highest = 0;
  for (int y = 0; y < bright.height(); ++y) {
    for (int x = 0; x < bright.width(); ++x) {
      lowest = std::min<int>(lowest, dark.row(y)[x]);
      highest = std::max<int>(highest, bright.row(y)[x]);
    }
  }
  const Image black = Flat(kShape, 0);
  std::vector<v1::DetectStreamRequest> messages(1, OptionsMessage());
  v1::GrayRange* const range = messages[0].mutable_options()->mutable_gray_range();
  range->set_percentile(0);
  range->set_images(2);
  for (const Image* image : {&dark, &bright, &black, &dark, &bright}) {
    Set(*image, form, messages.emplace_back().mutable_frame()->mutable_image());
  }
  grpc::ClientContext context;
  const auto answers = Answers(server_.stub()->DetectStream(&context), messages);
  ASSERT_EQ(answers.size(), 5u);
  const auto with = [&](const Image& image, int low, int high) {
    v1::DetectRequest request;
    Set(image, form, request.mutable_image());
    request.mutable_gray_range()->set_lowest(SampleOf(low, form.bits));
    request.mutable_gray_range()->set_highest(SampleOf(high, form.bits));
    return Detect(request).features().SerializeAsString();
  };
  int dark_highest = 0;
  for (int y = 0; y < dark.height(); ++y) {
    dark_highest = std::max<int>(dark_highest, *std::max_element(dark.row(y), dark.row(y) + dark.width()));
  }
  EXPECT_EQ(answers[0].features().SerializeAsString(), with(dark, lowest, dark_highest));
  for (const size_t i : {size_t{1}, size_t{4}}) {
    EXPECT_EQ(answers[i].features().SerializeAsString(), with(bright, lowest, highest)) << i;
  }
  EXPECT_EQ(answers[2].features().x_size(), 0);
  ASSERT_THAT(KindsOf(answers[2].warnings()), ElementsAre(v1::WARNING_KIND_NARROW_RANGE));
  EXPECT_THAT(answers[2].warnings(0).text(), HasSubstr(absl::StrCat("gray_range is ", SampleOf(lowest, form.bits), "..",
                                                                    SampleOf(highest, form.bits))));
  EXPECT_EQ(answers[3].features().SerializeAsString(), with(dark, lowest, highest));
  EXPECT_NE(with(dark, lowest, highest), with(dark, lowest, dark_highest));
}

TEST_F(GrayRanges, EqualisedIsTheEqualisedImage) {
  const Image& image = pairs_[0].left;
  Image equalized;
  decode::Clahe().Apply(image, &equalized);
  v1::DetectRequest expected;
  Set(equalized, Form(), expected.mutable_image());
  for (const Form form : {Form{12, false}, Form{10, true}}) {
    v1::DetectRequest request;
    Set(image, form, request.mutable_image());
    SetRange(form, &request);
    request.mutable_gray_range()->set_equalize(true);
    const v1::DetectResponse response = Detect(request);
    EXPECT_EQ(response.features().SerializeAsString(), Detect(expected).features().SerializeAsString());
    EXPECT_GT(response.features().x_size(), 100);
  }
}

TEST_F(GrayRanges, BadRangesAndImagesAreNamed) {
  const auto refusal = [&](Form form, int lowest, int highest, float percentile = -1, int images = -1) {
    v1::DetectRequest request;
    Set(pairs_[0].left, form, request.mutable_image());
    v1::GrayRange* const range = request.mutable_gray_range();
    range->set_lowest(lowest);
    range->set_highest(highest);
    if (percentile >= 0) range->set_percentile(percentile);
    if (images >= 0) range->set_images(images);
    grpc::Status status;
    Detect(request, &status);
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    // The stream's options are the same.
    std::vector<v1::DetectStreamRequest> messages(1, OptionsMessage());
    *messages[0].mutable_options()->mutable_gray_range() = *range;
    if (form.bits == 16) {
      TestStream stream(server_.stub());
      EXPECT_TRUE(stream.Write(messages[0]));
      stream.Read();
      EXPECT_EQ(stream.Finish().error_message(), status.error_message());
    }
    return status.error_message();
  };
  const Form wide = {16, false};
  EXPECT_EQ(refusal(wide, -1, 4095), "gray_range.lowest: -1 is not in 0..65534");
  EXPECT_EQ(refusal(wide, 65535, 65535), "gray_range.lowest: 65535 is not in 0..65534");
  EXPECT_EQ(refusal(wide, 100, 100), "gray_range.highest: 100 is not in 101..65535");
  EXPECT_EQ(refusal(wide, 100, 0), "gray_range.highest: 0 is not in 101..65535");
  EXPECT_EQ(refusal(wide, 0, 65536), "gray_range.highest: 65536 is not in 1..65535");
  EXPECT_EQ(refusal(wide, 0, 0, 25.5f), "gray_range.percentile: 25.5 is not in 0..25");
  EXPECT_EQ(refusal(wide, 0, 0, 1, 0), "gray_range.images: 0 is not in 1..1000");
  EXPECT_THAT(refusal(wide, 0, 255, 1), HasSubstr("gray_range.percentile: is of a range by percentile"));
  EXPECT_THAT(refusal(Form(), 0, 255), HasSubstr("image.raw.format: 1 has no grey samples of 16 bits"));
  v1::DetectRequest request;
  const auto png = decode::testing::WritePng({20, 20, 0, 8}, 1);
  request.mutable_image()->mutable_encoded()->set_data(std::string(png.begin(), png.end()));
  request.mutable_gray_range()->set_highest(255);
  grpc::Status status;
  Detect(request, &status);
  EXPECT_THAT(status.error_message(), HasSubstr("image.encoded.data: PNG: colour type 0 of 8 bits is not grey"));
}

TEST_F(GrayRanges, MasksWithOtherValuesAreSaidWhereTheyMatter) {
  const auto mask = [](uint8_t value) {
    Image image = Flat(kShape, 0);
    for (int y = 0; y < kShape.height; ++y) std::fill_n(image.row(y), kShape.width / 2, value);
    return image;
  };
  for (const std::string preset : {"orb", "oriented_fast", "orbslam"}) {
    std::vector<int> found;
    for (const uint8_t value : {uint8_t{255}, uint8_t{1}}) {
      v1::DetectRequest request;
      request.mutable_detector()->set_preset(preset);
      Set(pairs_[0].left, Form(), request.mutable_image());
      Set(mask(value), Form(), request.mutable_mask());
      const v1::DetectResponse response = Detect(request);
      found.push_back(response.features().x_size());
      // A stream's mask, and a frame's own.
      for (const bool own : {false, true}) {
        std::vector<v1::DetectStreamRequest> messages(1);
        messages[0].mutable_options()->mutable_detector()->set_preset(preset);
        v1::DetectFrame* const frame = messages.emplace_back().mutable_frame();
        *frame->mutable_image() = request.image();
        *(own ? frame->mutable_mask() : messages[0].mutable_options()->mutable_mask()) = request.mask();
        grpc::ClientContext context;
        const auto answers = Answers(server_.stub()->DetectStream(&context), messages);
        EXPECT_EQ(answers.at(0).features().SerializeAsString(), response.features().SerializeAsString());
        EXPECT_EQ(KindsOf(answers.at(0).warnings()), KindsOf(response.warnings()));
      }
      if (preset == "orb" && value == 1) {
        ASSERT_THAT(KindsOf(response.warnings()), ElementsAre(v1::WARNING_KIND_MASK_VALUES));
        EXPECT_DOUBLE_EQ(response.warnings(0).figure(), 0.5);
        EXPECT_THAT(response.warnings(0).text(), HasSubstr("mask: 50.0 %"));
      } else {
        EXPECT_THAT(response.warnings(), IsEmpty()) << preset;
      }
    }
    EXPECT_EQ(found[0] == found[1], preset != "orb") << preset << ": " << found[0] << " " << found[1];
  }
}

}  // namespace
}  // namespace glint::testing
