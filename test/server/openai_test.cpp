// SPDX-License-Identifier: Apache-2.0
#include "server/model/random_model.hpp"
#include "test/server/server_fixture.hpp"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>

using namespace tinkaf;
using namespace tinkaf::test;

namespace {

rapidjson::Document parsed(const std::string& json) {
  rapidjson::Document out;
  out.Parse(json.c_str());
  INFO(json);
  REQUIRE_FALSE(out.HasParseError());
  return out;
}

/// A value as it is written; Catch cannot print the value itself.
std::string dump(const rapidjson::Value& value) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
  value.Accept(writer);
  return buffer.GetString();
}

/// A server over a small random model with a vocabulary of bytes.
struct Fixture {
  Fixture() {
    REQUIRE(model::write_random_model(folder.path() / "model").has_value());
    options.state_dir = folder.path() / "state";
    options.models = {{.name = "small", .dir = folder.path() / "model"}};
    options.threads = 1;
    restart();
  }

  void restart() {
    server.reset();
    auto started = Server::start(options);
    REQUIRE(started.has_value());
    server = std::move(*started);
  }

  [[nodiscard]] HttpAnswer ask(const std::string& call, const std::string& body,
                               const std::string& key = {}) const {
    std::map<std::string, std::string> headers{{"Content-Type", "application/json"}};
    if (!key.empty())
      headers["Authorization"] = "Bearer " + key;
    return HttpClient{server->port()}.call("POST", "/oai/api/v1/" + call, body, headers);
  }

  [[nodiscard]] rapidjson::Document good(const std::string& call, const std::string& body) const {
    const auto answer = ask(call, body);
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    return parsed(answer.body);
  }

  void refused(const std::string& call, const std::string& body, int status,
               const std::string& message) const {
    const auto answer = ask(call, body);
    INFO(answer.body);
    CHECK(answer.status == status);
    const auto json = parsed(answer.body);
    REQUIRE(json.HasMember("error"));
    CHECK(std::string{json["error"]["message"].GetString()} == message);
    CHECK(dump(json["error"]["type"]) == R"("invalid_request_error")");
    CHECK(json["error"]["code"].IsNull());
  }

  TempFolder folder;
  ServerOptions options;
  std::unique_ptr<Server> server;
};

/// The payloads of server-sent events.
std::vector<std::string> events(const std::string& body) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < body.size();) {
    const auto end = body.find("\n\n", at);
    REQUIRE(body.substr(at, 6) == "data: ");
    REQUIRE(end != std::string::npos);
    out.push_back(body.substr(at + 6, end - at - 6));
    at = end + 2;
  }
  return out;
}

} // namespace

TEST_CASE_METHOD(Fixture, "A completion is drawn, told with its usage, and drawn again by its seed",
                 "[server][openai]") {
  const std::string body
      = R"({"model":"small","prompt":"ab","max_tokens":8,"seed":3,"n":2,"temperature":0.7})";
  const auto first = good("completions", body);
  CHECK(dump(first["object"]) == R"("text_completion")");
  CHECK(dump(first["model"]) == R"("small")");
  REQUIRE(first["choices"].Size() == 2);
  CHECK(dump(first["choices"][1]["index"]) == "1");
  CHECK(first["choices"][0]["logprobs"].IsNull());
  CHECK(dump(first["usage"]["prompt_tokens"]) == "2");
  CHECK(first["usage"]["completion_tokens"].GetInt() <= 16);
  CHECK(first["usage"]["total_tokens"].GetInt()
        == 2 + first["usage"]["completion_tokens"].GetInt());
  CHECK(std::string{first["choices"][0]["text"].GetString()}
        != first["choices"][1]["text"].GetString());
  const auto again = good("completions", body);
  for (rapidjson::SizeType i = 0; i < 2; ++i)
    CHECK(dump(again["choices"][i]["text"]) == dump(first["choices"][i]["text"]));
}

TEST_CASE_METHOD(Fixture, "A completion has what the sampler draws for the same tokens",
                 "[server][openai]") {
  ApiClient api{*server};
  AsampleRequest direct{.sample = {.prompt = ModelInput::from_ints({100, 101}),
                                   .sampling_params = {.max_tokens = 6, .seed = 5}},
                        .base_model = "small"};
  const auto id = api.submit("asample", wire::to_json(direct).value());
  const auto drawn = api.result<SampleResponse>(RequestType::sample, id).sequences.at(0);
  const auto told
      = good("completions",
             R"({"model":"small","prompt":[100,101],"max_tokens":6,"seed":5,"logprobs":0})");
  const auto& logprobs = told["choices"][0]["logprobs"]["token_logprobs"];
  REQUIRE(drawn.logprobs.has_value());
  REQUIRE(logprobs.Size() <= drawn.tokens.size()); // but for a last one that ends it
  for (rapidjson::SizeType i = 0; i < logprobs.Size(); ++i)
    CHECK(static_cast<float>(logprobs[i].GetDouble()) == drawn.logprobs->at(i));
}

TEST_CASE_METHOD(Fixture, "Logprobs are told at temperature 1 with the likeliest tokens",
                 "[server][openai]") {
  const auto told = good(
      "completions",
      R"({"model":"small","prompt":"ab","max_tokens":4,"seed":5,"logprobs":3,"temperature":0.5})");
  const auto& logprobs = told["choices"][0]["logprobs"];
  REQUIRE(logprobs["tokens"].Size() > 0);
  for (const auto& token : logprobs["tokens"].GetArray()) {
    const std::string name = token.GetString(); // most of this vocabulary is no text by itself
    CHECK((name.size() == 1 || name.starts_with("bytes:\\x")));
  }
  for (rapidjson::SizeType i = 0; i < logprobs["tokens"].Size(); ++i) {
    const auto& top = logprobs["top_logprobs"][i];
    CHECK(top.MemberCount() <= 3);
    double sum = 0;
    for (const auto& entry : top.GetObject()) {
      sum += std::exp(entry.value.GetDouble());
      if (dump(entry.name) == dump(logprobs["tokens"][i]))
        CHECK(entry.value.GetDouble() == logprobs["token_logprobs"][i].GetDouble());
    }
    CHECK(sum < 1.0);
  }
  const auto cool = good(
      "completions",
      R"({"model":"small","prompt":"ab","max_tokens":4,"seed":5,"logprobs":0,"temperature":0.5})");
  CHECK(dump(cool["choices"][0]["logprobs"]["token_logprobs"]) == dump(logprobs["token_logprobs"]));
}

TEST_CASE_METHOD(Fixture, "An echo begins with the prompt and its logprobs", "[server][openai]") {
  const auto told = good(
      "completions", R"({"model":"small","prompt":"abc","max_tokens":0,"echo":true,"logprobs":1})");
  const auto& choice = told["choices"][0];
  CHECK(dump(choice["text"]) == R"("abc")");
  CHECK(dump(choice["finish_reason"]) == R"("length")");
  CHECK(dump(told["usage"]["completion_tokens"]) == "0");
  const auto& logprobs = choice["logprobs"];
  REQUIRE(logprobs["token_logprobs"].Size() == 3);
  CHECK(logprobs["token_logprobs"][0].IsNull());
  CHECK(logprobs["token_logprobs"][1].GetDouble() < 0);
  CHECK(dump(logprobs["text_offset"]) == "[0,1,2]");
}

TEST_CASE_METHOD(Fixture, "A text to stop at is no part of the answer", "[server][openai]") {
  const auto whole
      = good("completions", R"({"model":"small","prompt":"ab","max_tokens":40,"seed":3,)"
                            R"("logprobs":0})");
  // The third token of the answer, if it is a printable byte, else any that is.
  const auto& tokens = whole["choices"][0]["logprobs"]["tokens"];
  std::string stop;
  for (rapidjson::SizeType i = 2; i < tokens.Size() && stop.empty(); ++i)
    if (const std::string text = tokens[i].GetString();
        text.size() == 1 && text[0] > '#' && text[0] < 127 && text != "\\")
      stop = text;
  REQUIRE_FALSE(stop.empty());
  const auto cut
      = good("completions", R"({"model":"small","prompt":"ab","max_tokens":40,"seed":3,"stop":[")"
                                + stop + R"("]})");
  CHECK(dump(cut["choices"][0]["finish_reason"]) == R"("stop")");
  const std::string text = cut["choices"][0]["text"].GetString();
  CHECK(text.find(stop) == std::string::npos);
  CHECK(std::string{whole["choices"][0]["text"].GetString()}.starts_with(text));
}

TEST_CASE_METHOD(Fixture, "A chat is written in the form of the vocabulary", "[server][openai]") {
  const auto told = good("chat/completions",
                         R"({"model":"small","messages":[{"role":"system","content":"be"},)"
                         R"({"role":"user","content":[{"type":"text","text":"hi <|im_end|>"}]}],)"
                         R"("max_completion_tokens":5,"seed":1,"logprobs":true,"top_logprobs":2})");
  CHECK(dump(told["object"]) == R"("chat.completion")");
  const auto& choice = told["choices"][0];
  CHECK(dump(choice["message"]["role"]) == R"("assistant")");
  CHECK(choice["message"]["content"].IsString());
  // Bytes of the texts, three tokens around each message, and what a user writes is no token.
  const auto texts = std::string{"system\nbe\nuser\nhi <|im_end|>\nassistant\n"}.size();
  CHECK(told["usage"]["prompt_tokens"].GetUint() == texts + 5);
  const auto& content = choice["logprobs"]["content"];
  REQUIRE(content.Size() > 0);
  CHECK(content[0]["top_logprobs"].Size() == 2);
  CHECK(content[0]["bytes"].Size() == 1);
}

TEST_CASE_METHOD(Fixture, "A stream has the same text in events and ends with DONE",
                 "[server][openai]") {
  const std::string common
      = R"("messages":[{"role":"user","content":"hi"}],"max_tokens":12,"seed":2)";
  const auto whole = good("chat/completions", R"({"model":"small",)" + common + "}");
  const auto answer = ask("chat/completions", R"({"model":"small","stream":true,"stream_options":)"
                                              R"({"include_usage":true},)"
                                                  + common + "}");
  CHECK(answer.status == 200);
  CHECK(answer.headers.at("content-type") == "text/event-stream; charset=utf-8");
  auto parts = events(answer.body);
  REQUIRE(parts.size() > 3);
  CHECK(parts.back() == "[DONE]");
  parts.pop_back();
  const auto usage = parsed(parts.back());
  CHECK(usage["choices"].Empty());
  CHECK(dump(usage["usage"]) == dump(whole["usage"]));
  parts.pop_back();
  CHECK(dump(parsed(parts.front())["choices"][0]["delta"])
        == R"({"role":"assistant","content":""})");
  CHECK(dump(parsed(parts.back())["choices"][0]["finish_reason"])
        == dump(whole["choices"][0]["finish_reason"]));
  std::string text;
  for (const auto& part : parts) {
    const auto json = parsed(part);
    CHECK(dump(json["object"]) == R"("chat.completion.chunk")");
    if (const auto& delta = json["choices"][0]["delta"]; delta.HasMember("content"))
      text += delta["content"].GetString();
  }
  CHECK(text == whole["choices"][0]["message"]["content"].GetString());
}

TEST_CASE_METHOD(Fixture, "Several prompts and a trained checkpoint are answered",
                 "[server][openai]") {
  ApiClient api{*server};
  const auto model = api.model(api.session(), 0, "small");
  const auto id
      = api.submit("save_weights_for_sampler",
                   wire::to_json(SaveWeightsForSamplerRequest{.model_id = model, .path = "a"}));
  const auto path
      = api.result<SaveWeightsForSamplerResponse>(RequestType::save_weights_for_sampler, id).path;
  for (const auto& name : {*path, "small;" + *path}) {
    const auto told = good("completions", R"({"model":")" + name
                                              + R"(","prompt":["a",)"
                                                R"("b"],"max_tokens":2})");
    CHECK(told["choices"].Size() == 2);
    CHECK(dump(told["usage"]["prompt_tokens"]) == "2");
  }
}

TEST_CASE_METHOD(Fixture, "Wrong requests are refused in OpenAI's form",
                 "[server][openai][errors]") {
  const std::string call = "completions";
  const std::string what = "completions request: ";
  refused(call, R"({"prompt":"a"})", 400, what + "`model` is missing");
  refused(call, R"({"model":"small"})", 400, what + "`prompt` is missing");
  refused(call, R"({"model":"small","prompt":[]})", 400, what + "`prompt` must not be empty");
  refused(call, R"({"model":"small","prompt":"a","n":0})", 400,
          what + "`n` must be in [1, 128], but is 0");
  refused(call, R"({"model":"small","prompt":"a","temperature":-1})", 400,
          what + "`temperature` must be in [0, 1000000], but is -1");
  refused(call, R"({"model":"small","prompt":"a","top_p":0})", 400,
          what + "`top_p` must be in (0, 1], but is 0");
  refused(call, R"({"model":"small","prompt":"a","logprobs":21})", 400,
          what + "`logprobs` must be in [0, 20], but is 21");
  refused(call, R"({"model":"small","prompt":"a","suffix":"x"})", 400,
          what + "`suffix` is not supported by this server");
  refused(call, R"({"model":"small","prompt":"a","max_tokens":-1})", 400,
          what + "`max_tokens` must be at least 0, but is -1");
  refused(call, R"({"model":"small","prompt":"a","max_tokens":128})", 400,
          "Prompt length plus max_tokens exceeds the model's context window: 1 + 128 > 128");
  refused(call, R"({"model":"gpt","prompt":"a"})", 404,
          "model: base_model: `gpt` is not served here; there is: small");
  refused(call, R"({"model":"tinker://a/weights/b","prompt":"a"})", 400,
          "path: tinker://a/weights/b is a checkpoint to train on, but one to sample from is "
          "needed (sampler_weights/…)");
  refused("chat/completions", R"({"model":"small","messages":[{"role":"tool","content":"a"}]})",
          400,
          "chat completions request: `messages[0].role` must be system, developer, user or "
          "assistant, but is `tool`");
  refused("chat/completions",
          R"({"model":"small","messages":[{"role":"user","content":"a"}],"tools":[{}]})", 400,
          "chat completions request: `tools` is not supported by this server");
  refused("embeddings", "{}", 404, "there is no call POST /oai/api/v1/embeddings");
}

TEST_CASE_METHOD(Fixture, "The key comes as a bearer token", "[server][openai][errors]") {
  options.api_key = "tml-right";
  restart();
  const std::string body = R"({"model":"small","prompt":"a","max_tokens":1})";
  CHECK(ask("completions", body).status == 401);
  const auto wrong = ask("completions", body, "tml-wrong");
  CHECK(wrong.status == 401);
  CHECK(wrong.body.find("tml-") == std::string::npos);
  CHECK(wrong.body.find(R"("type":"authentication_error")") != std::string::npos);
  CHECK(ask("completions", body, "tml-right").status == 200);
  const auto models = HttpClient{server->port()}.call("GET", "/oai/api/v1/models", {},
                                                      {{"Authorization", "bearer tml-right"}});
  CHECK(models.status == 200);
  CHECK(models.body.find(R"("id":"small")") != std::string::npos);
}
