"""Handlers: what each kind of record shows, and what a person does with it, on whatever screen lists it."""
