#include "report/transfer_report.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

TensorReport inexact(std::string name, double rms, double max_abs) {
  TensorReport tensor;
  tensor.name = std::move(name);
  tensor.source_form = "affine 8-bit";
  tensor.form = "Q8_0";
  tensor.shape = {32, 2};
  tensor.bytes = 68;
  tensor.exact = false;
  tensor.reason = "no exact type";
  tensor.rms = rms;
  tensor.max_abs = max_abs;
  return tensor;
}

TEST(TransferReports, TensorsTreatedAlikeAreOneLine) {
  TransferReport report;
  report.files = {{"m.gguf", 1000, 3}};
  TensorReport exact = inexact("norm", 0, 0);
  exact.exact = true;
  exact.form = "F32";
  report.tensors = {exact, inexact("a", 0.01, 0.5), inexact("bb", 0.02, 0.25)};
  EXPECT_EQ(transfer_text(report, false),
            "2 tensors as Q8_0 from affine 8-bit, relative RMS error up to 2 %, largest up to 0.5 (no exact type); -v "
            "lists them\n3 tensors (1 F32, 2 Q8_0), 1.00 kB, 2 not exact\n");
  EXPECT_EQ(transfer_text(report, true),
            "norm     F32  32 × 2  from affine 8-bit, exact (no exact type)\n"
            "a       Q8_0  32 × 2  from affine 8-bit, relative RMS error 1 %, largest 0.5 (no exact type)\n"
            "bb      Q8_0  32 × 2  from affine 8-bit, relative RMS error 2 %, largest 0.25 (no exact type)\n"
            "3 tensors (1 F32, 2 Q8_0), 1.00 kB, 2 not exact\n");
  report.tensors[2].reason = "another";
  EXPECT_EQ(transfer_text(report, false),
            "a       Q8_0  32 × 2  from affine 8-bit, relative RMS error 1 %, largest 0.5 (no exact type)\n"
            "bb      Q8_0  32 × 2  from affine 8-bit, relative RMS error 2 %, largest 0.25 (another)\n"
            "3 tensors (1 F32, 2 Q8_0), 1.00 kB, 2 not exact\n");
}

TEST(TransferReports, SeveralFilesAreListed) {
  TransferReport report;
  report.files = {{"m-00001-of-00002.gguf", 1234, 2}, {"m-00002-of-00002.gguf", 500, 1}};
  report.tensors = {inexact("a", 0, 0)};
  report.tensors[0].exact = true;
  EXPECT_EQ(transfer_text(report, false),
            "m-00001-of-00002.gguf: 1.23 kB, 2 tensors\nm-00002-of-00002.gguf: 500 B, 1 tensor\n"
            "1 tensor (1 Q8_0), 1.73 kB, all exact\n");
}

}  // namespace
}  // namespace modelutils
