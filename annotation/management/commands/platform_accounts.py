"""``manage.py platform_accounts …``: the accounts on platforms that users and teams have entered."""

from __future__ import annotations

from annotation.models import PlatformAccount
from annotation.recruiting import platform_accounts
from common.commands import ActionCommand, AddAction, aligned
from common.words import counted, moment_in_utc


class Command(ActionCommand):
    help = "Accounts on platforms: list, reseal. Users add them in the console. Keys are never printed."

    def add_actions(self, add: AddAction) -> None:
        add("list", "list all accounts, with the end of each key", self.list_accounts)
        add("reseal", "seal all keys with the present secret key, after it has changed", self.reseal)

    def list_accounts(self) -> None:
        rows = [
            (
                account.slug,
                account.platform,
                account.owner_name,
                f"…{account.last_four}",
                "retired"
                if account.retired_at
                else moment_in_utc(account.checked_at)
                if account.checked_at
                else "never",
            )
            for account in PlatformAccount.objects.select_related("user", "team").order_by("slug")
        ]
        self.say(aligned([("Account", "Platform", "Belongs to", "Key", "Checked"), *rows]) if rows else ["None yet."])

    def reseal(self) -> None:
        count, lost = platform_accounts.reseal_all()
        self.say([f"{counted(count, 'account is', 'accounts are')} sealed with the present secret key."])
        self.say(
            f"{account.slug}: its keys cannot be opened. {account.owner_name.capitalize()} has to enter them again."
            for account in lost
        )
