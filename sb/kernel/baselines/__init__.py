"""Which contracts has an operator approved, and does a tool still have its own?"""
