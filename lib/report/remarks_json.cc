#include "report/remarks_json.h"

namespace modelutils {

void write_remarks(json::Writer& out, const FindingLog& remarks) {
  out.key("remarks");
  out.begin_array();
  for (const Finding& remark : remarks.findings()) {
    out.begin_object();
    out.member("severity", severity_name(remark.severity));
    out.member("code", remark.code);
    out.member("where", remark.where);
    out.member("message", remark.message);
    out.end_object();
  }
  out.end_array();
}

}  // namespace modelutils
