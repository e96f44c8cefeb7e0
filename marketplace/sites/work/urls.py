"""Addresses of the workers' site, under ``marketplace/``."""

from django.urls import path

from marketplace.sites.work import files, messages, my_work, qualifications, sign_in, task_groups, task_page

urlpatterns = [
    path("", task_groups.groups, name="market_home"),
    path("groups/<slug:type_id>/", task_groups.group, name="market_group"),
    path("groups/<slug:type_id>/accept", task_groups.accept, name="market_accept"),
    path("tasks/<slug:assignment_id>/", task_page.task, name="market_task"),
    path("tasks/<slug:assignment_id>/return", task_page.give_back, name="market_return"),
    path("tasks/<slug:assignment_id>/next", task_page.accept_next, name="market_accept_next"),
    path("tasks/<slug:assignment_id>/done", task_page.done, name="market_done"),
    path("frame/<str:token>/", task_page.frame, name="market_frame"),
    path("files/<str:token>/", files.download, name="market_file"),
    path("history/", my_work.history, name="market_history"),
    path("history/<slug:assignment_id>/", my_work.assignment, name="market_assignment"),
    path("earnings/", my_work.earnings, name="market_earnings"),
    path("qualifications/", qualifications.qualifications, name="market_qualifications"),
    path("qualifications/<slug:type_id>/", qualifications.qualification, name="market_qualification"),
    path("qualifications/<slug:type_id>/test/", qualifications.test, name="market_test"),
    path("messages/", messages.inbox, name="market_messages"),
    path("messages/<slug:message_id>/", messages.message, name="market_message"),
    path("account/", sign_in.account, name="market_account"),
    path("join/<slug:token>/", sign_in.join, name="market_join"),
    path("sign-in/", sign_in.sign_in, name="market_sign_in"),
    path("sign-in/link/", sign_in.ask_link, name="market_ask_link"),
    path("sign-in/link/<slug:token>/", sign_in.use_link, name="market_use_link"),
    path("sign-out/", sign_in.sign_out, name="market_sign_out"),
]
