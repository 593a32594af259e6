// The shortest program that finds features: one image by Detect(), then many by a stream.
// Usage: glint_quickstart ADDRESS [FILE.jpg|FILE.png...]
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "client/client.h"

namespace {

std::string ReadFile(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int Fail(const absl::Status& status) {
  std::cerr << status << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: glint_quickstart ADDRESS [FILE...]\n";
    return 2;
  }
  auto client = glint::client::Client::Connect(argv[1]);
  if (!client.ok()) return Fail(client.status());

  glint::DetectorOptions options;  // cv::ORB's defaults
  options.max_features = 1000;
  options.descriptor = glint::Descriptor::kRbrief;

  // One image, raw: here a checkerboard; anything with 8-bit grey rows will do.
  glint::Image board(640, 480);
  for (int y = 0; y < board.height(); ++y) {
    for (int x = 0; x < board.width(); ++x) board.row(y)[x] = (x / 40 + y / 40) % 2 == 0 ? 40 : 200;
  }
  auto found = client->Detect(options, board);
  if (!found.ok()) return Fail(found.status());
  std::cout << "checkerboard: " << found->features.count() << " keypoints in "
            << static_cast<double>(found->timings.total_ns) * 1e-6 << " ms\n";

  // Many images, encoded, with several on their way at the same time. Results come in order.
  glint::client::StreamOptions stream_options;
  stream_options.detector = options;
  const std::vector<const char*> files(argv + 2, argv + argc);
  auto stream = client->OpenStream(stream_options, [&files](const glint::client::FrameResult& result) {
    std::cout << files[result.frame_id] << ": ";
    if (result.status.ok()) {
      std::cout << result.detection.features.count() << " keypoints\n";
    } else {
      std::cout << result.status << "\n";
    }
  });
  if (!stream.ok()) return Fail(stream.status());
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string file = ReadFile(files[i]);
    const absl::Status status = (*stream)->Write(i, glint::client::ImageInput::Encoded(file));
    if (!status.ok()) return Fail(status);
  }
  const absl::Status status = (*stream)->Finish();
  return status.ok() ? 0 : Fail(status);
}
