"""Saving and loading: PyTorch's file formats, both ways, and safetensors.

Loading makes tensors and plain containers and runs nothing, unless it is told to: see ``load``.
"""

from ._allowlist import SafeGlobal, add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from ._inspect import get_unsafe_globals_in_checkpoint
from ._legacy import SourceChangeWarning
from ._load import load
from ._locations import (
    default_restore_location,
    location_tag,
    register_package,
    validate_cuda_device,
    validate_hpu_device,
)
from ._options import (
    LoadEndianness,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
)
from ._save import save
from ._storage import StorageType
from ._versions import check_module_version_greater_or_equal

__all__ = [
    "LoadEndianness",
    "SafeGlobal",
    "SourceChangeWarning",
    "StorageType",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "validate_cuda_device",
    "validate_hpu_device",
]
