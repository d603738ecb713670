"""Which decisions are named, and what do the versioned ones say?"""
