"""Addresses of the workers' site, under ``marketplace/``."""

from django.urls import path

from marketplace.sites.work import browse, files, history, inbox, qualify, sessions, tasks

urlpatterns = [
    path("", browse.groups, name="market_home"),
    path("groups/<slug:type_id>/", browse.group, name="market_group"),
    path("groups/<slug:type_id>/accept", browse.accept, name="market_accept"),
    path("tasks/<slug:assignment_id>/", tasks.task, name="market_task"),
    path("tasks/<slug:assignment_id>/return", tasks.give_back, name="market_return"),
    path("tasks/<slug:assignment_id>/next", tasks.accept_next, name="market_accept_next"),
    path("tasks/<slug:assignment_id>/done", tasks.done, name="market_done"),
    path("frame/<str:token>/", tasks.frame, name="market_frame"),
    path("files/<str:token>/", files.download, name="market_file"),
    path("history/", history.history, name="market_history"),
    path("history/<slug:assignment_id>/", history.assignment, name="market_assignment"),
    path("earnings/", history.earnings, name="market_earnings"),
    path("qualifications/", qualify.qualifications, name="market_qualifications"),
    path("qualifications/<slug:type_id>/", qualify.qualification, name="market_qualification"),
    path("qualifications/<slug:type_id>/test/", qualify.test, name="market_test"),
    path("messages/", inbox.inbox, name="market_messages"),
    path("messages/<slug:message_id>/", inbox.message, name="market_message"),
    path("account/", sessions.account, name="market_account"),
    path("join/<slug:token>/", sessions.join, name="market_join"),
    path("sign-in/", sessions.sign_in, name="market_sign_in"),
    path("sign-in/link/", sessions.ask_link, name="market_ask_link"),
    path("sign-in/link/<slug:token>/", sessions.use_link, name="market_use_link"),
    path("sign-out/", sessions.sign_out, name="market_sign_out"),
]
