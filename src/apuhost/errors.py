"""The errors that the core raises; the command turns each into one line on stderr."""


class ApuhostError(Exception):
    """What is wrong, where, and what to do, in one line.

    The exit status is 2 unless a subclass says otherwise.
    """

    exit_status = 2
