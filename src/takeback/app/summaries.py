"""Summaries: a new session in which some turns of another one are a summary."""

from __future__ import annotations

from takeback import adapters, config, rooms
from takeback.app.border import guarded
from takeback.app.forks import Forks
from takeback.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from takeback.app.workspace import CheckpointLike
    from takeback.fork.summary import Division, SummarisedAgent, Summariser
    from takeback.model.agent import SummaryWay
    from takeback.model.checkpoint import Checkpoint
    from takeback.model.operation import Outcome, Plan

    Maker = Callable[[str], str]


@guarded
class Summarising(Forks):
    """Everything that puts a summary in the place of turns."""

    def plan_summary(
        self,
        checkpoint: CheckpointLike,
        way: SummaryWay,
        *,
        by: Maker | None = None,
        text: str | None = None,
        session: str | None = None,
    ) -> Plan:
        """Returns what a summary would be made of, and who would be sent it; sends nothing."""
        from takeback.model.agent import summary_way
        from takeback.model.operation import SUMMARISE

        target, newest = self._ends(checkpoint, session)
        known = _known(newest)
        division = self._divided(known, target, newest, summary_way(way))
        maker = self._summariser(known, newest, by, text)
        made = rooms.plan.plan(self._context, self._request_of_fork(newest, files=False))
        made = self._with_conversation(made, "conversation")
        return made.replace(
            kind=SUMMARISE,
            prompt=None,
            sending=division.sending(maker),
            whose=self.taken(checkpoint, session=session),
        )

    def summarise(
        self,
        checkpoint: CheckpointLike,
        way: SummaryWay,
        *,
        by: Maker | None = None,
        text: str | None = None,
        session: str | None = None,
        shown: Plan | None = None,
    ) -> Outcome:
        """Begins a new session in which what was said from, or up to, a place is a summary.

        The rest of the conversation is kept, the session that it comes from stays, and no file is
        touched. The summary is ``text``, what ``by`` makes of the text it is given, or that of the
        command of the settings, else of the agent itself: these are sent the conversation.
        ``session`` says whose conversation, if not that of the checkpoint. Nothing is locked while
        the summary is made; if the conversation went on meanwhile, it is refused.
        """
        from takeback.model.agent import summary_way

        self.refuse_inside("a summary")
        target, newest = self._ends(checkpoint, session)
        known = _known(newest)
        division = self._divided(known, target, newest, summary_way(way))
        maker = self._summariser(known, newest, by, text)
        if shown is not None and shown.sending != division.sending(maker):
            raise Refused(
                "the conversation went on since the plan was shown",
                hint="run the command again to see the new plan",
            )
        self._context.reporter.progress("waiting for the summary", 0, 0)
        summary = rooms.summary.summary_of(division, maker)
        return self._with_summary(target, division, summary, session)

    def _with_summary(
        self, target: Checkpoint, was: Division, summary: str, session: str | None
    ) -> Outcome:
        from takeback.model.operation import SUMMARISE

        with self._context.locked() as locked:  # from the decision until it is done
            with self._taken_in(locked) as captured:
                _, newest = self._ends(target, session)
                known = _known(newest)
                division = self._divided(known, target, newest, was.way)
                if (division.text, division.kept) != (was.text, was.kept):
                    raise Refused(
                        "the conversation went on while the summary was made",
                        hint="no session was made; summarise it again when the agent is idle",
                    )
                summaries = rooms.summary.summaries_of(known, newest.agent or "")
                now = self._context.clock.now()
                wanted = rooms.fork.CutRequest(
                    newest,
                    newest=newest,
                    title=f"\u21b6 summarised {was.way.replace('-', ' ')} {self._about(target)}",
                    history=rooms.summary.put_together(division, summaries, summary, now),
                )
                cut = rooms.fork.plan_cut(locked, known.adapter, wanted)
                request = self._request_of_fork(newest, files=False)
            request = request.replace(kind=SUMMARISE, cut=cut)
            outcome = rooms.rewind.rewind(locked, captured, request)
        return self._delivered(outcome, cut)

    def _divided(
        self, known: SummarisedAgent, target: Checkpoint, newest: Checkpoint, way: SummaryWay
    ) -> Division:
        place = rooms.summary.SummaryPlace(target, self.conversation(target), newest)
        return rooms.summary.divide(self._context, known, place, way)

    def _ends(
        self, checkpoint: CheckpointLike, session: str | None
    ) -> tuple[Checkpoint, Checkpoint]:
        """Returns the place, and the newest one of its conversation; raises Refused."""
        from takeback.timeline import conversation

        if not self._context.policy.conversation:
            raise Refused("conversations are not kept (conversation = off)", hint="")
        target = self.find(checkpoint, session=session)
        end = target
        if session is not None:
            meant = self.session_meant(session)
            line = self._ask(lambda ledger: rooms.names.line_of(ledger, meant))
            if meant is not None and target.session in line:
                end = self.find("@", session=meant)
        newest = self._newest_conversation(end)
        if newest is None:
            newest = self._ask(lambda ledger: conversation.last_told(ledger, end))
        if newest is None or newest.agent is None:
            raise Refused(
                f"checkpoint {target.id} has no conversation",
                hint="name a place in a session of an agent",
            )
        return target, newest

    def _summariser(
        self, known: SummarisedAgent, newest: Checkpoint, by: Maker | None, text: str | None
    ) -> Summariser:
        if text is not None:
            return rooms.summary.Summariser("your own text", lambda _: text)
        if by is not None:
            return rooms.summary.Summariser("the function that was given", by)
        # Read now: who is told to set it, in the picker or on the page, asks again at once.
        settings = config.for_workspace(self._context.environ, self.store_directory)
        settings.require_whole()
        command = tuple(settings["summariser"])
        if command:
            return rooms.summary.by_command(self._context, command)
        summaries = rooms.summary.summaries_of(known, newest.agent or "")
        return rooms.summary.by_agent(self._context, newest.agent or "", summaries.headless)


def _known(newest: Checkpoint) -> SummarisedAgent:
    agent = newest.agent or ""
    return rooms.summary.SummarisedAgent(
        adapters.adapter_of(agent), adapters.message_reader(agent), adapters.summaries_of(agent)
    )
