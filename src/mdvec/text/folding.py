"""Folds texts that readers take for the same to one form: width, case, accents, variants, long vowels."""

from __future__ import annotations

import re
import unicodedata

from mdvec.text.scripts import HIRAGANA, KATAKANA

# Each old form with today's, from the tables of characters for general use (常用漢字表, 2010) and for
# names (人名用漢字表), where it is in brackets; the last ones are frequent in names (戸籍統一文字).
_KANJI = (
    "亞亜惡悪壓圧圍囲醫医爲為壹壱隱隠榮栄營営衞衛驛駅圓円鹽塩緣縁艷艶應応歐欧毆殴櫻桜奧奥橫横溫温穩穏假仮"
    "價価畫画會会繪絵壞壊懷懐槪概擴拡殼殻覺覚學学嶽岳樂楽渴渇罐缶卷巻陷陥勸勧寬寛關関歡歓觀観氣気歸帰龜亀"
    "僞偽戲戯犧犠舊旧據拠擧挙虛虚峽峡挾挟狹狭鄕郷曉暁區区驅駆勳勲薰薫徑径莖茎惠恵揭掲溪渓經経螢蛍輕軽繼継"
    "鷄鶏藝芸擊撃缺欠硏研縣県儉倹劍剣險険圈圏檢検獻献權権顯顕驗験嚴厳廣広效効恆恒黃黄鑛鉱號号國国黑黒碎砕"
    "濟済齋斎劑剤雜雑參参棧桟蠶蚕慘惨贊賛殘残絲糸齒歯兒児辭辞濕湿實実寫写釋釈壽寿收収從従澁渋獸獣縱縦肅粛"
    "處処緖緒敍叙將将稱称涉渉燒焼證証奬奨條条狀状乘乗淨浄剩剰疊畳繩縄壤壌孃嬢讓譲釀醸觸触囑嘱眞真寢寝愼慎"
    "盡尽圖図粹粋醉酔穗穂隨随髓髄樞枢數数瀨瀬聲声齊斉靜静竊窃攝摂專専淺浅戰戦踐践錢銭潛潜纖繊禪禅雙双壯壮"
    "爭争莊荘搜捜插挿巢巣曾曽瘦痩裝装總総騷騒增増藏蔵臟臓卽即屬属續続墮堕對対體体帶帯滯滞臺台瀧滝擇択澤沢"
    "擔担單単膽胆團団斷断彈弾遲遅癡痴蟲虫晝昼鑄鋳廳庁徵徴聽聴敕勅鎭鎮遞逓鐵鉄點点轉転傳伝燈灯當当黨党盜盗"
    "稻稲鬭闘德徳獨独讀読屆届貳弐惱悩腦脳霸覇拜拝廢廃賣売麥麦發発髮髪拔抜晚晩蠻蛮祕秘濱浜甁瓶拂払佛仏倂併"
    "竝並餠餅邊辺變変辨弁瓣弁辯弁步歩寶宝豐豊襃褒飜翻每毎萬万滿満麵麺默黙彌弥譯訳藥薬與与豫予餘余譽誉搖揺"
    "樣様謠謡來来賴頼亂乱覽覧龍竜兩両獵猟綠緑淚涙壘塁禮礼勵励戾戻靈霊齡齢曆暦歷歴戀恋鍊錬爐炉勞労郞郎樓楼"
    "錄録灣湾亙亘凛凜堯尭巖巌晄晃檜桧槇槙禰祢禱祷祿禄穰穣萠萌遙遥薗園駈駆嶋島盃杯冨富峯峰埜野凉涼髙高﨑崎"
    "栁柳濵浜邉辺嵜崎𠮷吉㐂喜槗橋桒桑冝宜圡土舘館嶌島渕淵"
)
# Radicals with the ideographs that look the same, from Unicode's EquivalentUnifiedIdeograph.txt; PDF files
# have them in the place of ideographs. Unicode's compatibility mapping covers the other block.
_RADICALS = (
    "⺁厂⺂乛⺃乚⺄乙⺅亻⺆冂⺇𠘨⺈刀⺉刂⺊卜⺋㔾⺌小⺍小⺎兀⺏尣⺐尢⺑𡯂⺒巳⺓幺⺔彑⺕彐⺖忄⺗心⺘扌⺙攵"
    "⺛旡⺜日⺝月⺞歺⺠民⺡氵⺢氺⺣灬⺤爫⺥爫⺦丬⺧牛⺨犭⺩王⺪𤴔⺫目⺬示⺭礻⺮𥫗⺯糹⺰纟⺱罓⺲罒⺳㓁⺴冗"
    "⺵𦉫⺶羊⺷𦍌⺸𦍋⺹耂⺺肀⺻聿⺼肉⺽𦥑⺾艹⺿艹⻀艹⻁虎⻂衤⻃覀⻄西⻅见⻆角⻇𧢲⻈讠⻉贝⻊𧾷⻋车⻌辶⻍辶"
    "⻎辶⻏邑⻐钅⻑長⻒镸⻓长⻔门⻕𨸏⻖阝⻗雨⻘青⻙韦⻚页⻛风⻜飞⻝食⻞𩙿⻟飠⻠饣⻡𩠐⻢马⻣骨⻤鬼⻥鱼⻦鸟"
    "⻧卤⻨麦⻩黄⻪黾⻫斉⻬齐⻭歯⻮齿⻯竜⻰龙⻱龜⻲亀"
)
# Letters that Unicode does not decompose, and their usual spelling without the stroke or the ligature; those
# of Persian that look like Arabic ones, Arabic ones that are often written without points, and old kana.
_LETTERS = "øołlđdħhŧtıiةهىيیيکكヰイヱエゐいゑえ"
_LIGATURES = {"æ": "ae", "œ": "oe", "ð": "d", "þ": "th"}


def _pairs(text: str) -> dict[str, str]:
    return dict(zip(text[::2], text[1::2], strict=True))


_TODAY = _pairs(_KANJI)
VARIANTS = {
    **_TODAY,
    **{radical: _TODAY.get(kanji, kanji) for radical, kanji in _pairs(_RADICALS).items()},
    **_pairs(_LETTERS),
    **_LIGATURES,
}
"""The usual form of each character that is a variant of another."""

# The prolonged sound mark is typed in many ways; between kana they all mean ー.
_KANA = HIRAGANA + KATAKANA
_DASHES = "-\u2010-\u2015\u2212\u2500\uff0d\uff70~\u301c\uff5e"
# These expressions begin with a rare character, so that the rest of a text is skipped quickly.
_DASH_AFTER_KANA = re.compile(rf"[{_DASHES}](?<=[{_KANA}].)(?=[{_KANA}])")
DASH_IN_NUMBER = re.compile(r"[ー\u2010-\u2012\u2015\u2212\u2500\uff0d\uff70](?<=[0-9].)(?=[0-9])")
"""A dash between digits that means a hyphen, as in a telephone number; an en dash means a range."""

# サーバー and サーバ are one word: a final ー is dropped when at least three characters stand before it.
_FINAL_LONG_VOWEL = re.compile(rf"ー(?<=[{KATAKANA}]{{3}}ー)(?![{KATAKANA}])")
# ヴァイオリン and バイオリン are one word.
_VU = re.compile("ヴ([ァィェォュョ]?)")
_VU_AS_BU = {"": "ブ", "ァ": "バ", "ィ": "ビ", "ェ": "ベ", "ォ": "ボ", "ュ": "ビュ", "ョ": "ビョ"}
# So are ソフトウェア and ソフトウエア, ファイアウォール and ファイヤウォール.
_GLIDE = re.compile("[ィェォヤ](?<=ウ[ィェォ]|イヤ)")
_WITHOUT_GLIDE = {"ィ": "イ", "ェ": "エ", "ォ": "オ", "ヤ": "ア"}
_REPEATED = re.compile("々(?<=(.)々)")  # 佐々木 is also written 佐佐木
# The marks of European scripts, Hebrew and Arabic. Those of kana and of Indic scripts make other letters.
_ACCENTS = (
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u0591-\u05bd\u05bf-\u05c7"
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
)
# The soft hyphen, spaces and joiners without width, marks of direction, selectors of a variant, and the long
# stroke of Arabic.
_INVISIBLE = (
    "\u00ad\u061c\u0640\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff"
)
_UNSEEN = re.compile(f"[{_ACCENTS}{_INVISIBLE}]")
_BETWEEN_WORDS = re.compile(r"[\W_]+")
# All of ASCII but letters and digits; quicker than the expression above.
_ASCII_BETWEEN_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
_ASCII = bytes(range(128))

# Normalising sorts the combining marks of a character, in quadratic time in Python. As in Unicode's
# stream-safe text format (UAX 15), a joiner, which is no mark, parts more than 30 of them.
_MAX_MARKS = 30
_JOINER = "\u034f"
# Voicing marks of half-width kana are letters that decompose to combining marks.
_HALF_WIDTH_MARKS = "\uff9e\uff9f"
_NO_LETTER = r"[^\w\s\x00-\x7f]"
_LONG_RUN = re.compile(f"{_NO_LETTER}{_NO_LETTER}{{{_MAX_MARKS},}}")
_LONG_RUN_WITH_HALF_WIDTH = re.compile(f"(?:{_NO_LETTER}|[{_HALF_WIDTH_MARKS}]){{{_MAX_MARKS + 1},}}")


def nfc(text: str) -> str:
    """Return a text in Unicode's normalization form C, in time linear in its length."""
    return text if text.isascii() else unicodedata.normalize("NFC", _with_joiners(text))


def compatible(text: str) -> str:
    """Return a text in Unicode's normalization form KC, which has one width; in linear time, too."""
    return text if text.isascii() else unicodedata.normalize("NFKC", _with_joiners(text))


def normalise(text: str) -> str:
    """Fold characters, and the spellings of kana: long vowels, and ``ヴァ`` as ``バ``."""
    return text.lower() if text.isascii() else unify_kana(fold_characters(text))


def fold_characters(text: str) -> str:
    """Fold width, case, compatibility forms, accents and variants of characters; drop invisible ones.

    What makes another letter, such as the marks of ``ば`` and ``ぱ``, stays.
    """
    if text.isascii():
        return text.lower()
    try:
        return text.translate(_folded_alone)
    except _NotAloneError:
        return _folded(text)


def _folded(text: str) -> str:
    wide = unicodedata.normalize("NFKC", _with_joiners(text))
    return unicodedata.normalize("NFKC", wide.casefold()).translate(_plain)


class _NotAloneError(Exception):
    """A character changes the one before it."""


class _FoldedCharacters(dict[int, str]):
    """The folded form of a character, each computed once."""

    def __missing__(self, code: int) -> str:
        """Fold the character, unless it changes the one before it."""
        first = unicodedata.normalize("NFKD", chr(code))[0]
        if unicodedata.category(first)[0] == "M" or _HANGUL_VOWELS_AND_FINALS.match(first):
            raise _NotAloneError
        return self.setdefault(code, _folded(chr(code)))


_HANGUL_VOWELS_AND_FINALS = re.compile("[\u1160-\u11ff]")
_folded_alone = _FoldedCharacters()


class _PlainCharacters(dict[int, str]):
    """The form of a character without accents, each computed once; empty for an invisible one."""

    def __missing__(self, code: int) -> str:
        """Look the character up among variants, or take its accents off."""
        character = chr(code)
        parts = _UNSEEN.sub("", unicodedata.normalize("NFD", character))
        digit = unicodedata.decimal(character, None)
        plain = VARIANTS.get(character) or unicodedata.normalize(
            "NFC", parts if digit is None else str(digit)
        )
        self[code] = plain
        return plain


_plain = _PlainCharacters()


def unify_kana(folded: str) -> str:
    """Write long vowels, foreign sounds with ``ヴ`` and repeated kanji in one way."""
    usual = _VU.sub(lambda found: _VU_AS_BU[found[1]], _REPEATED.sub(r"\1", folded))
    usual = _GLIDE.sub(lambda found: _WITHOUT_GLIDE[found[0]], usual)
    return _FINAL_LONG_VOWEL.sub("", _DASH_AFTER_KANA.sub("ー", DASH_IN_NUMBER.sub("-", usual)))


def fold_name(name: str) -> str:
    """Return the form in which names are compared: ``Daily-Notes`` equals ``daily notes``.

    Returns:
        Words separated by single spaces; a name of punctuation alone is only stripped of outer space.
    """
    folded = name.lower() if name.isascii() else unify_kana(fold_characters(name))
    words = ascii_words(folded) if folded.isascii() else _BETWEEN_WORDS.sub(" ", folded).split()
    return " ".join(words) or folded.strip()


def beyond_ascii(text: str) -> str:
    """Return the characters of a text that are not ASCII, in order; much faster than a loop."""
    return text.encode("utf-8", "surrogatepass").translate(None, _ASCII).decode("utf-8", "surrogatepass")


def ascii_words(text: str) -> list[str]:
    """Return the runs of letters and digits of a text in ASCII."""
    return text.translate(_ASCII_BETWEEN_WORDS).split()


def _with_joiners(text: str) -> str:
    is_half_width = any(mark in text for mark in _HALF_WIDTH_MARKS)
    return (_LONG_RUN_WITH_HALF_WIDTH if is_half_width else _LONG_RUN).sub(_stream_safe, text)


def _stream_safe(run: re.Match[str]) -> str:
    characters: list[str] = []
    marks = 0
    for character in run[0]:
        is_mark = unicodedata.category(character)[0] == "M" or character in _HALF_WIDTH_MARKS
        marks = marks + 1 if is_mark else 0
        if marks > _MAX_MARKS:
            characters.append(_JOINER)
            marks = 1
        characters.append(character)
    return "".join(characters)


def spelled(text: str) -> str:
    r"""Return a text with escapes for bytes that are not UTF-8, so that it can be stored, shown and sent.

    Args:
        text: A text as from :func:`os.fsdecode`.

    Returns:
        The text with ``\xNN`` for each byte that is not UTF-8, and ``\uNNNN`` for any other surrogate.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join(map(_spelled_character, text))
    return text


def _spelled_character(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # where os.fsdecode puts bytes 0x80-0xFF
        return f"\\x{code - 0xDC00:02x}"
    return f"\\u{code:04x}" if 0xD800 <= code <= 0xDFFF else character
