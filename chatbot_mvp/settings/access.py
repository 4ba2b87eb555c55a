"""Decides who may use Admin: by password, or by an e-mail in ADMIN_EMAILS after signing in with OIDC."""

from __future__ import annotations

from chatbot_mvp.settings.kinds import names_of
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.settings.password import PasswordGate


class AdminAccess:
    """Checks passwords and e-mails. Safe to share between sessions; does not track who has signed in."""

    def __init__(self, settings: Settings) -> None:
        self._gate = PasswordGate(settings.admin_password.get_secret_value())
        self._emails = {name.casefold() for name in names_of(settings.admin_emails)}

    @property
    def has_password(self) -> bool:
        """Whether ADMIN_PASSWORD is set."""
        return self._gate.configured

    @property
    def has_emails(self) -> bool:
        """Whether ADMIN_EMAILS contains an address."""
        return bool(self._emails)

    def check_password(self, given: str, asker: str) -> None:
        """Return if ``given`` is the password. ``asker`` identifies the client, such as its address.

        Raises:
            PasswordWrong: it is not the password.
            PasswordTriesExhausted: too many wrong tries from this asker; the password was not compared.
        """
        self._gate.check(given, asker)

    def allows(self, email: object, verified: object = None) -> bool:
        """Return whether a person who signed in with an identity provider may use Admin.

        Args:
            email: the address that the provider reports.
            verified: whether the provider has verified it; None if it does not say, which counts as verified.
        """
        vouched = verified is None or verified is True or verified == "true"
        return isinstance(email, str) and vouched and email.strip().casefold() in self._emails
