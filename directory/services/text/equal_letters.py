"""Letters of other scripts that have more than one spelling in Unicode, and the one that search compares."""

import re

# Equal letters for which Arabic, Persian, Kurdish and Urdu keyboards have different code points; the letters of Yiddish
# that are two in one; those of Malayalam and Bengali without a vowel, which older texts spell with a virama; and
# letters of Khmer that Unicode deprecates or that are forms of another one.
SAME = {
    "\u0671": "\u0627", "\u0672": "\u0627", "\u0673": "\u0627",
    "\u0649": "\u064a", "\u06cc": "\u064a", "\u06a9": "\u0643", "\u06aa": "\u0643",
    "\u0629": "\u0647", "\u06be": "\u0647", "\u06c1": "\u0647", "\u06c3": "\u0647", "\u06d5": "\u0647",
    "\u05f0": "\u05d5\u05d5", "\u05f1": "\u05d5\u05d9", "\u05f2": "\u05d9\u05d9",
    "\u0d7a": "\u0d23\u0d4d", "\u0d7b": "\u0d28\u0d4d", "\u0d7c": "\u0d30\u0d4d", "\u0d7d": "\u0d32\u0d4d",
    "\u0d7e": "\u0d33\u0d4d", "\u0d7f": "\u0d15\u0d4d", "\u09ce": "\u09a4\u09cd",
    "\u17a3": "\u17a2", "\u17a4": "\u17a2\u17b6", "\u17b2": "\u17b1",
}  # fmt: skip
# Sequences that look the same as other letters, and that Unicode advises against (its "do not emit" data) or keyboards
# let people type: vowels of Indic and other scripts, the Tamil shri, the Khmer subscript da, marks in another order.
_SEQUENCES = """
905+946=904 905+93e=906 930+94d+907=908 909+941=90a 90f+945=90d 90f+946=90e 90f+947=910 905+949=911 906+945=911
905+94a=912 906+946=912 905+94b=913 906+947=913 905+94c=914 906+948=914 905+945=972 905+93a=973 905+93b=974 905+94f=975
905+956=976 905+957=977 985+9be=986 98b+9c3=9e0 98c+9e2=9e1 a05+a3e=a06 a72+a3f=a07 a72+a40=a08 a73+a41=a09 a73+a42=a0a
a72+a47=a0f a05+a48=a10 a05+a4c=a14 a85+abe=a86 a85+ac5=a8d a85+ac7=a8f a85+ac8=a90 a85+ac9=a91 a85+acb=a93 a85+acc=a94
a85+abe+ac7=a93 a85+abe+ac8=a94 b05+b3e=b06 b0f+b57=b10 b13+b57=b14 b85+bc2=b86 bb8+bcd+bb0+bc0=bb6+bcd+bb0+bc0
c12+c55=c13 c12+c4c=c14 c3f+c55=c40 c46+c55=c47 c4a+c55=c4b c89+cbe=c8a c92+ccc=c94 c8b+cbe=ce0 d07+d57=d08 d09+d57=d0a
d0e+d46=d10 d12+d3e=d13 d12+d57=d14 d46+d46=d48 d46+d57=d57 d85+dcf=d86 d85+dd0=d87 d85+dd1=d88 d8b+ddf=d8c d8d+dd8=d8e
d8f+ddf=d90 d91+dca=d92 d91+dd9=d93 d94+ddf=d96 e40+e40=e41 ec0+ec0=ec1 f7a+f7a=f7b f7c+f7c=f7d 1025+103a=1009+103a
101e+103c=1029 1036+102f=102f+1036 102f+102d=102d+102f 17c1+17b6=17c4 17c1+17b8=17be 17c6+17b6=17b6+17c6
17c6+17bb=17bb+17c6 17d2+178a=17d2+178f
"""
# In Thai and Lao a tone may be typed before the mark of a vowel.
_TONES = {
    "\u0e48\u0e49\u0e4a\u0e4b": "\u0e31\u0e34\u0e35\u0e36\u0e37\u0e4d",
    "\u0ec8\u0ec9\u0eca\u0ecb": "\u0eb1\u0eb4\u0eb5\u0eb6\u0eb7\u0ebb\u0ecd",
}


def _letters(numbers: str) -> str:
    return "".join(chr(int(number, 16)) for number in numbers.split("+"))


_USUAL = {_letters(typed): _letters(usual) for typed, usual in (pair.split("=") for pair in _SEQUENCES.split())}
_USUAL |= {tone + vowel: vowel + tone for tones, vowels in _TONES.items() for tone in tones for vowel in vowels}
_UNUSUAL = re.compile("|".join(sorted(_USUAL, key=len, reverse=True)))


def usual(text: str) -> str:
    """A decomposed text with the usual spelling of each sequence that has another one."""
    return _UNUSUAL.sub(lambda match: _USUAL[match[0]], text)
