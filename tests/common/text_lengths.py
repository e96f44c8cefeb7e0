"""Texts with their lengths, counted by hand from the rule in `common.text_length`; the browser's script must agree."""

#: Text, words, characters.
LENGTHS = (
    ("", 0, 0),
    ("It is well-known, isn't it?", 5, 27),
    ("a – b — c - d", 4, 13),  # dashes are not words
    ("3.14 and 1,000 are 2 numbers", 6, 28),
    ("... !!! ???", 0, 11),
    ("one\u00a0two\tthree\nfour\u2003five", 5, 23),
    ("Größe, naïve, résumé", 3, 20),
    ("Он ушёл домой.", 3, 14),
    ("היא הלכה הביתה", 3, 14),
    ("می\u200cخواهم بروم", 2, 12),  # a joiner inside a word does not end it
    ("मैं घर जा रहा हूँ", 5, 11),
    ("나는 집에 갔다", 3, 8),
    ("Tôi đi về nhà", 4, 13),
    # Chinese and Japanese: characters.
    ("我昨天在公园里看见了一只很大的狗。", 16, 17),
    ("她走了", 3, 3),
    ("我有iPhone手机,花了500元", 9, 17),  # 我有 iPhone 手机 花了 500 元
    ("コーヒーを飲みました。", 10, 11),
    ("東京タワー", 5, 5),
    ("人々", 2, 2),
    # Thai, Lao, Khmer, Burmese: letters in threes, rounded up.
    ("ฉันชอบกินข้าว", 4, 10),  # 10 letters: ฉ น ช อ บ ก น ข า ว
    ("สวัสดีครับ", 3, 7),  # 7 letters; the vowels above and below are marks
    ("ไป บ้าน", 2, 6),  # two runs: 2 letters and 3 letters
    ("๒๕๖๙", 1, 4),  # a number
    ("ទៅ\u200bមក", 2, 3),  # zero-width spaces stand between Khmer words
    # Nothing to read.
    ("\u200b" * 200, 0, 0),
    ("\u2800 \u3164 \u00ad \ufe0f", 0, 4),
    ("👍🏽 👨‍👩‍👧‍👦 🇳🇱", 0, 5),
    ("a" + "\u200b" * 200, 1, 1),
)
#: Not an answer, however long.
BLANK = ("", "   ", "\n\t", "\u200b" * 200, "\u200d\ufeff\u2060", "\u2800\u2800", "\u3164", "\u0301", "\u00ad \u034f")
NOT_BLANK = ("?", "🦉", "a\u200b", "字", "½", "…")
