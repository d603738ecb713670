"""Which rules have people written for calls, and what do they say about one?"""
