// A lane on a GPU.
#ifndef GLINT_LANE_CUDA_LANE_H_
#define GLINT_LANE_CUDA_LANE_H_

#include <memory>

#include "cuda/pipeline.h"
#include "lane/lane.h"

namespace glint {

// `pipeline` was made with `options`, by which the lane makes what else it needs. `decodes_jpeg`: see
// Lane::decodes_jpeg().
std::unique_ptr<Lane> MakeCudaLane(std::unique_ptr<cuda::Pipeline> pipeline, const cuda::PipelineOptions& options,
                                   bool decodes_jpeg);

}  // namespace glint

#endif  // GLINT_LANE_CUDA_LANE_H_
