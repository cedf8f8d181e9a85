#pragma once

namespace rocwmma {
constexpr unsigned block_size = 16;
}
