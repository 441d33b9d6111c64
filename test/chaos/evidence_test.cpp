// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/evidence.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

using namespace tinkaf::test;

namespace {

Exchange optim_step(std::string body, std::string answer, int status = 200) {
  return {.target = "POST /api/v1/optim_step",
          .body = std::move(body),
          .status = status,
          .answer = std::move(answer)};
}

} // namespace

TEST_CASE("A field of a JSON text is found with and without quotes", "[chaos]") {
  const auto* const json = R"({"seq_id":12, "model_id": "a:b", "final":true})";
  CHECK(json_field(json, "seq_id") == "12");
  CHECK(json_field(json, "model_id") == "a:b");
  CHECK(json_field(json, "final") == "true");
  CHECK(json_field(json, "none").empty());
  CHECK(json_field(R"({"seq_id":)", "seq_id").empty());
}

TEST_CASE("An operation with two request ids was taken twice", "[chaos]") {
  auto watch = OperationWatch{};
  watch.note(optim_step(R"({"model_id":"m","seq_id":1})", R"({"request_id":"a"})"));
  watch.note(optim_step(R"({"model_id":"m","seq_id":1})", R"({"request_id":"a"})"));
  watch.note(optim_step(R"({"model_id":"m","seq_id":2})", R"({"request_id":"b"})"));
  watch.note(optim_step(R"({"model_id":"n","seq_id":1})", R"({"request_id":"c"})"));
  watch.note(optim_step(R"({"model_id":"n","seq_id":1})", R"({"request_id":"d"})", 500));
  CHECK(watch.accepted() == 3);
  CHECK(watch.doubled() == 0);
  watch.note(optim_step(R"({"model_id":"n","seq_id":1})", R"({"request_id":"d"})"));
  CHECK(watch.doubled() == 1);
}

TEST_CASE("An operation that is sent as bytes is known by them", "[chaos]") {
  auto watch = OperationWatch{};
  watch.note(optim_step("\x0a\x02", R"({"request_id":"a"})"));
  watch.note(optim_step("\x0a\x02", R"({"request_id":"a"})"));
  watch.note(optim_step("\x0a\x03", R"({"request_id":"b"})"));
  CHECK(watch.accepted() == 2);
  CHECK(watch.doubled() == 0);
  watch.note(optim_step("\x0a\x02", R"({"request_id":"c"})"));
  CHECK(watch.doubled() == 1);
}

TEST_CASE("A result that is told in two ways counts, one that is not there yet does not",
          "[chaos]") {
  auto watch = OperationWatch{};
  const auto poll = [&](std::string answer, int status = 200) {
    watch.note({.target = "POST /api/v1/retrieve_future",
                .body = R"({"request_id":"a"})",
                .status = status,
                .answer = std::move(answer)});
  };
  poll(R"({"type":"try_again"})");
  poll(R"({"status":"complete_metadata","response_payload_size":7})");
  poll(R"({"error":"the engine failed, as it was asked to in test mode"})");
  poll(R"({"error":"the engine failed, as it was asked to in test mode"})");
  poll(R"({"path":"b"})", 410);
  CHECK(watch.contradictory() == 0);
  CHECK(watch.failed() == 1);
  poll(R"({"path":"b"})");
  CHECK(watch.contradictory() == 1);
  CHECK(watch.contradiction().find(": ") != std::string::npos);
}

TEST_CASE("A run is judged by its metrics and its final checkpoint", "[chaos]") {
  const auto folder = TempFolder{};
  const auto run = folder.path() / "run";
  const auto checkpoint = folder.path() / "state/checkpoints/r:train:0/weights/final";
  std::filesystem::create_directories(run / "archive");
  std::filesystem::create_directories(checkpoint);
  write_text(run / "metrics.jsonl", "{\"step\":0}\n{\"step\":1}\n");
  write_text(run / "samples.txt", "stop [1]\n");
  write_text(run / "archive" / "weights", "weights");
  write_text(run / "checkpoints.jsonl",
             R"({"final":false,"state_path":"tinker://r:train:0/weights/step_1"})"
             "\n"
             R"({"final":true,"state_path":"tinker://r:train:0/weights/final"})"
             "\n");
  write_text(checkpoint / "adapter_model.safetensors", "weights");
  write_text(checkpoint / "optimizer.safetensors", "moments");
  write_text(checkpoint / "training_state.json", "{\"step\":2}");
  const auto good = read_run(run, folder.path() / "state");
  CHECK(good.final);
  CHECK(good.weights == "weights");
  CHECK(good.samples == "stop [1]\n");
  write_text(run / "samples.jsonl", "{\"step\":0}\n");
  CHECK(read_run(run, folder.path() / "state").samples == "stop [1]\n{\"step\":0}\n");
  CHECK(good.archive == std::map<std::string, std::string>{{"weights", "weights"}});
  CHECK(difference(good, good).empty());

  auto found = good;
  found.metrics = "{\"step\":0}\n";
  CHECK(difference(good, found)
        == "metrics.jsonl has 1 lines instead of 2 and differs from line 2 on");
  found = good;
  found.final = false;
  CHECK(difference(good, found) == "there is no final checkpoint");
  found = good;
  found.progress = "{\"step\":3}";
  CHECK(difference(good, found) == "the optimizer stands at {\"step\":3} instead of {\"step\":2}");
  found = good;
  found.optimizer = "other";
  CHECK(difference(good, found) == "weights or optimizer differ");
  found = good;
  found.samples = "stop [2]\n";
  CHECK(difference(good, found) == "samples differ");
  found = good;
  found.archive.clear();
  CHECK(difference(good, found) == "the archive differs from the checkpoint");
}
