"""Keys of a host that are pyinfra's own: how the host is reached, and how commands run there."""

# pyinfra's own keys (ConnectorData of its ssh connector and its global arguments): an offline test
# compares them with the installed pyinfra, which is too slow to import here.
PYINFRA_KEYS = tuple(
    """
    ssh_hostname ssh_port ssh_user ssh_password ssh_key ssh_key_password ssh_allow_agent
    ssh_look_for_keys ssh_forward_agent ssh_config_file ssh_known_hosts_file
    ssh_strict_host_key_checking ssh_paramiko_connect_kwargs ssh_connect_retries
    ssh_connect_retry_min_delay ssh_connect_retry_max_delay ssh_file_transfer_protocol
    _sudo _sudo_user _use_sudo_login _sudo_password _preserve_sudo_env _su_user _use_su_login
    _preserve_su_env _su_shell _su_password _doas _doas_user _dzdo _dzdo_user _shell_executable
    _chdir _env _success_exit_codes _timeout _get_pty _stdin _temp_dir _ignore_errors
    _continue_on_error _if _parallel _run_once _serial _retries _retry_delay _retry_until
    """.split()  # noqa: SIM905  (a list of names, not of strings)
)
