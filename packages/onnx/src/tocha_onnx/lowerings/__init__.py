"""How each operator is written in ONNX, one file a family; see :mod:`tocha_onnx.registry`."""
