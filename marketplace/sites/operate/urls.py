"""Addresses of operators and requesters, all below /marketplace/operate/."""

from django.urls import path

from marketplace.sites.operate import disputes, mine, money, overview, requesters, sessions, workers

urlpatterns = [
    path("", sessions.home, name="operate_home"),
    path("login/", sessions.Login.as_view(), name="operate_login"),
    path("logout/", sessions.Logout.as_view(), name="operate_logout"),
    path("password/", sessions.Password.as_view(), name="operate_password"),
    # operators
    path("requesters/", requesters.requesters, name="operate_requesters"),
    path("requesters/new/", requesters.new, name="operate_new_requester"),
    path("requesters/<int:pk>/", requesters.requester, name="operate_requester"),
    path("requesters/<int:pk>/deposit/", requesters.deposit, name="operate_deposit"),
    path("requesters/<int:pk>/active/", requesters.set_active, name="operate_requester_active"),
    path("requesters/<int:pk>/keys/", requesters.make_key, name="operate_make_key"),
    path("requesters/<int:pk>/keys/<int:key_pk>/revoke/", requesters.revoke_key, name="operate_revoke_key"),
    path("workers/", workers.workers, name="operate_workers"),
    path("workers/<str:worker_id>/", workers.worker, name="operate_worker"),
    path("workers/<str:worker_id>/active/", workers.set_active, name="operate_worker_active"),
    path("invitations/", workers.invitations, name="operate_invitations"),
    path("balances/", money.balances, name="operate_balances"),
    path("ledger/", money.ledger, name="operate_ledger"),
    path("ledger.csv", money.ledger_csv, name="operate_ledger_csv"),
    path("owed/", money.owed, name="operate_owed"),
    path("owed.csv", money.owed_csv, name="operate_owed_csv"),
    path("owed/pay/", money.pay_out, name="operate_pay_out"),
    path("disputes/", disputes.disputes, name="operate_disputes"),
    path("disputes/<str:assignment_id>/", disputes.dispute, name="operate_dispute"),
    path("log/", overview.log, name="operate_log"),
    # requesters
    path("my/hits/", mine.hits, name="operate_my_hits"),
    path("my/hits/<str:hit_id>/", mine.hit, name="operate_my_hit"),
    path("my/assignments/", mine.my_assignments, name="operate_my_assignments"),
    path("my/assignments/<str:assignment_id>/", mine.assignment, name="operate_my_assignment"),
    path("my/balance/", mine.balance, name="operate_my_balance"),
    path("my/keys/", mine.keys, name="operate_my_keys"),
    path("my/keys/new/", mine.make_key, name="operate_my_new_key"),
    path("my/keys/<int:key_pk>/revoke/", mine.revoke_key, name="operate_my_revoke_key"),
    path("my/blocks/", mine.blocks, name="operate_my_blocks"),
]
