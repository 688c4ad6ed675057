#include "hf/rope_check.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "hf/remarks.h"

namespace modelutils::hf {

namespace {

class RopeCheck {
 public:
  explicit RopeCheck(FindingLog& findings) : findings_(findings) {}

  void positive(std::string_view field, const std::optional<double>& value) {
    if (value && !is_positive(*value))
      findings_.error(Scope::model, "hf-rope", fmt::format("is {}; it must be a finite number greater than 0", *value),
                      at_field(field));
  }

  void scaling(const RopeScaling& s) {
    positive("rope_scaling.factor", s.factor);
    positive("rope_scaling.low_freq_factor", s.low_freq_factor);
    positive("rope_scaling.high_freq_factor", s.high_freq_factor);
    positive("rope_scaling.original_max_position_embeddings", s.original_max_position_embeddings);
    positive("rope_scaling.attention_factor", s.attention_factor);
    if (s.low_freq_factor && s.high_freq_factor && *s.low_freq_factor > *s.high_freq_factor) {
      findings_.error(
          Scope::model, "hf-rope",
          fmt::format("is {}; it must be at least low_freq_factor {}", *s.high_freq_factor, *s.low_freq_factor),
          at_field("rope_scaling.high_freq_factor"));
    }
    for (const auto& [name, factors] :
         {std::pair{"rope_scaling.long_factor", &s.long_factor}, {"rope_scaling.short_factor", &s.short_factor}}) {
      const auto bad = std::find_if_not(factors->begin(), factors->end(), is_positive);
      if (bad != factors->end()) {
        findings_.error(
            Scope::model, "hf-rope",
            fmt::format("has {} at index {}; all must be finite numbers greater than 0", *bad, bad - factors->begin()),
            at_field(name));
      }
    }
  }

  void part(const std::optional<double>& value) {
    if (value && !(*value > 0 && *value <= 1)) {
      findings_.error(Scope::model, "hf-rope", fmt::format("is {}; it must be greater than 0 and at most 1", *value),
                      at_field("partial_rotary_factor"));
    }
  }

 private:
  static bool is_positive(double value) { return std::isfinite(value) && value > 0; }

  FindingLog& findings_;
};

}  // namespace

void check_rope(const Config& config, FindingLog& findings) {
  RopeCheck check(findings);
  check.positive("rope_theta", config.rope.theta);
  check.positive("rope_local_base_freq", config.rope.theta_local);
  if (config.rope.scaling) check.scaling(*config.rope.scaling);
  if (config.rope.scaling_local) check.scaling(*config.rope.scaling_local);
  check.part(config.partial_rotary_factor);
}

}  // namespace modelutils::hf
