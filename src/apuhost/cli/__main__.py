"""`python -m apuhost.cli` is `apuhost`."""

from apuhost.cli import main

if __name__ == "__main__":
    main()
