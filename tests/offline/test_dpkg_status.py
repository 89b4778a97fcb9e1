"""dpkg's database for apt elsewhere: whole, or not read at all."""

import pytest

from apuhost.probes import ParseError, dpkg_status
from apuhost.probes.dpkg_status import DpkgStatus

TEXT = """\
native amd64
foreign i386
foreign armhf
Package: libc6
Status: hold ok installed
Architecture: amd64
Version: 2.41-12
Depends: libgcc-s1,
 libcrypt1

Package: bash
Status: install ok installed

end
"""


def test_architectures_and_the_database_are_read() -> None:
    found = dpkg_status.parse(TEXT)
    assert (found.native, found.foreign) == ("amd64", ("i386", "armhf"))
    assert found.text == TEXT.partition("armhf\n")[2].removesuffix("end\n")
    assert dpkg_status.parse("native amd64\n\nend\n") == DpkgStatus("amd64", (), "\n")


@pytest.mark.parametrize(
    "text",
    [
        "",
        TEXT.removesuffix("end\n"),
        TEXT[: TEXT.index("bash")],
        TEXT.replace("native amd64", "native "),
        TEXT.replace("Status: hold", "APT::Status hold"),
        TEXT.replace("Version:", "Description:"),
    ],
)
def test_what_is_not_whole_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        dpkg_status.parse(text)
