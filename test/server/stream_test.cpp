// SPDX-License-Identifier: Apache-2.0
#include "server/local_trainer.hpp"
#include "server/model/random_model.hpp"
#include "test/server/server_fixture.hpp"

#include <rapidjson/document.h>

#include <condition_variable>
#include <map>
#include <mutex>

using namespace tinkaf;
using namespace tinkaf::test;

// OpenAI's streams: what comes when, and that it is the same as an answer in one piece.

namespace {

/// A trainer that draws no further than it is let.
class Gated : public server::Trainer {
public:
  explicit Gated(std::shared_ptr<server::Trainer> inner) : inner_(std::move(inner)) {}

  /// Lets so many more tokens be drawn.
  void let(std::size_t tokens) {
    const std::lock_guard lock{mutex_};
    open_ += tokens;
    changed_.notify_all();
  }

  /// The token after those that are let breaks the trainer.
  void break_next() {
    const std::lock_guard lock{mutex_};
    broken_ = true;
    changed_.notify_all();
  }

  std::string name() const override {
    return inner_->name();
  }
  std::string arch() const override {
    return inner_->arch();
  }
  std::int64_t max_context_length() const override {
    return inner_->max_context_length();
  }
  const text::Tokenizer* tokenizer() const override {
    return inner_->tokenizer();
  }
  Result<void> check_loss_config(LossFn loss_fn,
                                 const std::optional<LossFnConfig>& config) const override {
    return inner_->check_loss_config(loss_fn, config);
  }
  Result<void> check_datum(const Datum& datum, LossFn loss_fn, std::size_t index) const override {
    return inner_->check_datum(datum, loss_fn, index);
  }
  Result<void> check_sample(const SampleRequest& request) const override {
    return inner_->check_sample(request);
  }
  Result<std::unique_ptr<server::TrainedModel>> create(const LoraConfig& config) override {
    return inner_->create(config);
  }
  Result<std::unique_ptr<server::TrainedModel>> load(const std::filesystem::path& folder,
                                                     bool with_optimizer) override {
    return inner_->load(folder, with_optimizer);
  }
  Result<std::unique_ptr<server::TrainedModel>>
  restore(const std::filesystem::path& folder) override {
    return inner_->restore(folder);
  }
  Result<std::shared_ptr<const server::Snapshot>>
  load_snapshot(const std::filesystem::path& folder) override {
    return inner_->load_snapshot(folder);
  }
  Result<SampleResponse> sample(const std::shared_ptr<const server::Snapshot>& weights,
                                const SampleRequest& request, std::stop_token stop,
                                const server::TokenSink& sink) override {
    bool broken = false;
    auto drawn = inner_->sample(weights, request, stop,
                                [&](std::size_t number, const auto& so_far, bool complete) {
                                  std::unique_lock lock{mutex_};
                                  changed_.wait(lock, [&] { return open_ > 0 || broken_; });
                                  broken = broken || open_ == 0;
                                  if (broken)
                                    return;
                                  --open_;
                                  lock.unlock();
                                  if (sink)
                                    sink(number, so_far, complete);
                                });
    if (broken)
      return fail(Errc::server_error, "the trainer broke");
    return drawn;
  }

private:
  const std::shared_ptr<server::Trainer> inner_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t open_ = 0;
  bool broken_ = false;
};

struct Fixture {
  Fixture() {
    auto config = model::small_shape();
    config.eos_token_ids = {};
    trainer = std::make_shared<Gated>(server::make_local_trainer(
        model::random_model(config), std::make_shared<model::ThreadPool>(1)));
    options.state_dir = folder.path() / "state";
    auto started = Server::start(options, {trainer});
    REQUIRE(started.has_value());
    server = std::move(*started);
    client.emplace(server->port());
  }
  ~Fixture() {
    trainer->break_next();
  }

  void send(const std::string& body) {
    client->send("POST", "/oai/api/v1/completions",
                 R"({"model":"tinkaf/random","temperature":1,)" + body + "}",
                 {{"Content-Type", "application/json"}});
  }

  HttpAnswer ask(const std::string& body) {
    trainer->let(1000);
    send(body);
    return client->receive();
  }

  TempFolder folder;
  ServerOptions options;
  std::shared_ptr<Gated> trainer;
  std::unique_ptr<Server> server;
  std::optional<HttpClient> client;
};

rapidjson::Document parsed(const std::string& json) {
  rapidjson::Document out;
  out.Parse(json.c_str());
  INFO(json);
  REQUIRE_FALSE(out.HasParseError());
  return out;
}

/// What a stream tells, by choice.
struct Told {
  std::map<int, std::string> texts;
  std::map<int, std::string> reasons;
  std::map<int, std::vector<double>> logprobs;
  std::size_t events = 0;

  friend bool operator==(const Told&, const Told&) = default;
};

Told read_events(const HttpAnswer& answer) {
  INFO(answer.body);
  REQUIRE(answer.status == 200);
  REQUIRE(answer.body.ends_with("data: [DONE]\n\n"));
  Told out;
  for (std::size_t at = 0;; ++out.events) {
    const auto end = answer.body.find("\n\n", at);
    const auto data = answer.body.substr(at + 6, end - at - 6);
    if (data == "[DONE]")
      return out;
    const auto event = parsed(data);
    const auto& choice = event["choices"][0];
    const auto index = choice["index"].GetInt();
    CHECK_FALSE(out.reasons.contains(index));
    out.texts[index] += choice["text"].GetString();
    if (choice["finish_reason"].IsString())
      out.reasons[index] = choice["finish_reason"].GetString();
    if (choice["logprobs"].IsObject())
      for (const auto& x : choice["logprobs"]["token_logprobs"].GetArray())
        out.logprobs[index].push_back(x.GetDouble());
    at = end + 2;
  }
}

Told read_whole(const HttpAnswer& answer) {
  INFO(answer.body);
  REQUIRE(answer.status == 200);
  Told out;
  const auto whole = parsed(answer.body);
  for (const auto& choice : whole["choices"].GetArray()) {
    const auto index = choice["index"].GetInt();
    out.texts[index] = choice["text"].GetString();
    out.reasons[index] = choice["finish_reason"].GetString();
    if (choice["logprobs"].IsObject())
      for (const auto& x : choice["logprobs"]["token_logprobs"].GetArray())
        out.logprobs[index].push_back(x.GetDouble());
  }
  return out;
}

} // namespace

TEST_CASE_METHOD(Fixture, "The events of a stream come as tokens are drawn", "[server][openai]") {
  // With a bias that keeps to ASCII there would be one event a token; bytes of longer characters
  // wait for each other, so what is let through is counted in events here.
  send(R"("prompt":"ab","max_tokens":40,"seed":3,"stream":true)");
  trainer->let(4); // makes up one character at least, whatever is drawn
  const auto first = client->receive_until("\n\n");
  CHECK(first.find("200 OK") != std::string::npos);
  CHECK(first.find("data: {") != std::string::npos);
  CHECK(first.find("[DONE]") == std::string::npos);
  trainer->let(36);
  CHECK(client->receive_until("data: [DONE]\n\n").ends_with("data: [DONE]\n\n"));
}

TEST_CASE_METHOD(Fixture, "A stream tells what an answer in one piece tells", "[server][openai]") {
  const auto check = [&](const std::string& body) {
    INFO(body);
    auto streamed = read_events(ask(body + R"(,"stream":true)"));
    CHECK(streamed.events >= streamed.texts.size());
    streamed.events = 0;
    CHECK(streamed == read_whole(ask(body)));
  };
  check(R"("prompt":"ab","max_tokens":30,"seed":3)");
  check(R"("prompt":"ab","max_tokens":30,"seed":3,"n":3)");
  check(R"("prompt":["ab","cd"],"max_tokens":9,"seed":3,"n":2)");
  check(R"("prompt":"ab","max_tokens":9,"seed":3,"echo":true,"n":2)");
  check(R"("prompt":"ab","max_tokens":9,"seed":3,"logprobs":0)");
  // These are not known before all is drawn.
  check(R"("prompt":"ab","max_tokens":9,"seed":3,"logprobs":2)");
  check(R"("prompt":"ab","max_tokens":0,"seed":3,"echo":true)");
}

TEST_CASE_METHOD(Fixture, "A stream holds back what may begin a text to stop at",
                 "[server][openai]") {
  // Tokens are bytes here: a text to stop at spans as many tokens as it has bytes.
  const std::string body = R"("prompt":"ab","max_tokens":60,"seed":)";
  std::string text;
  int seed = 0;
  std::size_t at = std::string::npos;
  while (at == std::string::npos) { // until three letters stand in a row
    text = read_whole(ask(body + std::to_string(++seed))).texts.at(0);
    for (std::size_t i = 5; i + 3 < text.size() && at == std::string::npos; ++i)
      if (std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i),
                      text.begin() + static_cast<std::ptrdiff_t>(i) + 2,
                      [](unsigned char x) { return std::isalnum(x) != 0; }))
        at = i;
  }
  const auto stop = text.substr(at, 2);
  const auto one = body + std::to_string(seed);
  for (const auto& stops :
       {"\"" + stop + "\"", "[\"" + stop + "\",\"" + stop[0] + "~~\"]", "[\"" + stop + "~\"]"}) {
    INFO(stops);
    auto streamed = read_events(ask(one + R"(,"stream":true,"stop":)" + stops));
    const auto whole = read_whole(ask(one + R"(,"stop":)" + stops));
    CHECK(streamed.texts == whole.texts);
    CHECK(streamed.reasons == whole.reasons);
  }
}

TEST_CASE_METHOD(Fixture, "What goes wrong is told in a stream that has begun, else by the status",
                 "[server][openai][errors]") {
  const std::string body = R"("prompt":"ab","max_tokens":40,"seed":3,"stream":true)";
  SECTION("before the first token") {
    trainer->break_next();
    send(body);
    const auto answer = client->receive();
    CHECK(answer.status == 500);
    CHECK(parsed(answer.body)["error"]["message"] == "the trainer broke");
  }
  SECTION("behind some") {
    trainer->let(4);
    send(body);
    (void)client->receive_until("\n\n");
    trainer->break_next();
    const auto rest = client->receive_until("0\r\n\r\n");
    CHECK(rest.find(R"(data: {"error":{"message":"the trainer broke","type":"server_error")")
          != std::string::npos);
    CHECK(rest.find("[DONE]") == std::string::npos);
  }
}
