"""``mdvec preset``: the presets that a collection can be made with."""

from __future__ import annotations

import click

from mdvec.interfaces.cli.formats import chosen_format, format_option
from mdvec.interfaces.cli.session import Command, Group, Session, common_options
from mdvec.interfaces.cli.terminal import write, write_json, write_table


@click.command(cls=Group)
@common_options
def preset() -> None:
    """Show the presets for 'mdvec tool add --preset'."""


@preset.command("ls", cls=Command)
@format_option("table", "json")
@common_options
@click.pass_obj
def list_(session: Session, format_name: str | None) -> None:
    """List the presets."""
    from mdvec.config.presets import load_preset, preset_names

    presets = [load_preset(name, cwd=session.cwd) for name in preset_names()]
    config = session.load_config().config
    if chosen_format(format_name, config, ("table", "json")) == "json":
        write_json(
            [
                {
                    "name": each.name,
                    "description": each.description,
                    "chunker": each.chunking.strategy,
                    "embedder": str(each.embedding) if each.embedding else None,
                }
                for each in presets
            ]
        )
        return
    write_table(
        ("name", "chunker", "embedder", "description"),
        [
            (each.name, each.chunking.strategy, str(each.embedding or "as configured"), each.description)
            for each in presets
        ],
    )


@preset.command(cls=Command)
@click.argument("name")
@common_options
@click.pass_obj
def show(session: Session, name: str) -> None:
    """Print a preset, to be changed and saved as one of your own."""
    from mdvec.config.presets import load_preset

    write(load_preset(name, cwd=session.cwd).text.rstrip("\n") + "\n")
