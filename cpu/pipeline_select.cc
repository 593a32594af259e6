// The steps of Pipeline that choose keypoints among corners.
#include "cpu/pipeline_impl.h"
#include "cpu/select/select.h"
#include "features/math.h"

namespace glint::cpu {

bool Pipeline::Impl::IsMasked(const Level& level, uint32_t where) {
  const ImageView& mask = levels[0].mask;
  if (mask.empty()) return false;
  if (!level.mask.empty()) return level.mask.at(PointX(where), PointY(where)) == 0;
  return mask.at(ImagePosition(PointX(where), level.scale, mask.width),
                 ImagePosition(PointY(where), level.scale, mask.height)) == 0;
}

// Joins the lists of the bands, without masked corners.
void Pipeline::Impl::CompactCorners(Level* level) {
  const bool by_score = ScoresInBytes(options);
  size_t count = 0;
  for (const Band& band : level->bands) {
    if (levels[0].mask.empty() && band.first == count) {
      count += band.count;
      continue;
    }
    for (size_t i = band.first; i < band.first + band.count; ++i) {
      const uint32_t where = level->where[i];
      if (IsMasked(*level, where)) continue;
      level->where[count] = where;
      if (by_score) {
        level->score[count] = level->score[i];
      } else {
        level->response[count] = level->response[i];
      }
      ++count;
    }
  }
  level->count = count;
}

// Selection::kTopN and kQuadtree.
void Pipeline::Impl::Select(Level* level, Worker* worker) {
  CompactCorners(level);
  if (quadtree) {
    level->found = worker->quadtree.Keep(level->image.shape(), level->share, level->where.data(), level->score.data(),
                                         level->count, level->response.data());
    return Order(level);
  }
  const size_t share = static_cast<size_t>(level->share);
  const bool again = options.ranking == Ranking::kHarris;
  const size_t first_cut = again ? 2 * share : share;
  uint32_t* where = level->where.data();
  float* response = level->response.data();
  size_t count = level->count;
  if (ScoresInBytes(options)) {
    count = KeepBestScores(where, level->score.data(), count, first_cut, response);
  } else if (again) {
    count = KeepBestResponses(where, response, count, first_cut, &level->bit_keys);
  }
  if (again) stages.harris(level->image, where, count, response);
  level->found = KeepBestResponses(where, response, count, share, &level->bit_keys);
  Order(level);
}

// Any other selection.
void Pipeline::Impl::SelectAcrossLevels() {
  LevelList lists[kMaxLevels];
  const int count = levels.count();
  for (int l = 0; l < count; ++l) {
    Level& level = levels[l];
    CompactCorners(&level);
    lists[l] = {level.where.data(), level.response.data(), level.count, level.scale};
    const bool culled = best_of_pyca && level.bands.size() == 1;
    if (options.selection == Selection::kPyca && !culled) cells.CullLevel(l, &lists[l]);
  }
  if (options.selection == Selection::kGrid) cells.BestOfGrid(lists, count);
  if (options.selection == Selection::kPyca) cells.Aggregate(lists, count);
  cells.KeepBest(options.max_features, lists, count);
  for (int l = 0; l < count; ++l) {
    levels[l].found = lists[l].count;
    Order(&levels[l]);
  }
}

// Removes ties beyond OutputCapacity() and computes the output order of the rest.
void Pipeline::Impl::Order(Level* level) {
  uint32_t* where = level->where.data();
  float* response = level->response.data();
  level->count = TrimTies(where, response, level->found, static_cast<size_t>(OutputCapacity(options)));
  OutputOrder(response, level->count, &level->sort_keys, level->slot.data());
}

}  // namespace glint::cpu
