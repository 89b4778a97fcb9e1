"""The rehearsal's own."""

import runpy

from apuhost.roles import CHECKOUT

_rehearsal = CHECKOUT / "inventories" / "rehearsal" / "group_data" / "all.py"
globals().update(
    {name: value for name, value in runpy.run_path(str(_rehearsal)).items() if name[:2] != "__"}
)
