from ..Component import MAC


class MAC_I8X4_Plain(MAC):
    def __call__(self, writer, m, innerUnroll):
        vars = {"endLine": writer.endLine, "cidx": m}
        kStr = ""
        for cStr, aStr, bStr in writer.tiles(innerUnroll):
            kStr += "v_dot4_i32_i8 {cStr}, {aStr}, {bStr}, {cStr} op_sel:[0,0] op_sel_hi:[1,1] //valuC[{cidx}]{endLine}".format_map(vars)
        return kStr
