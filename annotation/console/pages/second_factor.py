"""The second factor of researchers: its pages in the console's frame."""

from accounts.factor_pages import FactorPages
from accounts.roles import is_administrator
from annotation.console.pages.sessions import CONSOLE
from annotation.shell.page import signed_in

PAGES = FactorPages(
    site="console",
    base="console/base.html",
    guard=signed_in,
    entrances=(CONSOLE,),
    home="console_account",
    runs_server=is_administrator,
)
