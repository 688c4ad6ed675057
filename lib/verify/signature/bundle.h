// The bundle of an OpenSSF model signature (OMS 1.0): a JSON file that holds a DSSE envelope and what it was signed
// with. docs/formats/model-signatures.md has the layout and its source.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace modelutils::signature {

enum class Method : u8 {
  key,          ///< a public key, which the bundle names by its fingerprint
  certificate,  ///< a chain of X.509 certificates, leaf first
  sigstore      ///< Sigstore's short-lived certificate and its log, which nobody can check offline
};

struct Bundle {
  Method method = Method::key;
  std::string key_hint;                   ///< hexadecimal SHA-256 of the public key; empty in bundles before 1.1
  std::vector<std::string> certificates;  ///< DER
  std::string payload;                    ///< the signed statement, a JSON text
  std::string signature;                  ///< DER of an ECDSA signature
};

/// The largest bundle that is read: its statement names every file of a model, some 200 bytes each.
inline constexpr u64 max_bundle_bytes = u64{64} << 20;

/// Strict: what a bundle of this form cannot have is refused, so that no byte of it goes without a check. Errors:
/// "signature-bundle" with the field, "json-syntax".
Result<Bundle> parse_bundle(std::string_view text, std::string name);

/// What is signed instead of the payload itself (DSSE's pre-authentication encoding).
std::string signed_bytes(std::string_view payload);

}  // namespace modelutils::signature
