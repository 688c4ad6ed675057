#include "verify/signature/bundle.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "base/escape.h"
#include "json/reader.h"

namespace modelutils::signature {

namespace {

constexpr std::string_view payload_type = "application/vnd.in-toto+json";
constexpr std::array<std::string_view, 4> media_types = {
    "application/vnd.dev.sigstore.bundle.v0.3+json", "application/vnd.dev.sigstore.bundle+json;version=0.3",
    "application/vnd.dev.sigstore.bundle+json;version=0.2", "application/vnd.dev.sigstore.bundle+json;version=0.1"};
constexpr std::size_t max_certificates = 32;

tl::unexpected<Error> refuse(std::string_view field, std::string message) {
  return input_error("signature-bundle", std::move(message), fmt::format("field '{}'", field));
}

// Returns the object if it has only known members and none of them twice.
Result<json::Object> object_with(json::Element value, std::string_view field,
                                 std::initializer_list<std::string_view> known) {
  json::Object object;
  if (!value.get(object)) return refuse(field, "is not an object");
  std::vector<std::string_view> seen;
  for (const json::Member& member : object) {
    if (std::ranges::find(known, member.key) == known.end()) {
      return refuse(field, fmt::format("has the member '{}', which a bundle of version 1.0 does not have", member.key));
    }
    if (std::ranges::find(seen, member.key) != seen.end()) {
      return refuse(field, fmt::format("has the member '{}' twice", member.key));
    }
    seen.push_back(member.key);
  }
  return object;
}

Result<std::string> decoded(json::Object object, std::string_view member, std::string_view field) {
  const auto found = object.find(member);
  std::string_view text;
  if (!found || !found->get(text) || text.empty()) return refuse(field, "is missing or not a text");
  // Re-encoding must give the same text: spare bits and line feeds would allow unnoticed changes.
  auto bytes = decode_base64(text);
  if (!bytes || base64(*bytes) != text) return refuse(field, "is not base64");
  return std::move(*bytes);
}

Status read_key(json::Element value, Bundle& bundle) {
  MU_ASSIGN(const json::Object key,
            object_with(value, "verificationMaterial.publicKey", {"hint", "rawBytes", "keyDetails"}));
  if (const auto hint = key.find("hint"); hint && !hint->is_null()) {
    std::string_view text;
    if (!hint->get(text)) return refuse("verificationMaterial.publicKey.hint", "is not a text");
    bundle.key_hint = text;
  } else if (!key.find("rawBytes")) {
    return refuse("verificationMaterial.publicKey", "has neither hint nor rawBytes");
  }
  return {};
}

Status read_certificates(json::Element value, Bundle& bundle) {
  constexpr std::string_view field = "verificationMaterial.x509CertificateChain";
  bundle.method = Method::certificate;
  MU_ASSIGN(const json::Object chain, object_with(value, field, {"certificates"}));
  const auto list = chain.find("certificates");
  json::Array certificates;
  if (!list || !list->get(certificates) || certificates.size() == 0) return refuse(field, "has no certificates");
  if (certificates.size() > max_certificates) {
    return refuse(field,
                  fmt::format("has {} certificates, at most {} are read", certificates.size(), max_certificates));
  }
  for (const json::Element element : certificates) {
    MU_ASSIGN(const json::Object certificate, object_with(element, field, {"rawBytes"}));
    MU_ASSIGN(std::string der, decoded(certificate, "rawBytes", field));
    bundle.certificates.push_back(std::move(der));
  }
  return {};
}

Status read_material(json::Element value, Bundle& bundle) {
  constexpr std::string_view field = "verificationMaterial";
  MU_ASSIGN(const json::Object material, object_with(value, field,
                                                     {"publicKey", "x509CertificateChain", "certificate", "tlogEntries",
                                                      "timestampVerificationData"}));
  const auto key = material.find("publicKey");
  const auto chain = material.find("x509CertificateChain");
  const auto certificate = material.find("certificate");
  if (static_cast<int>(key.has_value()) + static_cast<int>(chain.has_value()) +
          static_cast<int>(certificate.has_value()) !=
      1) {
    return refuse(field, "must have one of publicKey, x509CertificateChain and certificate");
  }
  const auto log = material.find("tlogEntries");
  json::Array entries;
  if (log && !log->is_null() && !log->get(entries)) return refuse("verificationMaterial.tlogEntries", "is not a list");
  if (certificate) {
    bundle.method = Method::sigstore;
    if (!log || entries.size() == 0) {
      return refuse("verificationMaterial.tlogEntries", "is missing: Sigstore records its signatures in a log");
    }
    return {};
  }
  if (key) return read_key(*key, bundle);
  return read_certificates(*chain, bundle);
}

Status read_envelope(json::Element value, Bundle& bundle) {
  MU_ASSIGN(const json::Object envelope, object_with(value, "dsseEnvelope", {"payload", "payloadType", "signatures"}));
  if (json::string_member(value, "payloadType") != payload_type) {
    return refuse("dsseEnvelope.payloadType", fmt::format("must be {}", payload_type));
  }
  MU_ASSIGN(bundle.payload, decoded(envelope, "payload", "dsseEnvelope.payload"));
  const auto signatures = json::array_member(value, "signatures");
  if (!signatures || signatures->size() != 1) {
    return refuse("dsseEnvelope.signatures", "must be a list of one signature");
  }
  const json::Element first = *signatures->begin();
  MU_ASSIGN(const json::Object signature, object_with(first, "dsseEnvelope.signatures", {"sig", "keyid"}));
  MU_ASSIGN(bundle.signature, decoded(signature, "sig", "dsseEnvelope.signatures.sig"));
  // No key is looked up by this member, so a value would be misleading.
  std::string_view key_id;
  if (const auto id = signature.find("keyid"); id && !id->is_null() && (!id->get(key_id) || !key_id.empty())) {
    return refuse("dsseEnvelope.signatures.keyid", "must be empty");
  }
  return {};
}

}  // namespace

Result<Bundle> parse_bundle(std::string_view text, std::string name) {
  MU_ASSIGN(const auto document, json::parse(text, std::move(name)));
  MU_ASSIGN(const json::Object top,
            object_with(document->root, "bundle", {"mediaType", "verificationMaterial", "dsseEnvelope"}));
  const auto media_type = json::string_member(document->root, "mediaType");
  if (!media_type || std::ranges::find(media_types, *media_type) == media_types.end()) {
    return refuse("mediaType", "is not that of a Sigstore bundle of version 0.1 to 0.3");
  }
  Bundle bundle;
  const auto material = top.find("verificationMaterial");
  if (!material) return refuse("verificationMaterial", "is missing");
  MU_TRY(read_material(*material, bundle));
  const auto envelope = top.find("dsseEnvelope");
  if (!envelope) return refuse("dsseEnvelope", "is missing");
  MU_TRY(read_envelope(*envelope, bundle));
  return bundle;
}

std::string signed_bytes(std::string_view payload) {
  return fmt::format("DSSEv1 {} {} {} {}", payload_type.size(), payload_type, payload.size(), payload);
}

}  // namespace modelutils::signature
