"""One module per program or file that is read on a host: COMMAND, a frozen record, parse(text).

A probe only reads: it neither runs anything nor judges what it read.
"""

from apuhost.errors import ApuhostError


class ParseError(ApuhostError):
    """The text is not what the program or file prints."""
