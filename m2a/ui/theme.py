"""Gradio's variables, set to the colours of `assets/page.css`. Only system fonts are used, and none is loaded."""

import gradio as gr

_FONT = ["-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Liberation Sans", "system-ui", "sans-serif"]
_MONO = ["ui-monospace", "SFMono-Regular", "Menlo", "DejaVu Sans Mono", "monospace"]


def m2a_theme() -> gr.themes.Base:
    """Returns the theme: warm paper and ink, in a light and a dark version, with one quiet green."""
    theme = gr.themes.Base(
        primary_hue=gr.themes.colors.teal,
        neutral_hue=gr.themes.colors.stone,
        radius_size=gr.themes.sizes.radius_lg,
        font=_FONT,
        font_mono=_MONO,
    )
    return theme.set(
        body_background_fill="#faf8f4",
        body_background_fill_dark="#191816",
        body_text_color="#2a2723",
        body_text_color_dark="#e9e5de",
        body_text_color_subdued="#6b655c",
        body_text_color_subdued_dark="#a59e93",
        background_fill_primary="#ffffff",
        background_fill_primary_dark="#23211e",
        background_fill_secondary="#f3efe8",
        background_fill_secondary_dark="#2b2925",
        block_background_fill="#ffffff",
        block_background_fill_dark="#23211e",
        border_color_primary="#e2dcd1",
        border_color_primary_dark="#3b3832",
        color_accent="#2b6a5c",
        color_accent_soft="#e3efeb",
        color_accent_soft_dark="#21352f",
        input_background_fill="#ffffff",
        input_background_fill_dark="#23211e",
        input_placeholder_color="#7a746a",
        input_placeholder_color_dark="#958e83",
        button_secondary_background_fill="#f3efe8",
        button_secondary_background_fill_dark="#33302b",
        button_secondary_text_color="#2a2723",
        button_secondary_text_color_dark="#e9e5de",
    )
