// A corner: its pixel and its response.
#ifndef GLINT_FEATURES_REFERENCE_CORNER_H_
#define GLINT_FEATURES_REFERENCE_CORNER_H_

namespace glint::reference {

struct Corner {
  int x = 0;  // pixels of the level
  int y = 0;
  float response = 0;  // of the stage that scored it last

  friend bool operator==(const Corner& a, const Corner& b) {
    return a.x == b.x && a.y == b.y && a.response == b.response;
  }
};

}  // namespace glint::reference

#endif  // GLINT_FEATURES_REFERENCE_CORNER_H_
