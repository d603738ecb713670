"""What does an agent remember, and how does it find it again?"""
