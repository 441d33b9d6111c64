// SPDX-License-Identifier: Apache-2.0
#include "client/service.hpp"

#include "client/access.hpp"

#include <chrono>

namespace tinkaf {

namespace {

/// Asks the session for a training client and waits for it.
template <class Spec>
Result<TrainingClient> create_training_client(const std::shared_ptr<Runtime>& runtime, Spec spec,
                                              std::shared_ptr<OperationLog> log) {
  auto client = runtime
                    ->ask<TrainingClientActor>("create_training_client", runtime->session(),
                                               std::move(spec), runtime->ledger(std::move(log)))
                    .get();
  if (!client)
    return fail(std::move(client.error()));
  auto model_id = runtime->ask<std::string>("model_id", *client, atom::open_v).get();
  if (!model_id)
    return fail(std::move(model_id.error()));
  return ClientAccess::make<TrainingClient>({runtime, std::move(*client), std::move(*model_id)});
}

/// Opens the session of a runtime.
Result<Service> open(Result<std::shared_ptr<Runtime>> runtime, const char* what) {
  if (!runtime)
    return fail(std::move(runtime.error()));
  auto id = (*runtime)->ask<std::string>(what, (*runtime)->session(), atom::open_v).get();
  if (!id)
    return fail(std::move(id.error()));
  return ClientAccess::make<Service>({std::move(*runtime), std::move(*id)});
}

} // namespace

Service::Service(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<Service> Service::connect(ClientOptions options, NoticeSink notices) {
  return open(Runtime::start(with_environment(std::move(options)), std::move(notices)), "connect");
}

Result<Service> Service::resume(const SessionRecord& record, ClientOptions options,
                                NoticeSink notices) {
  return open(Runtime::start(with_environment(std::move(options)), std::move(notices), record),
              "resume");
}

Result<TrainingClient>
Service::create_lora_training_client(const std::string& base_model, const LoraConfig& config,
                                     UserMetadata user_metadata,
                                     std::shared_ptr<OperationLog> log) const {
  return create_training_client(
      impl_->runtime, CreateLoraTrainingClient{base_model, config, std::move(user_metadata)},
      std::move(log));
}

Result<TrainingClient>
Service::create_training_client_from_state(const std::string& path,
                                           UserMetadata user_metadata) const {
  return create_training_client(
      impl_->runtime, CreateTrainingClientFromState{path, false, std::move(user_metadata)}, {});
}

Result<TrainingClient>
Service::create_training_client_from_state_with_optimizer(const std::string& path,
                                                          UserMetadata user_metadata) const {
  return create_training_client(
      impl_->runtime, CreateTrainingClientFromState{path, true, std::move(user_metadata)}, {});
}

Result<TrainingClient>
Service::create_training_client_from_state(CreateTrainingClientFromState spec,
                                           std::shared_ptr<OperationLog> log) const {
  return create_training_client(impl_->runtime, std::move(spec), std::move(log));
}

Result<TrainingClient> Service::attach_training_client(AttachTrainingClient spec,
                                                       std::shared_ptr<OperationLog> log) const {
  return create_training_client(impl_->runtime, std::move(spec), std::move(log));
}

Result<SamplingClient> Service::create_sampling_client(const std::string& model_or_path) const {
  CreateSamplingClient spec;
  if (model_or_path.starts_with("tinker://"))
    spec.model_path = model_or_path;
  else
    spec.base_model = model_or_path;
  return create_sampling_client(std::move(spec));
}

Result<SamplingClient> Service::create_sampling_client(CreateSamplingClient spec) const {
  auto client = impl_->runtime
                    ->ask<SamplingClientActor>("create_sampling_client", impl_->runtime->session(),
                                               std::move(spec))
                    .get();
  if (!client)
    return fail(std::move(client.error()));
  return ClientAccess::make<SamplingClient>({impl_->runtime, std::move(*client)});
}

Result<RestClient> Service::create_rest_client() const {
  return make_rest_client(impl_->runtime);
}

Future<ServerCapabilities> Service::get_server_capabilities() const {
  return impl_->runtime->ask<ServerCapabilities>("get_server_capabilities",
                                                 impl_->runtime->session(), atom::capabilities_v);
}

Future<ClientMetrics> Service::metrics(bool reset) const {
  return impl_->runtime->ask<ClientMetrics>("metrics", impl_->runtime->session(), atom::metrics_v,
                                            reset);
}

Result<SessionRecord> Service::record() const {
  return impl_->runtime->ask<SessionRecord>("record", impl_->runtime->session(), atom::record_v)
      .get();
}

Future<SupervisionTree> Service::supervision_tree() const {
  return impl_->runtime->ask<SupervisionTree>("supervision_tree", impl_->runtime->session(),
                                              atom::tree_v);
}

void Service::close() const {
  constexpr auto limit = std::chrono::seconds{5};
  // However it ends, nothing is left to be done.
  (void)impl_->runtime->ask<bool>("close", impl_->runtime->session(), atom::close_v).get(limit);
}

const std::string& Service::session_id() const noexcept {
  return impl_->session_id;
}

} // namespace tinkaf
