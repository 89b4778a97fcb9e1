"""This very machine. It is never rebooted by apuhost: you are told when to do it."""

import os

hosts = [("@local", {"_sudo": os.geteuid() != 0})]
