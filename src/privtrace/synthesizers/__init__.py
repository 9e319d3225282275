"""Methods, each a recipe that reads like its paper's outline."""
