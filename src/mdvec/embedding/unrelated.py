"""Measures the background similarity of a model: how similar it finds unrelated texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mdvec.embedding.interface import Embedder, Role, embed_all
from mdvec.types.space import Unrelated, UnrelatedTexts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Questions and notes that answer them, as long as short sections: each pair on a subject of its own.
# The builtin model finds .785 ± .022 in one language and .787 ± .022 in the other. The levels of confidence
# (mdvec.search.confidence) are in these units: other texts would need other levels.
_SPACED = (
    (
        "How do I undo my last git commit?",
        "`git reset --soft HEAD~1` takes the newest commit back and leaves its changes staged, so that "
        "they can be committed again with another message. Once it was pushed, use `git revert` instead: "
        "it adds a commit that does the opposite, and nobody else has to rewrite their branch.",
    ),
    (
        "sourdough starter feeding schedule",
        "Keep the starter in the fridge and feed it once a week: one part of it, two parts of flour, two "
        "parts of water. Before baking, let it double at room temperature, which takes about five hours in "
        "summer and twice as long in winter. Grey liquid on top only means that it is hungry.",
    ),
    (
        "What happens when the fixed rate of our mortgage ends?",
        "The fixed rate of the loan ends in June. After that the bank charges its variable rate, unless we "
        "sign for another five years. Paying off more than a tenth in one year costs a fee, and an "
        "instalment that comes late is reported to the credit agency after thirty days.",
    ),
    (
        "training plan for a first marathon",
        "Week nine: intervals on Tuesday, an easy hour on Thursday, and thirty kilometres on Sunday at a "
        "pace that still allows talking, with a drink every five. Old shoes for the long run, and no new "
        "socks. When the shin hurts, swim instead and move everything by a week.",
    ),
    (
        "fall of the western Roman empire",
        "In 476 Odoacer deposed the last emperor of the west and sent the regalia to Constantinople. By "
        "then the provinces had long stopped paying taxes, Africa with its grain was lost to the Vandals, "
        "and most of the army was hired from across the Rhine.",
    ),
    (
        "which birds migrate in autumn",
        "Swallows gather on the wires in September and leave for Africa within days; cranes follow in "
        "October, high up and loud. Robins and blackbirds stay all winter and come to the feeder, where "
        "they eat oats and apples from the ground and leave the sunflower seeds to the tits.",
    ),
    (
        "violin strings keep going out of tune",
        "Wind each string so that it runs straight to the peg, and rub the peg with chalk where it slips. "
        "New gut strings stretch for three days, synthetic ones for an afternoon. The bridge has to stand "
        "upright: tuning pulls its top towards the fingerboard, and a bent one breaks.",
    ),
    (
        "How do we onboard a new colleague?",
        "On the first day: laptop, badge, accounts for mail and payroll, lunch with the team. In the first "
        "week a mentor shows the warehouse and the ticket system. After a month there is a talk about what "
        "is still missing, and the personnel office gets the signed papers.",
    ),
)
_UNSPACED = (
    (
        "味噌汁 出汁の取り方",
        "昆布は水に三十分ほど浸し、沸く直前に引き上げる。かつお節をひとつかみ入れて火を止め、沈んだら布でこす。具は大根や油揚げのように火の通りにくいものから煮て、"
        "豆腐とわかめは後から入れる。味噌は最後に溶き、煮立たせない。煮干しを使うときは頭とわたを取り、一晩水につけておく。",
    ),
    (
        "医療費控除 申告 必要な書類",
        "一年の医療費が十万円を超えると、所得税の一部が戻る。領収書をもとに明細書を作り、源泉徴収票と一緒に三月十五日までに税務署へ出す。"
        "通院の電車代も数えてよいが、自家用車のガソリン代は認められない。家族の分も合算でき、領収書そのものは五年間保管する。",
    ),
    (
        "トマトの苗に水をやりすぎるとどうなりますか",
        "プランターの土は表面が乾いてから、朝のうちにたっぷり湿らせる。いつも濡れていると根が腐り、葉が黄色くなって実が割れる。"
        "わき芽は小さいうちに指で摘み、茎は八の字にゆるく支柱へ結ぶ。最初の房が色づいたら、二週間おきに肥料を少しずつ足す。",
    ),
    (
        "終電に間に合わなかったときの帰り方",
        "金曜の夜だけ、零時四十分に駅の北口から深夜バスが出る。団地の入口までおよそ一時間で、運賃は昼の倍になる。"
        "満席なら乗れないので、タクシーに相乗りするか、始発の四時五十二分まで待つ。線路沿いに歩くと橋のところで遠回りになる。",
    ),
    (
        "腰痛 体操",
        "仰向けに寝て両ひざを胸に抱え、三十秒そのままでいる。次に四つんばいになり、息を吐きながら背中を丸め、吸いながら反らす。"
        "どちらも朝晩に五回ずつ、反動をつけずに続ける。足までしびれるときや、二週間たっても治らないときは整形外科で診てもらう。",
    ),
    (
        "平安時代の貴族は何を着ていたか",
        "宮中の女房は袿を何枚も重ね、袖口にのぞく色の取り合わせで季節を表した。男は出仕には束帯、くつろぐときは直衣を着た。"
        "色は位によって定められ、禁色を許されることは名誉とされた。布は絹で、庶民の麻の衣とは大きく異なっていた。",
    ),
    (
        "賃貸の部屋を退去する手続き",
        "一か月前までに管理会社へ書面で解約を知らせる。電気とガスと水道を止める日を決め、郵便物の転送を届け出て、粗大ごみの収集を予約する。"
        "当日は担当者と壁や床の傷を確かめ、鍵を全部返す。敷金の精算書に納得できなければ、署名せずに持ち帰る。",
    ),
    (
        "星空を撮るときの露出時間",
        "三脚に広角レンズのカメラを据え、絞りは開放、感度は三二〇〇にする。二十秒より長くシャッターを開けると、地球の自転で光の点が線になって写る。"
        "ピントは明るい恒星を画面で拡大して手で合わせ、テープで留める。月のない夜に、街明かりを背にして撮る。",
    ),
)

QUESTIONS = tuple(question for question, _ in (*_SPACED, *_UNSPACED))
"""Questions of the probe."""

PASSAGES = tuple(passage for _, passage in (*_SPACED, *_UNSPACED))
"""The passages of the probe; each is related only to the question at the same position."""

# The least spread, for a model that finds all texts exactly alike; others have .02 to .1.
_MIN_SPREAD = 0.005


def measure_unrelated(embedder: Embedder) -> UnrelatedTexts:
    """Embed some questions and passages, and compare each question with the passages on other subjects.

    English and Japanese are measured separately: a model that knows one language finds all texts of another
    alike.

    Args:
        embedder: The model; called once for all questions and once for all passages.

    Returns:
        Mean and standard deviation of the similarities in each kind of script, and its mean passage.

    Raises:
        EmbeddingError: If the model cannot be used now.
    """
    questions = embed_all(embedder, QUESTIONS, Role.QUERY)
    passages = embed_all(embedder, PASSAGES)
    first = len(_SPACED)
    return UnrelatedTexts(
        spaced=_of_other_subjects(questions[:first], passages[:first]),
        unspaced=_of_other_subjects(questions[first:], passages[first:]),
    )


def _of_other_subjects(questions: NDArray[np.float32], passages: NDArray[np.float32]) -> Unrelated:
    """Summarise the similarities of questions and passages at different positions."""
    import numpy as np

    others = (questions @ passages.T)[~np.eye(len(passages), dtype=bool)].astype(np.float64)
    return Unrelated(
        float(others.mean()),
        max(_MIN_SPREAD, float(others.std())),
        passages.mean(axis=0).astype("<f4").tobytes(),
    )
