"""Description of a provider of language models: a row of ``llm.registry``.

A plugin's module may have a provider and the settings that belong to it. Settings are loaded while the module of all
settings is imported. So this module imports none of them before a method is called.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import SecretStr

if TYPE_CHECKING:
    from chatbot_mvp.llm.wire import Wire
    from chatbot_mvp.remote.failures import Endpoint
    from chatbot_mvp.settings.model import Settings


@dataclass(frozen=True, slots=True)
class Provider:
    """Description of a provider. Reading it does not import the provider's SDK.

    Its settings (keys, model and address) are marked with its name; see ``settings.kinds.OfProvider``.
    """

    name: str
    needs: tuple[str, ...] = ()
    """Settings that must not be empty."""
    package: str = ""
    """Package that is imported when the model is created."""
    command: str = ""
    """Command that installs the package."""
    place: str = ""
    """Setting with the location of its model, if that is not an address."""
    usual_url: str = ""
    """Address used if the setting is empty."""
    wire: Callable[[Endpoint, Settings], Wire] | None = None
    """Creates the adapter; None for a provider without a language model."""
    concurrency: int | None = None
    """Maximum concurrent requests that it can serve; None if not known."""
    tells_context: bool = False
    """Whether ``/v1/models`` may report the context length of its model."""
    key_url: str = ""
    """Page of the provider where a key is made."""
    note: Callable[[Settings], str] = lambda settings: ""
    """Returns "small_model" if the model is too small for reliable answers, otherwise ""."""

    @property
    def has_model(self) -> bool:
        """True if the provider has a language model."""
        return self.wire is not None

    @property
    def keys(self) -> tuple[str, ...]:
        """Settings of which one must hold a key."""
        from chatbot_mvp.settings.fields import PROVIDER_SETTINGS

        return tuple(
            name for name, mark in PROVIDER_SETTINGS.items() if (mark.provider, mark.role) == (self.name, "key")
        )

    @property
    def own_server(self) -> bool:
        """True if it is a server of one's own, which needs no key."""
        return self.has_model and not self.keys and not self.place

    @property
    def compatible(self) -> bool:
        """True if its address may be that of any server that speaks OpenAI's protocol."""
        return self.package == "openai"

    @property
    def usual_address(self) -> str:
        """Address of the vendor's own server; "" if there is none."""
        from chatbot_mvp.settings.model import Settings

        variable = self._address_setting
        return (str(Settings.model_fields[variable].default) if variable else "") or self.usual_url

    def base_url(self, settings: Settings) -> str:
        """Where it is; "" where that says nothing."""
        variable = self._address_setting
        return (str(getattr(settings, variable)) if variable else "") or self.usual_url

    def key(self, settings: Settings) -> SecretStr:
        """Return the first key that is set; empty if none is."""
        found: list[SecretStr] = [getattr(settings, name) for name in self.keys]
        return next((key for key in found if key.get_secret_value()), SecretStr(""))

    def missing(self, settings: Settings) -> str:
        """Return the variables that must still be set to use the provider; "" if it is configured.

        A key is needed at the vendor's own address; another server that speaks the protocol may do without.
        """
        at_vendor = not self.compatible or self.base_url(settings) == self.usual_address
        if self.keys and at_vendor and not self.key(settings).get_secret_value():
            return " / ".join(name.upper() for name in self.keys)
        return ", ".join(name.upper() for name in self.needs if not getattr(settings, name))

    @property
    def _address_setting(self) -> str:
        from chatbot_mvp.settings.fields import ADDRESS_SETTINGS

        return ADDRESS_SETTINGS.get(self.name, self.place)

    def endpoint(self, settings: Settings) -> Endpoint:
        """Return the endpoint that its requests go to."""
        from chatbot_mvp.remote.failures import Endpoint
        from chatbot_mvp.settings.fields import MODEL_SETTINGS

        variable = MODEL_SETTINGS.get(self.name, self.place)
        return Endpoint(
            self.name,
            settings.model_of(self.name),
            self.base_url(settings),
            self.key(settings),
            " / ".join(name.upper() for name in self.keys),
            variable.upper(),
        )
