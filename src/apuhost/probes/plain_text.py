"""Text as a terminal shows it: what a paste or a capture brings along is taken out."""

import re

# Control sequences (ECMA-48: CSI, OSC and two-character ones), then what no program prints as
# text, among it the NUL bytes of a log that lost power. Line ends and tabs stay.
_UNSEEN = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)|\x1b[@-_]"
    r"|[\x00-\x08\x0b-\x1f\x7f]"
)


def plain(text: str) -> str:
    """Return the text without escape sequences and control characters but tab and line feed."""
    return text if text.isprintable() else _UNSEEN.sub("", text)
