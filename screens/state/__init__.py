"""State of the screens, as plain classes without a terminal."""
