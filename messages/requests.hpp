// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"
#include "messages/session.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// Bodies of the calls whose values alone do not say which model or session they are for.

namespace tinkaf {

/// A run of a shared batch; costs no copy of the data.
struct BatchSlice {
  Batch batch;
  std::size_t first = 0;
  std::size_t last = 0;

  [[nodiscard]] static BatchSlice whole(Batch batch) {
    auto size = batch->size();
    return {std::move(batch), 0, size};
  }

  [[nodiscard]] std::span<const Datum> data() const {
    return std::span{*batch}.subspan(first, last - first);
  }
};

struct ForwardBackwardRequest {
  std::string model_id;

  /// Place among the model's operations, from 1; absent from clients that do not number.
  std::optional<std::int64_t> seq_id;

  BatchSlice data;
  LossFn loss_fn = LossFn::cross_entropy;
  std::optional<LossFnConfig> loss_fn_config;

  /// Loss and outputs only: no gradient, no trace in the model.
  bool forward_only = false;
};

struct OptimStepRequest {
  std::string model_id;
  std::optional<std::int64_t> seq_id;
  AdamParams adam_params;

  friend bool operator==(const OptimStepRequest&, const OptimStepRequest&) = default;
};

struct SaveWeightsRequest {
  std::string model_id;
  std::optional<std::int64_t> seq_id;

  /// The checkpoint's name; the service makes one if absent.
  std::optional<std::string> path;

  std::optional<std::int64_t> ttl_seconds;
  bool overwrite = false;

  friend bool operator==(const SaveWeightsRequest&, const SaveWeightsRequest&) = default;
};

/// Loads into a model (`model_id`, `seq_id`), or creates one (`session_id`, `model_seq_id`).
struct LoadWeightsRequest {
  std::optional<std::string> model_id;
  std::optional<std::int64_t> seq_id;
  std::optional<std::string> session_id;
  std::optional<std::int64_t> model_seq_id;
  std::optional<std::string> base_model;
  UserMetadata user_metadata;

  /// A `tinker://…/weights/…` path.
  std::string path;

  /// Restore the optimizer's state too.
  bool optimizer = false;

  std::optional<std::string> weights_access_token;

  friend bool operator==(const LoadWeightsRequest&, const LoadWeightsRequest&) = default;
};

/// Saves under a name (`path`), or for a sampling session of its own (`sampling_session_seq_id`).
struct SaveWeightsForSamplerRequest {
  std::string model_id;
  std::optional<std::int64_t> seq_id;
  std::optional<std::string> path;
  std::optional<std::int64_t> sampling_session_seq_id;
  std::optional<std::int64_t> ttl_seconds;

  friend bool operator==(const SaveWeightsForSamplerRequest&, const SaveWeightsForSamplerRequest&)
      = default;
};

/// Saves in a layout that other programs read.
struct SaveWeightsExternalRequest {
  std::string model_id;
  std::optional<std::int64_t> seq_id;

  /// The name of the checkpoint.
  std::string path;

  std::optional<std::int64_t> ttl_seconds;

  /// Keys of the `age` program, to whom the files are to be encrypted.
  std::optional<std::vector<std::string>> age_encryption_recipients;

  friend bool operator==(const SaveWeightsExternalRequest&, const SaveWeightsExternalRequest&)
      = default;
};

struct UnloadModelRequest {
  std::string model_id;

  friend bool operator==(const UnloadModelRequest&, const UnloadModelRequest&) = default;
};

struct GetInfoRequest {
  std::string model_id;

  friend bool operator==(const GetInfoRequest&, const GetInfoRequest&) = default;
};

struct SessionHeartbeatRequest {
  std::string session_id;

  friend bool operator==(const SessionHeartbeatRequest&, const SessionHeartbeatRequest&) = default;
};

struct CreateSamplingSessionResponse {
  std::string sampling_session_id;

  friend bool operator==(const CreateSamplingSessionResponse&, const CreateSamplingSessionResponse&)
      = default;
};

/// A sample as it is submitted: in a sampling session, or straight from a model.
struct AsampleRequest {
  SampleRequest sample;
  std::optional<std::string> sampling_session_id;

  /// Place among the session's samples, from 0; a repeat gets the same future.
  std::optional<std::int64_t> seq_id;

  std::optional<std::string> base_model;
  std::optional<std::string> model_path;

  friend bool operator==(const AsampleRequest&, const AsampleRequest&) = default;
};

struct RetrieveFutureRequest {
  std::string request_id;

  /// Lets the service answer with the size of a large result first.
  bool allow_metadata_only = true;

  friend bool operator==(const RetrieveFutureRequest&, const RetrieveFutureRequest&) = default;
};

} // namespace tinkaf
