import os


def PrintTensileRoot():
    print(os.path.dirname(__file__), end='')
