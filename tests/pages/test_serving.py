"""A release is served to whoever has the address, and nothing else is."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread

import pytest

import hushtable as ht
from hushtable.pages.serving import PageServer, reply_to
from tests.pages.clinic import LABELS, domain, visits

TOKEN = "0123456789abcdef"


@pytest.fixture(scope="module")
def server(release: ht.Release) -> Iterator[PageServer]:
    made = PageServer(release, file=release.path, token=TOKEN)
    thread = Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


def fetch(
    server: PageServer, path: str, *, body: object = None, host: str | None = None, method: str | None = None
) -> tuple[int, str]:
    """The code and the text of an answer."""
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    headers = {"Host": host or f"127.0.0.1:{server.server_port}"}
    sent = None if body is None else body if isinstance(body, str) else json.dumps(body)
    connection.request(method or ("GET" if sent is None else "POST"), path, body=sent, headers=headers)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_the_page_is_under_the_token_alone(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    code, text = fetch(server, f"/{TOKEN}/")
    assert code == 200
    assert "connect-src 'self'" in text

    for path in (
        "/",
        f"/{TOKEN}",
        f"/{TOKEN[:-1]}0/",
        f"/{TOKEN}/../etc/passwd",
        "/%2e%2e/",
        f"/{TOKEN}/clinic.parquet",
    ):
        assert fetch(server, path) == (404, "nothing here"), path


def test_another_name_for_this_machine_reaches_nothing(server: PageServer) -> None:
    assert fetch(server, f"/{TOKEN}/", host="harm.example")[0] == 404
    assert fetch(server, f"/{TOKEN}/ask", body={"by": "region"}, host="harm.example")[0] == 404
    assert fetch(server, "/wrong/ask", body={"by": "region"})[0] == 404


def test_a_refusal_names_where_a_model_is_offered(tmp_path: Path) -> None:
    """The page has no setting `model`, so it names the command and the method that have one."""
    cube = ht.publish(
        visits(visits=1_000),
        domain=domain(),
        epsilon=1,
        size=100,
        structure=ht.Marginals(["region"], ["reason"]),
        output=tmp_path / "cube.parquet",
        ledger=False,
    )

    refused = reply_to(cube, {"by": "region, reason"})["error"]
    assert "`hushtable query --model` and `release.by(..., model=True)` add" in refused


def test_nothing_but_pages_and_questions_is_understood(server: PageServer) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS"):
        assert fetch(server, f"/{TOKEN}/", method=method)[0] == 501
    assert fetch(server, f"/{TOKEN}/ask", body="no json")[0] == 400
    assert fetch(server, f"/{TOKEN}/ask", body="[" * 50_000)[0] == 400
    assert fetch(server, f"/{TOKEN}/ask", body="[1]")[0] == 400


def test_a_question_is_answered_as_by_answers_it(server: PageServer, release: ht.Release) -> None:
    code, text = fetch(server, f"/{TOKEN}/ask", body={"by": "reason, 20(age)", "where": "region = 'South'"})
    answer, expected = json.loads(text), release.by(["reason", "20(age)"], where="region = 'South'")

    assert code == 200
    assert answer["view"]["estimate"] == [
        int(f"{each:.0f}") for each in expected.column("estimate").to_pylist()
    ]
    assert answer["view"]["note"] == expected.schema.metadata[b"note"].decode()
    assert answer["items"][0]["labels"] == LABELS
    assert answer["where"] == "region = 'South'"
    total = release.total("region = 'South'")
    assert reply_to(release, {"where": "region = 'South'"})["total"]["value"] == f"{total.value:,.0f}"


@pytest.mark.parametrize(
    "question",
    [
        {"by": "no such attribute"},
        {"by": "region", "where": "region = (SELECT 1)"},
        {"by": "region", "where": "read_text('/etc/passwd') = 'a'"},
        {"by": "region", "where": "region = 'South'; DROP TABLE release"},
        {"by": 7},
        {"by": "region,region"},
    ],
)
def test_what_cannot_be_answered_is_told(release: ht.Release, question: dict[str, object]) -> None:
    answer = reply_to(release, question)

    assert set(answer) == {"error"}
    assert "root:" not in answer["error"]


def test_the_token_differs_and_ctrl_c_ends_it(release: ht.Release) -> None:
    import re
    import signal
    import subprocess
    import sys

    tokens = set()
    for _ in range(2):
        command = [sys.executable, "-u", "-m", "hushtable", "explore", str(release.path)]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as started:
            assert started.stdout is not None
            said = started.stdout.readline()
            found = re.fullmatch(r"Open http://127\.0\.0\.1:\d+/([0-9a-f]{48})/\n", said)
            assert found, said
            tokens.add(found[1])
            started.send_signal(signal.SIGINT)
            assert "ended." in started.stdout.read()
            assert started.wait(timeout=20) == 0
    assert len(tokens) == 2
