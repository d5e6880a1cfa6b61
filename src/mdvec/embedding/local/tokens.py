"""The model's own tokenizer, without the model."""

from __future__ import annotations

import re
from itertools import accumulate
from pathlib import Path

from tokenizers import Tokenizer

from mdvec.errors import EmbedderUnavailableError

TOKENIZER = "tokenizer.json"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Replace what UTF-8 cannot hold, character by character."""
    return _LONE_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


class TokenCounter:
    """Says where tokens end.

    Args:
        path: A ``tokenizer.json``.

    Raises:
        EmbedderUnavailableError: If it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._tokenizer = Tokenizer.from_buffer(path.read_bytes())
        except (OSError, ValueError) as error:
            msg = f"{path} cannot be read: {error}"
            raise EmbedderUnavailableError(msg, hint="Get the files of the model again.") from error
        # What training left behind: texts are counted whole.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @property
    def markers(self) -> int:
        """How many tokens are put around a text."""
        return int(self._tokenizer.num_special_tokens_to_add(is_pair=False))

    def ends(self, text: str) -> list[int]:
        """Return one past the last character of each token, ascending; without markers."""
        offsets = self._tokenizer.encode(clean(text), add_special_tokens=False).offsets
        return [end for end in accumulate((end for _, end in offsets), max) if end > 0]
