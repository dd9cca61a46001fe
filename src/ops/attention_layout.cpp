#include "ops/attention_layout.h"

#include <spex/ops/attention.h>

#include <limits>

namespace spex {
namespace {

LayoutKind choose_kind(const AttentionShape& shape) {
  if (shape.folded) return LayoutKind::folded;
  // The kernels of heads of eight know no numbers of edges, and multiply ids and heads in 32 bits.
  if (shape.weighs_edges || shape.keys > std::numeric_limits<int32_t>::max() / shape.heads)
    return LayoutKind::wide;
  if (shape.heads == 1) return shape.width <= 8 ? LayoutKind::packed : LayoutKind::wide;
  bool some = shape.heads == 2 || shape.heads == 4 || shape.heads == 8;
  return some && shape.width == 8 * shape.heads ? LayoutKind::eights : LayoutKind::wide;
}

size_t padded_width(LayoutKind kind, size_t width) {
  if (kind == LayoutKind::packed) return 8;
  return width <= 4 ? 4 : (width + 7) / 8 * 8;
}

}  // namespace

AttentionLayout choose_layout(const AttentionShape& shape) {
  AttentionLayout layout;
  layout.kind = choose_kind(shape);
  layout.heads = shape.heads;
  layout.width = shape.width / shape.heads;
  layout.padded = padded_width(layout.kind, layout.width);
  layout.vectors = shape.folded ? shape.types : shape.heads;
  return layout;
}

AttentionPadding attention_padding(size_t width, size_t heads, bool folded) {
  AttentionShape shape;
  shape.width = width;
  shape.heads = heads;
  shape.folded = folded;
  AttentionLayout layout = choose_layout(shape);
  AttentionPadding padding;
  padding.row = layout.row();
  bool copied = layout.kind == LayoutKind::packed || layout.is_padded();
  padding.table = copied ? (folded ? 1 : 2) * layout.row() : 0;
  return padding;
}

bool takes_joined(size_t width, size_t heads) {
  size_t head = width / heads;
  return head % 8 == 0 && width > 8;
}

}  // namespace spex
