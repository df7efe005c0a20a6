#include "core/models/zoo/zoo.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/error.h"
#include "core/models/zoo/kinds.h"

namespace reverie {
namespace {

struct Entry {
  ZooKind kind;
  void (*build)(zoo::Net&);
  bool half = false;
};

const std::vector<Entry>& entries() {
  using namespace zoo;
  static const std::vector<Entry> table = {
      {{"mobilenet_v2", "MobileNetV2, normalization folded", 12}, mobilenet_v2},
      {{"mobilenet_v3_small", "MobileNetV3-small", 13}, mobilenet_v3_small},
      {{"efficientnet_b0", "EfficientNet-B0 on 160 x 160 images", 11}, efficientnet_b0},
      {{"mnasnet", "MnasNet, normalization folded", 12}, mnasnet},
      {{"shufflenet_v2", "ShuffleNetV2 with channel shuffles by Reshape", 9}, shufflenet_v2},
      {{"resnext", "ResNeXt-26 32x4d", 13}, resnext},
      {{"regnet_y_400mf", "RegNetY-400MF", 14}, regnet_y_400mf},
      {{"wide_resnet", "Wide ResNet 16-4, normalization before convolutions", 11}, wide_resnet},
      {{"densenet", "DenseNet, three blocks", 9}, densenet},
      {{"vgg11_bn", "VGG-11 with normalization and Dropout left in", 9}, vgg11_bn},
      {{"googlenet", "GoogLeNet, normalization folded, channels transformed first", 10}, googlenet},
      {{"inception_resnet", "Inception-ResNet of six blocks", 12}, inception_resnet},
      {{"nasnet_mobile", "NASNet-mobile of four cells", 13}, nasnet_mobile},
      {{"unet", "U-Net with transposed convolutions", 11}, unet},
      {{"deeplabv3", "DeepLabV3: dilated branches, a global one, Resize", 11}, deeplabv3},
      {{"lraspp", "LR-ASPP on MobileNetV3", 12}, lraspp},
      {{"fcn", "FCN on ResNet with symbolic height and width", 11}, fcn},
      {{"ssd", "SSD heads on ResNet, boxes decoded", 9}, ssd},
      {{"yolo", "YOLOv5: focus, pyramid, non-maximum suppression", 12}, yolo},
      {{"retinanet", "RetinaNet: pyramid, shared heads, NonZero, TopK", 11}, retinanet},
      {{"distilbert", "DistilBERT with a mask and symbolic axes", 11}, distilbert},
      {{"bert_squad", "BERT that finds answers", 15}, bert_squad},
      {{"bert_tiny_float16", "BERT of two narrow layers in float16", 13}, bert_tiny_float16, true},
      {{"t5_encoder", "T5's encoder: relative bias, gated inner part", 12}, t5_encoder},
      {{"deit", "DeiT with LayerNormalization nodes", 17}, deit},
      {{"clip_towers", "CLIP: text and image towers", 16}, clip_towers},
      {{"convnext", "ConvNeXt of six blocks", 13}, convnext},
      {{"swin", "Swin of four blocks: windows, rolls, masks", 13}, swin},
      {{"gpt2", "GPT-2 with a cache of keys and values", 13}, gpt2},
      {{"llama", "LLaMA with rotary embedding and a cache", 14}, llama},
      {{"lstm_tagger", "Tagger: embedding, LSTM, LogSoftmax", 11}, lstm_tagger},
      {{"gru_classifier", "GRU on frames, an If for a squeeze", 12}, gru_classifier},
      {{"bilstm_stack", "Two bidirectional LSTMs", 14}, bilstm_stack},
      {{"loop_decoder", "A decoder in a Loop", 13}, loop_decoder},
      {{"scan_rnn", "A recurrent cell in a Scan", 11}, scan_rnn},
      {{"wav2vec2", "wav2vec 2.0: waves, group normalization, encoder", 12}, wav2vec2},
      {{"quartznet", "QuartzNet: separable convolutions on frames", 10}, quartznet},
      {{"r3d", "ResNet on video, 3-d convolutions", 13}, r3d},
      {{"pointnet", "PointNet with both of its transforms", 12}, pointnet},
      {{"dcgan", "DCGAN's generator", 9}, dcgan},
      {{"style_transfer", "Style transfer: InstanceNormalization, Upsample", 9}, style_transfer},
      {{"super_resolution", "Sub-pixel super resolution by DepthToSpace", 11}, super_resolution},
      {{"srgan", "SRGAN's generator: PRelu, pixel shuffle by Reshape", 10}, srgan},
      {{"diffusion_unet", "Denoising U-Net, group normalization, attention", 14}, diffusion_unet},
      {{"autoencoder", "Convolutional autoencoder", 9}, autoencoder},
      {{"gcn", "Graph convolution on a dense adjacency", 12}, gcn},
      {{"message_passing", "Message passing: Gather and ScatterElements", 16}, message_passing},
      {{"kv_update", "A memory that ScatterND writes", 13}, kv_update},
      {{"wide_and_deep", "Embeddings and a deep part", 11}, wide_and_deep},
      {{"dlrm", "DLRM: pairwise products of embeddings", 12}, dlrm},
      {{"mlp", "Multilayer perceptron", 15}, mlp},
      {{"resnet_qdq", "Residual network in QDQ form", 13}, resnet_qdq},
      {{"mobilenet_qdq", "Inverted residuals in QDQ form", 13}, mobilenet_qdq},
      {{"mlp_dynamic", "Perceptron with dynamic quantization", 11}, mlp_dynamic},
      {{"resnet18_float16", "ResNet-18 in float16", 13}, resnet18_float16, true},
  };
  return table;
}

}  // namespace

std::span<const ZooKind> all_zoo_models() {
  static const std::vector<ZooKind> kinds = [] {
    std::vector<ZooKind> result;
    for (const Entry& entry : entries()) result.push_back(entry.kind);
    return result;
  }();
  return kinds;
}

std::string build_zoo_model(std::string_view name, uint64_t seed) {
  if (name.starts_with("zoo/")) name.remove_prefix(4);
  std::string known;
  for (const Entry& entry : entries()) {
    if (entry.kind.name == name) {
      zoo::Net net(std::string(name), entry.kind.opset, seed, entry.half);
      entry.build(net);
      return net.finish();
    }
    known += (known.empty() ? "" : ", ") + std::string(entry.kind.name);
  }
  throw InputError("the zoo has no model '{}'; there are {}", name, known);
}

}  // namespace reverie
