#include "features/reference/selection.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

namespace glint::reference {
namespace {

template <typename Predicate>
std::vector<Corner> KeepIf(const std::vector<Corner>& corners, Predicate keep) {
  std::vector<Corner> kept;
  std::copy_if(corners.begin(), corners.end(), std::back_inserter(kept), keep);
  return kept;
}

}  // namespace

std::vector<Corner> KeepInside(const std::vector<Corner>& corners, Shape shape, int edge) {
  return KeepIf(corners, [=](const Corner& c) {
    return c.x >= edge && c.x < shape.width - edge && c.y >= edge && c.y < shape.height - edge;
  });
}

std::vector<Corner> KeepMasked(const std::vector<Corner>& corners, const ImageView& mask) {
  return KeepIf(corners, [&](const Corner& c) { return mask.empty() || mask.at(c.x, c.y) != 0; });
}

std::vector<Corner> RetainBest(const std::vector<Corner>& corners, int n) {
  if (static_cast<size_t>(n) >= corners.size()) return corners;
  if (n == 0) return {};
  std::vector<float> responses;
  responses.reserve(corners.size());
  for (const Corner& c : corners) responses.push_back(c.response);
  std::nth_element(responses.begin(), responses.begin() + n - 1, responses.end(), std::greater<float>());
  return KeepIf(corners, [worst = responses[n - 1]](const Corner& c) { return c.response >= worst; });
}

void SortForOutput(std::vector<Corner>* corners) {
  std::sort(corners->begin(), corners->end(), [](const Corner& a, const Corner& b) {
    return std::make_tuple(-a.response, a.y, a.x) < std::make_tuple(-b.response, b.y, b.x);
  });
}

}  // namespace glint::reference
