// The tools, all in one program.
#pragma once

/// Each runs one tool with its command line and returns its exit status. They are called by run_tool().
namespace modelutils::cli {

int gguf2bump(int argc, char** argv);
int gguf2mlx(int argc, char** argv);
int gguf_dump(int argc, char** argv);
int gguf_edit(int argc, char** argv);
int gguf_quantize(int argc, char** argv);
int link_model(int argc, char** argv);
int ls(int argc, char** argv);
int mlx2gguf(int argc, char** argv);
int model_diff(int argc, char** argv);
int pt2st(int argc, char** argv);
int st_dump(int argc, char** argv);
int st_edit(int argc, char** argv);
int verify(int argc, char** argv);

}  // namespace modelutils::cli
