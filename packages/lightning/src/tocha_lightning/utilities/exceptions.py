"""Exceptions that the Trainer raises or understands."""


class MisconfigurationException(Exception):
    """The Trainer, a module or a callback was configured in a way that cannot work."""


class SIGTERMException(SystemExit):
    """Raised between two batches after the process received SIGTERM, so that training ends in an orderly way."""


class ExitTuner(Exception):
    """Ends a tuning run that has found its value; `Trainer` treats it as a normal end of the run."""
