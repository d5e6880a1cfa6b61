"""Questions made of documents."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mdvec.documents.parse import parse_document
from mdvec.evaluation.automatic import Kind, choose, hold_out
from mdvec.types.document import Document

REST = "The rest of the document goes on for a while, so that there is something left to be found by words."


def held(text: str, path: str = "a.md") -> dict[Kind, tuple[str, str]]:
    """Return question and rest of each kind."""
    made = hold_out(parse_document(path, text))
    return {kind: (each.question, each.rest) for kind, each in made.items()}


def test_a_title_is_cut_out() -> None:
    """The heading is asked for and gone, all else is there; a heading with a line under it is one, too."""
    assert held(f"# How to sign in\n\n## Steps\n\n{REST}\n")[Kind.TITLE] == (
        "How to sign in",
        f"## Steps\n\n{REST}\n",
    )
    assert held(f"京都の旅\n====\n\n{REST}\n")[Kind.TITLE] == ("京都の旅", f"{REST}\n")


def test_a_title_in_frontmatter_is_cut_out() -> None:
    """The heading that repeats it goes with it."""
    text = f"---\ntitle: How to sign in\ntags: [x]\n---\n# How to sign in\n\n{REST}\n"
    assert held(text)[Kind.TITLE] == ("How to sign in", f"---\ntags: [x]\n---\n{REST}\n")


def test_a_title_that_is_still_there_is_not_asked_for() -> None:
    """Frontmatter or a heading of the same words would give the answer away; one word is too little."""
    assert Kind.TITLE not in held(f"---\naliases: [how to Sign in]\n---\n# How to sign in\n\n{REST}\n")
    assert Kind.TITLE not in held(f"---\nsummary: how to sign in, again\n---\n# How to sign in\n\n{REST}\n")
    assert Kind.TITLE not in held(
        f"---\ntitle: How to sign in\nsummary: how to sign in, again\n---\n{REST}\n"
    )
    assert Kind.TITLE not in held(f"---\ntitle: >-\n  How to sign in\ntags: [x]\n---\n{REST}\n")
    assert Kind.TITLE not in held(f"# How to sign in\n\n{REST}\n\n## How to sign in\n\n{REST}\n")
    assert Kind.TITLE not in held(f"# Index\n\n{REST}\n")
    assert Kind.TITLE not in held(f"{REST}\n", "how to sign in.md")


def test_a_first_sentence_is_cut_out() -> None:
    """Links and marks are asked for by their words; what is no prose is passed over."""
    text = f"# T\n\n<img src=x>\n\nReset *your* [password](p.md) on the [[account|account page]]. {REST}\n"
    question, rest = held(text)[Kind.SENTENCE]
    assert question == "Reset your password on the account page."
    assert rest == f"# T\n\n<img src=x>\n\n{REST}\n"
    japanese, _ = held(f"四条の静かな旅館に二泊した。{REST}\n")[Kind.SENTENCE]
    assert japanese == "四条の静かな旅館に二泊した。"


def test_a_sentence_that_stands_there_twice_is_not_asked_for() -> None:
    """Neither is a short one, or one from a document that has no other text."""
    sentence = "Reset your password on the account page."
    assert Kind.SENTENCE not in held(f"{sentence}\n\n{REST} {sentence}\n")
    assert Kind.SENTENCE not in held(f"Oh yes. {REST}\n")
    assert held(f"# How to sign in\n\n{sentence}\n") == {}


def documents(count: int) -> dict[str, Document]:
    return {
        f"n{number}.md": parse_document(
            f"n{number}.md", f"# Title number {number}\n\nThe first sentence of all is {number}. {REST}\n"
        )
        for number in range(count)
    }


def test_the_choice_is_stable_and_mixed() -> None:
    """The same documents give the same questions; more documents change few; both kinds are there."""
    some = choose(documents(100), 50)
    assert some == choose(documents(100), 50)
    assert len(some) == 50
    assert {each.kind for each in some.values()} == set(Kind)
    assert len(set(some) & set(choose(documents(101), 50))) >= 49


def test_a_title_of_two_documents_is_not_asked_for() -> None:
    """Nobody could say which of them was meant."""
    same = {
        name: parse_document(name, f"# The same title\n\nThe first sentence is that of {name}. {REST}\n")
        for name in ("a.md", "b.md", "c.md", "d.md")
    }
    assert {each.kind for each in choose(same, 10).values()} == {Kind.SENTENCE}


@given(st.text(alphabet=st.sampled_from("ab 。.#\n-*[]()|<>=:`é京"), max_size=200))
def test_what_is_held_out_is_not_there(text: str) -> None:
    """Whatever the text: what is left of it holds no such sentence, and no such heading."""
    for kind, (question, rest) in held(f"{text}\n\n{REST}\n").items():
        assert question
        if kind is Kind.SENTENCE:
            assert question not in rest
        else:
            headings = {section.heading for section in parse_document("a.md", rest).sections}
            assert question not in headings
        assert len(rest) < len(text) + len(REST) + 3
