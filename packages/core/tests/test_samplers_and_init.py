"""Samplers, datasets and initial weights against PyTorch 2.13 (``reference/make_data.py``), and their rules."""

import collections
import importlib.util
import json
import warnings
from pathlib import Path

import numpy as np
import pytest

import tocha
from tocha.nn import init
from tocha.utils import data

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("make_data", HERE / "reference/make_data.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
STORED = json.loads(reference.FILE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", reference.ORDERS)
def test_orders_equal_pytorch(name):
    tocha.manual_seed(reference.SEED)
    assert reference.plain(reference.ORDERS[name](tocha)) == STORED[name]


@pytest.mark.parametrize("name", reference.INITIALISERS)
def test_initial_weights_equal_pytorch(name):
    tocha.manual_seed(reference.SEED)
    values = reference.initialised(tocha, name).reshape(-1)[:40]
    np.testing.assert_allclose(values.numpy(), STORED[name], rtol=1e-9, atol=1e-12)


def test_initialisers_work_on_parameters_and_return_them():
    weight = tocha.nn.Parameter(tocha.zeros(3, 4))
    for function in (init.ones_, init.kaiming_uniform_, init.orthogonal_, init.trunc_normal_, init.eye_):
        assert function(weight) is weight
        assert weight.is_leaf and weight.requires_grad
    assert init.constant_(weight, 0.3).detach().unique().tolist() == pytest.approx([0.3])


@pytest.mark.parametrize(
    ("name", "args", "gain"),
    [
        ("relu", (), 2**0.5),
        ("tanh", (), 5 / 3),
        ("conv2d", (), 1),
        ("leaky_relu", (0.2,), (2 / 1.04) ** 0.5),
        ("selu", (), 0.75),
    ],
)
def test_gains(name, args, gain):
    assert init.calculate_gain(name, *args) == pytest.approx(gain)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: init.calculate_gain("swish"), "Unsupported nonlinearity swish"),
        (lambda: init.calculate_gain("leaky_relu", True), "negative_slope True not a valid number"),
        (lambda: init.xavier_normal_(tocha.zeros(3)), "Fan in and fan out can not be computed"),
        (lambda: init.kaiming_normal_(tocha.zeros(3, 3), mode="fan"), "Mode fan not supported"),
        (lambda: init.eye_(tocha.zeros(3)), "Only tensors with 2 dimensions are supported"),
        (lambda: init.dirac_(tocha.zeros(3, 3)), "Only tensors with 3, 4, or 5 dimensions"),
        (lambda: init.dirac_(tocha.zeros(3, 3, 3), 2), "dim 0 must be divisible by groups"),
    ],
)
def test_wrong_tensors_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_old_names_warn_and_empty_tensors_are_left():
    with pytest.warns(FutureWarning, match="`nn.init.ones` is now deprecated|`nn.init.uniform` is now deprecated"):
        init.uniform(tocha.zeros(2))
    with pytest.warns(UserWarning, match="Initializing zero-element tensors is a no-op"):
        init.kaiming_uniform_(tocha.zeros(0, 3))
    with pytest.warns(UserWarning, match="mean is more than 2 std from"):
        init.trunc_normal_(tocha.zeros(2), mean=9.0)


# ---------------------------------------------------------------- datasets


def test_tensor_dataset():
    dataset = data.TensorDataset(tocha.arange(4), tocha.arange(8).view(4, 2))
    assert len(dataset) == 4
    assert [t.tolist() for t in dataset[-1]] == [3, [6, 7]]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(tocha.zeros(2), tocha.zeros(3))


def test_concat_dataset():
    dataset = data.TensorDataset(tocha.arange(2)) + data.TensorDataset(tocha.arange(10, 13))
    assert [dataset[i][0].item() for i in range(5)] == [0, 1, 10, 11, 12]
    assert dataset[-1][0].item() == 12
    assert dataset.cumulative_sizes == [2, 5]
    with pytest.raises(ValueError, match="absolute value of index should not exceed dataset length"):
        dataset[-6]
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        data.ConcatDataset([])


class Together:
    """Gives the samples of a batch at once, and counts how often."""

    def __init__(self, n):
        self.n, self.calls = n, 0

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        raise AssertionError("one by one")

    def __getitems__(self, indices):
        self.calls += 1
        return [index * 10 for index in indices]


def test_samples_that_come_together():
    source = Together(6)
    dataset = data.Subset(source, [5, 3, 1, 0])
    assert [batch.tolist() for batch in data.DataLoader(dataset, batch_size=2)] == [[50, 30], [10, 0]]
    assert source.calls == 2
    stacked = data.StackDataset(a=source, b=range(6))
    assert stacked.__getitems__([1, 4]) == [{"a": 10, "b": 1}, {"a": 40, "b": 4}]
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset(range(2), range(3))
    with pytest.raises(ValueError, match="At least one dataset should be passed"):
        data.StackDataset()


def test_a_subset_whose_items_are_changed_has_to_change_batches_too():
    class Doubled(data.Subset):
        def __getitem__(self, index):
            return 2 * super().__getitem__(index)

    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        Doubled(range(3), [0])


class Count(data.IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def test_streams():
    chained = Count(2) + Count(3)
    assert list(chained) == [0, 1, 0, 1, 2]
    assert len(chained) == 5
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(data.ChainDataset([range(2)]))
    loader = data.DataLoader(Count(5), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4]]
    assert len(loader) == 3
    assert [batch.tolist() for batch in data.DataLoader(Count(5), batch_size=2, drop_last=True)] == [[0, 1], [2, 3]]


def test_a_stream_longer_than_it_said_warns():
    class Longer(Count):
        def __len__(self):
            return 2

    loader = data.DataLoader(Longer(3), batch_size=None)
    assert len(loader) == 2
    with pytest.warns(UserWarning, match="was reported to be 2"):
        assert list(loader) == [0, 1, 2]


def test_random_split_rules():
    assert [len(part) for part in data.random_split(range(10), [0.5, 0.25, 0.25])] == [6, 2, 2]
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        data.random_split(range(10), [3, 3])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        data.random_split(range(10), [1.5, -0.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(3), [0.99, 0.01])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: data.RandomSampler(range(3), replacement=1), TypeError),
        (lambda: data.RandomSampler([]), ValueError),
        (lambda: data.WeightedRandomSampler([1.0], 0), ValueError),
        (lambda: data.WeightedRandomSampler([[1.0]], 1), ValueError),
        (lambda: data.BatchSampler(range(3), 0, False), ValueError),
        (lambda: data.BatchSampler(range(3), True, False), ValueError),
        (lambda: data.BatchSampler(range(3), 2, 1), ValueError),
        (lambda: data.DistributedSampler(range(3), 2, 2), ValueError),
    ],
)
def test_wrong_arguments_of_samplers_are_refused(make, error):
    with pytest.raises(error):
        make()


def test_lengths_of_samplers():
    assert len(data.BatchSampler(range(7), 3, False)) == 3
    assert len(data.BatchSampler(range(7), 3, True)) == 2
    assert list(data.BatchSampler(range(7), 3, True)) == [[0, 1, 2], [3, 4, 5]]
    assert len(data.DistributedSampler(range(7), 2, 0, drop_last=True)) == 3


# ---------------------------------------------------------------- collation

Point = collections.namedtuple("Point", "x y")


class OwnList(collections.UserList):
    pass


def test_default_collate():
    batch = data.default_collate([
        {"t": tocha.zeros(2), "f": 1.5, "i": 1, "s": "a", "n": np.float32(2), "p": Point(1, 2.0), "l": [1, (2, "x")],
         "b": True},
        {"t": tocha.ones(2), "f": 2.5, "i": 2, "s": "b", "n": np.float32(3), "p": Point(3, 4.0), "l": [5, (6, "y")],
         "b": False},
    ])  # fmt: skip
    assert batch["t"].tolist() == [[0, 0], [1, 1]]
    assert (batch["f"].dtype, batch["i"].dtype, batch["n"].dtype) == (tocha.float64, tocha.int64, tocha.float32)
    assert batch["b"].dtype == tocha.bool
    assert batch["s"] == ["a", "b"]
    assert isinstance(batch["p"], Point) and batch["p"].y.tolist() == [2.0, 4.0]
    assert batch["l"][0].tolist() == [1, 5]
    assert batch["l"][1][0].tolist() == [2, 6] and batch["l"][1][1] == ("x", "y")
    counts = data.default_collate([collections.defaultdict(list, a=1), collections.defaultdict(list, a=2)])
    assert isinstance(counts, collections.defaultdict) and counts["missing"] == []
    assert isinstance(data.default_collate([OwnList([1]), OwnList([2])]), OwnList)


@pytest.mark.parametrize(
    ("batch", "error", "message"),
    [
        ([object(), object()], TypeError, "batch must contain tensors, numpy arrays, numbers, dicts or lists"),
        ([np.array(["a"])], TypeError, "batch must contain"),
        ([[1], [1, 2]], RuntimeError, "each element in list of batch should be of equal size"),
        ([tocha.zeros(2), tocha.zeros(3)], RuntimeError, "equal size"),
    ],
)
def test_what_does_not_collate(batch, error, message):
    with pytest.raises(error, match=message):
        data.default_collate(batch)


def test_default_convert():
    converted = data.default_convert([np.zeros(2), "a", (1, np.int64(3)), {"k": np.ones(1)}, np.array(["s"])])
    assert converted[0].dtype == tocha.float64
    assert converted[1] == "a"
    assert converted[2][1].item() == 3
    assert converted[3]["k"].tolist() == [1.0]
    assert isinstance(converted[4], np.ndarray)


# ---------------------------------------------------------------- the loader, in this process


def test_options_that_exclude_each_other():
    loader = data.DataLoader
    for options, message in [
        ({"num_workers": -1}, "num_workers option should be non-negative"),
        ({"timeout": -1}, "timeout option should be non-negative"),
        ({"prefetch_factor": 2}, "prefetch_factor option could only be specified in multiprocessing"),
        ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
        ({"sampler": [0], "shuffle": True}, "sampler option is mutually exclusive with shuffle"),
        ({"batch_sampler": [[0]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
        ({"batch_size": None, "drop_last": True}, "batch_size=None option disables auto-batching"),
        ({"multiprocessing_context": "fork"}, "multiprocessing_context can only be used with multi-process loading"),
    ]:
        with pytest.raises(ValueError, match=message):
            loader(range(3), **options)
    with pytest.raises(ValueError, match="should specify a valid start method in"):
        loader(range(3), num_workers=1, multiprocessing_context="thread")
    with pytest.raises(ValueError, match="DataLoader with IterableDataset: expected unspecified shuffle option"):
        loader(Count(3), shuffle=True)
    with pytest.raises(ValueError, match="batch_size attribute should not be set after DataLoader is initialized"):
        loader(range(3)).batch_size = 4


def test_samplers_and_functions_of_ones_own():
    loader = data.DataLoader(range(9), batch_sampler=[[8, 0], [4]], collate_fn=lambda samples: samples)
    assert list(loader) == [[8, 0], [4]]
    assert len(loader) == 2
    assert list(data.DataLoader(range(9), sampler=[3, 1], batch_size=2, collate_fn=tuple)) == [(3, 1)]
    assert [int(x) for x in data.DataLoader(np.arange(3), batch_size=None)] == [0, 1, 2]


def test_pinning_without_a_gpu_is_harmless():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert [b.tolist() for b in data.DataLoader(range(3), batch_size=3, pin_memory=True)] == [[0, 1, 2]]
    assert all("no accelerator is found" in str(w.message) for w in caught)
