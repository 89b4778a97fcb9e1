"""How the desired state gets onto a host: pyinfra. deploy/all.py is what pyinfra executes."""
