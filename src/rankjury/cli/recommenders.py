"""rankjury recommenders: the models and their parameters."""

from typing import TYPE_CHECKING, Any

from rankjury.cli.shared.options import JsonOption
from rankjury.cli.shared.params import NameArgument, list_or_show, params_as_json
from rankjury.errors import install_command

if TYPE_CHECKING:
    from rankjury.recsys.models import Recommender

GROUP = "Look up"
EPILOG = (
    "Examples:\n\n"
    "  rankjury recommenders\n\n"
    "  rankjury recommenders als\n\n"
    'A plan names a model in a system of the kind recommender: model = "als", params = { factors = 64 }.'
)


def recommenders_command(name: NameArgument = None, as_json: JsonOption = False) -> None:
    """List the recommenders that a plan can try, or the parameters of one."""
    from rankjury.recsys.models import RECOMMENDERS

    list_or_show(
        "recommenders", RECOMMENDERS, name, _facts, _installed, lambda kind: {"params": kind.params}, as_json=as_json
    )


def _installed(kind: "type[Recommender]") -> str:
    if kind.extra is None:
        return "libraries: none beside rankjury's own"
    if not kind.is_installed():
        return f"not installed: {install_command(kind.extra)}"
    return "libraries: " + ", ".join(f"{library} {version}" for library, version in kind.versions().items())


def _facts(kind: "type[Recommender]") -> dict[str, Any]:
    return {
        "about": kind.description,
        "extra": kind.extra,
        "installed": kind.is_installed(),
        "libraries": kind.versions() if kind.is_installed() else dict.fromkeys(kind.libraries),
        "personal": kind.personal,
        "params": params_as_json(kind.params),
    }
