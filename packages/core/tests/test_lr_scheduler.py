"""Schedulers against the rates that PyTorch 2.13 sets (``reference/make_lr_scheduler.py``), and their rules."""

import copy
import importlib.util
import json
import warnings
from pathlib import Path

import pytest

import tocha
from tocha.optim import lr_scheduler as s
from tocha.optim import swa_utils

HERE = Path(__file__).parent
spec = importlib.util.spec_from_file_location("make_lr_scheduler", HERE / "reference/make_lr_scheduler.py")
reference = importlib.util.module_from_spec(spec)
spec.loader.exec_module(reference)
CURVES = json.loads(reference.FILE.read_text(encoding="utf-8"))


def sgd(**options):
    return tocha.optim.SGD([tocha.zeros(1, requires_grad=True)], **({"lr": 1.0} | options))


@pytest.mark.parametrize("name", reference.CASES)
def test_rates_equal_pytorch(name):
    optimizer = reference.optimizer_of(tocha)
    scheduler = reference.CASES[name](s, swa_utils, optimizer)
    curve = [reference.advance(scheduler, optimizer, epoch, name) for epoch in range(reference.EPOCHS)]
    assert curve == CURVES[name]
    assert scheduler.get_last_lr() == curve[-1][:2]


@pytest.mark.parametrize("name", reference.CASES)
def test_a_saved_scheduler_goes_on(name):
    make = reference.CASES[name]
    optimizer = reference.optimizer_of(tocha)
    scheduler = make(s, swa_utils, optimizer)
    for epoch in range(10):
        reference.advance(scheduler, optimizer, epoch, name)
    saved, saved_optimizer = copy.deepcopy(scheduler.state_dict()), copy.deepcopy(optimizer.state_dict())
    assert "optimizer" not in saved
    optimizer = reference.optimizer_of(tocha)
    scheduler = make(s, swa_utils, optimizer)
    optimizer.load_state_dict(saved_optimizer)
    scheduler.load_state_dict(saved)
    curve = [reference.advance(scheduler, optimizer, epoch, name) for epoch in range(10, reference.EPOCHS)]
    assert curve == CURVES[name][10:]


def test_a_rate_that_is_a_tensor_keeps_its_identity():
    rate = tocha.tensor(1.0)
    optimizer = sgd(lr=rate)
    scheduler = s.StepLR(optimizer, 1, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == 0.5
    assert scheduler.get_last_lr()[0].item() == 0.5
    assert optimizer.param_groups[0]["initial_lr"].item() == 1.0


def test_resuming_needs_the_initial_rate():
    with pytest.raises(KeyError, match="param 'initial_lr' is not specified in param_groups"):
        s.StepLR(sgd(), 1, last_epoch=3)
    optimizer = sgd()
    optimizer.param_groups[0]["initial_lr"] = 1.0
    assert s.ExponentialLR(optimizer, 0.5, last_epoch=3).last_epoch == 4


def test_the_order_of_the_calls_is_watched():
    optimizer = sgd()
    scheduler = s.StepLR(optimizer, 1)
    with pytest.warns(UserWarning, match="Detected call of `lr_scheduler.step\\(\\)` before `optimizer.step\\(\\)`"):
        scheduler.step()
    optimizer = sgd()
    scheduler = s.StepLR(optimizer, 1)
    optimizer.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden after learning rate scheduler initialization"):
        scheduler.step()
    optimizer = sgd()
    scheduler = s.StepLR(optimizer, 1)
    optimizer.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()


def test_asking_for_the_rate_outside_a_step_warns():
    with pytest.warns(UserWarning, match="please use `get_last_lr\\(\\)`"):
        s.StepLR(sgd(), 1).get_lr()


def test_an_epoch_jumps_by_the_closed_form():
    optimizer = sgd()
    scheduler = s.StepLR(optimizer, 3, 0.5)
    optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step\\(\\)` was not necessary"):
        scheduler.step(7)
    assert scheduler.get_last_lr() == [0.25]


class Decay:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor**epoch


def test_callable_objects_are_saved_and_functions_are_not():
    scheduler = s.LambdaLR(sgd(), Decay(0.5))
    assert scheduler.state_dict()["lr_lambdas"] == [{"factor": 0.5}]
    assert s.LambdaLR(sgd(), lambda epoch: 1).state_dict()["lr_lambdas"] == [None]
    other = s.LambdaLR(sgd(), Decay(0.1))
    other.load_state_dict(scheduler.state_dict())
    assert other.lr_lambdas[0].factor == 0.5


def test_a_cycle_of_beta1():
    optimizer = tocha.optim.Adam([tocha.zeros(1, requires_grad=True)])
    s.OneCycleLR(optimizer, 0.1, total_steps=10)
    assert optimizer.param_groups[0]["betas"] == (0.95, 0.999)


def test_warm_restarts_take_fractions_of_epochs():
    scheduler = s.CosineAnnealingWarmRestarts(sgd(), T_0=2, T_mult=2)
    rates = []
    for epoch in (0, 1.0, 1.5, 2, 4.0, 6):
        scheduler.step(epoch)
        rates.append(round(scheduler.get_last_lr()[0], 4))
    assert rates == [1.0, 0.5, 0.1464, 1.0, 0.5, 1.0]


def too_many_steps():
    optimizer = sgd(momentum=0.9)
    scheduler = s.OneCycleLR(optimizer, 0.1, total_steps=3)
    for _ in range(5):
        optimizer.step()
        scheduler.step()


def of_two_optimizers():
    return s.ChainedScheduler([s.StepLR(sgd(), 1), s.StepLR(sgd(), 1)])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: s.StepLR(3, 1), TypeError, "int is not an Optimizer"),
        (lambda: s.LambdaLR(sgd(), [len, len]), ValueError, "Expected 1 lr_lambdas, but got 2"),
        (lambda: s.MultiplicativeLR(sgd(), 3), TypeError, "lr_lambda should be a function, but got int"),
        (lambda: s.ConstantLR(sgd(), 3), ValueError, "factor expected to be between 0 and 1"),
        (lambda: s.LinearLR(sgd(), 0), ValueError, "Starting multiplicative factor expected to be greater than 0"),
        (lambda: s.SequentialLR(sgd(), [], []), ValueError, "expects at least one scheduler, but got no scheduler"),
        (lambda: s.SequentialLR(sgd(), [3], []), TypeError, "should have `optimizer` as its attribute"),
        (lambda: s.ChainedScheduler([s.ReduceLROnPlateau(sgd())]), ValueError, "does not support `ReduceLROnPlateau`"),
        (of_two_optimizers, ValueError, "expects all schedulers to belong to the same optimizer"),
        (lambda: s.CosineAnnealingWarmRestarts(sgd(), 0), ValueError, "Expected positive integer T_0, but got 0"),
        (lambda: s.CyclicLR(sgd(), [0.1, 0.2], 0.1), ValueError, "base_lr must have the same length"),
        (lambda: s.CyclicLR(sgd(), 0.1, 0.1, mode="saw"), ValueError, "mode is invalid and scale_fn is None"),
        (lambda: s.OneCycleLR(sgd(), 0.1), ValueError, "You must define either total_steps OR"),
        (lambda: s.OneCycleLR(sgd(), 0.1, total_steps=3, pct_start=1), ValueError, "Expected float between 0 and 1"),
        (too_many_steps, ValueError, "Tried to step 4 times. The specified number of total steps is 3"),
        (lambda: s.ReduceLROnPlateau(sgd(), factor=1.0), ValueError, "Factor should be < 1.0."),
        (lambda: s.ReduceLROnPlateau(sgd(), "best"), ValueError, "mode best is unknown!"),
        (lambda: swa_utils.SWALR(sgd(), 0.1, -1), ValueError, "anneal_epochs must be equal or greater than 0, got -1"),
        (lambda: swa_utils.get_ema_avg_fn(2), ValueError, "Invalid decay value 2 provided"),
    ],
)
def test_wrong_arguments_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


# ---------------------------------------------------------------- averaged models


class Scale(tocha.nn.Module):
    def __init__(self, value):
        super().__init__()
        self.weight = tocha.nn.Parameter(tocha.tensor([float(value)]))
        self.register_buffer("count", tocha.tensor([value]))

    def forward(self, x):
        return x * self.weight


def fill(model, value):
    with tocha.no_grad():
        model.weight.fill_(float(value))
        model.count.fill_(value)


def averages(**options):
    model = Scale(1)
    average = swa_utils.AveragedModel(model, **options)
    for value in (1, 2, 6):
        fill(model, value)
        average.update_parameters(model)
    assert int(average.n_averaged) == 3
    return average.module.weight.item(), average.module.count.item(), average(tocha.ones(1)).item()


def test_the_default_average_is_the_mean_and_buffers_are_copied():
    assert averages() == (3.0, 6, 3.0)


def test_buffers_can_be_averaged_too():
    assert averages(use_buffers=True)[:2] == (3.0, 2)  # an integer, cut off each time


@pytest.mark.parametrize("kind", ["avg_fn", "multi_avg_fn"])
def test_exponential_moving_averages(kind):
    make = swa_utils.get_ema_avg_fn if kind == "avg_fn" else swa_utils.get_ema_multi_avg_fn
    assert averages(**{kind: make(0.5)})[0] == 3.75


def test_two_averages_are_refused():
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn should be provided"):
        swa_utils.AveragedModel(Scale(1), avg_fn=len, multi_avg_fn=len)
