"""Tiny models with random weights, laid out like real ones."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

# Code of models is copied below it to be run; read by these libraries when they are first imported.
os.environ["HF_HOME"] = str(Path(tempfile.gettempdir()) / "mdvec-tests-huggingface")

MAX_TOKENS = 96
_VOCABULARY = 400
_TEXTS = (
    "検索クエリ: りんごは赤い果物です。",
    "検索文書: 東京は日本の首都である。港と船の話。",
    "The committee met again and talked about the budget. Whales are mammals.",
    "Markdown のノートを検索する。クジラは哺乳類である。",
    "query: How do I prune an apple tree? passage: harbours and ships",
)
_SPECIAL = ["<unk>", "<s>", "</s>", "<pad>", "<mask>"]

_PLAMO_CONFIGURATION = """
from transformers import LlamaConfig


class PlamoConfig(LlamaConfig):
    model_type = "plamo_like"
"""

_PLAMO_MODEL = """
import torch
from transformers import LlamaModel

from .configuration_plamo import PlamoConfig


class PlamoModel(LlamaModel):
    config_class = PlamoConfig

    def _encode(self, sentences, tokenizer, instruction):
        texts = [instruction + text for text in sentences]
        limit = self.config.max_position_embeddings
        read = tokenizer(texts, return_tensors="pt", padding=True, truncation=True, max_length=limit)
        read = {name: read[name].to(self.device) for name in ("input_ids", "attention_mask")}
        mask = read["attention_mask"].unsqueeze(-1)
        hidden = self(**read).last_hidden_state
        return (hidden * mask).sum(1) / mask.sum(1)

    def encode_query(self, sentences, tokenizer):
        return self._encode(sentences, tokenizer, "Find what answers: ")

    def encode_document(self, sentences, tokenizer):
        return self._encode(sentences, tokenizer, "")
"""


def make_ruri(folder: Path, *, hidden: int = 256) -> Path:
    """Write a ModernBERT with a SentencePiece-like tokenizer and mean pooling, as Ruri v3 is.

    Args:
        folder: Where to write; made, its name is that of the model.
        hidden: Length of its vectors.

    Returns:
        The folder.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling
    from transformers import ModernBertConfig, ModernBertModel

    torch.manual_seed(0)
    tokenizer = _tokenizer()
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=2 * MAX_TOKENS,
        local_attention=16,
        global_attn_every_n_layers=2,
        **_ids(tokenizer),
    )
    base = folder.with_name(f"{folder.name}-base")
    ModernBertModel(config).save_pretrained(base)
    tokenizer.save_pretrained(base)
    network = Transformer(str(base), max_seq_length=MAX_TOKENS)
    SentenceTransformer(modules=[network, Pooling(hidden, pooling_mode="mean")], device="cpu").save(
        str(folder)
    )
    return folder


def make_cross_encoder(folder: Path, *, labels: int = 1) -> Path:
    """Write a ModernBERT that gives scores to a query with a text, as rerankers are; they mean nothing.

    Args:
        folder: Where to write; made.
        labels: How many scores it gives; rerankers give one.

    Returns:
        The folder.
    """
    import torch
    from transformers import ModernBertConfig, ModernBertForSequenceClassification

    torch.manual_seed(0)
    tokenizer = _tokenizer()
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=2 * MAX_TOKENS,
        local_attention=16,
        global_attn_every_n_layers=2,
        num_labels=labels,
        **_ids(tokenizer),
    )
    ModernBertForSequenceClassification(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def make_plamo(folder: Path, *, hidden: int = 64, fast_tokenizer: bool = True) -> Path:
    """Write a model with code of its own that has ``encode_query`` and ``encode_document``, as PLaMo is.

    Args:
        folder: Where to write; made.
        hidden: Length of its vectors.
        fast_tokenizer: Whether there is a ``tokenizer.json``, which is read without the model.

    Returns:
        The folder.
    """
    import torch
    from transformers import LlamaConfig, LlamaModel

    torch.manual_seed(0)
    tokenizer = _tokenizer()
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=2 * MAX_TOKENS,
        **_ids(tokenizer),
    )
    LlamaModel(config).save_pretrained(folder)
    if fast_tokenizer:
        tokenizer.save_pretrained(folder)
    else:
        _write_word_pieces(folder, tokenizer)
    (folder / "configuration_plamo.py").write_text(_PLAMO_CONFIGURATION)
    (folder / "modeling_plamo.py").write_text(_PLAMO_MODEL)
    change_json(
        folder / "config.json",
        model_type="plamo_like",
        architectures=["PlamoModel"],
        auto_map={"AutoConfig": "configuration_plamo.PlamoConfig", "AutoModel": "modeling_plamo.PlamoModel"},
    )
    return folder


def change_json(path: Path, **changes: Any) -> None:
    """Set keys of a JSON file."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="never")
    trainer = trainers.UnigramTrainer(vocab_size=_VOCABULARY, special_tokens=_SPECIAL, unk_token="<unk>")
    tokenizer.train_from_iterator(_TEXTS * 20, trainer)
    ends = [(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=ends
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="<unk>",
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        mask_token="<mask>",
        cls_token="<s>",
        sep_token="</s>",
        model_max_length=MAX_TOKENS,
    )


def _write_word_pieces(folder: Path, tokenizer: Any) -> None:
    """Write the pieces as the vocabulary of BERT, of which transformers builds a tokenizer."""
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    (folder / "vocab.txt").write_text("\n".join(piece for piece, _ in pieces) + "\n")
    special = {"unk": "<unk>", "cls": "<s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>"}
    settings = {f"{name}_token": token for name, token in special.items()}
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "model_max_length": MAX_TOKENS, **settings})
    )


def _ids(tokenizer: Any) -> dict[str, int]:
    return {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
