"""Addresses of the workers' site, under ``marketplace/``."""

from collections.abc import Callable

from django.http import HttpResponseBase
from django.urls import URLPattern, path

from marketplace.sites.work import files, messages, my_work, qualifications, sign_in, task_groups, task_page
from marketplace.sites.work.page import choose_language, in_their_language


def _page(route: str, view: Callable[..., HttpResponseBase], name: str) -> URLPattern:
    return path(route, in_their_language(view), name=name)


urlpatterns = [
    path("language/", choose_language, name="market_language"),
    _page("", task_groups.groups, name="market_home"),
    _page("groups/<slug:type_id>/", task_groups.group, name="market_group"),
    _page("groups/<slug:type_id>/accept", task_groups.accept, name="market_accept"),
    _page("tasks/<slug:assignment_id>/", task_page.task, name="market_task"),
    _page("tasks/<slug:assignment_id>/return", task_page.give_back, name="market_return"),
    _page("tasks/<slug:assignment_id>/next", task_page.accept_next, name="market_accept_next"),
    _page("tasks/<slug:assignment_id>/done", task_page.done, name="market_done"),
    _page("frame/<str:token>/", task_page.frame, name="market_frame"),
    _page("files/<str:token>/", files.download, name="market_file"),
    _page("history/", my_work.history, name="market_history"),
    _page("history/<slug:assignment_id>/", my_work.assignment, name="market_assignment"),
    _page("earnings/", my_work.earnings, name="market_earnings"),
    _page("qualifications/", qualifications.qualifications, name="market_qualifications"),
    _page("qualifications/<slug:type_id>/", qualifications.qualification, name="market_qualification"),
    _page("qualifications/<slug:type_id>/test/", qualifications.test, name="market_test"),
    _page("messages/", messages.inbox, name="market_messages"),
    _page("messages/<slug:message_id>/", messages.message, name="market_message"),
    _page("account/", sign_in.account, name="market_account"),
    _page("join/<slug:token>/", sign_in.join, name="market_join"),
    _page("sign-in/", sign_in.sign_in, name="market_sign_in"),
    _page("sign-in/link/", sign_in.ask_link, name="market_ask_link"),
    _page("sign-in/link/<slug:token>/", sign_in.use_link, name="market_use_link"),
    _page("sign-out/", sign_in.sign_out, name="market_sign_out"),
]
