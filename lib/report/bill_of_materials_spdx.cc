#include <fmt/core.h>

#include <ctime>
#include <vector>

#include "base/escape.h"
#include "json/writer.h"
#include "report/bill_of_materials.h"
#include "report/report_time.h"

namespace modelutils {

namespace {

constexpr std::string_view creation = "_:creation";
constexpr std::string_view tool = "urn:modelutils:verify";

std::string created() {
  const auto now = static_cast<std::time_t>(report_time());
  std::tm parts{};
  gmtime_r(&now, &parts);
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
