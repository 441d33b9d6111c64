// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// Free text by name that the service stores with a session or a training run.
using UserMetadata = std::map<std::string, std::string>;

/// What the service tells every client at start-up (`client/config`).
///
/// Missing fields have these defaults, unknown ones are ignored.
struct ClientConfig {
  /// Exchange the credential for a short-lived token.
  bool pjwt_auth_enabled = false;
  std::string credential_default_source = "api_key";
  std::int64_t sample_dispatch_bytes_semaphore_size = 10'485'760;
  std::int64_t inflight_response_bytes_semaphore_size = 52'428'800;
  bool parallel_fwdbwd_chunks = true;
  bool proto_compress_fwdbwd = false;
  std::int64_t fwdbwd_max_chunk_len = 1024;
  std::int64_t fwdbwd_max_chunk_bytes_count = 5'000'000;
  std::int64_t fwdbwd_dispatch_bytes_semaphore_size = 50'000'000;
  std::chrono::seconds billing_exception_max_pause_duration{3600};
  bool sample_no_retries = false;
  bool sample_enable_stuck_detection = true;
  std::int64_t sample_max_concurrent_requests = 2000;
  bool create_model_via_load_weights = false;

  /// Whether older SDKs send protobuf training requests too; read only by them.
  bool use_pyqwest_transport = true;

  friend bool operator==(const ClientConfig&, const ClientConfig&) = default;
};

/// What the service tells again and again while a session lasts (`client/dynamic_config`).
struct DynamicConfig {
  /// How often to ask; clients ask every ten seconds at most.
  std::chrono::seconds refresh_interval{300};

  friend bool operator==(const DynamicConfig&, const DynamicConfig&) = default;
};

struct CreateSessionRequest {
  std::vector<std::string> tags;
  UserMetadata user_metadata;
  std::string sdk_version;
  std::optional<std::string> project_id;

  /// For people and for searches; several sessions may share one.
  std::optional<std::string> display_name = {};

  friend bool operator==(const CreateSessionRequest&, const CreateSessionRequest&) = default;
};

struct CreateSessionResponse {
  std::string session_id;
  std::optional<std::string> info_message;
  std::optional<std::string> warning_message;
  std::optional<std::string> error_message;

  friend bool operator==(const CreateSessionResponse&, const CreateSessionResponse&) = default;
};

struct CreateModelRequest {
  std::string session_id;

  /// Counts the training clients of a session, from 0.
  std::int64_t model_seq_id = 0;

  std::string base_model;
  UserMetadata user_metadata;
  std::optional<LoraConfig> lora_config;

  friend bool operator==(const CreateModelRequest&, const CreateModelRequest&) = default;
};

/// Answer to `get_info`.
struct ModelInfo {
  std::string model_id;
  std::string model_name;
  std::string arch;

  /// Which tokenizer the model reads, cut at the first `:`; empty if not told.
  std::string tokenizer_id;

  std::optional<bool> is_lora;
  std::optional<std::int32_t> lora_rank;

  friend bool operator==(const ModelInfo&, const ModelInfo&) = default;
};

struct SupportedModel {
  std::string model_name;
  std::optional<std::int64_t> max_context_length;

  friend bool operator==(const SupportedModel&, const SupportedModel&) = default;
};

/// Answer to `get_server_capabilities`.
struct ServerCapabilities {
  std::vector<SupportedModel> supported_models;

  friend bool operator==(const ServerCapabilities&, const ServerCapabilities&) = default;
};

/// Asks for a sampling session; `model_path` decides if both are given.
struct CreateSamplingSessionRequest {
  std::string session_id;

  /// Counts the sampling sessions of a session, from 0.
  std::int64_t sampling_session_seq_id = 0;

  std::optional<std::string> base_model;
  std::optional<std::string> model_path;

  friend bool operator==(const CreateSamplingSessionRequest&, const CreateSamplingSessionRequest&)
      = default;
};

} // namespace tinkaf
