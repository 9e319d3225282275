"""Show what was made, on pages that need nothing but a browser.

document          Report: one HTML file with style and script inside; words, tables, lists
colors            color scales that color-blind people can read, light and dark
charts            distributions and small scales, as SVG
maps              maps that pan, zoom and tell numbers, as SVG
release_page      what a model is and promises: publishable, from the model alone
evaluation_page   real beside synthetic: NOT PRIVATE, for the curator's eyes only
"""
