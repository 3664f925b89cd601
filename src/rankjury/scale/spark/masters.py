"""Where Spark's work is done: ``local[*]``, ``spark://HOST:PORT``, ``yarn``, ``k8s://…``."""

import re
import socket
from dataclasses import dataclass

from rankjury.errors import DataError, UsageError

_LOCAL = re.compile(r"local(-cluster)?(\[[^\]]*\])?")
_KNOWN_LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)(\s*,\s*[1-9]\d*)?\])?|local-cluster\[\d+\s*,\s*\d+\s*,\s*\d+\]")
_STANDALONE = re.compile(r"spark://(.+)")
_OTHERS = re.compile(r"yarn|k8s://.+")
_EXPECTED = "local[*], local[2], spark://HOST:PORT, yarn or k8s://…"
_ANSWERS_WITHIN = 5.0
_LOOPBACK = ("127.", "localhost", "::1")


@dataclass(frozen=True)
class Master:
    """A master's address; of a standalone cluster also where its masters listen."""

    url: str
    hosts: tuple[tuple[str, int], ...] = ()

    @property
    def on_this_machine(self) -> bool:
        """Whether nobody but this machine takes part, so that nothing need be told of its network."""
        return self.is_local or (bool(self.hosts) and all(host.startswith(_LOOPBACK) for host, _ in self.hosts))

    @property
    def is_local(self) -> bool:
        return _LOCAL.fullmatch(self.url) is not None

    def check_answers(self) -> None:
        """Ask the masters of a cluster for a connection: Spark itself would try for a minute, and end its process."""
        troubles = []
        for host, port in self.hosts:
            try:
                socket.create_connection((host, port), timeout=_ANSWERS_WITHIN).close()
            except OSError as error:
                troubles.append(f"{host}:{port}: {error.strerror or error}")
            else:
                return
        if troubles:
            raise DataError(
                f"no master of Spark answers ({'; '.join(troubles)})",
                where=self.url,
                hint="Is the cluster running? Its master's page says which address it has.",
            )


def parse_master(url: str) -> Master:
    if _KNOWN_LOCAL.fullmatch(url) or _OTHERS.fullmatch(url):
        return Master(url)
    standalone = _STANDALONE.fullmatch(url)
    if standalone is None:
        hint = "Spark Connect (sc://) runs none of rankjury's own functions." if url.startswith("sc://") else None
        raise UsageError(f"cannot read the master {url!r}", expected=_EXPECTED, hint=hint)
    return Master(url, tuple(_address(text, url) for text in standalone.group(1).split(",")))


def _address(text: str, url: str) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise UsageError(f"cannot read {text!r} in the master {url!r}", expected="spark://HOST:PORT[,HOST:PORT …]")
    return host.strip("[]"), int(port)
