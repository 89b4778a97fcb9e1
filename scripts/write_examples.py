"""Writes examples/ anew, from the hosts that the tests have: `make docs`."""

from tests.support import examples

if __name__ == "__main__":
    examples.write(examples.FOLDER)
