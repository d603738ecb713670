"""What the screens show, as plain classes without a terminal."""
