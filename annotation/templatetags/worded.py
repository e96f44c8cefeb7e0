"""The tags of `common.worded`. Every template has them without loading them."""

from common.worded import register as register
