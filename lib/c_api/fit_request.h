// Memory estimates for an open model.
#pragma once

#include "c_api/last_error.h"
#include "memory/fit.h"
#include "model/model.h"

namespace modelutils::c_api {

/// Validates and converts the caller's request; nullptr is an empty request.
Result<memory::FitRequest> fit_request_of(const mu_fit_request* given);
/// Estimates the memory of a GGUF, or for a directory that of the GGUF which mlx2gguf would write.
Result<memory::FitReport> fit_of(const Model& model, const memory::FitRequest& request);

}  // namespace modelutils::c_api
