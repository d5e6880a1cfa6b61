"""Bytes become text, whatever they are written in."""

from __future__ import annotations

import gzip
import io
import random
import zipfile

import pytest

from mdvec.documents.encodings import Decoded, decode

_JAPANESE = """# 検索の手引き

日本語の文書を「全文検索」と意味検索で探します。カタカナ、ｶﾀｶﾅ、英数字 (ABC) も使えます。
10:00〜12:00 ‖ −5℃ ￥100 ¢ £ ¬ … ― ○●◎→
"""
_UNICODE_ENCODINGS = (
    "utf-8",
    "utf-8-sig",
    "utf-16",
    "utf-16-le",
    "utf-16-be",
    "utf-32",
    "utf-32-le",
    "utf-32-be",
)
_JAPANESE_ENCODINGS = ("shift_jis", "euc_jp", "iso2022_jp_ext")


def _text(raw: bytes) -> str | None:
    decoded = decode(raw)
    return decoded.text if decoded else None


def _zip() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.md", "text " * 100)
    return target.getvalue()


@pytest.mark.parametrize("encoding", [*_UNICODE_ENCODINGS, *_JAPANESE_ENCODINGS])
def test_the_same_text_in_every_encoding_is_the_same_text(encoding: str) -> None:
    """A Japanese text gives the same characters in each encoding, without a warning."""
    decoded = decode(_JAPANESE.encode(encoding))
    assert decoded is not None
    assert decoded.text == _JAPANESE
    assert decoded.warning == ""


@pytest.mark.parametrize("encoding", _JAPANESE_ENCODINGS)
@pytest.mark.parametrize(
    "text", ["日本", "東京都千代田区", "テスト\n", "山田太郎", "Pythonで書く", "# 見出し", "図1"]
)
def test_a_few_characters_are_enough(encoding: str, text: str) -> None:
    """A note of one word is told apart as well."""
    assert _text(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("日本語。".encode("cp932"), "shift_jis"),
        ("日本語。".encode("euc_jp"), "euc-jp"),
        ("日本語。".encode("iso2022_jp"), "iso-2022-jp"),
        (b"plain", "utf-8"),
        ("a\n".encode("utf-16-le"), "utf-16-le"),
        ("日本語の文。\n".encode("utf-16-be"), "utf-16-be"),
        ("caf\xe9 au lait".encode("cp1252"), "windows-1252"),
    ],
)
def test_the_encoding_is_named(raw: bytes, name: str) -> None:
    """The name of the encoding that was found comes with the text."""
    decoded = decode(raw)
    assert decoded is not None
    assert decoded.encoding == name


@pytest.mark.parametrize(
    "raw",
    [
        "①㈱髙﨑さんの資料です。".encode("cp932"),
        b"\xad\xa1\xad\xea\xfc\xe2\xf9\xf5" + "さんの資料です。".encode("euc_jp"),
        b"\x1b$B\x2d\x21\x2d\x6a\x7c\x62\x79\x75\x1b(B" + "さんの資料です。".encode("iso2022_jp"),
    ],
    ids=["cp932", "euc-jp", "iso-2022-jp"],
)
def test_vendor_characters_are_known_in_every_encoding(raw: bytes) -> None:
    """The characters NEC and IBM added are read in all three, as real files hold them."""
    assert _text(raw) == "①㈱髙﨑さんの資料です。"


def test_a_wave_dash_of_windows_is_a_wave_dash() -> None:
    """What Microsoft's table calls a full-width tilde is the same character as in EUC-JP."""
    assert _text("午前～午後、－と∥".encode("cp932")) == "午前〜午後、−と‖"


def test_supplementary_kanji_are_read() -> None:
    """JIS X 0212 is known in EUC-JP and in ISO-2022-JP."""
    text = "丂という字があります。"
    assert _text(text.encode("euc_jp")) == text
    assert _text(text.encode("iso2022_jp_1")) == text


@pytest.mark.parametrize(
    "text", ["日付,店名,金額\n1/4,ｲｵﾝ,8432\n1/5,ﾏﾂﾓﾄｷﾖｼ,1200\n1/9,ﾄﾞｺﾓ,2970", "ﾊﾞｯﾃﾘｰ交換"]
)
def test_half_width_kana_among_kanji_are_read(text: str) -> None:
    """As banks and shops write names."""
    found = decode(text.encode("cp932"))
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize("encoding", ["cp932", "euc_jp"])
def test_half_width_kana_alone_are_no_kanji(encoding: str) -> None:
    """A list in half-width kana is not taken for the kanji that its bytes are in the other encoding."""
    text = "ｶﾌﾞｼｷｶﾞｲｼｬ ﾆﾎﾝｼｮｳｼﾞ\nﾄｳｷｮｳﾄ ﾁﾖﾀﾞｸ\nﾃﾞﾝﾜ ﾊﾞﾝｺﾞｳ ｲﾁﾗﾝ ﾋｮｳ\n"
    assert _text(text.encode(encoding)) == text


def test_a_line_of_iso_2022_jp_ends_its_character_set() -> None:
    """After a line end that nothing switched back the text is ASCII again."""
    assert _text(b'\x1b$B$"$$\nplain\n\x1b$B$&\x1b(B.\n') == "あい\nplain\nう.\n"


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        (b"a\r\nb\rc\nd\r\n", "a\nb\nc\nd\n"),
        ("あ\r\nい\r".encode("utf-16"), "あ\nい\n"),
        ("これは\r\n文です\r\n".encode("cp932"), "これは\n文です\n"),
    ],
)
def test_line_ends_become_one(raw: bytes, text: str) -> None:
    """CRLF, CR and LF are all a line feed afterwards."""
    assert _text(raw) == text


def test_a_nul_is_replaced() -> None:
    """A stray NUL becomes U+FFFD, as CommonMark has it."""
    assert _text(b"# a\x00b\n") == "# a\ufffdb\n"


@pytest.mark.parametrize("raw", [b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"])
def test_nothing_is_an_empty_text(raw: bytes) -> None:
    """An empty file, or a byte order mark alone, is an empty text and not binary."""
    assert _text(raw) == ""


def test_a_truncated_character_is_replaced_and_reported() -> None:
    """UTF-8 that ends inside a character keeps the rest."""
    assert decode("# 日本".encode()[:-1]) == Decoded("# 日\ufffd", "utf-8", "1 place is not valid utf-8")


def test_damaged_utf8_is_still_utf8() -> None:
    """A bad byte in the middle costs one character, whatever else the bytes could mean."""
    raw = "日本語の長い文章。".encode() * 10
    decoded = decode(raw + b"\xff" + raw)
    assert decoded == Decoded(f"{raw.decode()}\ufffd{raw.decode()}", "utf-8", "1 place is not valid utf-8")


def test_damaged_japanese_is_still_japanese() -> None:
    """A few bad bytes do not change what the rest is written in."""
    raw = "これは長い日本語の文章です。\n".encode("cp932") * 20 + b"\xfd\xfd\n"
    decoded = decode(raw)
    assert decoded is not None
    assert decoded.encoding == "shift_jis"
    assert decoded.warning == "2 places are not valid shift_jis"


def test_a_replacement_character_of_the_author_is_no_damage() -> None:
    """U+FFFD in valid UTF-8 is text like any other."""
    assert decode("a \ufffd b".encode()) == Decoded("a \ufffd b", "utf-8")


def test_surrogates_in_utf8_are_joined_or_replaced() -> None:
    """A pair becomes its character; a lone one cannot stay, since nothing could write it down."""
    assert _text(b"\xed\xa0\xbd\xed\xb8\x80 ok") == "😀 ok"
    assert _text(b"# \xed\xa0\x80\n") == "# \ufffd\n"


@pytest.mark.parametrize(
    "text", ["don’t panic", "It’s a café", "réel, général", "Größe: 5 µm", "CRÉÉ", "“naïve” – ça va", "é\n"]
)
def test_western_text_is_not_japanese(text: str) -> None:
    """Accents and typographic quotes are not taken for kanji, and the guess is called one."""
    decoded = decode(text.encode("cp1252"))
    warning = "the encoding is a guess: windows-1252; save the file as UTF-8 if its text is garbled"
    assert decoded == Decoded(text, "windows-1252", warning)


@pytest.mark.parametrize(
    ("text", "encoding", "is_guess"),
    [
        ("한국어 문서입니다. 내일 회의가 있습니다.\n", "euc-kr", True),
        ("数据库备份在每天晚上进行。\n请检查磁盘空间。\n", "gb18030", True),
        ("東京都庁舎\n", "shift_jis", True),
        ("東京都庁舎の予定\n", "shift_jis", False),
        ("ﾃﾞｰﾀ東京都\n", "shift_jis", False),
    ],
)
def test_text_without_kana_is_perhaps_not_japanese(text: str, encoding: str, is_guess: bool) -> None:
    """Encodings of Korean and Chinese have other characters there; the warning says that it is a guess."""
    decoded = decode(text.encode(encoding))
    assert decoded is not None
    assert decoded.warning.startswith("the encoding is a guess: ") is is_guess


@pytest.mark.parametrize(
    ("text", "encoding", "found"),
    [
        ("이 폴더에는 모든 자료가 있습니다. 매일 밤 백업을 합니다.\n", "euc-kr", "cp949"),
        ("我们在这个文件夹里保存了所有的资料，每天晚上备份数据。\n", "gb18030", "gb18030"),
        ("我們在這個資料夾裡保存了所有的資料，每天晚上備份。\n", "big5", "big5"),
        ("東京都千代田区永田町 国会議事堂 参議院議員会館 渡邉麒麟\n", "euc-jp", "euc-jp"),
        ("東京都千代田区永田町 国会議事堂 参議院議員会館 渡邉麒麟\n", "cp932", "shift_jis"),
    ],
)
def test_without_kana_the_everyday_characters_decide(text: str, encoding: str, found: str) -> None:
    """Each encoding has them at other places; what is found is a guess."""
    decoded = decode(text.encode(encoding))
    assert decoded is not None
    assert (decoded.text, decoded.encoding) == (text, found)
    assert decoded.warning.startswith(f"the encoding is a guess: {found}")


def test_a_bad_byte_in_a_long_ascii_text_is_replaced() -> None:
    """A byte that no encoding knows does not make a text binary."""
    decoded = decode(b"plain text " * 20 + b"\x81 end")
    assert decoded is not None
    assert decoded.text.endswith("\ufffd end")
    assert decoded.warning == "1 place is not valid utf-8"


@pytest.mark.parametrize(
    "raw",
    [
        bytes(range(256)) * 64,
        b"\0",
        bytes(1_000),
        random.Random(1).randbytes(30),
        random.Random(2).randbytes(300).replace(b"\0", b""),
        random.Random(3).randbytes(30_000),
        b"\xff\xfe" + random.Random(4).randbytes(2_000),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"\xff\xd8\xff\xe0\x10JFIF",
        b"%PDF-1.7\n1 0 obj\n",
        b"GIF89a",
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0",
        gzip.compress(b"text", mtime=0),
        _zip(),
        bytes(range(1, 32)) * 10,
    ],
    ids=lambda raw: raw[:6].hex(),
)
def test_binary_is_no_text(raw: bytes) -> None:
    """Images, archives, programs and noise are recognised by their bytes, not by their names."""
    assert decode(raw) is None


def test_text_in_an_unknown_encoding_is_not_shown_as_rubbish() -> None:
    """Greek in its old encoding fits nothing we know, and is left out rather than garbled."""
    assert decode("Αυτή είναι μια σημείωση για το βουνό".encode("cp1253")) is None


@pytest.mark.parametrize("encoding", ["windows-1251", "koi8-u", "cp866", "iso8859-5"])
@pytest.mark.parametrize(
    "text",
    [
        "Привет, как дела?\n",
        "# Setup на сервере\n\nRun `pip install foo` и перезапустите службу.\n",
        "ИНСТРУКЦИЯ ПО УСТАНОВКЕ ПРОГРАММЫ\n",
        "Това е бележка за планината и за нещата, които трябва да вземем.\n",
    ],
)
def test_cyrillic_is_read_in_its_old_encodings(text: str, encoding: str) -> None:
    """They differ in where the common letters are; what is found is a guess."""
    decoded = decode(text.encode(encoding))
    assert decoded is not None
    assert (decoded.text, decoded.encoding) == (text, encoding)
    assert decoded.warning.startswith("the encoding is a guess: ")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("ﾃﾗﾋﾈﾄ ﾁﾂﾃﾄﾅﾆﾇﾈﾉ ﾐﾑﾒﾓﾔﾕﾖﾗﾘﾙﾚﾛﾜﾝ ﾄﾅﾘ ﾉ ﾄﾄﾛ\n", "shift_jis"),
        ("Größe über Öl, schön für Ärger\n", "windows-1252"),
        ("数理解析研究所 溶解 要旨 東京都千代田区\n", "euc-jp"),
    ],
)
def test_what_only_has_the_same_bytes_is_not_cyrillic(text: str, encoding: str) -> None:
    """Its letters would be rare ones, or within words of Latin letters."""
    decoded = decode(text.encode(encoding))
    assert decoded is not None
    assert decoded.text == text


@pytest.mark.parametrize("repeats", [1, 5_000])
def test_the_first_line_that_is_not_ascii_decides_however_late(repeats: int) -> None:
    """A long English head does not hide what a file is written in."""
    text = "plain English\n" * 10_000 + "最後に日本語があります。\n" * repeats
    assert _text(text.encode("euc_jp")) == text
    assert _text(text.encode("cp932")) == text
