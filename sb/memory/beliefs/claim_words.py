"""Words of claims: relations with how many values they hold, change verbs, cues, attribute nouns and titles."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ONE, REPLACEABLE, MANY = "one", "replaceable", "many"

_RELATIONS = Path(__file__).with_name("relations.txt").read_text(encoding="utf-8").splitlines()
RELATIONS: Final = {
    tuple(verb.split()): (attribute.strip(), holds.strip())
    for attribute, holds, verbs in (line.split("|") for line in _RELATIONS if not line.startswith("#"))
    for verb in (each.strip() for each in verbs.split(","))
}
LONGEST_VERB: Final = max(map(len, RELATIONS))
# Verbs of a stance, and those that deny it: what they are about belongs to the key.
_STANCES = """
    like,likes,love,loves,enjoy,enjoys/dislike,dislikes,hate,hates,avoid,avoids|support,supports/oppose,opposes
    agree,agrees/disagree,disagrees|trust,trusts/distrust,distrusts|accept,accepts/reject,rejects
"""
STANCES: Final = {
    verb: (pair.partition(",")[0], denies)
    for pair in "|".join(_STANCES.split()).split("|")
    for denies, side in enumerate(pair.split("/"))
    for verb in side.split(",")
}
# Verbs that state how much of something there is; what is counted belongs to the attribute.
AMOUNTS: Final = frozenset(
    "has have allows allow supports support takes take requires require needs need holds hold returns return lasts last"
    " keeps keep serves serve accepts accept contains contain includes include weighs weigh gets get pays pay earns earn"
    " runs run retries retry waits wait uses use spans span sends send retains retain".split()
)
CHANGES: Final = frozenset(
    "changed moved switched migrated raised lowered increased decreased reduced bumped upgraded downgraded renamed"
    " rescheduled postponed extended shortened set reset updated replaced rotated dropped cut transitioned relocated"
    " transferred promoted converted pushed shifted swapped grew rose fell went ported slipped".split()
)
# An update's words that add nothing else. `no longer`, `used to` and the like also negate.
CUES: Final = ("from now on", "as of now", "as of today", "these days", "nowadays", "now", "instead")
OPENERS: Final = r"(?:update|(?:no, )?i meant|correction|change of plans?|scratch that|actually|as of [^,:]+|since [^,:]+|starting [^,:]+|effective [^,:]+)"
ENDED: Final = ("no longer", "used to")
# What is planned, supposed, asked or told of others is no claim.
HEDGES: Final = frozenset(
    "if unless whether should would could might may will wont shall maybe perhaps probably possibly plans planning wants"
    " hopes thinks think believe believes guess suppose considering considered proposed suggests suggested assume assumes"
    " until before after while when whenever once said says told asked let lets please gonna".split()
)
VAGUE: Final = frozenset(
    "he she it they this that these those there here who which what one someone somebody everyone everybody nobody"
    " something everything nothing his her its their him them your".split()
)
# Nouns that name an attribute at the end of a phrase: `the staging port`, `the retry limit`.
ATTRIBUTES: Final = frozenset(
    "port limit timeout deadline version region branch budget address email phone number colour color name title owner"
    " lead manager host url endpoint path directory folder price cost rate quota size capacity threshold interval period"
    " window schedule date time day location office headquarters capital currency language framework database provider"
    " vendor license licence status state mode level priority format encoding driver editor shell theme timezone salary"
    " age height weight birthday address destination hotel gate room doctor dentist boss password username user key"
    " backend frontend engine protocol algorithm model type kind policy strategy default maximum minimum retention ttl"
    " frequency duration length standup meeting release target goal food drink sport team band movie film book song hobby"
    " cadence sla tier plan balance total count score distance speed brand cloud cache broker queue orm indentation style"
    " contact coach director chairperson president officer author continent nationality profession occupation job".split()
)
# Attributes that several may have at once, also after `the`.
SHARED: Final = frozenset(
    "child son daughter brother sister friend colleague member author example part reason goal advantage benefit problem"
    " issue hobby dependency tag interest point idea".split()
)
TITLES: Final = frozenset(
    "ceo cto cfo coo cio ciso cmo cpo vp president chairman chairwoman chairperson chair director manager lead head"
    " engineer developer designer architect analyst accountant teacher professor nurse doctor lawyer consultant intern"
    " maintainer owner coach captain editor secretary treasurer principal supervisor administrator admin scientist"
    " researcher producer coordinator minister mayor governor king queen chef driver pilot officer".split()
)
STATES: Final = """
    up/down|healthy/unhealthy,broken|enabled/disabled|active/inactive|open/closed|public/private|online/offline
    available/unavailable|single/married|deprecated/supported|mandatory,required/optional|on/off|free/paid|stable/unstable
    vegetarian,vegan/carnivore|encrypted/unencrypted|mutable/immutable|locked/unlocked|synchronous/asynchronous
    green/red|passing/failing|done/pending|alive/dead|safe/unsafe|valid/invalid|full/empty|sync/async|local/remote
    frozen/unfrozen|blocked/unblocked|paused/running|read-only/writable
"""
