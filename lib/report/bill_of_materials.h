// Bills of materials for models (verify --sbom): CycloneDX 1.6 with a model card, SPDX 3.0.1 with its AI profile. They
// contain facts from the file and its card, and measurements; nothing is guessed. docs/provenance.md lists the fields.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "report/verify_forms.h"
#include "verify/identity/model_identity.h"

namespace modelutils {

/// `form` is "cyclonedx" or "spdx". Skips models without an identity, which could not be opened.
std::unique_ptr<VerifyForm> make_bill_of_materials(std::string_view form);

std::unique_ptr<VerifyForm> cyclonedx_form();
std::unique_ptr<VerifyForm> spdx_form();

/// Returns the SPDX identifier for a licence as model cards spell it ("apache-2.0" → "Apache-2.0"); empty for other
/// licences ("llama3.1", "other").
std::string_view spdx_license(std::string_view license);

/// Returns a hexadecimal digest over a model's files, used to name the model in identifiers.
std::string digest_of_files(const ModelIdentity& identity);

}  // namespace modelutils
