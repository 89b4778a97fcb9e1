"""What programs read: JSON by its schema, JUnit, Prometheus text; files whole or not at all."""

import json
import os
import re
from dataclasses import fields
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.support.hosts import GPU_780M, host_facts, settings
from tests.support.json_schema import faults
from tests.support.rights import ordinary_user
from tests.support.verdicts import judge

from apuhost import judging, report
from apuhost.commands import output, terminal, verify
from apuhost.commands.output import OutputError
from apuhost.commands.verify import Asked
from apuhost.gather import Unreachable
from apuhost.host_facts import HostFacts
from apuhost.judging import Judged
from apuhost.roles import CHECKOUT
from apuhost.verdicts import Layer, Severity, Status, Verdict
from apuhost.verdicts.host import HostReport

SCHEMA: dict[str, Any] = json.loads((CHECKOUT / "docs" / "verify.schema.json").read_text())
HOSTILE = 'a"b\\c\nd\x00\x1b[2J\udc80\u202e<&>]]>'
RECOMMENDED = Severity.RECOMMENDED
WAIVERS = [
    {"id": "kernel.iommu", "reason": "the NPU is in use", "until": "2027-03-01"},
    {"id": "gpu.driver", "reason": "no longer", "until": "2026-01-01"},
    {"id": "kernel.gtt", "reason": "x"},
]
REPORTS = (
    judge("healthy", settings(), host_facts()),
    judge("bare", settings(), HostFacts("bare", "", {})),
    judge(
        "waiving",
        settings(host_waivers=WAIVERS),
        host_facts(iommu="groups=20\ntranslated=3\n", gpus=GPU_780M.replace("amdgpu", "")),
    ),
    judge("away", settings(), Unreachable("connection timed out")),
    HostReport(HOSTILE, HOSTILE, (Verdict("a.b", Status.FAIL, HOSTILE, HOSTILE, reason=HOSTILE),)),
)


def test_json_is_what_its_schema_says() -> None:
    for reports in (REPORTS, ()):
        document = json.loads(json.dumps(report.as_json(reports)))
        assert faults(SCHEMA, document) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema",), 2),
        (("ok",), "yes"),
        (("failures",), ["kernel.gtt"]),
        (("hosts", 0, "verdicts", 0, "status"), "good"),
        (("hosts", 0, "verdicts", 0, "layer"), ""),
        (("hosts", 0, "verdicts", 0, "until"), "soon"),
        (("hosts", 0), {}),
    ],
)
def test_the_schema_tells_what_is_no_report(path: tuple[str | int, ...], value: object) -> None:
    document = json.loads(json.dumps(report.as_json(REPORTS)))
    place = document
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    assert faults(SCHEMA, document)


def test_the_schema_has_every_field_and_every_word() -> None:
    host, verdict = SCHEMA["$defs"]["host"], SCHEMA["$defs"]["verdict"]
    for part, record in ((host, HostReport), (verdict, Verdict)):
        names = [field.name for field in fields(record)]
        assert list(part["properties"]) == part["required"] == names
    assert SCHEMA["required"] == list(report.as_json(()))
    assert SCHEMA["properties"]["schema"]["const"] == report.SCHEMA
    assert verdict["properties"]["status"]["enum"] == list(Status)
    assert verdict["properties"]["severity"]["enum"] == list(Severity)
    assert verdict["properties"]["layer"]["enum"] == [*Layer, None]


def suites(*reports: HostReport) -> ElementTree.Element:
    return ElementTree.fromstring(report.junit(reports).encode())


def one(status: Status, severity: Severity = Severity.REQUIRED) -> HostReport:
    found = Verdict(
        *("kernel.gtt", status, "48 GiB GTT", "31 GiB", severity),
        layer=Layer.BOOTED,
        evidence="/proc/cmdline",
        fix="reboot",
        reason="the reason",
    )
    return HostReport("box1", "", (found,))


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        pytest.param(one(Status.FAIL), "failure", id="failed"),
        pytest.param(one(Status.UNKNOWN), "error", id="unknown is no pass"),
        pytest.param(one(Status.FAIL, RECOMMENDED), "skipped", id="warned"),
        pytest.param(one(Status.UNKNOWN, RECOMMENDED), "skipped", id="recommended, unknown"),
        pytest.param(one(Status.SKIP), "skipped", id="skipped"),
        pytest.param(one(Status.WAIVED), "skipped", id="waived"),
        pytest.param(HostReport("box1", "", (), "timed out"), "error", id="not reached"),
        pytest.param(one(Status.PASS), None, id="good"),
    ],
)
def test_junit_fails_where_the_exit_status_does(found: HostReport, kind: str | None) -> None:
    root = suites(found)
    (case,) = root.iter("testcase")
    assert [child.tag for child in case] == ([kind] if kind else [])
    assert (kind in ("failure", "error")) == (report.exit_status([found]) != 0)
    for suite in root.iter():
        if suite.tag.startswith("testsuite"):
            counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
            assert counts == {
                "tests": "1",
                "failures": str(int(kind == "failure")),
                "errors": str(int(kind == "error")),
                "skipped": str(int(kind == "skipped")),
            }


def test_junit_says_what_was_found_and_what_to_do() -> None:
    (failure,) = suites(one(Status.FAIL)).iter("failure")
    assert failure.get("message") == "FAIL: 31 GiB; asked: 48 GiB GTT"
    assert (failure.text or "").splitlines() == [
        *("differs first at: booted", "/proc/cmdline", "the reason", "fix: reboot")
    ]
    (waived,) = suites(one(Status.WAIVED)).iter("skipped")
    assert waived.get("message") == "waived: the reason: 31 GiB; asked: 48 GiB GTT"


def test_junit_has_a_suite_for_each_host_and_a_case_for_each_verdict() -> None:
    root = suites(*REPORTS)
    assert len(root) == len(REPORTS)
    names = [case.get("name") for case in root[0]]
    assert names == [verdict.id for verdict in REPORTS[0].verdicts]
    assert root[0][0].get("classname") == "healthy.kernel"


LABELS = r'\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\}'
SAMPLE = re.compile(rf"(apuhost_[a-z_]+)({LABELS})? \d+")
METRICS = report.metrics(REPORTS, 1_796_000_000.9)


def samples(name: str, text: str = METRICS) -> list[str]:
    return [line for line in text.splitlines() if re.match(rf"apuhost_{name}[{{ ]", line)]


def test_metrics_are_prometheus_text() -> None:
    assert METRICS.endswith("\n")
    described = re.findall(r"# HELP (\S+) .+\n# TYPE (\S+) gauge\n", METRICS)
    given = [line for line in METRICS.split("\n")[:-1] if not line.startswith("#")]
    names = {found[1] for line in given if (found := SAMPLE.fullmatch(line))}
    assert all(SAMPLE.fullmatch(line) for line in given)
    assert names == {name for name, _ in described}
    assert len(given) == len({line.rpartition(" ")[0] for line in given})  # no series twice


def test_metrics_come_in_groups() -> None:
    order = [line.split("{")[0].split()[0] for line in METRICS.splitlines() if line[0] != "#"]
    assert order == sorted(order, key=order.index)


def test_a_verdict_has_one_state_of_all() -> None:
    found = samples("verdict_state")
    verdicts = sum(len(each.verdicts) for each in REPORTS)
    assert len(found) == verdicts * len(Status)
    assert sum(line.endswith(" 1") for line in found) == verdicts
    assert (
        'apuhost_verdict_state{host="waiving",verdict="kernel.iommu",severity="required",'
        'state="waived"} 1' in found
    )


def test_hosts_are_reached_or_not_and_good_or_not() -> None:
    assert 'apuhost_host_reached{host="away"} 0' in samples("host_reached")
    assert 'apuhost_host_ok{host="away"} 0' in samples("host_ok")
    assert 'apuhost_host_ok{host="bare"} 0' in samples("host_ok")
    assert 'apuhost_host_ok{host="healthy"} 1' in samples("host_ok")


def test_a_waiver_in_force_tells_when_it_ends() -> None:
    # date -u -d 2027-03-02 +%s
    assert samples("waiver_expiry_timestamp_seconds") == [
        'apuhost_waiver_expiry_timestamp_seconds{host="waiving",verdict="kernel.iommu"} 1803945600'
    ]


def test_the_time_of_a_report_is_given() -> None:
    assert samples("report_timestamp_seconds") == ["apuhost_report_timestamp_seconds 1796000000"]


def test_a_label_holds_any_name() -> None:
    (line,) = samples("host_ok", report.metrics([HostReport('a"b\\c\nd', "", ())], 0))
    assert line == 'apuhost_host_ok{host="a\\"b\\\\c\\\\nd"} 1'


@pytest.mark.parametrize("form", verify.FORMS)
def test_no_form_holds_a_character_that_a_terminal_obeys(form: str) -> None:
    text = verify.FORMS[form](REPORTS)
    assert all(line.isprintable() for line in text.split("\n"))
    assert "202e" in text


def test_the_page_lists_the_metrics() -> None:
    page = (CHECKOUT / "docs" / "checks.md").read_text()
    names = re.findall(r"# TYPE (\S+)", METRICS)
    assert re.findall(r"^\| `(apuhost_\w+)` ", page, re.MULTILINE) == names


def written(folder: Path, *forms: str, reports: tuple[HostReport, ...] = REPORTS) -> int:
    files = {form: str(folder / form) for form in forms}
    return verify.show(reports, Asked(Path("site.py")), files, every=False)


def test_all_forms_of_one_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert written(tmp_path, *verify.FORMS) == 1
    assert "of 5 hosts good" in capsys.readouterr().out
    assert faults(SCHEMA, json.loads((tmp_path / "json").read_text())) == []
    assert ElementTree.parse(tmp_path / "junit").getroot().tag == "testsuites"
    assert "apuhost_host_ok" in (tmp_path / "metrics").read_text()
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(verify.FORMS)


def test_a_host_is_good_or_failed_or_neither(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "asked", lambda *_, **__: Judged(REPORTS, {}))
    seen = verify.judge(Asked(Path("site.py")), {}, every=False)
    assert (seen.good, seen.failed) == (("healthy",), ("waiving", "away", HOSTILE))


@pytest.mark.parametrize("form", verify.FORMS)
def test_stdout_is_that_form_alone(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    verify.show(REPORTS, Asked(), {form: "-"}, every=True)
    said = capsys.readouterr()
    assert said.err == ""
    text = verify.FORMS[form](REPORTS)
    if form == "metrics":  # it tells the time
        said_lines, lines = said.out.splitlines(), text.splitlines()
        assert [x for x in said_lines if "timestamp" not in x] == [
            x for x in lines if "timestamp" not in x
        ]
    else:
        assert said.out == text


def test_a_file_is_replaced_whole_and_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.prom", tmp_path / "link.prom"
    real.write_text("old" * 10_000)
    real.chmod(0o640)
    link.symlink_to(real)
    inode = real.stat().st_ino
    assert output.write({str(link): "new\n"}) == []
    assert real.read_text() == "new\n"
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert real.stat().st_ino != inode


def test_a_new_file_is_for_every_reader(tmp_path: Path) -> None:
    file = tmp_path / "apuhost.prom"
    assert output.write({str(file): "x"}) == []
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_file_that_breaks_off_leaves_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    file, other = tmp_path / "apuhost.prom", tmp_path / "other"
    file.write_text("old\n")
    monkeypatch.setattr(os, "fsync", full)
    found = output.write({str(file): "new\n", str(other): "new\n"})
    assert found == [f"{each}: not written: No space left on device" for each in (file, other)]
    assert file.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_device_is_written_to_not_replaced() -> None:
    assert output.write({"/dev/null": "x"}) == []
    assert Path("/dev/null").is_char_device()
    assert output.write({"/dev/full": "x"}) == ["/dev/full: not written: No space left on device"]


@pytest.mark.parametrize(
    ("reports", "status"),
    [
        pytest.param(REPORTS[:1], 2, id="good, and not written"),
        pytest.param(REPORTS, 1, id="failed, and not written"),
    ],
)
def test_a_file_that_cannot_be_written_is_an_error_after_the_table(
    reports: tuple[HostReport, ...], status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = Asked(Path("site.py"))
    assert verify.show(reports, asked, {"junit": "/dev/full"}, every=False) == status
    said = capsys.readouterr()
    assert "good" in said.out
    assert said.err == "/dev/full: not written: No space left on device\n"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"json": "-", "junit": "-"}, "--json and --junit both write -: give each its own file"),
        ({"json": "{0}/a", "metrics": "{0}/./a"}, "--json and --metrics both write"),
        ({"metrics": "{0}/no/a.prom"}, "no such folder: {0}/no"),
        ({"junit": "{0}"}, "is a folder"),
    ],
)
def test_what_cannot_be_written_is_told_before_any_host_is_contacted(
    files: dict[str, str], told: str, tmp_path: Path
) -> None:
    given = {option: file.format(tmp_path) for option, file in files.items()}
    with pytest.raises(OutputError) as raised:
        verify.run(Asked(Path("/nosuch.py")), given, every=False)
    assert told.format(tmp_path) in str(raised.value)


@pytest.mark.parametrize("there", [True, False], ids=["a file", "no file yet"])
def test_a_folder_that_takes_no_file_is_told_before_any_host_is_contacted(
    tmp_path: Path, there: bool
) -> None:
    file = tmp_path / "a.json"
    if there:
        file.touch()
    tmp_path.chmod(0o500)
    with ordinary_user(), pytest.raises(OutputError) as raised:
        verify.run(Asked(Path("/nosuch.py")), {"json": str(file)}, every=False)
    assert str(raised.value) == (
        f"--json {file}: nothing can be written in {tmp_path}: Permission denied"
    )


def test_a_pipe_whose_reader_has_gone_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert output.write({f"/dev/fd/{writing}": "x"}) == []
    finally:
        os.close(writing)


@pytest.mark.parametrize(
    ("tty", "columns", "width"),
    [
        pytest.param(True, 80, 80, id="a terminal"),
        pytest.param(True, 200, 200, id="a wide one"),
        pytest.param(True, 20, 60, id="one in which nothing can be read"),
        pytest.param(True, 0, 100, id="one that does not tell"),
        pytest.param(False, 80, 100, id="a file"),
    ],
)
def test_a_line_is_as_wide_as_the_terminal(
    tty: bool, columns: int, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: tty)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((columns, 24)))
    assert terminal.width() == width


LINES = ["FAIL   kernel.gtt  x", "waived gpu.driver  y", "  fix: FAIL it", "a  1 bad"]


@pytest.mark.parametrize(
    ("tty", "variables", "coloured"),
    [
        pytest.param(True, {}, True, id="a terminal"),
        pytest.param(False, {}, False, id="a file"),
        pytest.param(True, {"NO_COLOR": "1"}, False, id="NO_COLOR"),
        pytest.param(True, {"TERM": "dumb"}, False, id="a dumb terminal"),
    ],
)
def test_colour_only_repeats_a_word_and_only_on_a_terminal(
    tty: bool, variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: tty)
    found = terminal.painted(LINES)
    assert [re.sub(r"\x1b\[\d+m", "", line) for line in found] == LINES
    assert [line != given for line, given in zip(found, LINES, strict=True)] == [
        *(coloured, coloured, False, False)
    ]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        pytest.param("apuhost.prom", "", id="as the collector takes it"),
        pytest.param("apuhost.txt", "apuhost.txt: node_exporter's textfile collector", id="else"),
    ],
)
def test_metrics_where_nobody_collects_them_are_worth_a_word(
    name: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / name
    status = verify.show(REPORTS[:1], Asked(), {"metrics": str(file)}, every=False)
    assert status == 0
    assert "apuhost_host_ok" in file.read_text()
    assert (told in capsys.readouterr().err) if told else not capsys.readouterr().err
