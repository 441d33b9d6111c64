// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/session.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace tinkaf {

/// A base model that a server offers.
struct ServedModel {
  /// What clients call it; if empty, "_name_or_path" of its config.
  std::string name;

  /// Folder in the Hugging Face layout: `config.json`, `model.safetensors` (or its parts, with
  /// `model.safetensors.index.json`), `tokenizer.json`.
  std::filesystem::path dir;

  /// Most tokens of a sequence; 0 takes what the model allows and memory suggests, see
  /// docs/models.md.
  std::size_t context = 0;
};

/// How long a server waits and how much it takes.
struct ServerLimits {
  /// How long a poll is held open before it is answered "try again"; below the 45 s that clients
  /// wait.
  std::chrono::milliseconds poll_hold{25'000};

  /// How long operations wait for a missing number before they fail.
  std::chrono::milliseconds gap{std::chrono::minutes{10}};

  /// How long a result is kept after it was first delivered.
  std::chrono::milliseconds delivered_retention{std::chrono::hours{1}};

  /// How long a result that nobody has fetched is kept.
  std::chrono::milliseconds undelivered_retention{std::chrono::hours{24}};

  /// How long the id of a dropped result is answered with 410; then it is unknown (404).
  std::chrono::milliseconds expired_memory{std::chrono::hours{24}};

  /// Delivered results beyond this are dropped before their time, oldest first.
  std::size_t delivered_bytes = std::size_t{256} << 20;

  /// A session without any request for so long is closed and its models are unloaded; 0 means
  /// never, which fits a server that lives inside its client's process.
  std::chrono::milliseconds session_expiry{0};

  /// A session that a server finds in its state folder is closed if nothing was heard of it for so
  /// long, the time without a server included; by the time of day.
  std::chrono::seconds abandoned{std::chrono::hours{72}};

  /// Computing that a server may have to repeat after it was killed. When a model has so much
  /// behind its last stored state, and thirty times what storing it took, its state is stored
  /// again; 0 stores it behind each operation.
  std::chrono::milliseconds repeated_work{std::chrono::seconds{10}};

  /// Largest request body, packed or unpacked; beyond it the answer is 413.
  std::size_t max_body = std::size_t{64} << 20;

  /// Data of one pass; beyond it the answer is 400. Clients send at most 1024 at once.
  std::size_t max_data = 16'384;

  /// Open connections; further ones are closed as they come. Every waiting poll holds one.
  std::size_t max_connections = 16'384;

  /// A result beyond this is announced with its size first where the client allows that.
  std::size_t announce_bytes = std::size_t{4} << 20;

  /// Largest rank of an adapter.
  std::int32_t max_lora_rank = 256;

  /// Models in training that are held at the same time; 0 means as many as are made. Making another
  /// one is accepted and waits, with this as its reason, until one is unloaded. Models of an
  /// earlier server count from the moment on when they are used.
  std::size_t max_models = 0;

  /// Operations of one model that may wait; beyond it the answer is 429, except for the number
  /// that the others wait for.
  std::size_t max_queued_operations = 4'096;

  /// Sample requests that are answered side by side; their tokens are drawn together.
  std::size_t samples_together = 16;

  /// Samples that may wait in the whole server; beyond it the answer is 429.
  std::size_t max_queued_samples = 8'192;

  /// Weights to sample from that are kept in memory, ready to run; others are read again from the
  /// state folder when they are asked for.
  std::size_t max_loaded_samplers = 8;

  /// How long the link to a checkpoint's archive works; the hosted service's lives about as long.
  std::chrono::seconds archive_link{std::chrono::minutes{15}};

  /// How long a token of `auth/token` is taken.
  std::chrono::seconds token_life{std::chrono::hours{1}};

  /// A connection without a request is closed after this.
  std::chrono::milliseconds keep_alive{std::chrono::minutes{2}};

  /// A request that makes no progress on its way in is given up after this.
  std::chrono::milliseconds read_stall{std::chrono::seconds{30}};

  /// A request is given up if its header is not there after this, or its body after this and as
  /// many seconds as it has megabytes, however steadily it trickles in.
  std::chrono::milliseconds slow_request{std::chrono::minutes{1}};
};

/// Faults that a server plays, so that clients can be tested. The counts begin with the server,
/// at 1.
struct ServerFaults {
  /// Operations of models and samples that fail in the place of being computed, in the order in
  /// which they are begun.
  std::vector<std::size_t> failed_operations;

  /// Answers that are not sent: the connection is closed in their place.
  std::vector<std::size_t> dropped_replies;

  /// Answers that are sent `reply_delay` late.
  std::vector<std::size_t> delayed_replies;
  std::chrono::milliseconds reply_delay{std::chrono::seconds{2}};

  /// How long the making of a model waits before it begins.
  std::chrono::milliseconds model_wait{0};

  /// From this write to the state folder on, the disk is full; 0 means never.
  std::size_t disk_full_from = 0;

  /// For so many writes; 0 means for ever.
  std::size_t disk_full_writes = 0;
};

/// What a local server is started with.
struct ServerOptions {
  /// Address to listen on. Anything but loopback wants `api_key`.
  std::string host = "127.0.0.1";

  /// 0 takes a free one.
  std::uint16_t port = 0;

  /// Folder for checkpoints; made if it is missing. One server at a time.
  ///
  /// If empty: `$XDG_STATE_HOME/tinkaf`, else `~/.local/state/tinkaf`. It is the same folder every
  /// time, so that a checkpoint of one run is there for the next.
  std::filesystem::path state_dir;

  /// At least one; the names must differ.
  std::vector<ServedModel> models;

  /// Threads that compute; 0 takes the number of cores.
  std::size_t threads = 0;

  /// What `X-API-Key` must be: else 401 (missing) or 403 (another). Empty takes anything.
  std::string api_key;

  /// Allow `load_weights` at any number. The hosted service allows it as number 1 only.
  bool load_weights_anywhere = false;

  /// What `client/config` answers, for example to try a client with small chunks. The plain HTTP
  /// client of the Python SDK is the right one for a server on the same machine.
  ///
  /// With `pjwt_auth_enabled`, clients exchange their key at `auth/token` and all later calls must
  /// carry the token. That is there to test clients: the token is random and known to this process
  /// alone.
  ClientConfig client_config{.use_pyqwest_transport = false};

  /// What `client/dynamic_config` answers.
  std::chrono::seconds config_refresh{300};

  /// How `…/archive` tells the link: with a redirect, as the hosted service does, or as JSON.
  enum class ArchiveAnswer : std::uint8_t { redirect, json };
  ArchiveAnswer archive_answer = ArchiveAnswer::redirect;

  /// The time of day, which decides what has expired; for tests. If empty, the system's.
  std::function<std::chrono::system_clock::time_point()> clock;

  ServerLimits limits;

  /// Allows `faults`; a server that was started without it refuses to play any.
  bool test_mode = false;
  ServerFaults faults;
};

} // namespace tinkaf
