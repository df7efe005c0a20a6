#pragma once

/// The world model and policies: V, M, live and dream environments, trainers, evaluation. With
/// LibTorch.

#include <reverie/env.h>

#include "controller/evaluate/evaluate.h"
#include "controller/evaluate/policy_solver.h"
#include "controller/evaluate/report.h"
#include "controller/policy/policy.h"
#include "controller/rounds/iterate.h"
#include "controller/rounds/policy_agent.h"
#include "controller/train/dream_train.h"
#include "controller/train/trained_policy.h"
#include "controller/train/trainer.h"
#include "controller/train/trainer_config.h"
#include "controller/validate/validation.h"
#include "worldmodel/batch/rollout_episodes.h"
#include "worldmodel/encoder/encoder.h"
#include "worldmodel/encoder/graph_encoder.h"
#include "worldmodel/encoder/latent_cache.h"
#include "worldmodel/encoder/train_vae.h"
#include "worldmodel/latent/dream.h"
#include "worldmodel/latent/live.h"
#include "worldmodel/memory/train_mdnrnn.h"
#include "worldmodel/memory/world_model.h"
#include "worldmodel/network/checkpoint.h"
