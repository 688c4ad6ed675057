// The memory plan of an open model.
#pragma once

#include "c_api/last_error.h"
#include "memory/fit.h"
#include "model/model.h"

namespace modelutils::c_api {

/// What the caller states, checked; nullptr states nothing.
Result<memory::FitRequest> fit_request_of(const mu_fit_request* given);
/// Of a directory that of the GGUF which mlx2gguf makes of it.
Result<memory::FitReport> fit_of(const Model& model, const memory::FitRequest& request);

}  // namespace modelutils::c_api
