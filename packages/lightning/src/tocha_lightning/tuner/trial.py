"""Training for a few steps and forgetting that it happened."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tocha_lightning.logging.results import Results
from tocha_lightning.loops.fetcher import BatchFetcher
from tocha_lightning.utilities.seed import isolate_rng


@contextmanager
def forgotten(trainer: Any) -> Iterator[None]:
    """Whatever training does within: weights, optimizers, counters, metrics and random states are as before."""
    module, strategy, fit_loop = trainer.lightning_module, trainer.strategy, trainer.fit_loop
    # an optimizer of no steps cannot load an empty state into what it has by then: keep the objects themselves
    optimizers = [
        (o, copy.deepcopy(o.state_dict()), [dict(group) for group in o.param_groups]) for o in strategy.optimizers
    ]
    schedulers = [(c.scheduler, copy.deepcopy(c.scheduler.state_dict())) for c in strategy.lr_scheduler_configs]
    weights = copy.deepcopy(module.state_dict())
    counters = copy.deepcopy(fit_loop.state_dict(everything=False))
    modes = [(child, child.training) for child in module.modules()]
    loggers, trainer.loggers = trainer.loggers, []
    logging = trainer._logging
    results, in_batch, hook = logging.results, logging.in_batch, logging.hook
    restored = fit_loop._restored
    try:
        with isolate_rng():
            yield
    finally:
        trainer.loggers = loggers
        logging.switch(results, in_batch)
        logging.hook = hook
        logging.reset_metrics()
        module.load_state_dict(weights)
        module.zero_grad()
        for child, training in modes:
            child.training = training
        for optimizer, state, groups in optimizers:
            optimizer.state.clear()
            optimizer.load_state_dict(state)
            for group, before in zip(optimizer.param_groups, groups, strict=True):
                group.update({key: value for key, value in before.items() if key != "params"})
        for scheduler, state in schedulers:
            scheduler.load_state_dict(state)
        fit_loop.load_state_dict(counters)
        fit_loop._restored = restored
        trainer.should_stop = False


def _batches(fit_loop: Any) -> Iterator[Any]:
    """The training batches, epoch after epoch."""
    while True:
        fetcher = BatchFetcher(fit_loop.combined_loader)
        if fetcher.done:
            return
        for item in fetcher:
            yield item[0]
            if fetcher.done:
                break


def train_steps(trainer: Any, steps: int, before: Callable[[int], None], after: Callable[[int, Any], bool]) -> int:
    """Train for `steps` optimizer steps, without callbacks, loggers or validation.

    Args:
        trainer: a Trainer in the middle of ``fit``.
        steps: how many steps.
        before: called with the number of the step.
        after: called with the number of the step and the loss (None where there is none); False ends it.

    Returns:
        how many steps were done.
    """
    loop = trainer.fit_loop.epoch_loop
    trainer.fit_loop.setup_data()
    module = trainer.lightning_module
    module.train()
    callbacks = trainer.callbacks
    trainer.callbacks = []
    results = Results(training=True)
    trainer._logging.switch(results, in_batch=True)
    every = trainer.accumulate_grad_batches
    batches = _batches(trainer.fit_loop)
    try:
        for step in range(steps):
            before(step)
            loss = None
            for part in range(every):
                batch = next(batches, None)
                if batch is None:
                    return step
                batch = trainer._transfer(batch, 0)
                loop.batch_progress.increment_ready()
                trainer._logging.batch_start(results, batch)
                args = (batch, part) if loop.takes_batch_idx else (batch,)
                if module.automatic_optimization:
                    output = loop.automatic_optimization.run(batch, part, args, accumulating=part + 1 < every)
                else:
                    output = loop.manual_optimization.run(args)
                loss = output.get("loss")
                trainer._logging.batch_end(results)
            if not after(step, loss):
                return step + 1
    finally:
        trainer.callbacks = callbacks
    return steps
