"""How does a person, or an approved reversal, take back what a call did?"""
