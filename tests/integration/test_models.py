"""Models per collection: chosen, changed without losing search, and searched together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.fakes.runs import cancelled_when, noting
from tests.integration.models import PROVIDER, Shelf, TryingEmbedder

from mdvec import SearchQuery, Workspace, open_workspace
from mdvec.config import Config
from mdvec.config.schema import EmbeddingSettings, PriceSettings
from mdvec.embedding.unrelated import PASSAGES, QUESTIONS
from mdvec.errors import (
    ConfigError,
    EmbedderUnavailableError,
    EmbeddingError,
    ImportStoppedError,
    SourceMissingError,
)
from mdvec.run import Stage
from mdvec.search import query_vectors
from mdvec.types.collection import ChunkingSpec, EmbeddingSpec, SearchDefaults
from mdvec.types.model_report import ModelChange, ModelChangeOutcome
from mdvec.types.query import SearchMode
from mdvec.types.report import ImportMode, ImportOptions
from mdvec.workspace.database import open_store

OLD = EmbeddingSpec(PROVIDER, "old", 64)
NEW = EmbeddingSpec(PROVIDER, "new", 32)
SUBJECTS = ("tomatoes sun water", "guitar strings tuning", "bread flour oven", "snow mountain ski")


@pytest.fixture
def shelf(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    """Any number of models."""
    made = Shelf()
    made.put_up(monkeypatch)
    return made


@pytest.fixture
def workspace(tmp_path: Path, shelf: Shelf) -> Iterator[Workspace]:
    """Forty notes on four subjects, embedded by the old model."""
    folder = tmp_path / "docs"
    folder.mkdir()
    for number in range(40):
        subject = SUBJECTS[number % len(SUBJECTS)]
        (folder / f"{number}.md").write_text(f"# Note {number}\n\nAbout {subject}, number {number}.\n")
    with open_workspace(database=tmp_path / "i.sqlite") as made:
        made.add_collection("notes", "", str(folder), embedding=OLD)
        made.import_collection("notes")
        yield made


def use(workspace: Workspace, spec: EmbeddingSpec, *names: str) -> ModelChange:
    """Change the model of one collection."""
    (change,) = workspace.models.use(spec, names)
    return change


def vectors(workspace: Workspace, shelf: Shelf, spec: EmbeddingSpec) -> int:
    """Count the texts that have a vector of a model."""
    with closing(open_store(workspace.database)) as store, store.read() as view:
        space_id = view.spaces.find(shelf[spec.model, spec.dimension or 0].space)
        if space_id is None:
            return 0
        counts = [view.collections.counts(each.id, space_id) for each in view.collections.all()]
    return sum(each.chunks - each.pending_chunks for each in counts)


def names_are_embedded(stage: Stage, done: int) -> bool:
    """Return True once the titles and file names went through the model."""
    return stage is Stage.EMBED and done > 0


def chunks_are_embedded(stage: Stage, done: int) -> bool:
    """Return True once texts of chunks went through the model, too."""
    return stage is Stage.EMBED and done > 80


def dense(workspace: Workspace, text: str, *names: str) -> list[str]:
    """Search by meaning alone."""
    query = SearchQuery(text, mode=SearchMode.DENSE, collections=names, min_score=0.0, all_similar=True)
    return [f"{hit.collection}/{hit.path}" for hit in workspace.search(query).hits]


def test_the_old_model_answers_until_the_new_one_is_complete(workspace: Workspace, shelf: Shelf) -> None:
    """At every step all chunks are found, by one model or the other; status says how far it is."""
    asked: list[int] = []
    said: list[int] = []

    def look(stage: Stage, done: int) -> None:
        with open_workspace(database=workspace.database) as other:
            result = other.search(SearchQuery("guitar strings", limit=10, min_score=0.0, all_similar=True))
            assert (len(result.hits), result.pending_chunks, result.warnings) == (10, 0, ())
            (status,) = other.status("notes").collections
        assert all("guitar" in hit.text for hit in result.hits)
        if stage is Stage.EMBED and status.change is not None:
            assert (status.change.model, status.change.chunks) == ("hashing:new@32", 40)
            said.append(done)
            asked.append(status.change.pending_chunks)

    with noting(look) as watched:
        (change,) = workspace.models.use(NEW, ["notes"])
    assert (change.outcome, change.model, change.embedded_chunks) == (
        ModelChangeOutcome.CHANGED,
        "hashing:new@32",
        40,
    )
    assert asked[0] == 40
    assert asked[-1] == 0
    assert (said[-1], watched.reports[-1][2]) == (120, 120)  # a title, a file name and a text of each
    now = workspace.collection("notes")
    assert (now.embedding, now.next_embedding) == (NEW, None)
    assert workspace.status("notes").collections[0].change is None
    assert dense(workspace, "guitar strings")
    assert vectors(workspace, shelf, OLD) == 0
    assert workspace.import_collection("notes").embedded_chunks == 0


def test_the_same_model_again_changes_nothing(workspace: Workspace, shelf: Shelf) -> None:
    """It is said, and no text goes through a model."""
    before = len(shelf["old", 64].embedded)
    assert use(workspace, EmbeddingSpec(PROVIDER, "old", 64)).outcome is ModelChangeOutcome.SAME
    assert len(shelf["old", 64].embedded) == before


def test_an_interrupted_change_goes_on(workspace: Workspace, shelf: Shelf) -> None:
    """With the same command or any import; what was embedded is not embedded again."""
    with cancelled_when(names_are_embedded), pytest.raises(ImportStoppedError):
        list(workspace.models.use(NEW, ["notes"]))
    assert workspace.collection("notes").next_embedding == NEW
    assert len(shelf["new", 32].embedded) == 80  # the names
    assert dense(workspace, "guitar strings")[0].startswith("notes/")
    report = workspace.import_collection("notes")
    assert report.embedded_chunks == 40
    assert (report.new_model, report.warnings) == ("hashing:new@32", ())
    assert len(shelf["new", 32].embedded) == 120
    assert workspace.collection("notes").embedding == NEW


def test_a_change_is_cancelled(workspace: Workspace, shelf: Shelf) -> None:
    """The old model stays, the new vectors go; without a change there is nothing to cancel."""
    with cancelled_when(chunks_are_embedded), pytest.raises(ImportStoppedError):
        list(workspace.models.use(NEW))
    assert vectors(workspace, shelf, NEW) == 40
    assert [each.outcome for each in workspace.models.cancel()] == [ModelChangeOutcome.CANCELLED]
    assert vectors(workspace, shelf, NEW) == 0
    now = workspace.collection("notes")
    assert (now.embedding, now.next_embedding) == (OLD, None)
    assert [each.outcome for each in workspace.models.cancel(["notes"])] == [ModelChangeOutcome.SAME]
    assert dense(workspace, "guitar strings")


def test_a_change_is_cancelled_while_another_process_works_on_it(workspace: Workspace, shelf: Shelf) -> None:
    """That stops after a batch, and what it has made is gone."""

    def cancel(stage: Stage, done: int) -> None:
        if stage is Stage.EMBED and done == 80:
            with open_workspace(database=workspace.database) as other:
                other.models.cancel(["notes"])

    with noting(cancel):
        (change,) = workspace.models.use(NEW, ["notes"])
    assert (change.outcome, change.model) == (ModelChangeOutcome.CANCELLED, str(OLD))
    assert vectors(workspace, shelf, NEW) == 0
    assert dense(workspace, "guitar strings")


def test_documents_that_change_meanwhile_are_in_both_spaces(workspace: Workspace, tmp_path: Path) -> None:
    """An import during a change embeds them by the old model too, before it goes on with the new one."""
    with cancelled_when(names_are_embedded), pytest.raises(ImportStoppedError):
        list(workspace.models.use(NEW))
    (tmp_path / "docs" / "new.md").write_text("# Fresh\n\nZebras gallop.\n")
    found: list[list[str]] = []

    def look(stage: Stage, _done: int) -> None:
        with open_workspace(database=workspace.database) as other:
            if stage is Stage.EMBED and other.status("notes").collections[0].counts.pending_chunks == 0:
                found.append(dense(other, "zebras gallop")[:1])

    with noting(look):
        workspace.import_collection("notes")
    assert found
    assert all(each == ["notes/new.md"] for each in found)
    assert workspace.collection("notes").embedding == NEW


def test_a_third_model_takes_the_place_of_the_second(workspace: Workspace, shelf: Shelf) -> None:
    """Whoever changes their mind has one change under way, not two, and no vectors left over."""
    with cancelled_when(chunks_are_embedded), pytest.raises(ImportStoppedError):
        list(workspace.models.use(NEW))
    third = EmbeddingSpec(PROVIDER, "third", 16)
    assert use(workspace, third).outcome is ModelChangeOutcome.CHANGED
    assert (vectors(workspace, shelf, OLD), vectors(workspace, shelf, NEW)) == (0, 0)
    assert vectors(workspace, shelf, third) == 40


def test_vectors_that_others_use_stay(workspace: Workspace, shelf: Shelf, tmp_path: Path) -> None:
    """The old space is dropped with the last collection that is in it."""
    workspace.add_collection("twin", "", str(tmp_path / "docs"), embedding=OLD)
    workspace.import_collection("twin")
    use(workspace, NEW, "notes")
    assert vectors(workspace, shelf, OLD) == 80
    assert dense(workspace, "guitar strings", "twin")
    use(workspace, NEW, "twin")
    assert vectors(workspace, shelf, OLD) == 0
    assert len(shelf["new", 32].embedded) == 120  # the twin's texts had their vectors


def test_without_its_documents_a_collection_changes_as_it_is_indexed(
    workspace: Workspace, tmp_path: Path
) -> None:
    """A disk that is away does not keep the model from changing."""
    (tmp_path / "docs").rename(tmp_path / "away")
    change = use(workspace, NEW)
    assert change.outcome is ModelChangeOutcome.CHANGED
    assert "the indexed documents are embedded" in change.warnings[0]
    assert dense(workspace, "guitar strings")


def test_a_collection_without_documents_just_has_the_model(workspace: Workspace, tmp_path: Path) -> None:
    """There is nothing to keep complete: its first import uses it."""
    workspace.add_collection("fresh", "", str(tmp_path / "docs"))
    assert use(workspace, NEW, "fresh").outcome is ModelChangeOutcome.CHOSEN
    assert workspace.collection("fresh").embedding == NEW
    workspace.import_collection("fresh", ImportOptions(embed=False))
    assert use(workspace, OLD, "fresh").outcome is ModelChangeOutcome.CHANGED
    assert workspace.collection("fresh").embedding == OLD
    assert workspace.status("fresh").collections[0].counts.pending_chunks == 0


def test_two_spaces_are_searched_as_one(workspace: Workspace, shelf: Shelf, tmp_path: Path) -> None:
    """The query is embedded once for each space; the best of both come first, large and small alike."""
    small = tmp_path / "small"
    small.mkdir()
    (small / "strings.md").write_text("# Strings\n\nAbout guitar strings tuning.\n")
    (small / "weather.md").write_text("# Weather\n\nRain falls on the town hall.\n")
    workspace.add_collection("small", "", str(small), embedding=NEW)
    workspace.import_collection("small")
    for model in (shelf["old", 64], shelf["new", 32]):
        model.queries.clear()
    for mode in (SearchMode.DENSE, SearchMode.HYBRID):  # by both, it is not embedded again
        result = workspace.search(
            SearchQuery("guitar strings tuning", mode=mode, limit=50, min_score=0.0, all_similar=True)
        )
        assert [len(shelf[name].queries) for name in (("old", 64), ("new", 32))] == [1, 1]
        paths = [f"{hit.collection}/{hit.path}" for hit in result.hits]
        assert len(paths) == len({*paths}) == 42
        about_it = {path for path, hit in zip(paths, result.hits, strict=True) if "guitar" in hit.text}
        assert {*paths[:11]} == about_it, mode
        assert "small/strings.md" in about_it
        scores = [hit.score for hit in result.hits]
        assert scores == sorted(scores, reverse=True)
        assert (result.mode, result.pending_chunks, result.warnings) == (mode, 0, ())
        limited = workspace.search(
            SearchQuery(
                "guitar strings tuning", mode=mode, limit=50, threshold=0.5, min_score=0.0, all_similar=True
            )
        )
        assert all((hit.similarity or 1) >= 0.5 for hit in limited.hits)


def test_a_text_in_two_collections_counts_in_its_own_space(workspace: Workspace, tmp_path: Path) -> None:
    """Vectors it has in a space of another collection say nothing about it here."""
    workspace.add_collection("twin", "", str(tmp_path / "docs"), embedding=OLD)
    workspace.import_collection("twin")
    use(workspace, NEW, "twin")
    result = workspace.search(
        SearchQuery("guitar strings", limit=50, per_document=9, min_score=0.0, all_similar=True)
    )
    for name in ("notes", "twin"):
        alone = workspace.search(
            SearchQuery(
                "guitar strings",
                limit=50,
                per_document=9,
                collections=(name,),
                min_score=0.0,
                all_similar=True,
            )
        )
        of_alone = {hit.path: hit.similarity for hit in alone.hits}
        of_both = {hit.path: hit.similarity for hit in result.hits if hit.collection == name}
        assert of_both.items() <= of_alone.items()


def test_a_model_that_does_not_answer_leaves_its_collections_to_words(
    workspace: Workspace, shelf: Shelf, tmp_path: Path
) -> None:
    """The others are still searched by meaning; a search by meaning alone fails and says why."""
    shelf["old", 64].error = EmbeddingError("the server is away")
    result = workspace.search(SearchQuery("guitar strings", min_score=0.0, all_similar=True))
    assert (result.mode, result.warnings) == (
        SearchMode.LEXICAL,
        ("searched by words only: the server is away",),
    )
    assert result.hits
    with pytest.raises(EmbeddingError, match="away"):
        workspace.search(
            SearchQuery("guitar strings", mode=SearchMode.DENSE, min_score=0.0, all_similar=True)
        )
    workspace.add_collection("twin", "", str(tmp_path / "docs"), embedding=NEW)
    workspace.import_collection("twin")
    result = workspace.search(SearchQuery("guitar strings", limit=50, min_score=0.0, all_similar=True))
    assert (result.mode, result.warnings) == (
        SearchMode.HYBRID,
        ("notes: searched by words only: the server is away",),
    )
    assert {hit.collection for hit in result.hits if hit.similarity is not None} == {"twin"}
    assert {hit.collection for hit in result.hits} == {"notes", "twin"}


def test_vectors_of_a_model_that_cannot_be_used_now_are_not_pending(
    workspace: Workspace, shelf: Shelf, tmp_path: Path
) -> None:
    """Without its key, import and status count what has no vector, and nothing else."""
    shelf["old", 64].missing = EmbedderUnavailableError("there is no key")
    (tmp_path / "docs" / "late.md").write_text("# Late\n\nPenguins swim.\n")
    with open_workspace(database=workspace.database) as again:
        assert again.import_collection("notes").pending_chunks == 1
        assert again.status("notes").collections[0].counts.pending_chunks == 1
        result = again.search(SearchQuery("guitar strings", min_score=0.0, all_similar=True))
        assert (result.mode, result.pending_chunks) == (SearchMode.LEXICAL, 1)


def test_a_model_whose_files_are_gone_is_told_of(
    workspace: Workspace, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search says why it goes by words; one by meaning alone fails instead of finding nothing."""

    def gone(_: object) -> None:
        msg = "its files are gone"
        raise EmbedderUnavailableError(msg)

    monkeypatch.setattr(TryingEmbedder, "space", property(gone))
    result = workspace.search(SearchQuery("guitar strings", min_score=0.0, all_similar=True))
    assert (result.mode, result.warnings) == (
        SearchMode.LEXICAL,
        ("searched by words only: its files are gone",),
    )
    with pytest.raises(EmbedderUnavailableError, match="gone"):
        workspace.search(
            SearchQuery("guitar strings", mode=SearchMode.DENSE, min_score=0.0, all_similar=True)
        )


def test_what_is_missing_is_told_before_anything_is_written(
    workspace: Workspace, shelf: Shelf, tmp_path: Path
) -> None:
    """At ``tool add`` and ``model use``, with the command that mends it."""
    shelf["new", 32].missing = EmbedderUnavailableError("it needs a key", hint="export KEY=…")
    with pytest.raises(EmbedderUnavailableError, match="key") as caught:
        use(workspace, NEW)
    assert caught.value.hint == "export KEY=…"
    with pytest.raises(EmbedderUnavailableError, match="key"):
        workspace.add_collection("fresh", "", str(tmp_path / "docs"), embedding=NEW)
    shelf["new", 32].missing = None
    shelf["new", 32].error = EmbeddingError("the server is away")
    with pytest.raises(EmbeddingError, match="away"):
        workspace.add_collection("fresh", "", str(tmp_path / "docs"), embedding=NEW)
    with pytest.raises(ConfigError, match="nonsense"):
        use(workspace, EmbeddingSpec("nonsense"))
    with pytest.raises(ConfigError) as unknown:
        use(workspace, EmbeddingSpec("ruri-v3-30m"))
    assert unknown.value.hint == "Did you mean sentence-transformers:ruri-v3-30m?"
    assert [each.name for each in workspace.collections()] == ["notes"]
    assert workspace.collection("notes").next_embedding is None


def test_a_folder_that_has_another_model_than_the_configuration_says_so_in_each_answer(
    shelf: Shelf, tmp_path: Path
) -> None:
    """Whoever allows a file to choose the model after a first search would not know why nothing changes.

    ``doctor`` says so, too.
    """
    folder = tmp_path / "unregistered"
    folder.mkdir()
    (folder / "a.md").write_text("# Guitars\n\nTheir strings are of steel.\n", encoding="utf-8")

    def answered(model: str) -> tuple[str, ...]:
        config = Config(embedding=EmbeddingSettings(provider=PROVIDER, model=model, dimension=16))
        with open_workspace(config, docs_dir=folder) as workspace:
            warnings = workspace.search(SearchQuery("guitar strings")).warnings
            found = [each.message for each in workspace.doctor() if "configured" in each.message]
            assert found == [each for each in warnings if "configured" in each]
            return warnings

    assert answered("first") == ()
    told = answered("second")
    assert told == (
        "the configured model is hashing:second@16, but docs uses hashing:first@16: "
        f"'mdvec model use hashing:second@16 -n docs --docs-dir {folder}' changes it",
    )
    (folder / "b.md").write_text("# Violins\n\nTheirs are of gut.\n", encoding="utf-8")
    assert answered("second").count(told[0]) == 1
    assert answered("first") == ()


def test_a_collection_keeps_the_model_of_its_first_import(
    shelf: Shelf, tmp_path: Path, workspace: Workspace
) -> None:
    """Another configuration does not touch it; import and status say how to follow that."""
    workspace.add_collection("fresh", "", str(tmp_path / "docs"))

    def configured(model: str) -> Config:
        return Config(embedding=EmbeddingSettings(provider=PROVIDER, model=model, dimension=16))

    with open_workspace(configured("first"), database=workspace.database) as first:
        assert first.import_collection("fresh").warnings == ()
        assert first.collection("fresh").embedding == EmbeddingSpec(PROVIDER, "first", 16)
    with open_workspace(configured("second"), database=workspace.database) as second:
        report = second.import_collection("fresh")
        told = (
            "the configured model is hashing:second@16, but fresh uses hashing:first@16: "
            f"'mdvec model use hashing:second@16 -n fresh --database {second.database}' changes it"
        )
        assert report.warnings == second.status("fresh").collections[0].warnings == (told,)
        assert dense(second, "guitar strings", "fresh")
        shelf["second", 16].missing = EmbedderUnavailableError("it needs a key")
    with (
        open_workspace(configured("second"), database=workspace.database) as second,
        pytest.raises(EmbedderUnavailableError, match="key"),
    ):
        second.add_collection("other", "", str(tmp_path / "docs"))


def test_a_provider_that_is_gone_leaves_words(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in that was uninstalled stops neither search nor status; the vectors are kept."""
    monkeypatch.undo()
    with open_workspace(database=workspace.database) as without:
        result = without.search(SearchQuery("guitar strings", min_score=0.0, all_similar=True))
        assert result.hits
        assert "there is no embedding provider 'hashing'" in result.warnings[0]
        assert "hashing" in without.status().model
        without.import_collection("notes")
        assert without.collection("notes").embedding == OLD


def test_an_estimate_is_what_the_import_does(workspace: Workspace, shelf: Shelf, tmp_path: Path) -> None:
    """The same texts, tokens and requests, for a first import and for changes; nothing is written."""
    prices = PriceSettings(as_of="2026-05-01", usd_per_million_tokens={"new": 500.0})
    workspace.add_collection("fresh", "", str(tmp_path / "docs"), embedding=NEW)
    with open_workspace(Config(prices=prices), database=workspace.database) as priced:
        new = shelf["new", 32]

        def check(mode: ImportMode) -> tuple[int, int]:
            before = priced.generation()
            estimate = priced.models.estimate("fresh", ImportOptions(mode=mode))
            assert priced.generation() == before
            assert new.embedded == []
            measured = new.measured
            priced.import_collection("fresh", ImportOptions(mode=mode))
            assert estimate.chunks + estimate.names == len(new.embedded)
            probe = (*QUESTIONS, *PASSAGES) if new.measured > measured else ()
            assert estimate.tokens == sum(len(new.tokens.ends(text)) for text in (*new.embedded, *probe))
            assert estimate.usd == pytest.approx(estimate.tokens * 0.0005)
            assert (estimate.model, estimate.exact) == (str(NEW), False)
            assert estimate.price is not None
            assert estimate.price.as_of == "2026-05-01"
            new.forget()
            return estimate.documents, estimate.requests

        assert check(ImportMode.NEW) == (40, 8 + 4 + 2 + 2)  # names, texts, and what measures the model
        assert new.measured == 1
        assert check(ImportMode.UPDATE) == (0, 0)
        (tmp_path / "docs" / "0.md").write_text("# Note 0\n\nSomething else.\n")
        (tmp_path / "docs" / "1.md").unlink()
        (tmp_path / "docs" / "new.md").write_text("# Fresh\n\nZebras gallop.\n")
        assert check(ImportMode.UPDATE) == (2, 2)
        assert check(ImportMode.REPLACE) == (40, 0)
        (tmp_path / "docs" / "untitled.md").write_text("Lions sleep.\n")
        assert check(ImportMode.UPDATE) == (1, 2)
        (tmp_path / "docs" / "untitled.md").rename(tmp_path / "docs" / "named.md")
        assert check(ImportMode.UPDATE) == (1, 1)  # its new name; its text keeps the title it had
        priced.import_collection("fresh", ImportOptions(embed=False))
        (tmp_path / "docs" / "2.md").write_text("# Note 2\n\nPenguins swim.\n")
        priced.import_collection("fresh", ImportOptions(embed=False))
        (tmp_path / "docs" / "3.md").write_text("# Note 3\n\nOtters dive.\n")
        assert check(ImportMode.UPDATE) == (1, 1)


def test_the_list_of_models(workspace: Workspace) -> None:
    """Known models with what is published of them, and those in use; figures have a source, prices a day."""
    models = {model.spec: model for model in workspace.models.known()}
    builtin = models["builtin"]
    assert (builtin.dimensions, builtin.offline, builtin.price, builtin.problem) == ((384,), True, None, "")
    assert models["hashing:old@64"].collections == ("notes",)
    for model in models.values():
        assert all(0 < each.value <= 100 and each.source.startswith("https://") for each in model.benchmarks)
        assert model.price is None or model.price.as_of
        assert not (model.offline and model.price)
    assert {"sentence-transformers", "plamo", "gemini", "voyage", "openai"} <= {
        each.provider for each in models.values()
    }


def test_another_chunker_cuts_in_place(workspace: Workspace, shelf: Shelf, tmp_path: Path) -> None:
    """Chunks that stay the same keep their vectors, and search answers all the time."""
    long = "\n\n".join(f"## Part {part}\n\n{'Long text about tuning. ' * 40}" for part in range(6))
    (tmp_path / "docs" / "long.md").write_text(f"# Long\n\n{long}\n")
    workspace.import_collection("notes")
    before = workspace.status("notes").collections[0].counts.chunks
    shelf["old", 64].forget()
    workspace.update_collection("notes", chunking=ChunkingSpec("windows", max_tokens=512))

    def look(_stage: Stage, _done: int) -> None:
        with open_workspace(database=workspace.database) as other:
            assert (
                len(
                    other.search(
                        SearchQuery("guitar strings", limit=10, min_score=0.0, all_similar=True)
                    ).hits
                )
                == 10
            )

    with noting(look):
        report = workspace.import_collection("notes")
    assert report.total_chunks != before
    assert 0 < report.embedded_chunks < report.total_chunks
    assert all("tuning" in text for text in shelf["old", 64].embedded)
    wrong = ("nonsense", None), ("headings", 100), ("windows", 100)
    for chunking in (ChunkingSpec(name, max_tokens=size) for name, size in wrong):
        with pytest.raises(ConfigError):
            workspace.update_collection("notes", chunking=chunking)
    assert workspace.collection("notes").chunking == ChunkingSpec("windows", max_tokens=512)


def test_a_collection_knows_when_it_was_registered_and_changed(workspace: Workspace, tmp_path: Path) -> None:
    """The times are kept; an update that changes nothing is none."""
    made = workspace.add_collection("dated", "Dated", str(tmp_path / "docs"))
    assert made.created_ms is not None
    assert made.updated_ms == made.created_ms
    assert workspace.update_collection("dated", description="Dated") == made
    changed = workspace.update_collection("dated", description="Other")
    assert changed.created_ms == made.created_ms
    assert changed.updated_ms is not None
    assert changed.updated_ms >= made.created_ms
    assert workspace.collection("dated") == changed


def test_a_collection_says_what_a_search_of_it_alone_does(workspace: Workspace, tmp_path: Path) -> None:
    """Not when it is searched with others, and not against the one who asks."""
    workspace.update_collection("notes", search=SearchDefaults(limit=3, threshold=0.4, per_document=2))
    own = workspace.search_settings(["notes"])
    assert (own.k, own.threshold, own.per_document) == (3, 0.4, 2)
    assert workspace.search_settings() == own  # it is the only one
    workspace.add_collection("twin", "", str(tmp_path / "docs"), search=SearchDefaults(limit=9))
    both = workspace.search_settings()
    assert (both.k, both.threshold, both.per_document) == (5, None, None)
    assert workspace.search_settings(["twin"]).k == 9


def test_a_search_that_meets_a_change_is_answered_by_one_model(
    workspace: Workspace, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its vectors go while it looks: it looks on in its snapshot, and the next search uses the new model."""
    query = SearchQuery("guitar strings", mode=SearchMode.DENSE, limit=10, min_score=0.0, all_similar=True)
    before = workspace.search(query)
    old = shelf["old", 64]
    query_vectors._recent.clear()
    real = old.embed_queries

    def change_then_embed(texts: Sequence[str]) -> object:
        monkeypatch.setattr(old, "embed_queries", real)
        with open_workspace(database=workspace.database) as other:
            use(other, NEW, "notes")
        return real(texts)

    monkeypatch.setattr(old, "embed_queries", change_then_embed)
    meanwhile = workspace.search(query)
    assert workspace.collection("notes").embedding == NEW
    assert (len(meanwhile.hits), meanwhile.pending_chunks) == (10, 0)
    assert meanwhile.hits == before.hits
    after = workspace.search(query)
    assert (len(after.hits), after.pending_chunks) == (10, 0)
    assert after.hits != before.hits
    assert shelf["new", 32].queries[-1] == "guitar strings"


def test_a_source_that_is_missing_is_told_by_an_import(workspace: Workspace, tmp_path: Path) -> None:
    """Only ``model use`` goes on without the documents."""
    (tmp_path / "docs").rename(tmp_path / "away")
    with pytest.raises(SourceMissingError):
        workspace.import_collection("notes")
    with pytest.raises(SourceMissingError):
        workspace.models.estimate("notes")
    assert replace(workspace.collection("notes"), last_indexed_ms=None).embedding == OLD
