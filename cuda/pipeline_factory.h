// Makes a Pipeline over any Api: how tests inject faults.
#ifndef GLINT_CUDA_PIPELINE_FACTORY_H_
#define GLINT_CUDA_PIPELINE_FACTORY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "cuda/pipeline.h"
#include "cuda/runtime/api.h"

namespace glint::cuda {

class PipelineFactory {
 public:
  // As Pipeline::Create(). `api` must outlive the pipeline.
  static absl::StatusOr<std::unique_ptr<Pipeline>> Create(const PipelineOptions& options, Api* api);
};

}  // namespace glint::cuda

#endif  // GLINT_CUDA_PIPELINE_FACTORY_H_
