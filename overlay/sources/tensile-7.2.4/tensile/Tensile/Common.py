import os

globalParameters = {}
globalParameters["HipClangVersion"] = "0.0.0"
globalParameters["ScriptPath"] = os.path.dirname(os.path.realpath(__file__))            # path to Tensile/Tensile.py
globalParameters["PrintLevel"] = 1
