// What a SLAM system does with its extractor, by Glint's: in process, and on the server at argv[1].
#include <cstdio>
#include <string>
#include <vector>

#include "client/opencv/orb_extractor.h"
#include "opencv2/core.hpp"

namespace slam {

using ORBextractor = glint::client::OrbExtractor;  // the one line

struct Frame {
  Frame(ORBextractor* extractor, const cv::Mat& image) {
    std::vector<int> lapping = {0, 0};
    (*extractor)(image, cv::Mat(), keypoints, descriptors, lapping);
  }
  std::vector<cv::KeyPoint> keypoints;
  cv::Mat descriptors;
};

}  // namespace slam

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  cv::Mat image(240, 320, CV_8UC1);
  for (int y = 0; y < image.rows; ++y) {
    for (int x = 0; x < image.cols; ++x) image.at<uchar>(y, x) = (x / 20 + y / 20) % 2 == 0 ? 40 : 200;
  }
  slam::ORBextractor in_process(500, 1.2f, 8, 20, 7);
  slam::ORBextractor on_server(500, 1.2f, 8, 20, 7, argv[1]);
  const slam::Frame one(&in_process, image);
  const slam::Frame other(&on_server, image);
  const bool same = one.keypoints.size() == other.keypoints.size() && !one.keypoints.empty() &&
                    cv::norm(one.descriptors, other.descriptors, cv::NORM_L1) == 0;
  std::printf("slam: %zu keypoints in process, %zu on the server, descriptors %s\n", one.keypoints.size(),
              other.keypoints.size(), same ? "the same" : "differ");
  return same ? 0 : 1;
}
