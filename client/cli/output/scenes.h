// Answers as what the page of the live view shows: client/view/base/scene.h.
#ifndef GLINT_CLIENT_CLI_OUTPUT_SCENES_H_
#define GLINT_CLIENT_CLI_OUTPUT_SCENES_H_

#include <memory>
#include <string>
#include <vector>

#include "client/cli/output/draw_tracks.h"
#include "client/cli/source/pairs.h"
#include "client/cli/source/picture.h"
#include "client/localization.h"
#include "client/matching.h"
#include "client/result.h"
#include "client/scenes/path_trace.h"
#include "client/tracking.h"
#include "client/view/base/scene.h"

namespace glint::cli {

using SharedPicture = std::shared_ptr<const Picture>;

// Circles of the keypoints' size, coloured by octave.
view::Scene KeypointScene(const SharedPicture& picture, const client::Detection& detection);

// The trails of all cameras, whose pictures stand side by side, coloured by age as Trails::Draw() does. `text`:
// figures.
view::Scene TrackScene(const std::vector<Picture>& pictures, const client::TrackAnswer& answer, const Trails& trails,
                       const std::string& text);

// The left picture with a dot at each match, coloured by its disparity.
view::Scene StereoScene(const PicturePair& pair, const client::StereoAnswer& answer);

// The left picture, and the path from above.
view::Scene PathScene(const PicturePair& pair, const client::LocalizeAnswer& answer, const client::PathTrace& path,
                      const std::string& text);

}  // namespace glint::cli

#endif  // GLINT_CLIENT_CLI_OUTPUT_SCENES_H_
