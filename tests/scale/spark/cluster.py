"""A cluster of Spark on this machine: a master and its workers, processes of their own on the loopback."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.scale.spark.processes import command_of, end_with_parent, kill_session, of_session, wait_for

WORKERS = 2
_STARTS_WITHIN, _ENDS_WITHIN = 90.0, 10.0
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
"""Java that starts soon rather than runs fast."""
SETTINGS = {
    "spark.sql.shuffle.partitions": "4",
    # Generated Java is compiled for seconds before it handles its few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_OF_CLUSTER = {
    **SETTINGS,
    "spark.driver.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    "spark.executor.memory": "512m",
    "spark.executor.cores": "1",
}


class Cluster:
    """A standalone master and two workers of one core each; ports are chosen by the system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.settings = folder / "conf"
        self.settings.mkdir()
        lines = (f"{name} {value}\n" for name, value in _OF_CLUSTER.items())
        (self.settings / "spark-defaults.conf").write_text("".join(lines))
        self.workers: list[subprocess.Popen[bytes]] = []
        self._started = 0
        self.master = self._run("master", "master.Master", "--host", "127.0.0.1", "--port", "0")
        try:
            wait_for(lambda: self._found(r"Starting Spark master at (spark://\S+)"), _STARTS_WITHIN, "Spark's master")
            self.url = self._found(r"Starting Spark master at (spark://\S+)")[0]
            self.fill_up()
        except BaseException:
            self.stop()
            raise

    @property
    def environment(self) -> dict[str, str]:
        """For whoever works on the cluster: small executors, the loopback, this Python."""
        own = {"SPARK_CONF_DIR": str(self.settings), "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        return {**os.environ, **own}

    def fill_up(self) -> None:
        """Start as many workers as are missing."""
        while len(self.workers) < WORKERS:
            self._started += 1
            name = f"worker-{self._started}"
            options = ("--host", "127.0.0.1", "--cores", "1", "--memory", "1g", "--work-dir", str(self.folder / name))
            self.workers.append(self._run(name, "worker.Worker", *options, self.url))
        wait_for(
            lambda: len(self._found(r"Registering worker (\S+)")) >= self._started, _STARTS_WITHIN, "Spark's workers"
        )

    def kill_a_worker(self, within: float = 60.0) -> int:
        """Kill a worker in the middle of a task, with its executor and its Python; how many processes it was."""
        wait_for(self._busy, within, "a task on a worker")
        worker = self._busy()[0]
        killed = len(of_session(worker.pid))
        kill_session(worker.pid)
        worker.wait()
        self.workers.remove(worker)
        return killed

    def stop(self) -> None:
        """End all of its processes; complain of one that does not."""
        processes = (*self.workers, self.master)
        for process in processes:
            kill_session(process.pid)
            process.wait()
        wait_for(lambda: not any(of_session(process.pid) for process in processes), _ENDS_WITHIN, "the cluster's end")

    def _busy(self) -> list[subprocess.Popen[bytes]]:
        """Workers with a task in Python: beside the process that starts them there is one that was started."""
        return [
            worker
            for worker in self.workers
            if sum("pyspark.daemon" in command_of(pid) for pid in of_session(worker.pid)) > 1
        ]

    def _run(self, name: str, what: str, *options: str) -> subprocess.Popen[bytes]:
        import pyspark

        script = Path(pyspark.__file__).parent / "bin" / "spark-class"
        command = ["bash", str(script), f"org.apache.spark.deploy.{what}", "--webui-port", "0", *options]
        daemon = {
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": JAVA_OPTIONS,
            "SPARK_LOCAL_DIRS": str(self.folder),
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**self.environment, **daemon},
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def _found(self, pattern: str) -> list[str]:
        return re.findall(pattern, (self.folder / "master.log").read_text(errors="replace"))
