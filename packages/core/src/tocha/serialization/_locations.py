"""Where storages go: the device that a file names, or what ``map_location`` makes of it."""

from __future__ import annotations

from collections.abc import Callable

from .._core import arrays, devices
from ._storage import UntypedStorage

Tagger = Callable[[UntypedStorage], str | None]
Deserializer = Callable[[UntypedStorage, str], UntypedStorage | None]
MapLocation = Callable[[UntypedStorage, str], UntypedStorage | None] | devices.device | str | dict[str, str] | None
_packages: list[tuple[int, Tagger, Deserializer]] = []


def register_package(priority: int, tagger: Tagger, deserializer: Deserializer) -> None:
    """Add a kind of location that files can name.

    Args:
        priority: packages are asked in the order of this number; tocha's own have 10, 20 and 22.
        tagger: gives the location of a storage, or None where it is not of this package.
        deserializer: gives the storage on that location, or None where the location is not of this package.
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage: UntypedStorage) -> str:
    """The location that files name for a storage: ``"cpu"``, ``"cuda:0"``, ``"meta"``.

    Raises:
        RuntimeError: no package knows it.
    """
    for _, tagger, _ in _packages:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {type(storage).__name__}")


def default_restore_location(storage: UntypedStorage, location: str) -> UntypedStorage:
    """The storage on the location that a file names for it.

    Raises:
        RuntimeError: no package knows the location, or its device is not there.
    """
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        f"don't know how to restore data location of {type(storage).__name__} (tagged with {location[:100]}). "
        "tocha has the devices cpu, cuda and meta: use tocha.load with map_location=tocha.device('cpu')"
    )


def restore_function(map_location: MapLocation) -> Callable[[UntypedStorage, str], UntypedStorage]:
    """What to do with each storage of a file, from ``load``'s argument.

    Raises:
        TypeError: ``map_location`` is none of the kinds that it may be.
    """
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(storage, str(map_location.get(location, location)))
    if isinstance(map_location, (str, devices.device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))
    if isinstance(map_location, bytes):
        return lambda storage, location: default_restore_location(storage, map_location.decode("ascii"))
    if not callable(map_location):
        raise TypeError(
            f"map_location must be a device, a str, a dict, a function or None, not {type(map_location).__name__}"
        )

    def restore(storage: UntypedStorage, location: str) -> UntypedStorage:
        result = map_location(storage, location)
        if result is None:
            return default_restore_location(storage, location)
        if not isinstance(result, UntypedStorage) or result.nbytes() != storage.nbytes():
            raise TypeError("map_location must return None or the storage that it was given, on whatever device")
        return result

    return restore


def is_meta(map_location: MapLocation) -> bool:
    """Whether everything goes to device ``meta``, so that no data need be read."""
    return isinstance(map_location, (str, devices.device)) and str(map_location) == "meta"


def validate_cuda_device(location: str) -> int:
    """Index of the CUDA device that a location names.

    Raises:
        RuntimeError: there is no such device.
    """
    return _cuda_device(location).index or 0


def validate_hpu_device(location: str) -> int:
    """Raises RuntimeError: tocha has no HPU devices."""
    raise RuntimeError(_absent("HPU", "tocha has no HPU devices"))


def _absent(kind: str, why: str) -> str:
    return (
        f"Attempting to deserialize object on a {kind} device but {why}. If you are running on a CPU-only machine, "
        "please use tocha.load with map_location=tocha.device('cpu') to map your storages to the CPU."
    )


def _cuda_device(location: str) -> devices.device:
    try:
        device = devices.device(location)
    except RuntimeError as error:
        raise RuntimeError(f"Invalid device string: {location[:100]!r}") from error
    try:
        cuda = arrays.for_device_type("cuda").xp.cuda
    except RuntimeError as error:
        raise RuntimeError(_absent("CUDA", f"tocha.cuda.is_available() is False ({error})")) from error
    count = cuda.runtime.getDeviceCount()
    if (device.index or 0) >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on CUDA device {device.index} but tocha.cuda.device_count() is {count}. "
            "Please use tocha.load with map_location to map your storages to an existing device."
        )
    return device


def _tag_of(kind: str) -> Tagger:
    return lambda storage: str(storage.device) if storage.device.type == kind else None


def _restore_cpu(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return storage if location == "cpu" else None


def _restore_cuda(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    if location != "cuda" and not location.startswith("cuda:"):
        return None
    return storage.to(device=_cuda_device(location))


def _restore_meta(storage: UntypedStorage, location: str) -> UntypedStorage | None:
    return storage.to(device="meta") if location == "meta" else None


register_package(10, _tag_of("cpu"), _restore_cpu)
register_package(20, _tag_of("cuda"), _restore_cuda)
register_package(22, _tag_of("meta"), _restore_meta)
