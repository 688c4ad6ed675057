#include "report/bill_of_materials.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <span>
#include <vector>

#include "base/escape.h"
#include "base/os/process.h"
#include "io/hash.h"
#include "json/writer.h"
#include "report/prompt.h"

namespace modelutils {

namespace {

// Licences in the Hub's list (huggingface.co/docs/hub/repositories-licenses) whose SPDX identifier differs in case
// only.
constexpr std::array<std::string_view, 34> known_licenses = {"Apache-2.0",
                                                             "MIT",
                                                             "BSD-2-Clause",
                                                             "BSD-3-Clause",
                                                             "BSD-3-Clause-Clear",
                                                             "BSL-1.0",
                                                             "CC0-1.0",
                                                             "CC-BY-2.0",
                                                             "CC-BY-2.5",
                                                             "CC-BY-3.0",
                                                             "CC-BY-4.0",
                                                             "CC-BY-SA-3.0",
                                                             "CC-BY-SA-4.0",
                                                             "CC-BY-NC-2.0",
                                                             "CC-BY-NC-3.0",
                                                             "CC-BY-NC-4.0",
                                                             "CC-BY-ND-4.0",
                                                             "CC-BY-NC-ND-3.0",
                                                             "CC-BY-NC-ND-4.0",
                                                             "CC-BY-NC-SA-2.0",
                                                             "CC-BY-NC-SA-3.0",
                                                             "CC-BY-NC-SA-4.0",
                                                             "CDLA-Permissive-1.0",
                                                             "CDLA-Permissive-2.0",
                                                             "CDLA-Sharing-1.0",
                                                             "WTFPL",
                                                             "Artistic-2.0",
                                                             "ISC",
                                                             "MPL-2.0",
                                                             "MS-PL",
                                                             "Zlib",
                                                             "Unlicense",
                                                             "ECL-2.0",
                                                             "EUPL-1.2"};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::unique_ptr<VerifyForm> make_bill_of_materials(std::string_view form) {
  return form == "spdx" ? spdx_form() : cyclonedx_form();
}

std::string_view spdx_license(std::string_view license) {
  const auto is_same = [license](std::string_view known) {
    return std::ranges::equal(license, known, {}, lower, lower);
  };
  const auto found = std::ranges::find_if(known_licenses, is_same);
  return found == known_licenses.end() ? std::string_view() : *found;
}

std::string digest_of_files(const ModelIdentity& identity) {
  Hasher hasher(HashAlgorithm::sha256);
  for (const IdentityFile& file : identity.files) {
    hasher.update(std::as_bytes(std::span(file.name)));
    hasher.update(std::as_bytes(std::span(file.sha256)));
  }
  return hasher.hex_digest();
}

namespace {

class CycloneDxForm : public VerifyForm {
 public:
  std::string add(const VerifyReport& report) override {
    std::string text = open();
    if (!report.identity) return text;
    if (count_++ > 0) text += ',';
    return text + component(*report.identity, report.format) + "\n";
  }

  std::string finish() override { return open() + "]}\n"; }

 private:
  std::string open() {
    if (is_open_) return {};
    is_open_ = true;
    json::Writer out;
    {
      const auto in_object = out.object();
      out.member("$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json");
      out.member("bomFormat", "CycloneDX");
      out.member("specVersion", "1.6");
      out.member("version", u64{1});
      const auto in_metadata = out.object("metadata");
      const auto in_tools = out.object("tools");
      const auto in_components = out.array("components");
      const auto in_item = out.object();
      out.member("type", "application");
      out.member("name", "verify");
      out.member("group", "modelutils");
      out.member("version", MODELUTILS_VERSION);
    }
    std::string text = out.text();
    text.pop_back();  // remove the brace: the object continues
    return text + ",\"components\":[\n";
  }

  std::string component(const ModelIdentity& model, const std::string& format) const {
    json::Writer out;
    {
      const auto in_object = out.object();
      out.member("type", "machine-learning-model");
      out.member("bom-ref", fmt::format("model-{}-{:.16}", count_, digest_of_files(model)));
      text_member(out, "name", model.name);
      if (model.card.version) text_member(out, "version", *model.card.version);
      if (model.card.description) text_member(out, "description", *model.card.description);
      if (const auto& author = model.card.author ? model.card.author : model.card.organization) {
        text_member(out, "publisher", *author);
      }
      if (model.files.size() == 1) hashes(out, model.files[0]);
      license(out, model.card);
      ancestors(out, model.card.base_models);
      model_card(out, model);
      {
        const auto in_components = out.array("components");
        for (const IdentityFile& file : model.files) {
          const auto in_item = out.object();
          out.member("type", "file");
          text_member(out, "name", file.name);
          hashes(out, file);
          const auto in_properties = out.array("properties");
          property(out, "modelutils:bytes", std::to_string(file.bytes));
        }
      }
      {
        const auto in_properties = out.array("properties");
        property(out, "modelutils:format", format);
        if (!model.mix.empty()) property(out, "modelutils:quantization", model.mix);
        for (const std::string& type : model.types) property(out, "modelutils:tensor-type", type);
        if (model.parameters) property(out, "modelutils:parameters", std::to_string(*model.parameters));
        if (model.context) property(out, "modelutils:context-length", std::to_string(*model.context));
      }
      if (!model.card.tags.empty()) {
        const auto in_tags = out.array("tags");
        for (const std::string& tag : model.card.tags) out.string(escape(tag));
      }
    }
    return out.text();
  }

  static void text_member(json::Writer& out, std::string_view name, std::string_view text) {
    out.member(name, escape(text));
  }

  static void property(json::Writer& out, std::string_view name, std::string_view value) {
    const auto in_object = out.object();
    out.member("name", name);
    text_member(out, "value", value);
  }

  static void hashes(json::Writer& out, const IdentityFile& file) {
    if (file.sha256.empty()) return;
    const auto in_hashes = out.array("hashes");
    const auto in_object = out.object();
    out.member("alg", "SHA-256");
    out.member("content", file.sha256);
  }

  static void license(json::Writer& out, const hf::ModelCard& card) {
    if (!card.license) return;
    const auto in_licenses = out.array("licenses");
    const auto in_object = out.object();
    const auto in_license = out.object("license");
    if (const std::string_view id = spdx_license(*card.license); !id.empty()) {
      out.member("id", id);
    } else {
      text_member(out, "name", card.license_name.value_or(*card.license));
    }
  }

  static void ancestors(json::Writer& out, const std::vector<std::string>& base_models) {
    if (base_models.empty()) return;
    const auto in_pedigree = out.object("pedigree");
    const auto in_ancestors = out.array("ancestors");
    for (const std::string& name : base_models) {
      const auto in_object = out.object();
      out.member("type", "machine-learning-model");
      text_member(out, "name", name);
    }
  }

  static void model_card(json::Writer& out, const ModelIdentity& model) {
    const auto in_model_card = out.object("modelCard");
    const auto in_model_parameters = out.object("modelParameters");
    if (model.card.pipeline_tag) text_member(out, "task", *model.card.pipeline_tag);
    if (!model.architecture.empty()) text_member(out, "modelArchitecture", model.architecture);
    if (!model.card.datasets.empty()) {
      const auto in_datasets = out.array("datasets");
      for (const std::string& name : model.card.datasets) {
        const auto in_object = out.object();
        out.member("type", "dataset");
        text_member(out, "name", name);
      }
    }
  }

  bool is_open_ = false;
  u64 count_ = 0;
};

}  // namespace

std::unique_ptr<VerifyForm> cyclonedx_form() {
  return std::make_unique<CycloneDxForm>();
}

namespace {

constexpr std::string_view creation = "_:creation";
constexpr std::string_view tool = "urn:modelutils:verify";

std::string created() {
  const auto now = static_cast<std::time_t>(report_time());
  std::tm parts{};
  os::utc_time(now, parts);
  char text[32] = {};
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return std::string(text, size);
}

// Every element is written as it arrives. The document element, which lists them, comes last.
class SpdxForm : public VerifyForm {
 public:
  std::string add(const VerifyReport& report) override {
    text_ = {};
    open();
    if (report.identity) add_model(*report.identity, report.format);
    return std::move(text_);
  }

  std::string finish() override {
    text_ = {};
    open();
    begin("SpdxDocument", "urn:modelutils:document");
    texts("profileConformance", {"core", "software", "ai", "dataset", "simpleLicensing"});
    texts("rootElement", roots_);
    texts("element", elements_);
    end();
    return text_ + "]}\n";
  }

 private:
  void open() {
    if (is_open_) return;
    is_open_ = true;
    text_ += "{\"@context\":\"https://spdx.org/rdf/3.0.1/spdx-context.jsonld\",\"@graph\":[\n";
    out_ = json::Writer();
    {
      const auto in_object = out_.object();
      out_.member("type", "CreationInfo");
      out_.member("@id", creation);
      out_.member("specVersion", "3.0.1");
      out_.member("created", created());
      texts("createdBy", {std::string(tool)});
    }
    text_ += out_.text() + "\n";
    begin("SoftwareAgent", std::string(tool));
    out_.member("name", fmt::format("modelutils verify {}", MODELUTILS_VERSION));
    end();
  }

  void begin(std::string_view type, std::string id) {
    out_ = json::Writer();
    out_.begin_object();
    out_.member("type", type);
    out_.member("spdxId", id);
    out_.member("creationInfo", creation);
    elements_.push_back(std::move(id));
  }

  void end() {
    out_.end_object();
    text_ += "," + out_.text() + "\n";
  }

  void text(std::string_view name, std::string_view value) { out_.member(name, escape(value)); }

  void texts(std::string_view name, const std::vector<std::string>& values) {
    if (values.empty()) return;
    const auto in_array = out_.array(name);
    for (const std::string& value : values) out_.string(escape(value));
  }

  void relation(const std::string& from, std::string_view type, const std::vector<std::string>& to) {
    if (to.empty()) return;
    begin("Relationship", fmt::format("{}-{}", from, type));
    out_.member("from", from);
    out_.member("relationshipType", type);
    texts("to", to);
    end();
  }

  void add_model(const ModelIdentity& model, const std::string& format) {
    const std::string id = fmt::format("urn:modelutils:model:{:.32}-{}", digest_of_files(model), ++count_);
    roots_.push_back(id);
    const std::string supplier = add_supplier(model.card, id);
    begin("ai_AIPackage", id);
    text("name", model.name);
    out_.member("software_primaryPurpose", "model");
    if (model.card.version) text("software_packageVersion", *model.card.version);
    if (model.card.description) text("description", *model.card.description);
    if (!supplier.empty()) out_.member("suppliedBy", supplier);
    if (!model.architecture.empty()) texts("ai_typeOfModel", {model.architecture});
    if (model.card.pipeline_tag) texts("ai_domain", {*model.card.pipeline_tag});
    {
      const auto in_ai_hyperparameter = out_.array("ai_hyperparameter");
      entry("format", format);
      if (!model.mix.empty()) entry("quantization", model.mix);
      for (const std::string& type : model.types) entry("tensorType", type);
      if (model.parameters) entry("parameters", std::to_string(*model.parameters));
      if (model.context) entry("contextLength", std::to_string(*model.context));
    }
    end();
    relation(id, "contains", add_files(model, id));
    relation(id, "hasDeclaredLicense", add_license(model.card, id));
    relation(id, "trainedOn", add_packages("dataset_DatasetPackage", model.card.datasets, id + "-dataset"));
    for (const std::string& base : add_packages("ai_AIPackage", model.card.base_models, id + "-base")) {
      relation(base, "ancestorOf", {id});
    }
  }

  void entry(std::string_view key, std::string_view value) {
    const auto in_object = out_.object();
    out_.member("type", "DictionaryEntry");
    out_.member("key", key);
    text("value", value);
  }

  std::string add_supplier(const hf::ModelCard& card, const std::string& model) {
    const auto& name = card.organization ? card.organization : card.author;
    if (!name) return {};
    std::string id = model + "-supplier";
    begin(card.organization ? "Organization" : "Agent", id);
    text("name", *name);
    end();
    return id;
  }

  std::vector<std::string> add_files(const ModelIdentity& model, const std::string& package) {
    std::vector<std::string> ids;
    for (const IdentityFile& file : model.files) {
      ids.push_back(fmt::format("{}-file-{}", package, ids.size() + 1));
      begin("software_File", ids.back());
      text("name", file.name);
      out_.member("software_fileKind", "file");
      if (!file.sha256.empty()) {
        const auto in_verified_using = out_.array("verifiedUsing");
        const auto in_object = out_.object();
        out_.member("type", "Hash");
        out_.member("algorithm", "sha256");
        out_.member("hashValue", file.sha256);
      }
      end();
    }
    return ids;
  }

  std::vector<std::string> add_license(const hf::ModelCard& card, const std::string& package) {
    if (!card.license) return {};
    const std::string id = package + "-license";
    const std::string_view known = spdx_license(*card.license);
    begin(known.empty() ? "simplelicensing_SimpleLicensingText" : "simplelicensing_LicenseExpression", id);
    if (known.empty()) {
      text("simplelicensing_licenseText", card.license_link.value_or(card.license_name.value_or(*card.license)));
      text("name", card.license_name.value_or(*card.license));
    } else {
      out_.member("simplelicensing_licenseExpression", known);
    }
    end();
    return {id};
  }

  std::vector<std::string> add_packages(std::string_view type, const std::vector<std::string>& names,
                                        const std::string& prefix) {
    std::vector<std::string> ids;
    for (const std::string& name : names) {
      ids.push_back(fmt::format("{}-{}", prefix, ids.size() + 1));
      begin(type, ids.back());
      text("name", name);
      out_.member("software_primaryPurpose", type == "ai_AIPackage" ? "model" : "data");
      if (type != "ai_AIPackage") texts("dataset_datasetType", {"noAssertion"});
      end();
    }
    return ids;
  }

  bool is_open_ = false;
  u64 count_ = 0;
  json::Writer out_;
  std::string text_;
  std::vector<std::string> roots_, elements_;
};

}  // namespace

std::unique_ptr<VerifyForm> spdx_form() {
  return std::make_unique<SpdxForm>();
}

}  // namespace modelutils
