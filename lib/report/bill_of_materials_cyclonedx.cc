#include <fmt/core.h>

#include "base/escape.h"
#include "json/writer.h"
#include "report/bill_of_materials.h"

namespace modelutils {

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

}  // namespace modelutils
