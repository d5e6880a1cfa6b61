"""English words that carry no subject, and irregular forms."""

from __future__ import annotations

_FUNCTION_WORDS = (
    "a an and are as at be been but by can could did do does for from had has have he her his how i if in "
    "into is it its me my no not of on or our she should so than that the their them then there these they "
    "this those to was we were what when where which who why will with would you your"
)
STOP_WORDS = frozenset(_FUNCTION_WORDS.split())
"""Words that occur in any text: articles, pronouns, prepositions, auxiliaries, question words."""

_OF_QUESTIONS = (
    "about after again all also always another any because before best between both different during each "
    "either else even ever every explain few find first get give going good had here itself just keep know "
    "last less let like long made make many may might more most much must need never new next now often old "
    "once one only other ours own please same seem show since some someone something soon still such take "
    "tell thing things think though time times too under until use used using very via want way ways well "
    "whether while without work works yet"
)
COMMON_WORDS = STOP_WORDS.union(_OF_QUESTIONS.split())
"""Words of which questions are made: they are neither mistyped, nor missed, nor translated."""

# Forms that share no stem with their word, which is the last of each group. Forms that are as often other
# words ("found", "left", "saw") are not among them.
_IRREGULAR_FORMS = (
    "arose arisen arise; ate eaten eat; awoke awoken awake; beaten beat; became become; began begun begin; "
    "bent bend; bitten bite; bled bleed; blew blown blow; bought buy; bred breed; broke broken break; "
    "brought bring; built build; burnt burn; came come; caught catch; chose chosen choose; crept creep; "
    "dealt deal; drank drink; drawn drew draw; dreamt dream; driven drove drive; dug dig; fallen fall; fed "
    "feed; fled flee; flew flown fly; forgave forgiven forgive; forgot forgotten forget; fought fight; froze "
    "frozen freeze; gave given give; gone went go; grew grown grow; heard hear; held hold; hid hidden hide; "
    "hung hang; kept keep; knelt kneel; knew known know; leapt leap; learnt learn; lent lend; lost lose; "
    "meant mean; met meet; mistaken mistook mistake; overtaken overtook overtake; paid pay; proven prove; "
    "ran run; rang ring; rebuilt rebuild; ridden rode ride; risen rise; rewritten rewrote rewrite; said say; "
    "sang sung sing; sank sunk sink; sat sit; sent send; sewn sew; shaken shook shake; shone shine; shrank "
    "shrunk shrink; slept sleep; slid slide; sold sell; sought seek; sown sow; sped speed; spelt spell; "
    "spent spend; spilt spill; spoilt spoil; spoken speak; sprang sprung spring; spun spin; stank stunk "
    "stink; stole stolen steal; stood stand; struck strike; stuck stick; stung sting; swam swum swim; swept "
    "sweep; swollen swell; swore sworn swear; swung swing; taken took take; taught teach; threw thrown "
    "throw; told tell; tore torn tear; understood understand; undertaken undertook undertake; wept weep; "
    "withdrawn withdrew withdraw; woke woken wake; won win; wore worn wear; wove woven weave; written wrote "
    "write; analyses analysis; appendices appendix; bacteria bacterium; cacti cactus; calves calf; children "
    "child; crises crisis; criteria criterion; curricula curriculum; diagnoses diagnosis; feet foot; fungi "
    "fungus; geese goose; halves half; hooves hoof; hypotheses hypothesis; indices index; knives knife; "
    "larvae larva; lice louse; loaves loaf; matrices matrix; men man; mice mouse; oxen ox; phenomena "
    "phenomenon; scarves scarf; shelves shelf; stimuli stimulus; syntheses synthesis; teeth tooth; theses "
    "thesis; thieves thief; vertices vertex; wives wife; wolves wolf; women woman"
)
WORD_OF_FORM = {form: word for *forms, word in map(str.split, _IRREGULAR_FORMS.split(";")) for form in forms}
"""Words by their irregular forms."""
