"""An unpickler that builds tensors and plain containers, and calls nothing else.

Python's own unpickler can be told what it may import, but not what it may call or whose attributes it may set; a
pickle can turn what is harmless to import against the program. Here every opcode is interpreted by a few lines that
check what they are given. A pickle can make no more than its bytes account for: see ``charge``.
"""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict
from collections.abc import Callable
from pickle import UnpicklingError
from typing import Any

from . import _allowlist, _bridge, _names
from ._rebuild import set_state

# names that Python 2 wrote
PYTHON2 = {"__builtin__": "builtins", "copy_reg": "copyreg"}
_DICTS = (dict, OrderedDict, Counter)
# bytes of memory that objects take, and how many a pickle may ask for: any, and so many for each of its own bytes
_LIST, _DICT, _SET, _MEMO, _CALL = 64, 72, 224, 100, 500
_FREE, _PER_BYTE = 2**27, 32


class WeightsUnpickler:
    """Reads one pickle.

    Args:
        data: bytes that hold the pickle; what follows it is left alone.
        start: where in ``data`` it begins.
        persistent_load: makes a storage of what the file says about it; None: there may be no storages.
        encoding: how strings of Python 2 are decoded; ``"bytes"`` leaves them.
    """

    def __init__(
        self,
        data: Any,
        start: int = 0,
        persistent_load: Callable[[tuple], Any] | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.data, self.position, self.end = memoryview(data).cast("B"), start, len(data)
        self.persistent_load, self.encoding = persistent_load, encoding
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.allowed = _allowlist.defaults()
        self.added = _allowlist.added()
        self.strict = {id(obj): call for obj, call in self.allowed.values() if call is not None}
        self.begin, self.copied = start, 0
        self.callers_error: Exception | None = None
        self.allowance = _FREE + _PER_BYTE * len(data)

    def load(self) -> Any:
        """The pickled object.

        Raises:
            UnpicklingError: the pickle is cut off, corrupt, or asks for something that is not allowed.
            RuntimeError: a tensor in it does not fit its storage.
        """
        opcodes, data = _OPCODES, self.data
        try:
            while True:
                opcode = data[self.position]
                self.position += 1
                if opcode == _STOP:
                    break
                step = opcodes.get(opcode)
                if step is None:
                    raise UnpicklingError(f"Unsupported operand {opcode}")
                step(self)
            return self.stack.pop()
        except (AttributeError, LookupError, OverflowError, TypeError, ValueError, struct.error) as error:
            if error is self.callers_error:
                raise
            if self.position + 8 >= self.end and isinstance(error, (IndexError, struct.error)):
                raise UnpicklingError("pickle data was truncated") from error
            reason = f"{type(error).__name__}: {str(error)[:200]}"
            raise UnpicklingError(f"the pickle is corrupt at byte {self.position - self.begin} ({reason})") from error
        finally:
            data.release()

    # ---- helpers

    def charge(self, amount: int) -> None:
        """Account for ``amount`` elements that a call copies: as many as there were bytes to spell them out.

        Without this a few bytes that name the same long list again and again would fill the memory.
        """
        self.copied += amount
        if self.copied > self.position - self.begin:
            raise UnpicklingError("the pickle copies more data than it holds")

    def call(self, function: Callable, *args: Any, **options: Any) -> Any:
        """Call what the caller brought, whose errors are not the file's."""
        try:
            return function(*args, **options)
        except Exception as error:
            self.callers_error = error
            raise

    def spend(self, memory: int) -> None:
        """Account for an object of ``memory`` bytes; some opcodes of one byte make one of 200."""
        self.allowance -= memory
        if self.allowance < 0:
            raise UnpicklingError("the pickle makes more objects than a file of its size has use for")

    def take(self, count: int) -> memoryview:
        start, stop = self.position, self.position + count
        if stop > self.end:
            raise UnpicklingError("pickle data was truncated")
        self.position = stop
        return self.data[start:stop]

    def number(self, form: struct.Struct) -> int:
        value = form.unpack_from(self.data, self.position)[0]
        self.position += form.size
        return value

    def line(self) -> str:
        window = bytes(self.data[self.position : self.position + 1024])
        length = window.find(b"\n")
        if length < 0:
            raise UnpicklingError("pickle data was truncated")
        self.position += length + 1
        return window[:length].decode("utf-8")

    def since_mark(self) -> list[Any]:
        mark = self.marks.pop()
        items = self.stack[mark:]
        del self.stack[mark:]
        return items

    def find(self, module: str, name: str) -> Any:
        module = PYTHON2.get(module, module)
        if module in _allowlist.BLOCKED:
            raise UnpicklingError(
                f"Trying to load unsupported GLOBAL {module}.{name[:200]} whose module {module} is blocked."
            )
        found = _names.known(module, name)
        if found is not None:
            return found
        path = _names.canonical(module, name)
        if path in self.allowed:
            return self.allowed[path][0]
        if path in self.added:
            return self.added[path]
        if path.startswith("tocha._utils._rebuild"):
            raise UnpicklingError(f"the file holds a kind of tensor that tocha does not have: {name[:100]}")
        shown = (name if module == "builtins" else path)[:200]
        raise UnpicklingError(
            f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
            f"`tocha.serialization.add_safe_globals([{shown}])` or the "
            f"`tocha.serialization.safe_globals([{shown}])` context manager to allowlist this global "
            "if you trust this class/function."
        )

    def is_added(self, obj: Any) -> bool:
        return any([obj is item for item in self.added.values()])

    # ---- opcodes that make something

    def op_proto(self) -> None:
        protocol = self.take(1)[0]
        if protocol > 5:
            raise UnpicklingError(f"unsupported pickle protocol: {protocol}")

    def op_global(self) -> None:
        module = self.line()
        self.stack.append(self.find(module, self.line()))

    def op_stack_global(self) -> None:
        name, module = self.stack.pop(), self.stack.pop()
        if type(name) is not str or type(module) is not str:
            raise UnpicklingError("STACK_GLOBAL requires str")
        self.stack.append(self.find(module, name))

    def op_reduce(self) -> None:
        args, function = self.stack.pop(), self.stack.pop()
        if type(args) is not tuple:
            raise UnpicklingError(f"arguments of a call must be a tuple, got {type(args).__name__}")
        self.spend(_CALL)
        strict = self.strict.get(id(function))
        if strict is not None:
            self.stack.append(strict(self.charge, *args))
        elif self.is_added(function):
            self.stack.append(self.call(function, *args))
        else:
            raise UnpicklingError(f"Trying to call reduce for unrecognized function {_describe(function)}")

    def op_newobj(self) -> None:
        args, kind = self.stack.pop(), self.stack[-1]
        if self.strict.get(id(kind)) is None and self.is_added(kind) and isinstance(kind, type):
            self.stack[-1] = self.call(kind.__new__, kind, *args)
        else:
            self.stack.append(args)
            self.op_reduce()

    def op_newobj_ex(self) -> None:
        options, args, kind = self.stack.pop(), self.stack.pop(), self.stack.pop()
        if not self.is_added(kind) or not isinstance(kind, type):
            raise UnpicklingError(f"Can only create new object for allowed classes, but got {_describe(kind)}")
        self.stack.append(self.call(kind.__new__, kind, *args, **options))

    def op_build(self) -> None:
        state, target = self.stack.pop(), self.stack[-1]
        self.charge(_allowlist.attributes(state))
        kind = type(target)
        if self.is_added(kind):
            own = getattr(target, "__setstate__", None)
            if own is not None:
                self.call(own, state)
            else:
                _set_plain_state(target, state)
        elif kind in (OrderedDict, _bridge.tensor_class()) or isinstance(target, _bridge.tensor_class()):
            set_state(target, state)
        else:
            raise UnpicklingError(
                f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, "
                f"but got {kind.__name__}"
            )

    def op_persistent_id(self) -> None:
        pid = self.stack.pop()
        if self.persistent_load is None or type(pid) is not tuple or not pid:
            raise UnpicklingError(f"persistent_load id must be tuple, but got {type(pid).__name__}")
        if pid[0] not in ("storage", b"storage"):
            raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {type(pid[0]).__name__}")
        self.stack.append(self.call(self.persistent_load, pid))

    # ---- containers

    def op_append(self) -> None:
        item = self.stack.pop()
        self.target(list, "append to").append(item)

    def op_appends(self) -> None:
        items = self.since_mark()
        self.target(list, "extend").extend(items)

    def op_setitem(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.fill((key, value))

    def op_setitems(self) -> None:
        self.fill(self.since_mark())

    def op_additems(self) -> None:
        items = self.since_mark()
        for item in items:
            _allowlist.check_key(item)
        self.target(set, "add to").update(items)

    def target(self, kind: type, doing: str) -> Any:
        found = self.stack[-1]
        if type(found) is not kind and not (isinstance(found, kind) and self.is_added(type(found))):
            raise UnpicklingError(f"Can only {doing} {kind.__name__}s, but got {type(found).__name__}")
        return found

    def fill(self, items: Any) -> None:
        found = self.stack[-1]
        if type(found) not in _DICTS and not (isinstance(found, dict) and self.is_added(type(found))):
            raise UnpicklingError(
                f"Can only SETITEM for dict, collections.OrderedDict, collections.Counter, "
                f"but got {type(found).__name__}"
            )
        for i in range(0, len(items), 2):
            _allowlist.check_key(items[i])
            found[items[i]] = items[i + 1]

    def op_frozenset(self) -> None:
        items = self.since_mark()
        for item in items:
            _allowlist.check_key(item)
        self.spend(_SET)
        self.stack.append(frozenset(items))

    def op_tuple(self, count: int) -> None:
        items = tuple([self.stack.pop() for _ in range(count)][::-1])
        self.spend(_LIST)
        self.stack.append(items)

    def op_marked_tuple(self) -> None:
        items = tuple(self.since_mark())
        self.spend(_LIST)
        self.stack.append(items)

    def op_marked_list(self) -> None:
        items = self.since_mark()
        self.spend(_LIST)
        self.stack.append(items)

    def op_marked_dict(self) -> None:
        items = self.since_mark()
        self.op_empty(dict, _DICT)
        self.fill(items)

    def op_empty(self, kind: type, memory: int) -> None:
        self.spend(memory)
        self.stack.append(kind())

    # ---- strings and numbers

    def op_text(self, form: struct.Struct) -> None:
        self.stack.append(str(self.take(self.number(form)), "utf-8", "surrogatepass"))

    def op_old_string(self, form: struct.Struct) -> None:
        text = bytes(self.take(self.number(form)))
        self.stack.append(text if self.encoding == "bytes" else text.decode(self.encoding))

    def op_bytes(self, form: struct.Struct, kind: type = bytes) -> None:
        self.stack.append(kind(self.take(self.number(form))))

    def op_long(self, form: struct.Struct) -> None:
        self.stack.append(int.from_bytes(self.take(self.number(form)), "little", signed=True))

    # ---- the stack and the memo

    def op_get(self, form: struct.Struct) -> None:
        index = self.number(form)
        if index not in self.memo:
            raise UnpicklingError(f"Memo value not found at index {index}")
        self.stack.append(self.memo[index])

    def op_put(self, form: struct.Struct) -> None:
        self.spend(_MEMO)
        self.memo[self.number(form)] = self.stack[-1]

    def op_memoize(self) -> None:
        self.spend(_MEMO)
        self.memo[len(self.memo)] = self.stack[-1]


def _describe(obj: Any) -> str:
    # never the object's own repr: that of a nested one may fill the memory
    return getattr(obj, "__qualname__", None) or f"of type {type(obj).__name__}"


def _set_plain_state(target: Any, state: Any) -> None:
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        target.__dict__.update(state)
    for name, value in (slots or {}).items():
        setattr(target, name, value)


_U1, _U2, _U4, _U8 = struct.Struct("<B"), struct.Struct("<H"), struct.Struct("<I"), struct.Struct("<Q")
_I4, _F8 = struct.Struct("<i"), struct.Struct(">d")
_STOP = ord(".")


def _push(make: Callable[[], Any]) -> Callable[[WeightsUnpickler], None]:
    return lambda self: self.stack.append(make())


def _number(form: struct.Struct) -> Callable[[WeightsUnpickler], None]:
    return lambda self: self.stack.append(self.number(form))


W = WeightsUnpickler
_OPCODES: dict[int, Callable[[WeightsUnpickler], Any]] = {
    0x80: W.op_proto,
    0x95: lambda self: self.number(_U8),  # FRAME: how much to read at once
    ord("c"): W.op_global,
    0x93: W.op_stack_global,
    ord("R"): W.op_reduce,
    0x81: W.op_newobj,
    0x92: W.op_newobj_ex,
    ord("b"): W.op_build,
    ord("Q"): W.op_persistent_id,
    ord("N"): _push(lambda: None),
    0x88: _push(lambda: True),
    0x89: _push(lambda: False),
    ord(")"): _push(tuple),
    ord("]"): lambda self: self.op_empty(list, _LIST),
    ord("}"): lambda self: self.op_empty(dict, _DICT),
    0x8F: lambda self: self.op_empty(set, _SET),
    ord("a"): W.op_append,
    ord("e"): W.op_appends,
    ord("s"): W.op_setitem,
    ord("u"): W.op_setitems,
    0x90: W.op_additems,
    0x91: W.op_frozenset,
    ord("t"): W.op_marked_tuple,
    ord("l"): W.op_marked_list,
    ord("d"): W.op_marked_dict,
    0x85: lambda self: self.op_tuple(1),
    0x86: lambda self: self.op_tuple(2),
    0x87: lambda self: self.op_tuple(3),
    ord("K"): _number(_U1),
    ord("M"): _number(_U2),
    ord("J"): _number(_I4),
    ord("G"): _number(_F8),
    0x8A: lambda self: self.op_long(_U1),
    0x8B: lambda self: self.op_long(_U4),
    ord("X"): lambda self: self.op_text(_U4),
    0x8C: lambda self: self.op_text(_U1),
    0x8D: lambda self: self.op_text(_U8),
    ord("U"): lambda self: self.op_old_string(_U1),
    ord("T"): lambda self: self.op_old_string(_U4),
    ord("C"): lambda self: self.op_bytes(_U1),
    ord("B"): lambda self: self.op_bytes(_U4),
    0x8E: lambda self: self.op_bytes(_U8),
    0x96: lambda self: self.op_bytes(_U8, bytearray),
    ord("("): lambda self: self.marks.append(len(self.stack)),
    ord("0"): lambda self: self.stack.pop(),
    ord("1"): lambda self: self.since_mark(),
    ord("h"): lambda self: self.op_get(_U1),
    ord("j"): lambda self: self.op_get(_U4),
    ord("q"): lambda self: self.op_put(_U1),
    ord("r"): lambda self: self.op_put(_U4),
    0x94: W.op_memoize,
}
del W
