"""The searches behind an answer, and the memories that it rests on."""

from collections.abc import Collection, Mapping, Sequence

from m2a.plurals import joined
from m2a.types import Hit, MemoryEntry, MemorySearched, Message, RetrievalPath, Source
from m2a.ui import markup
from m2a.ui.evidence import RESTS_ON, correct_button, memory_link, quote_html

THUMBNAILS = 4
HITS = 8  # shown of a search; the rules look at up to 25, most of them far from the query

_PATHS: tuple[tuple[RetrievalPath, str], ...] = (("dense", "meaning"), ("bm25", "words"), ("photo", "photo"))


def searched_html(searches: Sequence[MemorySearched], *, key: str) -> str:
    """Returns the collapsible list of a turn's searches; empty if there were none."""
    if not searches:
        return ""
    items = "".join(_search(search) for search in searches)
    summary = f"What I searched <span>· {len(searches)}</span>"
    return _details(summary, f'<ol class="m-searches">{items}</ol>', kind="m-searched", key=f"{key}-searched")


def why_html(
    sources: Sequence[Source],
    *,
    key: str,
    before: Mapping[int, Message],
    corrected: Collection[int],
) -> str:
    """Returns the collapsible list of the memories that an answer rests on; empty if it rests on none.

    `before` maps the id of a quoted message to the message before it. `corrected` are the memories that others correct.
    """
    if not sources:
        return ""
    items = "".join(_source(source, before, corrected) for source in sources)
    memories = sum(isinstance(source.hit.record, MemoryEntry) for source in sources)
    parts = [markup.plural(memories, "memory", "memories")] if memories else []
    parts += [markup.plural(len(sources) - memories, "message")] if len(sources) > memories else []
    summary = f"Why I said this <span>· {' and '.join(parts)}</span>"
    return _details(summary, f'<ul class="m-sources">{items}</ul>', kind="m-why", key=f"{key}-why")


def found_by(hit: Hit) -> str:
    """Returns how a hit was found, as a sentence: "Found by its meaning (the best match) and its words."

    Ranks below the first are left out: a hit that ranks third overall may rank eleventh on one path.
    """
    reasons = [
        f"its {name}{' (the best match)' if hit.ranks[path] == 1 else ''}" for path, name in _PATHS if path in hit.ranks
    ]
    return f"Found by {joined(reasons)}." if reasons else "Found by opening the messages around another result."


def found_in_short(hit: Hit) -> str:
    """Returns the same without ranks: "found by meaning and words"."""
    names = [name for path, name in _PATHS if path in hit.ranks]
    return f"found by {joined(names)}" if names else ""


def _details(summary: str, content: str, *, kind: str, key: str) -> str:
    # By its data-key the page keeps it open across updates.
    return f'<details class="m-details {kind}" data-key="{markup.text(key)}"><summary>{summary}</summary>{content}</details>'


def _search(search: MemorySearched) -> str:
    label = f'<p dir="auto">Searched for: {markup.text(search.query.text)}</p>' if search.query.text else ""
    if photo_ids := search.query.photo_ids:
        these = "this photo" if len(photo_ids) == 1 else "these photos"
        label += f"<p>Compared with {these}</p>{markup.photos(photo_ids, caption='Photo searched with')}"
    if not search.hits:
        return f'<li>{label}<p class="m-nothing">Nothing relevant was found.</p></li>'
    hits = "".join(f"<li>{_hit(hit)}<small>{markup.text(found_by(hit))}</small></li>" for hit in search.hits[:HITS])
    left_out = len(search.hits) - HITS
    more = f'<p class="m-nothing">and {markup.plural(left_out, "less similar result")}</p>' if left_out > 0 else ""
    return f'<li>{label}<ol class="m-hits">{hits}</ol>{more}</li>'


def _hit(hit: Hit) -> str:
    record = hit.record
    if isinstance(record, Message) and not record.text:
        return f"A photo without words{markup.photos(record.photos)}"
    return f'<span dir="auto">{markup.text(record.text)}</span>'


def _source(source: Source, before: Mapping[int, Message], corrected: Collection[int]) -> str:
    record = source.hit.record
    photo_ids: tuple[str, ...] = ()
    about = ""
    if isinstance(record, MemoryEntry):
        photo_ids = record.photo_ids
        about = f'<p class="m-memory">{memory_link(record)} {correct_button(record)}</p>'
        if record.caption and record.text and record.photo_ids:
            about += f'<p class="m-caption" dir="auto">{markup.text(record.caption)}</p>'
        if record.happened:
            about += f'<p class="m-when">When: {markup.text(markup.interval(record.happened))}</p>'
        about += f'<p class="m-when">{RESTS_ON[record.rests_on]}</p>'
        if record.superseded_by is not None:
            about += '<p class="m-when">No longer current: another memory has replaced it.</p>'
        elif record.memory_id in corrected:
            about += '<p class="m-when">Another memory has corrected it since.</p>'
    quoted = [message for message in source.messages if message.text or message.photos]
    if isinstance(record, Message) and not quoted:
        quoted = [record]
    quotes = "".join(quote_html(each, without=photo_ids, before=before.get(each.message_id)) for each in quoted)
    how = f'<p class="m-found">{markup.text(found_by(source.hit))}</p>'
    if len(photo_ids) > THUMBNAILS:
        about += f'<p class="m-caption">{THUMBNAILS} of its {len(photo_ids)} photos are shown here.</p>'
        photo_ids = photo_ids[:THUMBNAILS]
    return f'<li class="m-source">{markup.photos(photo_ids, caption="Photo of this memory")}<div>{about}{quotes}{how}</div></li>'
