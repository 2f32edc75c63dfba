"""The stages as functions, and the main job over them."""
