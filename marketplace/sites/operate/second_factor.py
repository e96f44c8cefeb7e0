"""The second factor of operators and requesters: its pages in the frame of their site."""

from accounts.factor_pages import FactorPages
from marketplace.access import is_operator
from marketplace.sites.operate.page import signed_in
from marketplace.sites.operate.sign_in import OPERATORS_SITE
from marketplace.sites.work.sign_in import WORKERS_SITE

PAGES = FactorPages(
    site="operate",
    base="marketplace/operate/base.html",
    guard=signed_in,
    entrances=(OPERATORS_SITE, WORKERS_SITE),
    home="operate_home",
    runs_server=is_operator,
)
