#include "verify/signature/bundle.h"

#include <fmt/core.h>
#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/escape.h"
#include "io/hash.h"
#include "io/random_access_file.h"
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

namespace {

constexpr u64 max_trust_bytes = u64{4} << 20;  // larger than a system's complete list of certificates

template <auto release>
struct Release {
  template <typename T>
  void operator()(T* object) const {
    release(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Release<X509_free>>;
using Bio = std::unique_ptr<BIO, Release<BIO_free>>;
using Store = std::unique_ptr<X509_STORE, Release<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Release<X509_STORE_CTX_free>>;
using DigestContext = std::unique_ptr<EVP_MD_CTX, Release<EVP_MD_CTX_free>>;

const unsigned char* as_bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

Result<std::string> read_small(const std::string& path) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  if (file->file_size() > max_trust_bytes) {
    return input_error("signature-trust", "is larger than a file of keys or certificates", {}, {}, path);
  }
  std::string text(file->file_size(), '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
  return text;
}

Bio reader_of(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// Returns the hash that the specification pairs with the key's curve; nullptr for a key of another kind.
const EVP_MD* hash_for(const EVP_PKEY* key) {
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC) return nullptr;
  char name[64] = {};
  if (EVP_PKEY_get_group_name(key, name, sizeof name, nullptr) != 1) return nullptr;
  const std::string_view curve = name;
  if (curve == "prime256v1" || curve == "P-256") return EVP_sha256();
  if (curve == "secp384r1" || curve == "P-384") return EVP_sha384();
  if (curve == "secp521r1" || curve == "P-521") return EVP_sha512();
  return nullptr;
}

bool is_signed_by(EVP_PKEY* key, const Bundle& bundle) {
  const std::string message = signed_bytes(bundle.payload);
  const DigestContext context(EVP_MD_CTX_new());
  const bool is_good = EVP_DigestVerifyInit(context.get(), nullptr, hash_for(key), nullptr, key) == 1 &&
                       EVP_DigestVerify(context.get(), as_bytes_of(bundle.signature), bundle.signature.size(),
                                        as_bytes_of(message), message.size()) == 1;
  ERR_clear_error();
  return is_good;
}

bool check_signature(EVP_PKEY* key, const Bundle& bundle, std::string_view whose, FindingLog& log) {
  if (is_signed_by(key, bundle)) return true;
  log.error(Scope::container, "signature-wrong",
            fmt::format("is not a signature of this statement by {}: the bundle or the statement was changed, or "
                        "another key signed it",
                        whose));
  return false;
}

// Returns the key's fingerprint as signers write it: SHA-256 of its PEM text.
std::string fingerprint(EVP_PKEY* key) {
  const Bio out(BIO_new(BIO_s_mem()));
  PEM_write_bio_PUBKEY(out.get(), key);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(text, static_cast<std::size_t>(size))));
  return hasher.hex_digest();
}

void tell_method(const Bundle& bundle, FindingLog& log) {
  log.error(Scope::container, "signature-method",
            bundle.method == Method::key ? "was signed with a key: check it with --key"
            : bundle.method == Method::certificate
                ? "was signed with a certificate: check it with --certificate"
                : "was signed by Sigstore, which cannot be checked offline: it needs Sigstore's log and certificates "
                  "(model_signing verify sigstore)");
}

// Returns "CN=name" for an error in a chain.
std::string subject_of(X509* certificate) {
  if (certificate == nullptr) return "certificate";
  const Bio out(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(out.get(), X509_get_subject_name(certificate), 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB);
  char* text = nullptr;
  const long size = BIO_get_mem_data(out.get(), &text);
  return std::string(text, static_cast<std::size_t>(std::min<long>(size, 200)));
}

Result<std::vector<Certificate>> read_chain(const Bundle& bundle) {
  std::vector<Certificate> chain;
  for (const std::string& der : bundle.certificates) {
    const unsigned char* at = as_bytes_of(der);
    Certificate certificate(d2i_X509(nullptr, &at, static_cast<long>(der.size())));
    ERR_clear_error();
    if (!certificate || at != as_bytes_of(der) + der.size()) {
      return input_error("signature-certificate", fmt::format("certificate {} cannot be read", chain.size()));
    }
    chain.push_back(std::move(certificate));
  }
  return chain;
}

Result<Store> read_trusted(const std::string& path) {
  MU_ASSIGN(const std::string text, read_small(path));
  Store store(X509_STORE_new());
  const Bio bio = reader_of(text);
  std::size_t count = 0;
  while (Certificate trusted{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(store.get(), trusted.get());
    ++count;
  }
  ERR_clear_error();
  if (count == 0) return input_error("signature-trust", "has no certificate in PEM form", {}, {}, path);
  // An intermediate that the user names is trusted without its root.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN);
  return store;
}

// True if the certificate's own extensions allow digital signatures or code signing.
bool may_sign(X509* certificate) {
  const bool has_usage = (X509_get_extension_flags(certificate) & EXFLAG_KUSAGE) != 0;
  if (has_usage && (X509_get_key_usage(certificate) & KU_DIGITAL_SIGNATURE) != 0) return true;
  const bool has_extended = (X509_get_extension_flags(certificate) & EXFLAG_XKUSAGE) != 0;
  return has_extended && (X509_get_extended_key_usage(certificate) & XKU_CODE_SIGN) != 0;
}

Status check_chain(const std::vector<Certificate>& chain, X509_STORE* trusted) {
  const auto refuse = [](std::string message) { return input_error("signature-certificate", std::move(message)); };
  STACK_OF(X509)* const others = sk_X509_new_null();
  for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(others, chain[i].get());
  const StoreContext context(X509_STORE_CTX_new());
  const bool is_good =
      X509_STORE_CTX_init(context.get(), trusted, chain[0].get(), others) == 1 && X509_verify_cert(context.get()) == 1;
  const std::string reason = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
  const std::string subject = subject_of(X509_STORE_CTX_get_current_cert(context.get()));
  sk_X509_free(others);
  ERR_clear_error();
  if (!is_good) return refuse(fmt::format("the certificate chain is not valid at {}: {}", subject, reason));
  if (!may_sign(chain[0].get())) {
    return refuse(fmt::format("{} is not for signing: it says neither digitalSignature nor codeSigning", subject));
  }
  return {};
}

}  // namespace

Result<bool> check_with_key(const Bundle& bundle, const std::string& path, FindingLog& log) {
  MU_ASSIGN(const std::string text, read_small(path));
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  const Bio bio = reader_of(text);
  const Key key(PEM_read_bio_PUBKEY(bio.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!key || hash_for(key.get()) == nullptr) {
    return input_error("signature-trust", "has no public key in PEM form on the curve P-256, P-384 or P-521", {}, {},
                       path);
  }
  if (bundle.method != Method::key) {
    tell_method(bundle, log);
    return false;
  }
  if (!bundle.key_hint.empty() && bundle.key_hint != fingerprint(key.get())) {
    log.error(Scope::container, "signature-key",
              fmt::format("was made with the key {}, which is not the one of {}", escape(bundle.key_hint), path));
    return false;
  }
  return check_signature(key.get(), bundle, "the key of " + path, log);
}

Result<bool> check_with_certificate(const Bundle& bundle, const std::string& path, FindingLog& log) {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, nullptr);
  MU_ASSIGN(const Store trusted, read_trusted(path));
  if (bundle.method != Method::certificate) {
    tell_method(bundle, log);
    return false;
  }
  const auto chain = read_chain(bundle);
  const Status held = chain ? check_chain(*chain, trusted.get()) : tl::make_unexpected(chain.error());
  if (!held) {
    log.add(without_path(held.error()));
    return false;
  }
  EVP_PKEY* const key = X509_get0_pubkey(chain->front().get());
  if (key == nullptr || hash_for(key) == nullptr) {
    log.error(Scope::container, "signature-certificate",
              "the key of the leaf is not on the curve P-256, P-384 or P-521");
    return false;
  }
  return check_signature(key, bundle, subject_of(chain->front().get()), log);
}

}  // namespace modelutils::signature
