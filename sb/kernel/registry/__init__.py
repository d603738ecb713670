"""Registered tools, their arguments, and the workers that call them."""
