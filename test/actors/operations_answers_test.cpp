// SPDX-License-Identifier: Apache-2.0
#include "actors/training_operations.hpp"
#include "test/actors/scripted_transport.hpp"
#include "test/catch.hpp"

// Rows E4 to E6, F7 to F11, O, S5 and S6, HS, HL, HW and SC of the table of operations: what an
// answer means.

using namespace tinkaf;
using namespace tinkaf::operations;

namespace {

Result<Submitted> read(RequestType type, const std::string& body) {
  return read_submission(type, test::json(200, body));
}

FutureRef future(const Result<Submitted>& submitted) {
  REQUIRE(submitted.has_value());
  REQUIRE(std::holds_alternative<FutureRef>(*submitted));
  return std::get<FutureRef>(*submitted);
}

template <class T>
T value(const Result<Submitted>& submitted) {
  REQUIRE(submitted.has_value());
  REQUIRE(std::holds_alternative<FutureValue>(*submitted));
  return std::get<T>(std::get<FutureValue>(*submitted));
}

Error refused(const Result<Submitted>& submitted) {
  REQUIRE_FALSE(submitted.has_value());
  CHECK(submitted.error().code == Errc::protocol_error);
  return submitted.error();
}

} // namespace

TEST_CASE("E4, E6: a model is named by a future or at once, or it is an error",
          "[actors][operations]") {
  CHECK(future(read(RequestType::create_model, R"({"request_id":"r","model_id":"m1"})")).request_id
        == "r"); // the name alone does not say that the model is there
  CHECK(value<CreateModelResponse>(read(RequestType::create_model, R"({"model_id":"m1"})")).model_id
        == "m1");
  auto error = refused(read(RequestType::create_model, "{}"));
  CHECK(error.message.find("CreateModel") != std::string::npos);
}

TEST_CASE("F7, F8, O1: the name of a result is taken, other fields are left",
          "[actors][operations]") {
  auto type
      = GENERATE(RequestType::forward, RequestType::forward_backward, RequestType::optim_step);
  CHECK(future(read(type, R"({"request_id":"r","extra":1})")) == FutureRef{"r", ""});
  CHECK(future(read(type, R"({"request_id":"r","model_id":"m"})")) == FutureRef{"r", "m"});
}

TEST_CASE(
    "F9, F11, G1, O2: a training call is not answered at once, and the error shows how it was",
    "[actors][operations]") {
  auto pass
      = refused(read(RequestType::forward_backward, R"({"loss_fn_output_type":"x","metrics":{}})"));
  CHECK(pass.message.find("ForwardBackward") != std::string::npos);
  CHECK(pass.message.find("loss_fn_output_type") != std::string::npos);
  CHECK_FALSE(pass.ambiguous); // the service took it: its number is used up
  auto step = refused(read(RequestType::optim_step, R"({"metrics":{}})"));
  CHECK(step.message.find("OptimStep") != std::string::npos);
  for (const auto* garbage : {"", "<html>", "7", "[]"})
    CHECK(refused(read(RequestType::forward, garbage)).ambiguous);
}

TEST_CASE("S5, HS1, HS2: a save that is done at once has its path", "[actors][operations]") {
  for (const auto* body : {R"({"path":"p"})", R"({"path":"p","type":"save_weights"})"})
    CHECK(value<SaveWeightsResponse>(handle_save_state_response(test::json(200, body))).path
          == "p");
}

TEST_CASE("HS3: an answer that says it is that of something else is refused",
          "[actors][operations]") {
  refused(handle_save_state_response(test::json(200, R"({"path":"p","type":"z"})")));
}

TEST_CASE("S6, HS4, HS7: a save with the name of a result is polled, whatever else it has",
          "[actors][operations]") {
  for (const auto* body : {R"({"request_id":"r","x":1})", R"({"request_id":"r","path":"p"})"})
    CHECK(future(handle_save_state_response(test::json(200, body))).request_id == "r");
}

TEST_CASE("HS6, HS8: an answer to a save that is none is an error that shows it",
          "[actors][operations]") {
  for (const auto* body : {"{}", "null", R"({"path":null})", R"({"request_id":7,"path":"p"})"})
    refused(handle_save_state_response(test::json(200, body)));
  CHECK(refused(handle_save_state_response(test::json(200, R"({"pth":"p"})")))
            .message.find(R"({"pth":"p"})")
        != std::string::npos);
}

TEST_CASE("HL1, HL2: a load that is done at once has what the service tells of it",
          "[actors][operations]") {
  CHECK(value<LoadWeightsResponse>(handle_load_state_response(test::json(200, R"({"path":"p"})")))
        == LoadWeightsResponse{"p", ""});
  CHECK(
      value<LoadWeightsResponse>(handle_load_state_response(test::json(200, R"({"model_id":"m"})")))
      == LoadWeightsResponse{"", "m"});
  CHECK(future(handle_load_state_response(test::json(200, R"({"request_id":"r"})"))).request_id
        == "r");
}

TEST_CASE("HL3: an answer to a load that is none is an error", "[actors][operations]") {
  refused(handle_load_state_response(test::json(200, R"({"foo":1})")));
}

TEST_CASE("HW1, HW2: a save to sample from gives a path or a session, of one type either way",
          "[actors][operations]") {
  auto path = handle_save_weights_response(test::json(200, R"({"path":"p","status":"saved"})"));
  CHECK(value<SaveWeightsForSamplerResponse>(path).path == "p");
  auto session = handle_save_weights_response(test::json(200, R"({"sampling_session_id":"s"})"));
  CHECK(value<SaveWeightsForSamplerResponse>(session).sampling_session_id == "s");
  CHECK(future(handle_save_weights_response(test::json(200, R"({"request_id":"r","path":"p"})")))
            .request_id
        == "r");
}

TEST_CASE("HW1, HW3: a save to sample from that gives neither is an error",
          "[actors][operations]") {
  for (const auto* body : {"{}", "7", R"({"path":null,"sampling_session_id":null})"})
    refused(handle_save_weights_response(test::json(200, body)));
}

TEST_CASE("SC1, SC2, SC3: a sampling client takes the session, else the path",
          "[actors][operations]") {
  auto by_path = start_sampling_client_from_save({.path = "p"}).value();
  CHECK(by_path.model_path == "p");
  CHECK_FALSE(by_path.sampling_session_id.has_value());
  auto by_session = start_sampling_client_from_save({.sampling_session_id = "s"}).value();
  CHECK(by_session.sampling_session_id == "s");
  CHECK_FALSE(by_session.model_path.has_value());
  auto both = start_sampling_client_from_save({.path = "p", .sampling_session_id = "s"}).value();
  CHECK(both.sampling_session_id == "s");
  CHECK_FALSE(both.model_path.has_value());
}

TEST_CASE("SC4: a save that gave neither makes no sampling client", "[actors][operations]") {
  auto neither = start_sampling_client_from_save({});
  REQUIRE_FALSE(neither.has_value());
  CHECK(neither.error().message.find("`path`") != std::string::npos);
}
