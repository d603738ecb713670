"""What do the screens show? Plain classes that know nothing of a terminal."""
