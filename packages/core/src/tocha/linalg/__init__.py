"""Linear algebra over batches of matrices, as ``torch.linalg``. Source: https://pytorch.org/docs/stable/linalg.html"""

from __future__ import annotations

from .errors import LinAlgError
from .factorisations import (
    cholesky, cholesky_ex, eig, eigh, eigvals, eigvalsh, householder_product, ldl_factor, ldl_factor_ex, ldl_solve, lu,
    lu_factor, lu_factor_ex, lu_solve, qr, svd, svdvals,
)  # fmt: skip
from .norms import cond, matrix_norm, norm, vector_norm
from .products import cross, diagonal, matmul, matrix_exp, matrix_power, multi_dot, vander, vecdot
from .solvers import (
    det, inv, inv_ex, lstsq, matrix_rank, pinv, slogdet, solve, solve_ex, solve_triangular, tensorinv, tensorsolve,
)  # fmt: skip

__all__ = [
    "LinAlgError", "cholesky", "cholesky_ex", "cond", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh",
    "householder_product", "inv", "inv_ex", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lstsq", "lu", "lu_factor",
    "lu_factor_ex", "lu_solve", "matmul", "matrix_exp", "matrix_norm", "matrix_power", "matrix_rank", "multi_dot",
    "norm", "pinv", "qr", "slogdet", "solve", "solve_ex", "solve_triangular", "svd", "svdvals", "tensorinv",
    "tensorsolve", "vander", "vecdot", "vector_norm",
]  # fmt: skip
