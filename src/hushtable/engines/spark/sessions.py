"""A session of Spark for the command, from the start of Java to its end.

Promise: what the owner has set (spark-defaults.conf, SPARK_CONF_DIR, variables of the environment) holds; the
rest is set so that rows stay in a private folder of this user, and that workers run this Python. What Spark
writes to standard error may quote rows, so it goes to that folder too, unless HUSHTABLE_DEBUG=1 asks for it.
When the block ends, however it does, Java ends, and then the folder is removed.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hushtable.engines.sliced.spills import spill_folder
from hushtable.errors import BadData, HushtableError, MissingJava, MissingPackage

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_T = TypeVar("_T")
_OLDEST = 17
_HERE = "local[*]"  # as many threads as this machine has cores
_WAIT = 60  # seconds for Java to end by itself
_SPARKS_NAME = "pyspark-shell"  # of an application that nobody named
_NO_ANSWER = "nothing answers there"
# Why Spark does not start, by words in its report; the first that fits is taken.
_CAUSES = (
    (
        r"Could not parse Master URL|Master must either be",
        "Spark does not know such a master",
        "It takes local[4], spark://host:7077, yarn, or k8s://https://host:443.",
    ),
    (
        r"HADOOP_CONF_DIR or YARN_CONF_DIR",
        "Spark does not know where YARN is",
        "Set HADOOP_CONF_DIR to the folder of the cluster's settings.",
    ),
    (
        r"Could not reserve enough space|insufficient memory|Initial heap size|Invalid maximum heap size",
        "Java does not get the memory that it asks for",
        "Set spark.driver.memory in spark-defaults.conf, as in 2g.",
    ),
    (
        r"masters are unresponsive|UnknownHost|ConnectException|stopped SparkContext",
        _NO_ANSWER,
        "Check the address, and that the cluster runs.",
    ),
)


@contextmanager
def session(master: str | None = None) -> Iterator[SparkSession]:
    """Start Spark, by default on this machine alone, and stop it when the block ends."""
    check_pyspark()
    check_java()
    chosen = master or _default_master() or _HERE
    _check_answer(chosen)
    with ExitStack() as stack:
        folder = stack.enter_context(spill_folder())
        stack.enter_context(_unlogged())
        stack.enter_context(_variables(_surroundings(chosen)))
        if chosen.startswith("local-cluster"):
            stack.enter_context(_variables({"SPARK_HOME": _home_in(folder)}, replaced=True))
        gateway = stack.enter_context(_java(chosen, folder / "report"))
        yield stack.enter_context(_spark(chosen, folder, gateway))


def check_pyspark() -> None:
    """Raise unless pyspark is installed."""
    missing = False
    try:
        import pyspark  # noqa: F401
    except ImportError:
        missing = True
    if missing:
        raise MissingPackage("--engine spark", "pyspark", install="'hushtable[spark]'")


def check_java() -> None:
    """Raise unless there is a Java that Spark can use: that of JAVA_HOME, else the one on PATH."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if java is None:
        raise MissingJava("there is no `java` on PATH")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, errors="replace")
        found = re.search(r'version "(?:1\.)?(\d+)', said.stderr + said.stdout)
    except OSError:
        found = None
    if found is None:
        raise MissingJava(f"{java} does not start{', and JAVA_HOME names it' * bool(home)}")
    if int(found[1]) < _OLDEST:
        raise MissingJava(f"{java} is Java {found[1]}")


def files_are_here() -> bool:
    """Return whether a path without a scheme is of this machine, as far as the owner's settings tell."""
    settings = [os.environ.get("HADOOP_CONF_DIR"), os.environ.get("YARN_CONF_DIR")]
    try:
        settings += [str(_settings_folder() / "core-site.xml")]
        told = "fs.default" in _defaults()
    except ImportError:  # without pyspark, which is told next
        return False
    return not told and not any(each is not None and os.path.exists(each) for each in settings)


def _default_master() -> str | None:
    """Return the master of the owner's settings, None if they name none."""
    found = re.search(r"^\s*spark\.master(?:\s*[=:]\s*|\s+)(\S+)", _defaults(), re.MULTILINE)
    return found and found[1]


def _defaults() -> str:
    """Return the text of spark-defaults.conf, or nothing."""
    with suppress(OSError):
        return (_settings_folder() / "spark-defaults.conf").read_text(encoding="utf-8", errors="replace")
    return ""


def _settings_folder() -> Path:
    """Return the folder of the owner's settings."""
    from pyspark.find_spark_home import _find_spark_home

    return Path(os.environ.get("SPARK_CONF_DIR") or Path(_find_spark_home()) / "conf")


def _check_answer(master: str) -> None:
    """Raise if none of a cluster's own masters can be reached; Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            return  # Spark says what is wrong with it
        with suppress(OSError, OverflowError), socket.create_connection((host.strip("[]"), int(port)), 10):
            return
    raise _not_started(master, "ConnectException")


def _surroundings(master: str) -> dict[str, str]:
    """Return variables that Java reads as it starts. Each is but a default."""
    if not master.startswith("local"):
        return {}
    # Any setting of spark.driver.memory comes before. The rest is for Python and for files.
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4
    return {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DRIVER_MEMORY": f"{max(1024, memory >> 20)}m"}


def _home_in(folder: Path) -> str:
    """Return a home of Spark in a private folder: executors on this machine work, and log, in its `work`."""
    from pyspark.find_spark_home import _find_spark_home

    home = folder / "home"
    home.mkdir()
    for each in Path(_find_spark_home()).iterdir():
        if each.name != "work":
            (home / each.name).symlink_to(each)
    return str(home)


@contextmanager
def _variables(values: Mapping[str, str], *, replaced: bool = False) -> Iterator[None]:
    """Set variables of the environment until the block ends; those that are set, only to be `replaced`."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update({name: value for name, value in values.items() if replaced or before[name] is None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _unlogged() -> Iterator[None]:
    """Have Python log nothing, unless that is asked for: what py4j logs quotes Java."""
    before = logging.root.manager.disable
    logging.disable(before if _is_shown() else logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)


def _is_shown() -> bool:
    return os.environ.get("HUSHTABLE_DEBUG") == "1"


@contextmanager
def _java(master: str, report: Path) -> Iterator[Any]:
    """Start Java, and wait for its end when the block ends."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway

    # What is set here comes before spark-defaults.conf, so all else is set when that was read.
    asked = SparkConf(loadDefaults=False).set("spark.master", master)
    gateway: Any = None
    try:
        with report.open("wb") as written, _interrupted_later():
            streams = {} if _is_shown() else {"stdout": written, "stderr": written}
            gateway = _tried(lambda: launch_gateway(asked, popen_kwargs=streams), master, report)
        yield gateway
    finally:
        SparkContext._gateway = SparkContext._jvm = None
        if gateway is not None:
            with suppress(Exception):
                gateway.shutdown()
            if gateway.proc is not None:  # it is not ours where spark-submit runs this program
                _end(gateway.proc)


@contextmanager
def _interrupted_later() -> Iterator[None]:
    """Let Ctrl-C wait until Java is known, and can be ended; a second one does not wait."""
    received: list[int] = []

    def note(number: int, frame: object) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    handler = signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
    if received:
        raise KeyboardInterrupt


def _end(java: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process that ends when nothing more is to be read."""
    assert java.stdin is not None
    with suppress(OSError):
        java.stdin.close()
    try:
        java.wait(timeout=_WAIT)
    except subprocess.TimeoutExpired:
        java.kill()
        java.wait()


@contextmanager
def _spark(master: str, folder: Path, gateway: Any) -> Iterator[SparkSession]:
    """Start a session, and stop it when the block ends."""
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

    def start() -> SparkSession:
        # Ctrl-C stays as it was: pyspark would first ask Java to cancel, where an answer is waited for.
        handler = signal.getsignal(signal.SIGINT)
        context = SparkContext(conf=conf, gateway=gateway)
        signal.signal(signal.SIGINT, handler)
        return SparkSession(context)

    conf = _settings(SparkConf(_jvm=gateway.jvm), folder)
    python = conf.get("spark.pyspark.python", sys.executable)
    with _variables({"PYSPARK_PYTHON": python, "PYSPARK_DRIVER_PYTHON": sys.executable}):
        spark = _tried(start, master, folder / "report")
        try:
            yield spark
        finally:
            with suppress(Exception):
                _forget_checkpoints(spark)
            with suppress(Exception):  # Java ends next, and takes with it what is left
                spark.stop()


def _forget_checkpoints(spark: SparkSession) -> None:
    """Remove the folder that Spark makes for the checkpoints of each session, which has none."""
    name = spark.sparkContext.getCheckpointDir()
    if name is not None:
        path = spark._jvm.org.apache.hadoop.fs.Path(name)
        files = path.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration())
        if not files.listStatus(path):
            files.delete(path, False)


def _tried(action: Callable[[], _T], master: str, report: Path) -> _T:
    """Do what starts Spark."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        return action()
    except (PySparkException, Py4JError, OSError) as error:
        instead = _not_started(master, f"{error}\n{report.read_text(errors='replace')}")
    raise instead


def _settings(conf: Any, folder: Path) -> Any:
    """Return the owner's settings, with ours for what they leave open."""
    if conf.get("spark.app.name") == _SPARKS_NAME:
        conf.set("spark.app.name", "hushtable")
    conf.set("spark.ui.showConsoleProgress", "false")
    conf.setIfMissing("spark.ui.enabled", "false")
    conf.setIfMissing("spark.local.dir", str(folder / "local"))
    if (_settings_folder() / "hive-site.xml").exists():
        conf.setIfMissing("spark.sql.catalogImplementation", "hive")  # else its tables are not seen
    else:
        conf.setIfMissing("spark.sql.warehouse.dir", (folder / "warehouse").as_uri())
    return conf


def _not_started(master: str, text: str) -> HushtableError:
    """Return the error that says why Spark did not start."""
    if re.search(r"Module \S+ not found", text):
        return MissingJava("the Java that was found lacks modules that Spark uses")
    for pattern, cause, hint in _CAUSES:
        if re.search(pattern, text):
            return BadData(f"Spark did not start with master {master!r}: {cause}", hint)
    hint = "With HUSHTABLE_DEBUG=1 it says why; its words may quote rows."
    return BadData(f"Spark did not start with master {master!r}", hint)
