"""Which calls wait for a person, and may a decision be used for this call?"""
