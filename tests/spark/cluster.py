"""A standalone cluster of Spark: a master and two workers, as operators start them, on this machine alone."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

from tests.spark.processes import gone, working_in

ROOT = Path(__file__).parents[2]
WORKERS = 2
_HOST = "127.0.0.1"
_LONGEST = 60.0  # seconds: a process that says nothing for so long hangs
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class Cluster:
    """Processes of Spark's own jars, with all that they write in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._started = folder, 0
        self._processes: list[subprocess.Popen[bytes]] = []
        self._workers: list[subprocess.Popen[bytes]] = []
        for name in ("conf", "temporary"):
            (folder / name).mkdir(parents=True)
        try:
            _, said = self._start("master.Master", r"Starting Spark master at (spark://\S+)")
            self.master = said
            self.complete()
        except BaseException:
            self.stop()
            raise

    def complete(self) -> None:
        """Start a worker for each that has died."""
        self._workers = [each for each in self._workers if each.poll() is None]
        while len(self._workers) < WORKERS:
            work = str(self._folder / f"work-{self._started}")
            words = ("--cores", "1", "--memory", "600m", "--work-dir", work, self.master)
            worker, _ = self._start("worker.Worker", "(Successfully registered) with master", *words)
            self._workers.append(worker)

    def deaths(self) -> list[int]:
        """Return how the workers ended that no longer live: 0 if they ended by themselves, -9 if killed."""
        return [code for each in self._workers if (code := each.poll()) is not None]

    def stop(self) -> None:
        """End all processes, workers first, and see that all they started end with them."""
        everyone = working_in(self._folder)  # also executors whose worker was killed, if any live on
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(_LONGEST)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        assert gone(everyone, seconds=_LONGEST) == []

    def _start(self, name: str, ready: str, *words: str) -> tuple[subprocess.Popen[bytes], str]:
        """Start a process, and return it with what it says when it is ready."""
        import pyspark  # here, since tests are collected where it is absent too

        home = Path(pyspark.__file__).parent
        log = self._folder / f"{self._started}.log"
        self._started += 1
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SPARK_")}
        environment = kept | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "SPARK_CONF_DIR": str(self._folder / "conf"),
            "SPARK_DAEMON_JAVA_OPTS": f"{_QUICK} -Dspark.master.rest.enabled=false",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_DIRS": str(self._folder / "local"),
            "SPARK_LOCAL_IP": _HOST,
            "TMPDIR": str(self._folder / "temporary"),
        }
        places = ["--host", _HOST, "--port", "0", "--webui-port", "0"]  # whichever are free
        command = [str(home / "bin/spark-class"), f"org.apache.spark.deploy.{name}", *places, *words]
        with log.open("wb") as said:
            process = subprocess.Popen(
                command, env=environment, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        self._processes.append(process)
        end = time.monotonic() + _LONGEST
        while (found := re.search(ready, log.read_text())) is None:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        return process, found[1]
