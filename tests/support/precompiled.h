#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/precompiled.h"
