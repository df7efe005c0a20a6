#pragma once

#include "core/models/zoo/net.h"

/// The networks, a source file per family. Each adds itself, inputs and outputs included.
namespace reverie::zoo {

// mobile.cpp
void mobilenet_v2(Net& net);
void mobilenet_v3_small(Net& net);
void efficientnet_b0(Net& net);
void mnasnet(Net& net);
void shufflenet_v2(Net& net);

// residual.cpp
void resnext(Net& net);
void resnet18_float16(Net& net);
void regnet_y_400mf(Net& net);
void wide_resnet(Net& net);
void densenet(Net& net);
void vgg11_bn(Net& net);

// branches.cpp
void googlenet(Net& net);
void inception_resnet(Net& net);
void nasnet_mobile(Net& net);

// segmentation.cpp
void unet(Net& net);
void deeplabv3(Net& net);
void lraspp(Net& net);
void fcn(Net& net);

// detection.cpp
void yolo(Net& net);
void retinanet(Net& net);
void ssd(Net& net);

// encoders.cpp
void distilbert(Net& net);
void bert_squad(Net& net);
void bert_tiny_float16(Net& net);
void t5_encoder(Net& net);
void deit(Net& net);
void clip_towers(Net& net);

// windows.cpp
void convnext(Net& net);
void swin(Net& net);

// decoders.cpp
void gpt2(Net& net);
void llama(Net& net);

// recurrent.cpp
void lstm_tagger(Net& net);
void gru_classifier(Net& net);
void bilstm_stack(Net& net);
void loop_decoder(Net& net);
void scan_rnn(Net& net);

// signals.cpp
void wav2vec2(Net& net);
void quartznet(Net& net);
void r3d(Net& net);
void pointnet(Net& net);

// generators.cpp
void dcgan(Net& net);
void style_transfer(Net& net);
void super_resolution(Net& net);
void srgan(Net& net);
void diffusion_unet(Net& net);
void autoencoder(Net& net);

// tables.cpp
void gcn(Net& net);
void message_passing(Net& net);
void kv_update(Net& net);
void wide_and_deep(Net& net);
void dlrm(Net& net);
void mlp(Net& net);

// quantised.cpp
void resnet_qdq(Net& net);
void mobilenet_qdq(Net& net);
void mlp_dynamic(Net& net);

}  // namespace reverie::zoo
