"""Cases of our own, and what is right for them; README.md says by whom it was judged."""
