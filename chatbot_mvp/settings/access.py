"""Who may use Admin: the password, and the people who sign in elsewhere and are named in ADMIN_EMAILS."""

from __future__ import annotations

from chatbot_mvp.settings.fields import names_of
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.settings.password import PasswordGate


class AdminAccess:
    """Safe to share between sessions; knows nothing of who has signed in."""

    def __init__(self, settings: Settings) -> None:
        self._gate = PasswordGate(settings.admin_password.get_secret_value())
        self._emails = {name.casefold() for name in names_of(settings.admin_emails)}

    @property
    def has_password(self) -> bool:
        """Whether ADMIN_PASSWORD is set."""
        return self._gate.configured

    @property
    def has_emails(self) -> bool:
        """Whether ADMIN_EMAILS names anybody."""
        return bool(self._emails)

    def check_password(self, given: str, asker: str) -> None:
        """
        Raises:
            PasswordWrong, PasswordTriesExhausted
        """
        self._gate.check(given, asker)

    def allows(self, email: object, verified: object = None) -> bool:
        """Whether a person whom an identity provider vouches for may use Admin.

        Args:
            verified: what the provider says of the address; None where it says nothing.
        """
        vouched = verified is None or verified is True or verified == "true"
        return isinstance(email, str) and vouched and email.strip().casefold() in self._emails
