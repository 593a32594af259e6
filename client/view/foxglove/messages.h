// Scenes as the messages of the channels, serialised.
#ifndef GLINT_CLIENT_VIEW_FOXGLOVE_MESSAGES_H_
#define GLINT_CLIENT_VIEW_FOXGLOVE_MESSAGES_H_

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "client/view/base/scene.h"
#include "client/view/foxglove/channels.h"

namespace glint::view {

struct FoxgloveMessages {
  uint64_t time_ns = 0;                                    // since 1970
  std::array<std::vector<std::string>, kChannelCount> of;  // by channel
};

// What `scene` has for these channels. `time`: the messages' time and timestamps. `picture` is called for images and
// annotations alone.
FoxgloveMessages EncodeForFoxglove(const Scene& scene, Channels channels, absl::Time time,
                                   const std::function<const EncodedPicture&()>& picture);
// Of the log.
FoxgloveMessages EncodeNotice(const std::string& notice, absl::Time time);

}  // namespace glint::view

#endif  // GLINT_CLIENT_VIEW_FOXGLOVE_MESSAGES_H_
