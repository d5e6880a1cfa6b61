"""The settings of every model on this machine."""

from __future__ import annotations

from mdvec.settings import Count, Name, OwnFolder, Permission, SettingsSection


class LocalModelSettings(SettingsSection, frozen=True, kw_only=True):
    """The settings of a local model; None leaves one to the provider.

    Attributes:
        device: What it runs on: ``auto``, ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
        batch_size: Most texts in one batch.
        trust_remote_code: Whether Python code that comes with a model may run.
        revision: A branch, a tag or a commit of the model on the hub.
        hub_dir: Where models of the hub are kept; None for the cache that all programs of the user share.
        offline: Whether nothing is downloaded.
    """

    device: Name = "auto"
    batch_size: Count | None = None
    trust_remote_code: Permission = False
    revision: Name | None = None
    hub_dir: OwnFolder | None = None
    offline: bool = False
