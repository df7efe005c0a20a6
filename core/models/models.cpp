#include "core/models/models.h"

#include <array>

#include "core/base/error.h"
#include "core/models/builder.h"

namespace reverie {
namespace {

constexpr ModelOptions vision(int64_t image, double width = 1) {
  ModelOptions options;
  options.image = image;
  options.width = width;
  options.classes = 1000;
  return options;
}

constexpr ModelOptions encoder(int64_t layers, int64_t hidden, int64_t heads, int64_t inner,
                               int64_t length, int64_t vocabulary) {
  ModelOptions options;
  options.layers = layers;
  options.hidden = hidden;
  options.heads = heads;
  options.inner = inner;
  options.length = length;
  options.vocabulary = vocabulary;
  return options;
}

constexpr ModelOptions vit_b_16() {
  ModelOptions options = encoder(12, 768, 12, 3072, 0, 0);
  options.image = 224;
  options.classes = 1000;
  return options;
}

constexpr ModelOptions squeezenet(int64_t image) {
  ModelOptions options = vision(image);
  options.layers = 8;
  return options;
}

constexpr ModelOptions without_classes(ModelOptions options, int64_t layers = 0) {
  options.classes = 0;
  options.layers = layers;
  return options;
}

const std::array<ModelKind, 15>& kinds() {
  static const std::array<ModelKind, 15> table = {{
      {"squeezenet1_1", "SqueezeNet 1.1", squeezenet(224), models::squeezenet1_1},
      {"squeezenet_small", "SqueezeNet 1.1 on 64 x 64 images", squeezenet(64),
       models::squeezenet1_1},
      {"resnet18", "ResNet-18", vision(224), models::resnet18},
      {"resnet50", "ResNet-50", vision(224), models::resnet50},
      {"resnext50", "ResNeXt-50 32x4d", vision(224), models::resnext50},
      {"inception_v3", "Inception v3 without the auxiliary head", vision(299),
       models::inception_v3},
      {"inception_small", "Inception v3 of a quarter of the width on 75 x 75 images",
       vision(75, 0.25), models::inception_v3},
      {"bert_base", "BERT-base encoder", encoder(12, 768, 12, 3072, 128, 30522), models::bert},
      {"bert_tiny", "BERT encoder of two narrow layers", encoder(2, 128, 2, 512, 32, 1000),
       models::bert},
      {"vit_b_16", "Vision Transformer, patches of 16 x 16", vit_b_16(), models::vit},
      {"nasrnn", "The NAS recurrent cell, unrolled", encoder(5, 512, 0, 0, 0, 0), models::nasrnn},
      {"nasnet_a", "NasNet-A cells without batch normalization", without_classes(vision(224), 5),
       models::nasnet_a},
      {"taso_bert", "Attention without softmax, the TASO paper's BERT",
       encoder(8, 1024, 16, 0, 64, 0), models::taso_bert},
      {"taso_resnext50", "ResNeXt-50 without batch normalization, as in the TASO paper",
       without_classes(vision(224)), models::taso_resnext50},
      {"bert", "BERT encoder of medium size", encoder(4, 256, 4, 1024, 64, 1000), models::bert},
  }};
  return table;
}

template <class T>
void resolve(std::string_view model, const char* option, T own, T* value) {
  if (*value == T{}) *value = own;
  if (own == T{} && *value != T{}) throw InputError("{} has no option {}", model, option);
  if (*value < T{}) throw InputError("{} of {} should be positive", option, model);
}

void resolve_all(const ModelKind& kind, ModelOptions* options) {
  const ModelOptions& own = kind.defaults;
  resolve(kind.name, "image", own.image, &options->image);
  resolve(kind.name, "width", own.width, &options->width);
  resolve(kind.name, "classes", own.classes, &options->classes);
  resolve(kind.name, "layers", own.layers, &options->layers);
  resolve(kind.name, "hidden", own.hidden, &options->hidden);
  resolve(kind.name, "heads", own.heads, &options->heads);
  resolve(kind.name, "inner", own.inner, &options->inner);
  resolve(kind.name, "length", own.length, &options->length);
  resolve(kind.name, "vocabulary", own.vocabulary, &options->vocabulary);
  if (options->heads > 0 && options->hidden % options->heads != 0)
    throw InputError("hidden {} does not divide into {} heads", options->hidden, options->heads);
}

}  // namespace

std::span<const ModelKind> all_models() { return kinds(); }

Graph build_model(std::string_view name, ModelOptions options) {
  std::string known;
  for (const ModelKind& kind : all_models()) {
    if (kind.name == name) {
      resolve_all(kind, &options);
      return with_context(name, [&] { return kind.build(options); });
    }
    known += (known.empty() ? "" : ", ") + std::string(kind.name);
  }
  throw InputError("there is no model '{}'; there are {}", name, known);
}

int64_t parameter_count(const Graph& graph) {
  int64_t count = 0;
  for (const NodeId node : graph.nodes()) {
    const WeightPtr& weight = graph.weight(node);
    if (weight == nullptr || !is_floating(weight->type().dtype)) continue;
    if (weight->name().empty() || weight->name().find(".running_") != std::string::npos) continue;
    count += weight->type().elements();
  }
  return count;
}

}  // namespace reverie
