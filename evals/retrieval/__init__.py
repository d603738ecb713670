"""How often does retrieval find what answers a question, and what does each feature give?"""
