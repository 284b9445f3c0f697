"""The section of the settings that erases everything forgotten, or everything, and lists past erasures."""

from m2a.ui.erase_button import erase_button


def offers_html() -> str:
    """Returns the section. It needs only the erase panel on the same page."""
    return (
        '<section class="m-setting m-erase-offers" aria-labelledby="m2a-set-erase"><h3 id="m2a-set-erase">Erase for good</h3>'
        "<p>You can erase a message, a photo, a memory or a conversation wherever you see it. Here you can erase more at "
        "once. You always see what will be erased before it happens.</p>"
        f"<div>{erase_button('forgotten', None, 'Erase what was forgotten…')}"
        f"{erase_button('everything', None, 'Erase everything…', style='m-button m-warned')}"
        '<button type="button" class="m-button" data-receipts>Past erasures</button></div></section>'
    )
