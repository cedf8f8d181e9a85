import os


class ReplacementKernels:
    @classmethod
    def all(cls):
        scriptDir = os.path.dirname(os.path.realpath(__file__))
        return os.path.join(scriptDir, "ReplacementKernels")
