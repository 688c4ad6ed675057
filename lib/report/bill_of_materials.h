// Bills of materials of models (verify --sbom): CycloneDX 1.6 with a model card, SPDX 3.0.1 with its AI profile. What a
// file and its card say, and what was measured; nothing is guessed. docs/provenance.md says what goes where.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "report/verify_forms.h"
#include "verify/identity/model_identity.h"

namespace modelutils {

/// `form` is "cyclonedx" or "spdx". Models without an identity (they could not be opened) are left out.
std::unique_ptr<VerifyForm> make_bill_of_materials(std::string_view form);

std::unique_ptr<VerifyForm> cyclonedx_form();
std::unique_ptr<VerifyForm> spdx_form();

/// The SPDX identifier of a licence as model cards spell it ("apache-2.0" → "Apache-2.0"); empty for others
/// ("llama3.1", "other").
std::string_view spdx_license(std::string_view license);

/// A digest over the files of a model, in hexadecimal: names it in identifiers.
std::string digest_of_files(const ModelIdentity& identity);

}  // namespace modelutils
