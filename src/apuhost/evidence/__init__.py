"""Facts on disk: raw probe output with versions and time, to be judged later or elsewhere.

A folder per host: `facts.json` (host, time, settings, each probe's exit status, each file's
SHA-256) beside one text file per probe. Secrets are never saved: of the inventory only apuhost's
own settings are, and logins in what was read are made unreadable.
"""

from apuhost.evidence.files import EvidenceError as EvidenceError
from apuhost.evidence.index import INDEX as INDEX
from apuhost.evidence.loading import Loaded as Loaded
from apuhost.evidence.loading import hosts_below as hosts_below
from apuhost.evidence.loading import load as load
from apuhost.evidence.saving import check as check
from apuhost.evidence.saving import save as save
