// A view on loopback, and frames for it.
#ifndef GLINT_TESTS_VIEW_VIEW_FIXTURE_H_
#define GLINT_TESTS_VIEW_VIEW_FIXTURE_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "client/view/view.h"
#include "gtest/gtest.h"

namespace glint::view {

class ViewFixture : public ::testing::Test {
 protected:
  // Of "http://127.0.0.1:PORT/" or "ws://127.0.0.1:PORT".
  static int PortOf(absl::string_view url) {
    int port = 0;
    absl::string_view rest = url;
    EXPECT_TRUE((absl::ConsumePrefix(&rest, "http://") && absl::ConsumeSuffix(&rest, "/")) ||
                absl::ConsumePrefix(&rest, "ws://"))
        << url;
    EXPECT_TRUE(absl::ConsumePrefix(&rest, "127.0.0.1:") && absl::SimpleAtoi(rest, &port) && port > 0) << url;
    return port;
  }
  static std::string HostHeader(int port) { return absl::StrCat("Host: 127.0.0.1:", port, "\r\n"); }

  static void Await(const std::function<bool()>& done) {
    const absl::Time end = absl::Now() + absl::Seconds(10);
    bool is_done = done();
    while (!is_done && absl::Now() < end) {
      absl::SleepFor(absl::Milliseconds(1));
      is_done = done();
    }
    EXPECT_TRUE(is_done);
  }
  void AwaitWanted() const {
    Await([this] { return view_->wanted(); });
  }

  static Scene Numbered(int number, size_t bytes = 4) {
    Scene scene;
    scene.name = absl::StrCat("frame ", number, ".");
    scene.picture = [bytes] { return EncodedPicture{std::string(bytes, 'p')}; };
    return scene;
  }
  // Counts how often the picture "p" is encoded.
  static Scene Counted(std::atomic<int>* encoded) {
    Scene scene = Numbered(1);
    scene.picture = [encoded] {
      ++*encoded;
      return EncodedPicture{"p"};
    };
    return scene;
  }

  std::unique_ptr<View> view_;
};

}  // namespace glint::view

#endif  // GLINT_TESTS_VIEW_VIEW_FIXTURE_H_
