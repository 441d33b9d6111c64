// SPDX-License-Identifier: Apache-2.0
#include "api/checkpoint_check.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "backend/tinker_backend.hpp"

namespace tinkaf {

namespace {

using Settings = TinkerBackendSettings;
using Made = Result<std::shared_ptr<TinkerBackend>>;

tl::unexpected<Error> bad(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

/// The setting that decides where the weights come from, and its path; empty for a fresh adapter.
std::pair<const char*, std::string> origin(const Settings& settings) {
  if (!settings.resume_state_path.empty())
    return {"resume_state_path", settings.resume_state_path};
  return {"init_weights_path", settings.init_weights_path};
}

Result<void> check(const Settings& settings) {
  if (settings.model_name.empty())
    return bad("model_name is empty, but a backend trains a model");
  if (settings.time_limit.count() <= 0)
    return bad(
        fmt::format("time_limit is {} ms, but must be above 0", settings.time_limit.count()));
  const auto [field, path] = origin(settings);
  if (path.empty())
    return validate(LoraConfig{.rank = settings.lora_rank});
  return check_training_path(path, field);
}

UserMetadata metadata_of(const Settings& settings) {
  auto result = settings.user_metadata;
  if (!settings.renderer_name.empty())
    result.insert_or_assign("renderer_name", settings.renderer_name);
  return result;
}

/// Checks that a checkpoint is one of the model.
Result<void> check_base_model(const Service& service, const Settings& settings) {
  const auto [field, path] = origin(settings);
  auto rest = service.create_rest_client();
  if (!rest)
    return fail(std::move(rest.error()));
  auto info = rest->get_weights_info_by_tinker_path(path).get();
  if (!info)
    return fail(std::move(info.error()));
  if (info->base_model == settings.model_name)
    return {};
  return bad(fmt::format("{} is `{}`, a checkpoint of {}, but model_name is {}", field, path,
                         info->base_model, settings.model_name));
}

Result<TrainingClient> make_model(const Service& service, const Settings& settings) {
  const auto path = origin(settings).second;
  auto metadata = metadata_of(settings);
  if (path.empty())
    return service.create_lora_training_client(settings.model_name, {.rank = settings.lora_rank},
                                               std::move(metadata));
  if (auto checked = check_base_model(service, settings); !checked)
    return fail(std::move(checked.error()));
  return settings.resume_state_path.empty()
             ? service.create_training_client_from_state(path, std::move(metadata))
             : service.create_training_client_from_state_with_optimizer(path, std::move(metadata));
}

Result<std::optional<text::Tokenizer>> load_tokenizer(const Settings& settings,
                                                      const TrainingClient& client) {
  if (!settings.load_tokenizer)
    return std::nullopt;
  auto info = client.get_info().get();
  if (!info)
    return fail(std::move(info.error()));
  try {
    auto tokenizer = settings.load_tokenizer(settings.model_name, *info);
    if (!tokenizer)
      return fail(std::move(tokenizer.error()));
    return std::move(*tokenizer);
  } catch (const std::exception& broken) {
    return bad(fmt::format("load_tokenizer threw: {}", broken.what()));
  } catch (...) {
    return bad("load_tokenizer threw something");
  }
}

/// Lets the service free a model that nobody will use.
void release(const TrainingClient& client) {
  constexpr auto patience = std::chrono::seconds{5};
  (void)client.unload().get(patience); // however it ends, there is nothing left to do
}

Made make(const Settings& settings) {
  auto service = Service::connect(settings.options, settings.notices);
  if (!service)
    return fail(std::move(service.error()));
  auto client = make_model(*service, settings);
  if (!client)
    return fail(std::move(client.error()));
  auto tokenizer = load_tokenizer(settings, *client);
  if (!tokenizer) {
    release(*client);
    return fail(std::move(tokenizer.error()));
  }
  return std::make_shared<TinkerBackend>(std::move(*service), std::move(*client),
                                         settings.model_name, std::move(*tokenizer));
}

/// Where the one who makes a backend and the one who waits for it meet.
struct Meeting {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Made> made;
  bool given_up = false;
};

} // namespace

Made TinkerBackend::create(Settings settings) {
  const auto* key = std::getenv(settings.api_key_env.c_str());
  if (key == nullptr || *key == '\0')
    return fail(
        Errc::unauthenticated,
        fmt::format("{} is not set: put the API key of the service there", settings.api_key_env));
  if (auto checked = check(settings); !checked)
    return fail(std::move(checked.error()));
  settings.options.api_key = Secret{key};
  settings.options.retry.budget = std::min(settings.options.retry.budget, settings.time_limit);

  const auto limit = settings.time_limit;
  auto meeting = std::make_shared<Meeting>();
  // What waits for a service that does not answer is left to this thread, which holds all it needs.
  std::thread{[meeting, settings = std::move(settings)] {
    auto made = make(settings);
    std::unique_lock lock{meeting->mutex};
    if (!meeting->given_up) {
      meeting->made = std::move(made);
      meeting->changed.notify_all();
      return;
    }
    lock.unlock();
    if (made)
      release((*made)->training_client());
  }}.detach();
  std::unique_lock lock{meeting->mutex};
  if (meeting->changed.wait_for(lock, limit, [&] { return meeting->made.has_value(); }))
    return std::move(*meeting->made);
  meeting->given_up = true;
  return fail(Errc::timeout, fmt::format("no model to train after {} ms (time_limit); is the "
                                         "service reachable?",
                                         limit.count()));
}

} // namespace tinkaf
