#include "report/remarks_json.h"

namespace modelutils {

void write_remarks(json::Writer& out, const FindingLog& remarks) {
  const auto in_remarks = out.array("remarks");
  for (const Finding& remark : remarks.findings()) {
    const auto in_object = out.object();
    out.member("severity", severity_name(remark.severity));
    out.member("code", remark.code);
    out.member("where", remark.where);
    out.member("message", remark.message);
  }
}

}  // namespace modelutils
