#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/json.h"
#include "core/cost/machine.h"

namespace reverie::ort {

/// Where npm put onnxruntime-node: a folder that holds node_modules/onnxruntime-node. $REVERIE_ORT,
/// or else `reverie-ort` beside the checkout that this program was built from (`tools/setup.sh
/// --ort` makes it). Empty where there is none.
std::filesystem::path runtime_folder();

/// How a model is to be run.
struct SessionOptions {
  int threads = 1;
  bool optimize = true;  ///< with the runtime's own optimizer on (all levels), or off
};

/// A process that runs models in ONNX Runtime (`node worker.mjs FOLDER`). Requests and answers are
/// JSON objects, one a line, over its standard input and output, one answer for each request:
///
/// | request                                              | answer                          |
/// | ---------------------------------------------------- | ------------------------------- |
/// | {"do":"version"}                                     | {"version":"1.30.0"}            |
/// | {"do":"load","id":N,"model":FILE,"inputs":FILE,      | {}                              |
/// |  "threads":N,"optimize":true}                        |                                 |
/// | {"do":"run","id":N}                                  | {"seconds":S}, of the run alone |
/// | {"do":"run","id":N,"outputs":FILE}                   | the same; FILE is written       |
/// | {"do":"drop","id":N}                                 | {}                              |
/// | any                                                  | {"error":"why not"}             |
///
/// Tensors travel in files: a line of JSON, [{"name","type","dims","bytes"}, ...], and behind it
/// the elements of all of them, little-endian. It ends when its input does, or with this program.
/// For one thread at a time.
class Worker {
 public:
  /// Starts it. InputError where node or the runtime is missing or does not start.
  explicit Worker(const std::filesystem::path& folder, double answer_seconds = 300);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// InputError with the runtime's own words where it refuses, and where the process ended or did
  /// not answer within `answer_seconds`; then every further call fails too.
  Json ask(const Json& request);
  std::string version();
  bool alive() const { return process_ > 0; }

 private:
  void start(const std::filesystem::path& folder);
  void send(const std::string& line);
  std::string receive();
  /// Ends the process; why it did, as a sentence goes on after "ONNX Runtime".
  std::string end();
  std::string last_words() const;

  double answer_seconds_;
  int process_ = -1;
  int channel_ = -1;  // a socket that is its standard input and output
  int log_ = -1;      // a file without a name that is its standard error
  std::string pending_;
};

/// A model that is loaded with its inputs, ready to run.
class Session {
 public:
  /// InputError where the runtime refuses the model.
  Session(std::shared_ptr<Worker> worker, const std::filesystem::path& model,
          const std::vector<NamedTensor>& inputs, const SessionOptions& options);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Seconds of one run.
  double run();
  /// What one run gives, in the order of the model's outputs.
  std::vector<NamedTensor> outputs();

 private:
  std::shared_ptr<Worker> worker_;
  int64_t id_;
};

}  // namespace reverie::ort
