"""How well is what agents remember found again?"""
