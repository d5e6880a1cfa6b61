"""What holds for all bytes and all texts."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mdvec.documents.encodings import decode

_TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn", "Co"), exclude_characters="\ufeff\ufffd"))
_KANA_AND_KANJI = (
    "あいうえおかがきくこさしすせそただちつてとなにのはまもやらりるれろわをん、。「」"
    "アイウカコシスタテトナリルレンー日本語文書検索東京時間人大学会社新聞電話"
)
_JAPANESE = st.lists(
    st.text(_KANA_AND_KANJI, min_size=3) | st.sampled_from(["です。", "\n", " abc ", "# "])
).map(lambda parts: "これは" + "".join(parts))


@given(st.binary(max_size=300))
@example(b"\xef\xbb\xbf\xef\xbb\xbf\r\r\n\0")
@settings(max_examples=300, deadline=None)
def test_any_bytes_give_clean_text_or_none(raw: bytes) -> None:
    """Nothing raises; a text has no byte order mark, no NUL, no CR, and can be written as UTF-8."""
    decoded = decode(raw)
    if decoded is not None:
        assert not decoded.text.startswith("\ufeff")
        assert not set(decoded.text) & {"\0", "\r"}
        decoded.text.encode()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
@given(text=_TEXT)
@settings(max_examples=60, deadline=None)
def test_unicode_text_comes_back_as_it_was(encoding: str, text: str) -> None:
    """UTF-8, and anything with a byte order mark, loses nothing of any text."""
    decoded = decode(text.encode(encoding))
    assert decoded is not None
    assert decoded.text == text
    assert not decoded.warning


@pytest.mark.parametrize("encoding", ["shift_jis", "cp932", "euc_jp", "iso2022_jp", "utf-16-le", "utf-16-be"])
@given(text=_JAPANESE)
@settings(max_examples=60, deadline=None)
def test_japanese_text_comes_back_as_it_was(encoding: str, text: str) -> None:
    """Whatever the words, an encoding without a mark is found."""
    raw = f"{text}\n".encode(encoding)
    decoded = decode(raw)
    assert decoded is not None
    assert decoded.text == f"{text}\n"
    assert not decoded.warning
