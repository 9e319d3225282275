"""Show what was made, on pages that need nothing but a browser.

document            Report: one HTML file with style and script inside; words, tables, lists
colors              color scales that color-blind people can read, light and dark
charts              distributions and small scales, as SVG
maps                maps that pan, zoom and tell numbers, as SVG
promise             what a release promises, in words and numbers
model_map           a model's cells, flows and synthetic trips
release_page        what a model is and promises: publishable, from the model alone
verdict             a comparison in plain words
side_by_side        real data beside synthetic, drawn
evaluation_page     both together: NOT PRIVATE, for the curator's eyes only
plots               pictures as SVG, PNG and CSV, for pages and files
comparison_plots    errors, wins, maps and costs of several methods, drawn
comparison_verdict  who has the least error where, in plain words
comparison_page     a comparison of methods: NOT PRIVATE, for the curator's eyes only
"""
