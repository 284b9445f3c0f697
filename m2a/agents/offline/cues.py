"""The words by which a sentence shows what it does: corrects, asks, wishes, or only chats."""

import re

WH = frozenset("who whose whom what which when where why how what's who's where's when's how's whats".split())
OPENER = (
    r"^(?:(?:oh|ah|hey|hi|hello|so|and|but|ok|okay|well|btw|by the way|fyi|also|hm+|um+|please|yes|yeah|yep|"
    r"no(?! (?:worries|problem|rush|need|bother|pressure|big deal|biggie|idea|way|thanks|thank you|trouble|harm)\b)|"
    r"nope|sure|right|"
    r"haha|lol|sorry|thanks|thank you|quick question|one (?:more )?(?:thing|question)|just wondering|good news|"
    r"bad news|guess what|for the "
    r"record|just so you know|listen|look|phew|wow|great|nice|morning|good morning|evening|good evening|"
    r"anyway|oh and|ps|p\.s\.)\s*(?:[,:!.-]+\s*|\s+(?=\w)))+"
)
# Words in which something said before is taken back. The first group opens the sentence, the second stands anywhere.
CORRECTION_OPENER = re.compile(
    r"^(?:(?:oh|ah|oops|whoops|ugh|hm+|and|but|ok|hey|sorry|well|uh|argh|hang on|hold on|wait|no|nope|actually|"
    r"scratch that|correction|"
    r"my mistake|my bad|strike that|on second thought|i (?:just )?(?:was wrong|made a mistake|misspoke|mixed "
    r"(?:that|it|them) up|got (?:that|it) wrong|typed (?:that|it) wrong|checked)|"
    r"i meant(?: to say)?|i mean|make that|turns out|it turns out|to correct (?:that|myself)|small correction|"
    r"little correction|quick correction|"
    r"change of plans?|plans? (?:have )?changed|update|let me correct that|that was wrong|that's wrong|that's "
    r"not right|that isn't right|not quite|"
    r"i (?:said|told you) (?:it )?wrong(?:ly)?|about (?:that|before|earlier)|forget that|never mind|"
    r"nevermind)\b(?: that)?[\s,.:;!-]*)+",
    re.IGNORECASE,
)
STRONG_OPENER = re.compile(
    r"\b(?:actually|scratch|correction|mistake|my bad|strike that|second thought|wrong|misspoke|mixed|i meant|i "
    r"mean\b|make that|turns out|"
    r"correct|change of plan|plans? (?:have )?changed|update|wait|hang on|hold on|no\b|nope|oops|whoops|not "
    r"right|isn't right|not quite|sorry|forget that|never ?mind)",
    re.IGNORECASE,
)
CORRECTION_ANYWHERE = re.compile(
    r"\bi meant\b|\bi was wrong\b|\b(?:has|have|had|was|were|been|got|is|are|'s|'ve|'re) (?:been |just |now |"
    r"actually )?(?:moved|pushed|postponed|"
    r"rescheduled|shifted|brought forward|switched|changed|delayed|extended|shortened|bumped|rebooked|relocated|"
    r"upgraded|put back|put off|cancell?ed|called off|raised|lowered|increased|reduced|"
    r"replaced|renamed|swapped)\b|\b(?:moved|pushed|postponed|rescheduled|shifted|switched|changed|swapped|"
    r"extended|bumped|upped|raised|lowered|increased|reduced) "
    r"(?:it|the|my|our|her|his|their|to|from|jobs?|teams?|schools?|departments?|doctors?|banks?|plans?|"
    r"rooms?)\b|\brescheduled\b|\b(?:got|has|have|gets) (?:himself |herself |myself )?an? new\b|\bnew \w+ (?:is|"
    r"are)\b|"
    r"\bno longer\b|\bany ?more\b|\bfrom now on\b|\bthese days\b|\binstead\b|\bnot \w+(?: \w+)? but\b|, (?:and "
    r")?not (?:the |a |on |in |at )?[\w':./-]+(?: \w+)?(?= -|[.,!;)]|$)|"
    r"\brather than\b|\bactually\b|\bas i (?:said|told you)\b|\bit's really\b|\bafter all\b|\bi (?:used to|"
    r"stopped|gave up|quit)\b|"
    r"\b(?:has|have|'s|'ve|she|he|they|i|we|just) (?:just |now |recently )?(?:moved|left|quit|changed|switched|"
    r"sold|retired|broken up|split up)\b|"
    r"\bnow\b(?! and then)|\b(?:went|gone|going) (?:up|down)\b|\b(?:gave|given|brought|sent|paid|handed) "
    r".{1,30} back\b|\bgot (?:an|the) "
    r"extension\b|\b(?:is|are|\'s|\'re) off\b|\b(?:is|are|am|went|gone|'s|'m|'re) (?:down|up) (?:to|at)\b|"
    r"\b(?:put|push(?:ed)?|mov(?:ed|ing)|shift(?:ed)?|br(?:ing|ought)|bump(?:ed)?) (?:[\w']+ ){1,5}(?:back|forward|off)\b|"
    r"\b(?:has|have|'s|'ve) (?:gone|become|turned) (?=[a-z]+\b)|\b(?:put|turned|brought|took) (?:[\w']+ ){1,4}(?:up|down) to\b|"
    r"\b(?:gave|given|assigned|allocated|sent) (?:me|us|him|her|them) (?:another|a (?:new|different))\b|"
    r"\bnowadays\b|\b(?:can|could|will|'ll) only (?:see|do|come|make|take|be)\b|\bby now\b|\bonly \w+ left\b|"
    r"\bchanged (?:my|"
    r"her|his|their|our) minds?\b|\bisn't .{1,40}, (?:it's|he's|she's)\b",
    re.IGNORECASE,
)
# A fragment that gives a new value to what was said: "down to 79 kilos now", "now at 4 instead".
FRAGMENT = re.compile(
    r"^(?:(?:it's |we're |i'm )?(?:now |only |already )?(?:down|up|back) to|"
    r"now(?: at| on| in)?|make (?:it|that)|only|more like)\b"
    r".*(?:\d|\b[A-Z]|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b)",
    re.IGNORECASE,
)
FORGET = re.compile(
    r"^(?:please |can you |could you |you can |would you |kindly )*(?:forget|delete|erase|remove|drop|wipe|"
    r"disregard|ignore|scratch|strike)\b"
    r"(?! to\b)(?P<what>.*)",
    re.IGNORECASE,
)
FORGET_OBJECT = re.compile(
    r"^\W*(?:that|what|everything|all|anything|about|the (?:thing|bit|part|memory|note|fact|entry)|my|our|it|"
    r"this|whatever|the|her|his)\b",
    re.IGNORECASE,
)
REMEMBER = re.compile(
    r"^(?:please |can you |could you |would you |i(?:'d| would) (?:like|want) you to |i want you to |you "
    r"(?:should|must|need to) )*"
    r"(?:(?:don't|do not|never) forget|remember|keep in mind|bear in mind|note(?: down)?|make a note|take a "
    r"note|write (?:this |that )?down|save|store|"
    r"memori[sz]e)(?:,| that\b|:| this\b| for me\b| -| of\b)*\s+(?!me\b|when\b|what\b|where\b|who\b|how\b|"
    r"to\b)(?:that |this:? )?(?P<what>.+)",
    re.IGNORECASE,
)
STYLE = re.compile(
    r"\b(?:(?:keep|make|write|give) (?:your|me|the) [\w ]*(?:answers?|repl(?:y|ies)|responses?|messages?)|"
    r"(?:answer|reply|respond|write|talk|speak)"
    r"(?: to me)? (?:in|with|briefly|shortly|using|more|less|without|only)|call me|address me|(?:short|brief|"
    r"long|detailed|concise)\w* (?:answers?|repl(?:y|ies))|"
    r"(?:use|don't use|do not use|avoid|no) (?:emojis?|bullet points|bullets|lists|jargon|metric|imperial|24[- "
    r"]hour|celsius|fahrenheit|exclamation|\w+ units)|"
    r"your (?:answers?|repl(?:y|ies)))\b",
    re.IGNORECASE,
)
ASKING = re.compile(
    r"^(?:please |can you |could you |would you |will you )*(?:tell me(?! an?\b)|show me|remind me|let me (?:see|know)|"
    r"look up|find|search|list|give me|do you (?:know|remember|"
    r"recall)|any idea|i(?:'d| would) like to know|i want to (?:know|see)|i(?:'m| am) wondering|i wonder|i "
    r"(?:forgot|forget|can't remember|don't remember|can't recall)|"
    r"what about|how about|is it true|did i (?:tell|mention|say)|have i (?:told|mentioned|said)|who else|what else)\b",
    re.IGNORECASE,
)
COMMAND = re.compile(
    r"^(?:please |can you |could you |would you |will you |just )*(?:write|draft|translate|summari[sz]e|explain|"
    r"help|play|set|send|open|book|order|make me|"
    r"suggest|recommend|calculate|convert|google|tell (?:me )?a|sing|stop|continue|go on|try|check|repeat|say|"
    r"create|generate|plan|remind me to|"
    r"wake me|turn|call (?!me\b)|imagine|pretend|act|let's|let us|guess|wish me)\b",
    re.IGNORECASE,
)
HYPOTHETICAL = re.compile(
    r"^(?:if\b.*\b(?:would|could|might|'d|will|had)\b|what if|imagine|suppose|i wish|wish i|if only|i wonder|"
    r"maybe\b|perhaps\b|i (?:might|may|could|should|would|'d)\b(?! (?:rather|prefer|like you|never))|"
    r"we (?:might|may|could|should|would)\b|i(?:'m| am) (?:thinking (?:of|about)|considering|not sure|"
    r"wondering)|it would be|it'd be|would be\b|in theory|hypothetically|"
    r"i(?:'ve| have) been thinking (?:of|about)|i'd (?:love|like) to)",
    re.IGNORECASE,
)
_AUXILIARY = r"(?:is|are|was|were|do|does|did|has|have|can|could|will|would)"
TAG = re.compile(
    rf"(?:[,\s]+(?:right|correct|you know|remember|yes|yeah|no|ok|okay|eh|huh|{_AUXILIARY}n't (?:it|he|she|they|we|you|i|there))|"
    rf",\s*{_AUXILIARY} (?:it|he|she|they|we|you|i|there))\s*\?$",
    re.IGNORECASE,
)
YOU_KNOW = re.compile(
    r"^(?:so |well |oh |hey )?(?:you (?:know|remember)|do you (?:know|remember)|remember|did i tell you about|"
    r"have i told you about) (?=my |our |the |that |[A-Z])",
    re.IGNORECASE,
)
# Sentences about the talk itself, the weather and the mood: true today, of no use tomorrow.
CHAT = re.compile(
    r"^(?:(?:well|ok|okay|oh|ah|wow|haha|lol|yes|no|yeah|so|great|perfect|cool|nice|awesome|super|sure|right|"
    r"and|but|phew|hehe|hi|hey|thanks|aw+|mm+|yum|ha)\b[\s,!.-]*)*"
    r"(?:$|(?:good (?:morning|night|evening|afternoon|day|luck|one|job|idea|point|to know|to see|to hear|stuff)|"
    r"morning|evening|hi|hello|hey|hiya|howdy|yo|greetings|welcome|bye|goodbye|see (?:you|ya)|"
    r"later|talk (?:to you )?(?:later|soon|tomorrow)|take care|cheers|ta\b|thx|thanks?|thank|many thanks|much "
    r"appreciated|ok|okay|sure|right|exactly|"
    r"indeed|yes|yep|yeah|no|nope|nah|never ?mind|no worries|no problem|you're|you are|u r|that's (?:it|all|"
    r"great|good|nice|right|true|funny|cool|lovely|fine|ok|okay|"
    r"perfect|correct|wonderful|amazing|awesome|so|very|really|sweet|enough|kind|a (?:good|great|nice|lovely|"
    r"relief|shame|pity))|that (?:is|was|would be) (?:it|all|great|good|nice|right|true|funny|cool|lovely|"
    r"fine|perfect|correct|wonderful|amazing|helpful|kind|sweet|so|very|really|a )|that (?:helps|works|makes)|"
    r"sounds|looks good|what a|how (?:nice|lovely|cool|sweet|funny|cute|kind|are|is it)|such a|"
    r"lovely|beautiful|nice|great|cool|awesome|amazing|wonderful|perfect|brilliant|fantastic|excellent|well "
    r"done|congrat|happy|merry|enjoy|have a|"
    r"fingers crossed|touch wood|time flies|here we go|long time|just (?:kidding|checking|saying|testing|saying "
    r"hi)|i(?:'m| am) (?:just (?:kidding|checking|saying|testing|joking|bored)|kidding|joking|back|here|off(?: "
    r"to bed| now|$)|"
    r"bored|tired|so (?:tired|bored|happy|glad|excited)|(?:happy|glad|sorry|done|ready|good|fine|great|ok|"
    r"okay)(?= *$| *[,.!]| (?:that|to|now|today|again|too|thanks|for you))|doing (?:well|fine|great|good|ok|"
    r"okay|alright)|all (?:good|set|right|ears)|sleepy|hungry|impressed|curious|sure|"
    r"not (?:sure|kidding)|going to bed|heading|exhausted|knackered|leaving|afraid so|grateful|thankful|feeling "
    r"(?:good|great|fine|ok|tired|sleepy|a bit|much|better))|"
    r"i (?:see|know|guess|think so|hope so|hope not|agree|understand|get it|don't know|dunno|appreciate|love "
    r"(?:it|you|that|this)|like (?:it|you|that|this|talking)|can't (?:believe|wait|sleep|complain)|"
    r"have to (?:go|run|leave)|need to (?:go|run)|must (?:go|run)|gotta|should (?:go|get|be)|'ll (?:be|talk|see|"
    r"let|get|think|come)|feel (?:good|great|fine|tired|sleepy|a bit|much|better|like)|owe you|trust you|missed "
    r"you)|i'll (?:be|talk|see|let|get|think|come back)|we'll see|"
    r"it(?:'s| is| was) (?:ok|okay|fine|great|good|nice|lovely|cold|hot|warm|sunny|raining|rainy|snowing|windy|"
    r"late|early|just|been a|so|too|such|nothing|monday|tuesday|wednesday|thursday|friday|saturday|sunday|a "
    r"(?:lovely|beautiful|nice|long|good|great))|"
    r"(?:the|this|today's) weather|the sun (?:is|'s)|(?:still )?(?:raining|snowing)|weather|today (?:is|was|has "
    r"been) (?:a |so |really |very )|what(?:'s| is) up|nothing (?:much|new|special)|not (?:much|bad|really|"
    r"today)|same here|me too|my pleasure|"
    r"my (?:head|brain) (?:is|hurts)|phew|haha|hehe|lol|wow|yay|hooray|hurray|oh|ah|hmm?|ugh|oops|whoops|brr+|"
    r"ouch|aww?|omg|gosh|and you|just (?:passing|dropping)|time (?:for|to)|coffee time|bedtime|let me think|"
    r"hang on|hold on|one (?:moment|sec|second)|brb|wait|speak soon|until (?:next|tomorrow)|till (?:next|"
    r"tomorrow)|sweet dreams|sleep well|"
    r"same to you|you too|likewise|no need|all (?:good|right|done|set)|so (?:true|cool|nice|funny|sweet|far so "
    r"good)|busy (?:day|week)|long (?:day|week)|what would i do|bless you|god|well)\b)",
    re.IGNORECASE,
)


# Sayings and farewells that stand for a whole sentence.
SAYING = re.compile(
    r"^(?:(?:oh|ah|well|ok|okay|so|and|but|anyway|hey|aww?|right|haha|lol)\b[\s,!.-]*)*"
    r"(?:no (?:worries|problem|rush|need|bother|pressure|big deal|biggie|idea|way|thanks|thank you|trouble|harm done)|"
    r"such is life|that's life|c'est la vie|so it goes|it is what it is|it can't be helped|can't be helped|"
    r"life goes on|never a dull moment|better late than never|easier said than done|"
    r"back to (?:work|it|business)|off (?:i|we) go|here goes|you never know|who knows|"
    r"(?:you )?(?:have|enjoy) (?:a|your|the) (?:\w+ )?(?:evening|day|night|weekend|week|morning|afternoon|one|time|rest)|"
    r"sleep (?:tight|well)|catch you later|see you|talk (?:soon|later|tomorrow)|take (?:care|it easy)|"
    r"all the best|until then|till then|that'?(?:s| will|'ll) (?:be|do|it)\b|(?:it|this|that) made my day|"
    r"you(?:'ve| have)? made my day|(?:you|u)(?:'re| are) (?:welcome|the best|great|sweet|funny|kind|a star|a gem)|"
    r"(?:i )?(?:can't|cannot) (?:believe|wait|complain)|what would i do without)\b",
    re.IGNORECASE,
)
# "…, don't forget this please": a wish to remember behind what is to be remembered.
REMEMBER_TAIL = re.compile(
    r"(?:\s*[,;.-]\s*|\s+)(?:and |so |but )?(?:please )?(?:(?:don't|do not|never) (?:you )?forget(?: (?:that|this|it))?|"
    r"remember (?:that|this|it)|(?:keep|bear) (?:that|this|it) in mind|"
    r"(?:make|take) a note(?: of (?:that|this|it))?|note (?:that|this|it)(?: down)?|"
    r"write (?:that|this|it) down)(?: for me)?(?:,? please)?(?=\W*$)",
    re.IGNORECASE,
)
# "I told you something wrong about Priya, her …": what follows is of the one named.
WRONG_ABOUT = re.compile(
    r"^(?:(?:oh|sorry|hey|so|and|but|wait|ah)\b[\s,]*)*(?:i think )?(?:i|what i)(?:'ve| have| had| was)? ?(?:just )?(?:"
    r"(?:told|gave|said|got|had)(?: to)?(?: you)? (?:(?:something|some|the|a|that|it|things?|you) )?(?:bit )?"
    r"(?:wrong|incorrect|mixed up|false)(?: \w+)??|(?:made|have made) a (?:mistake|slip|typo)|(?:wrong|mistaken))"
    r" (?:about|with|for|on) (?P<about>[^,.:;!]+?)\s*(?:[,:;.!]|\s-)\s*(?P<rest>.+)",
    re.IGNORECASE,
)
# Why it had to be corrected: nothing to keep.
EXCUSE = re.compile(
    r"^i(?:'d| had|'ve| have)? (?:just )?(?:swapped|mixed|misread|misheard|mistyped|misremembered|confused|muddled|"
    r"made a (?:mistake|typo)|got (?:it|that|them) wrong|typed (?:it|that) wrong|was wrong)\b(?: \w+){0,4}\W*$",
    re.IGNORECASE,
)


# "that was fun", "it's so good": a remark on what was said, of nothing by itself.
VAGUE = re.compile(
    r"^(?:they|you|we|people|life|time|everything|it all|things) (?:all )?(?:\w+ ){1,2}(?:up |by )?(?:so|too|"
    r"very|really|always) \w+\W*$",
    re.IGNORECASE,
)
REMARK = re.compile(
    r"^(?:(?:that|this|it)(?:'s| is| was| will be| would be|'ll be| sounds| looks| feels)(?: [\w']+){1,3}"
    r"|(?:he|she|they)(?:'s|'re| is| are| was| looks?) (?:so|such an?|really|very|too) [\w']+(?: [\w']+)?)\W*D?$",
    re.IGNORECASE,
)


# "new email: ana@example.org", "wifi code: 1234": a fact without its verb.
LABEL = re.compile(
    r"^(?P<whose>my |our |the )?(?P<fresh>new |updated |current )?(?P<noun>[a-z][a-z -]{2,24}): (?P<value>\S.*)$",
    re.IGNORECASE,
)
OWNED_LABEL = re.compile(r"^(?P<what>(?:[Mm]y |[Oo]ur )?[A-Za-z]+'s? [a-z][a-z -]{2,24}): (?P<value>\S.*)$")
NO_LABELS = frozenset(
    "note update news reminder correction remember question answer info heads-up example edit request".split()
)
