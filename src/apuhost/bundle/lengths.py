"""How long a file is that is not here yet: the lock names sizes, so that nobody is surprised."""

import httpx

from apuhost import web
from apuhost.bundle.item import BundleError
from apuhost.web import Get


def told(url: str, get: Get) -> int:
    """As its server says before the first byte, which nobody waits for.

    Raises:
        BundleError: it does not give the file, or does not say.
    """
    try:
        with get(url, 0) as answer:
            fault, said = web.fault(answer, url), answer.headers.get("Content-Length", "")
    except httpx.RequestError as error:
        raise BundleError(web.no_answer(error, url)) from error
    except web.NO_ADDRESS as error:
        raise BundleError(f"{url}: no address ({error})") from error
    if fault or not said.isdecimal():
        raise BundleError(fault or f"{url}: its server does not say how long it is")
    return int(said)
