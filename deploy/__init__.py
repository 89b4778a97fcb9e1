"""How the steps get onto a host: pyinfra. deploy/all.py is what pyinfra executes."""
