"""Show what was made, on pages that need nothing but a browser.

picture   flow: trajectories as a raster; its colors; PNG
page      comparison: real data beside synthetic, on one page. NOT PRIVATE: for the curator's eyes only
"""
