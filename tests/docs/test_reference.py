"""The reference pages say all that there is, and nothing that there is not."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest
from msgspec.structs import replace
from tests.unit.interfaces.fake_workspace import CHANGE, COLLECTION, ESTIMATE, MODEL, RESULT, FakeWorkspace

from mdvec.config import Config, LoadedConfig
from mdvec.config.load import every_setting
from mdvec.interfaces import answers
from mdvec.interfaces.answers import to_json
from mdvec.interfaces.cli.commands import cli
from mdvec.interfaces.cli.common_options import CommonOption
from mdvec.interfaces.rpc.dispatcher import with_snake_case
from mdvec.interfaces.rpc.methods import METHODS
from mdvec.settings import BucketSettings
from mdvec.types.document import DocumentState
from mdvec.types.folder_context import FolderContext
from mdvec.types.report import ChangeProgress, CollectionStatus, DiskCheck, FileStatus, WorkspaceStatus
from mdvec.types.store_report import MovedStore, SpaceSize, StoreContents, StoreDescription

ROOT = Path(__file__).resolve().parents[2]
REFERENCE = ROOT / "docs" / "reference"
SOURCE = ROOT / "src" / "mdvec"
_SETTINGS_OF_EXTRAS = {
    "store.chroma": "stores/vectors/chroma.py",
    "store.lancedb": "stores/vectors/lancedb.py",
    "store.postgres": "stores/postgres/database.py",
}


def commands(group: click.Group = cli, prefix: str = "mdvec") -> Iterator[tuple[str, click.Command]]:
    """Walk the tree of commands."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        yield f"{prefix} {name}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{prefix} {name}")


COMMANDS = dict(commands())


def section(page: str, heading: str) -> str:
    """Return the text under a heading, up to the next one."""
    text = (REFERENCE / page).read_text(encoding="utf-8")
    found = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no section {heading!r}"
    return found[1]


def options(command: click.Command, *, common: bool) -> list[click.Option]:
    """Return a command's own options, or the common ones."""
    return [
        param
        for param in command.params
        if isinstance(param, click.Option) and isinstance(param, CommonOption) is common
    ]


@pytest.mark.parametrize("name", COMMANDS)
def test_help_describes_every_option_and_argument(name: str) -> None:
    """An argument has no help of its own, so that of the command names it."""
    command = COMMANDS[name]
    text = (command.help or "").lower()
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help, f"{name} {param.opts[0]}"
        else:
            assert re.search("|".join(map(re.escape, str(param.name).rstrip("s").split("_"))), text), param


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_documented(name: str) -> None:
    """Each command has a section with each of its options, and each value an option can take."""
    text = section("cli.md", name)
    for option in options(COMMANDS[name], common=False):
        row = next((line for line in text.splitlines() if f"`{option.opts[0]}" in line), "")
        assert all(f"`{spelling}" in row for spelling in option.opts), (
            f"{name} {option.opts} is not documented"
        )
        if isinstance(option.type, click.Choice):
            values = r"\|".join(option.type.choices)
            assert values in row, f"{name} {option.opts[0]}: {values} is not documented"


@pytest.mark.parametrize("name", COMMANDS)
def test_no_option_is_invented(name: str) -> None:
    """The first column of a command's table has no option that the command does not take."""
    documented = set(re.findall(r"^\| .*?\|", section("cli.md", name), re.MULTILINE))
    spelled = {word for cell in documented for word in re.findall(r"`(--?[a-z][a-z-]*)", cell)}
    assert spelled == {word for option in options(COMMANDS[name], common=False) for word in option.opts}


@pytest.mark.parametrize("name", ["mdvec", *COMMANDS])
def test_common_options_are_common(name: str) -> None:
    """Every command takes the documented common options, and no others."""
    command = cli if name == "mdvec" else COMMANDS[name]
    documented = re.findall(r"^\| `(--[a-z-]+)", section("cli.md", "Common options"), re.MULTILINE)
    assert [option.opts[0] for option in options(command, common=True)] == documented


@pytest.mark.parametrize(
    "heading",
    re.findall(r"^#+ (mdvec .*)$", (REFERENCE / "cli.md").read_text(encoding="utf-8"), re.MULTILINE),
)
def test_no_command_is_invented(heading: str) -> None:
    """Each section about a command is about one that exists."""
    assert heading in COMMANDS


def settings_in(module: Path) -> list[str]:
    """Return the settings that a module declares, which cannot be imported without its library."""
    parsed = ast.parse(module.read_text(encoding="utf-8"))
    classes = [each for each in parsed.body if isinstance(each, ast.ClassDef)]
    [settings] = [each for each in classes if each.name.endswith("Settings")]
    own = [
        each.target.id
        for each in settings.body
        if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name)
    ]
    takes_bucket = any(isinstance(each, ast.Name) and each.id == "BucketSettings" for each in settings.bases)
    return [*own, *(BucketSettings.__struct_fields__ if takes_bucket else ())]


def test_every_setting_is_documented() -> None:
    """The table of each section has its keys in order, with their defaults; other sections are of extras."""
    text = (REFERENCE / "configuration.md").read_text(encoding="utf-8")
    sections: dict[str, dict[str, object]] = {}
    for dotted, value, _ in every_setting(LoadedConfig(Config())):
        name, _, key = dotted.rpartition(".")
        sections.setdefault(name, {})[key] = value
    documented = sorted(re.findall(r"^##+ \[([\w.-]+)\]$", text, re.MULTILINE))
    assert documented == sorted([*sections, *_SETTINGS_OF_EXTRAS])
    for name, module in _SETTINGS_OF_EXTRAS.items():
        rows = re.findall(r"^\| `(\w+)` \|", section("configuration.md", f"[{name}]"), re.MULTILINE)
        assert rows == settings_in(SOURCE / module), name
    for name, settings in sections.items():
        documented_here = section("configuration.md", f"[{name}]")
        rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", documented_here, re.MULTILINE)
        elsewhere = (
            [*sections["embedding.openai"]][2:] if "The other keys are those" in documented_here else []
        )
        assert [*(key for key, _ in rows), *elsewhere] == list(settings)
        for key, default in rows:
            value = settings[key]
            assert value is None or default == f"`{msgspec.json.encode(value).decode()}`", f"{name}.{key}"


def test_every_method_and_parameter_of_json_rpc_is_documented() -> None:
    """The tables name all methods, each with exactly what it takes, in camelCase or snake_case."""
    text = (REFERENCE / "json-rpc.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w.]+)` \|(.*?)\| .* \|$", text, re.MULTILINE))
    assert {name for name in rows if name in METHODS} == {*METHODS}
    for name, method in METHODS.items():
        named = re.findall(r"`(\w+)`", rows[name])
        assert [*with_snake_case(dict.fromkeys(named))] == [
            *(method.takes or method.request.__struct_fields__)
        ], name


def shape(value: object) -> object:
    """Reduce JSON to its keys: what must be the same in documentation and output."""
    match value:
        case dict():
            return [(key, shape(item)) for key, item in value.items()]
        case list():
            return [shape(item) for item in value[:1]]
        case _:
            return None


def documented(heading: str) -> object:
    """Return the shape of the example under a heading of the JSON page."""
    example = re.search(r"```json\n(.*?)```", section("json.md", heading), re.DOTALL)
    assert example
    return shape(json.loads(example[1]))


def test_json_shapes_are_documented() -> None:
    """The examples have exactly the keys, in the order, that are printed."""
    workspace = FakeWorkspace()
    check = DiskCheck(new=("n.md",), moved=(("a.md", "b.md"),))
    files = (FileStatus("a.md", DocumentState.READY),)
    folders = (FolderContext("旅行", "国内の旅", from_file=True),)
    collection = replace(COLLECTION, source=replace(COLLECTION.source, include=()), folder_contexts=folders)
    hits = [replace(each, folder_contexts=("旅の記録", "国内の旅")) for each in RESULT.hits]
    change = ChangeProgress("", 1, 0)
    status = CollectionStatus(collection, workspace.statuses[0].counts, files, check, change=change)
    printed: dict[str, object] = {
        "search --format json": replace(RESULT, hits=tuple(hits)),
        "import --format json": answers.import_report(workspace.report),
        "tool ls --format json": [answers.collection(COLLECTION)],
        "status --format json": answers.status(WorkspaceStatus("", 0, "", (status,))),
        "import --estimate --format json": ESTIMATE,
        "model ls --format json": [MODEL],
        "model use --format json": [CHANGE],
        "tags --format json": workspace.found_tags,
        "store show --format json": StoreDescription(
            "sqlite", "", 0, 1, 1, 1, (SpaceSize("m", 1),), "", ("odd",)
        ),
        "store move --format json": MovedStore("", StoreContents(1, 1, 1, 1, "")),
    }
    for heading, value in printed.items():
        assert documented(heading) == shape(to_json(value)), heading
