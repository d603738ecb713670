"""How does a coding agent's host come to call `sb`, and how is that taken back?"""
