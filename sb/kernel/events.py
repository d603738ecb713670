"""Events that others in this process can subscribe to.

Source: the survival layer, section 2.
"""

from __future__ import annotations

from collections.abc import Callable

from sb.base.values.frozen import frozen


@frozen
class AssumptionInvalidated:
    """Something that justified calls has turned false.

    Args:
        assumption_ref: its name.
        run_id: only the calls of this run are meant; "" for all.
        reason: how that is known, for a person.
        mutation_id: only what this call left behind is meant; "" for that of all.
    """

    assumption_ref: str
    run_id: str = ""
    reason: str = ""
    mutation_id: str = ""


Subscriber = Callable[[AssumptionInvalidated], object]


class EventBus:
    """Tells every subscriber of this process, in the order in which they subscribed."""

    def __init__(self) -> None:
        self._subscribers: list[Subscriber] = []

    def subscribe(self, subscriber: Subscriber) -> None:
        """From now on `subscriber` is called with each event; a second time changes nothing."""
        if subscriber not in self._subscribers:
            self._subscribers.append(subscriber)

    def emit(self, event: AssumptionInvalidated) -> None:
        """Call every subscriber, also after one has failed.

        Raises:
            ExceptionGroup: what the subscribers raised.
        """
        failures = []
        for subscriber in tuple(self._subscribers):
            try:
                subscriber(event)
            except Exception as error:  # noqa: BLE001 - one that fails must not keep others from recovering
                failures.append(error)
        if failures:
            raise ExceptionGroup(f"{len(failures)} subscribers failed on {event.assumption_ref}", failures)
