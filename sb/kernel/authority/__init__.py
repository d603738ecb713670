"""Who may decide, and is this decision theirs?"""
