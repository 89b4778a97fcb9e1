"""The rehearsal's own."""

import runpy

from apuhost.roles import CHECKOUT

globals().update(
    {
        name: value
        for name, value in runpy.run_path(
            str(CHECKOUT / "inventories" / "rehearsal" / "group_data" / "all.py")
        ).items()
        if name[:2] != "__"
    }
)
