// Seamless grey textures made of integers alone: the same bytes on every machine.
#ifndef GLINT_TESTS_SCENE_TEXTURE_H_
#define GLINT_TESTS_SCENE_TEXTURE_H_

#include <cstdint>
#include <vector>

namespace glint::scene {

enum class Surface {
  kCity,    // dense: facades, windows and clutter; FAST finds a corner every few dozen pixels
  kSky,     // sparse: faint haze and a few stars
  kFacade,  // one house: rows of windows, no two alike, with what hangs on a wall
  kGround,  // asphalt with patches, cracks and covers
  kPanel,   // a painted wall with posters
};

// A square texture that repeats, with its mip levels (each half the size of the one before, by the mean of 2x2 texels).
class Texture {
 public:
  // `side` is a power of two >= 16. Equal arguments give equal textures.
  Texture(Surface surface, int side, uint32_t seed);

  // The grey value, 0..255, at (u, v) texels, |u|, |v| < 1e8, for pixels that are `footprint` > 0 texels wide: linear
  // between texels and between the two mip levels around the footprint.
  double Sample(double u, double v, double footprint) const;

 private:
  double SampleLevel(int level, double u, double v) const;

  int side_;
  std::vector<std::vector<uint8_t>> levels_;
};

}  // namespace glint::scene

#endif  // GLINT_TESTS_SCENE_TEXTURE_H_
