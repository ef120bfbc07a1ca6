"""The core: tensors, operator records, call templates, autograd. Private; the public names live in ``tocha``."""
