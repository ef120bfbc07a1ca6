"""Functions by the kind of dtype that autocast runs them in.

Names are of ``tocha``, Tensor, ``nn.functional``, ``linalg`` (prefix ``linalg_``) and ``fft`` (``fft_``).

Source: https://pytorch.org/docs/stable/amp.html#autocast-op-reference
"""

from __future__ import annotations

_PRODUCTS = """
addbmm addmm baddbmm bmm einsum conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear matmul
mm prelu
scaled_dot_product_attention __matmul__ __rmatmul__ linalg_vecdot lstm rnn_tanh rnn_relu
rnn_tanh_cell rnn_relu_cell
"""
_LOSSES = """
binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy hinge_embedding_loss kl_div l1_loss
margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss poisson_nll_loss smooth_l1_loss
soft_margin_loss triplet_margin_loss
"""

LOWER = {
    "cpu": _PRODUCTS,
    "cuda": _PRODUCTS + "addmv addr chain_matmul mv linalg_multi_dot gru gru_cell lstm_cell",
}
FLOAT32 = {
    "cpu": _LOSSES + """
adaptive_avg_pool3d avg_pool3d binary_cross_entropy cdist cholesky cholesky_inverse cholesky_solve ctc_loss grid_sample
huber_loss inverse lu_solve max_pool3d max_unpool2d max_unpool3d nanquantile orgqr ormqr pinverse polar prod quantile
stft
trace view_as_complex fft_fft fft_ifft fft_fft2 fft_ifft2 fft_fftn fft_ifftn fft_rfft fft_irfft fft_rfft2 fft_irfft2
fft_rfftn fft_irfftn fft_hfft fft_ihfft linalg_cholesky linalg_cholesky_ex linalg_cond linalg_eig linalg_eigh
linalg_eigvals linalg_eigvalsh linalg_householder_product linalg_inv linalg_inv_ex linalg_lstsq linalg_matrix_rank
linalg_qr linalg_solve linalg_svd linalg_svdvals linalg_tensorinv linalg_tensorsolve
""",
    "cuda": _LOSSES + """
__pow__ __rpow__ __rtruediv__ acos asin cdist cosh cosine_similarity cumprod cumsum dist erfinv exp expm1 group_norm
layer_norm log log10 log1p log2 log_softmax norm normalize pdist pow prod reciprocal renorm rsqrt sinh softmax softmin
softplus sum tan
""",
}  # fmt: skip
WIDEST = {
    "cpu": "cat stack index_copy",
    "cuda": "addcdiv addcmul atan2 bilinear cat cross dot grid_sample index_put scatter_add stack tensordot vdot",
}
# as they are, though tocha computes them by products
KEPT = {"cpu": "addmv bilinear dot gru gru_cell lstm_cell mv", "cuda": ""}
REFUSED = {"cpu": "", "cuda": "binary_cross_entropy"}


def kinds(device_type: str) -> dict[str, str]:
    """Function name -> "lower", "float32", "widest", "kept" or "refused"."""
    groups = {"lower": LOWER, "float32": FLOAT32, "widest": WIDEST, "kept": KEPT, "refused": REFUSED}
    return {name: kind for kind, group in groups.items() for name in group[device_type].split()}
