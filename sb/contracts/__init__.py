"""What is handed from one part of SecondBrain to another?"""
