"""A box over a real sshd for the role boot, which needs nothing but units.

It has systemd in name only: a stand-in remembers which units were enabled and started.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.sshd import Sshd, sshd

# `show`: each unit by its name, enabled and at work where it was told to be; a oneshot is inactive.
SYSTEMCTL = r"""#!/bin/sh
verb=$1; shift
for word; do
  case "$word" in *.service|*.timer) ;; *) continue ;; esac
  case "$verb" in
    enable|restart) : >"/run/units.$word.$verb" ;;
    show)
      [ -e "/etc/systemd/system/$word" ] && load=loaded || load=not-found
      [ -e "/run/units.$word.enable" ] && file=enabled || file=
      [ -e "/run/units.$word.restart" ] && case "$word" in *.timer) at=active ;; esac
      [ "/etc/systemd/system/$word" -nt "/run/units.$word.restart" ] && need=yes || need=no
      printf 'Id=%s\nLoadState=%s\nActiveState=%s\nUnitFileState=%s\nNeedDaemonReload=%s\n\n' \
        "$word" "$load" "${at:-inactive}" "$file" "$need" ;;
  esac
  at=
done
"""


@contextmanager
def bare(folder: Path) -> Iterator[Sshd]:
    """One in a new folder, as nobody has deployed it; it ends with the block."""
    folder.mkdir()
    with sshd(folder) as found:
        found.sh("mount -t tmpfs none /usr/local && mkdir /usr/local/sbin")
        program = found.path("/usr/local/sbin/systemctl")
        program.write_text(SYSTEMCTL)
        program.chmod(0o755)
        yield found
