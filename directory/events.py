"""The events of the service, one row each: what it is called, who learns of it and how, and the words for it.

The log, the outbox, the webhooks and their formats, the mails, the timeline and the thread of a project, the dashboard,
the OpenAPI document and the console take all this from here; `.ci/web.py schema` writes the console's part.
Administrators see what is in the log, reviewers what it has about the projects that they review, and the owner of a
project what has words for the timeline or the thread.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from directory.language.messages import Message, _
from directory.models import Judged, LinkPurpose, MessageKind, Status

Texts = tuple[Message, ...]  # of a mail: the subject, and the paragraphs between the greeting and the signature


@dataclass(frozen=True, eq=False, repr=False)
class Event(str):
    """An event: its name, as it is stored and sent, and a column for each thing that the service says of it.

    In the console `label` is what it is called, `sentence` what the log says of it, and `did` what stands behind the
    name of who did it. An event without a sentence is not in the log. Of sentences by case the first holds whose case
    is true, or is the state after the event; `sentences.ts` has the cases and the placeholders.
    """

    name: str
    label: str
    sentence: str | Mapping[str, str] = ""
    did: str = ""
    # The words for the owner of the project: on the timeline, which may call it something else than the log, and above
    # the entry of this kind in the thread.
    timeline: Message | None = None
    timeline_name: str = ""
    kind: MessageKind | None = None
    thread: Message | None = None
    # What webhooks call it, and its place among those of the OpenAPI document; a new one's is the next.
    webhook: str = ""
    webhook_place: int = 0
    # The mail to the owner of the project, to the account that `purpose` says, or to who reported; and the mails in
    # special cases, for a rejection that no person made by its outcome. A title does not begin the subject, or its
    # owner could write the mail's.
    mail: Texts = ()
    mail_if: Mapping[str, Texts] = field(default_factory=dict)
    purpose: LinkPurpose | None = None
    # What the outbox stores: the member that names who caused it; whether the texts of it are those of an entry in the
    # thread, or a reason that the owner may read.
    actor: str | None = None
    has_message: bool = False
    has_reason: bool = False
    # What it means: the decision that causes it, about a project or about changes of it; an edit by the owner; how it
    # settles an appeal; whether a person who causes it has judged the project, so that rules keep out; what rules
    # judge.
    decision: str | None = None
    of_changes: bool = False
    is_edit: bool = False
    appeal: str | None = None
    is_verdict: bool = False
    judged: Judged | None = None
    after: Status | None = None  # the state in which it always leaves the project
    series: str | None = None  # its numbers on the dashboard

    def __new__(cls, name: str, *_columns: object, **_named: object) -> Self:
        """The name, to which the dataclass adds the columns."""
        return super().__new__(cls, name)

    @property
    def word(self) -> str:
        """The name without what it is about."""
        return self.name.partition(".")[2]

    @property
    def is_notice(self) -> bool:
        """Whether its mail tells an account of a change, and has no link that works once."""
        return self.purpose not in {None, LinkPurpose.RESET, LinkPurpose.VERIFY}


# A row takes as few lines as it needs.
# fmt: off

# --- Projects ---------------------------------------------------------------------------------------------------------

_NOT_ACCEPTED = _("Your project was not accepted: {title}")
_CHANGES_NOT_ACCEPTED = _("Your changes to {title} were not accepted")

PROJECT_SUBMITTED = Event(
    "project.submitted", "Project submitted", "{by} submitted {project}.", timeline=_("Submitted"),
    webhook="Project submitted for review", webhook_place=1, actor="submitted_by", judged=Judged.SUBMISSION,
    after=Status.PENDING, series="submissions",
)
PROJECT_IMPORTED = Event(
    "project.imported", "Project imported", "{by} imported {project} as {to}.", timeline=_("Submitted"),
    timeline_name="submitted", series="imported",
)
PROJECT_EDITED = Event(
    "project.edited", "Project edited",
    {"returned": "{by} edited {project}, which went back to the queue.", "": "{by} edited {project}."},
    timeline=_("Edited"), webhook="Project edited", webhook_place=5, actor="edited_by", is_edit=True,
    judged=Judged.EDIT,
)
PROJECT_EDIT_HELD = Event(
    "project.edit_held", "Changes submitted", "{by} changed {project}, which waits for review.",
    timeline=_("Changes sent for review"), is_edit=True, judged=Judged.EDIT,
)
PROJECT_EDIT_APPROVED = Event(
    "project.edit_approved", "Changes approved", "{by} approved the changes of {project}.", "approved it",
    timeline=_("Changes approved"), actor="approved_by", decision="approve", of_changes=True,
    mail=(_("Your changes to {title} are live"), _("Your changes to {title} have been approved and are live:")),
)
PROJECT_EDIT_REJECTED = Event(
    "project.edit_rejected", "Changes rejected", "{by} rejected the changes of {project}.", "rejected it",
    timeline=_("Changes not accepted"), actor="rejected_by", has_reason=True, decision="reject", of_changes=True,
    mail=(
        _CHANGES_NOT_ACCEPTED,
        _("Your changes to {title} were reviewed and not accepted. The project stays live as it was."),
    ),
    mail_if={
        "rejected_by_rule": (
            _CHANGES_NOT_ACCEPTED,
            _(
                "A rule of the site rejected your changes to {title}. No reviewer has decided it. The project stays "
                "live as it was."
            ),
        ),
        "rejected_by_time": (
            _CHANGES_NOT_ACCEPTED,
            _(
                "Your changes to {title} were rejected, because the time for your answer has passed. The project stays "
                "live as it was."
            ),
        ),
        "": (_CHANGES_NOT_ACCEPTED, _("Your changes to {title} were not accepted. The project stays live as it was.")),
    },
)
PROJECT_EDIT_WITHDRAWN = Event(
    "project.edit_withdrawn", "Changes withdrawn", "{by} withdrew the changes of {project}.",
    timeline=_("Changes withdrawn"), is_edit=True,
)
PROJECT_APPROVAL_GIVEN = Event(
    "project.approval_given", "Approval given", "{by} approved {project}, which needs more approvals.",
    is_verdict=True,
)
PROJECT_APPROVAL_WITHDRAWN = Event(
    "project.approval_withdrawn", "Approval taken back", "{by} took back the approval of {project}.",
)
PROJECT_APPROVED = Event(
    "project.approved", "Project approved", "{by} approved {project}.", "approved it", timeline=_("Approved"),
    kind=MessageKind.APPROVED, thread=_("Approved"), webhook="Project approved", webhook_place=0, actor="approved_by",
    mail=(_("Your project is live: {title}"), _("Your project {title} has been approved and is live:")),
    decision="approve", is_verdict=True, after=Status.LIVE, series="approvals",
)
PROJECT_REJECTED = Event(
    "project.rejected", "Project rejected", "{by} rejected {project}.", "rejected it", timeline=_("Rejected"),
    kind=MessageKind.REJECTED, thread=_("Not accepted"), webhook="Project rejected", webhook_place=2,
    actor="rejected_by", has_reason=True,
    mail=(_NOT_ACCEPTED, _("Your project {title} was reviewed and not accepted.")),
    mail_if={
        "rejected_by_rule": (
            _NOT_ACCEPTED,
            _("A rule of the site rejected your project {title}. No reviewer has decided it."),
        ),
        "rejected_by_time": (
            _NOT_ACCEPTED,
            _("Your project {title} was rejected, because the time for your answer has passed."),
        ),
        "": (_NOT_ACCEPTED, _("Your project {title} was not accepted.")),
    },
    decision="reject", is_verdict=True, after=Status.REJECTED, series="rejections",
)
PROJECT_UNPUBLISHED = Event(
    "project.unpublished", "Project taken down", "{by} took {project} down.", "took it down", timeline=_("Taken down"),
    kind=MessageKind.UNPUBLISHED, thread=_("Taken down"), webhook="Project unpublished", webhook_place=3,
    actor="unpublished_by", has_reason=True,
    mail=(_("Your project is no longer live: {title}"), _("Your project {title} was taken off the site.")),
    decision="unpublish", is_verdict=True, after=Status.PENDING,
)
PROJECT_DELETED = Event(
    "project.deleted", "Project deleted", "{by} deleted {project}.", "deleted it", webhook="Project deleted",
    webhook_place=4, actor="deleted_by",
)
PROJECT_VOTES_DISCOUNTED = Event(
    "project.votes_discounted", "Votes discounted", "{by} discounted {votes} of {project}.",
)
PROJECT_VOTES_COUNTED = Event(
    "project.votes_counted", "Votes counted again", "{by} counted {votes} of {project} again.",
)
PROJECT_CHANGES_REQUESTED = Event(
    "project.changes_requested", "Changes requested", "{by} asked for changes of {project}.", "asked for changes",
    timeline=_("Changes asked for"), kind=MessageKind.CHANGES_REQUESTED, thread=_("The reviewers ask for changes"),
    webhook="Changes of a project requested", webhook_place=6, actor="requested_by", has_message=True,
    mail=(
        _("Something has to be changed in {title}"),
        _("Your project {title} was reviewed. Before it can be accepted, the reviewers ask for changes:"),
    ),
    decision="request_changes", is_verdict=True,
)
PROJECT_ANSWERED = Event(
    "project.answered", "Owner answered", webhook="Owner of a project answered", webhook_place=7, actor="answered_by",
    has_message=True,
)
PROJECT_CLOSING = Event(
    "project.closing", "Owner reminded", actor="requested_by",
    mail=(_("Your answer about {title} is still awaited"), _("Your project {title} still waits for you.")),
)
PROJECT_MESSAGE = Event(
    "project.message", "Message to the owner", actor="written_by", has_message=True,
    mail=(_("A message about {title}"), _("The reviewers have written to you about your project {title}:")),
)
PROJECT_RESUBMITTED = Event(
    "project.resubmitted", "Given back", "{by} gave {project} back to the reviewers.",
    timeline=_("Given back to the reviewers"),
)
PROJECT_RELEASED = Event(
    "project.released", "Put into the queue", "{service} put {project}, which a rule had held, into the queue.",
    is_verdict=True,
)
PROJECT_RETURNED = Event(
    "project.returned", "Put back into the queue",
    "{by} put {project} back into the queue, against what a rule had done.", timeline=_("Put back into the queue"),
    actor="returned_by", is_verdict=True,
    mail=(
        _("Your project is in the review queue again: {title}"),
        _(
            "A rule of the site had held or rejected {title}. That was undone: it is in the review queue at its old "
            "place."
        ),
    ),
)
PROJECT_APPEALED = Event(
    "project.appealed", "Appealed", "{by} appealed about {project}.", "appealed", timeline=_("Appealed"),
    kind=MessageKind.APPEAL, thread=_("You asked for another look"), webhook="Owner of a project appealed",
    webhook_place=8, actor="appealed_by", has_message=True,
)
PROJECT_APPEAL_UPHELD = Event(
    "project.appeal_upheld", "Decision upheld", "{by} upheld the decision about {project}.", "upheld the decision",
    timeline=_("Decision upheld"), kind=MessageKind.APPEAL_UPHELD, thread=_("The decision stays"), actor="settled_by",
    has_message=True, appeal="upheld", is_verdict=True,
    mail=(
        _("The decision about {title} stays"),
        _("Your appeal about your project {title} was looked at. The decision stays:"),
    ),
)
PROJECT_APPEAL_REVERSED = Event(
    "project.appeal_reversed", "Decision reversed", "{by} reversed the decision about {project}.",
    "reversed the decision", timeline=_("Decision reversed"), kind=MessageKind.APPEAL_REVERSED,
    thread=_("The decision was reversed"), actor="settled_by", has_message=True, appeal="reversed", is_verdict=True,
    mail=(
        _("Your appeal about {title} was successful"),
        _("Your appeal about your project {title} was looked at, and the decision was reversed:"),
    ),
)
PROJECT_PICKED = Event(
    "project.picked", "Project picked",
    {"changed": "{by} changed why {project} is picked.", "": "{by} picked {project}."},
    webhook="Project picked, or picked in other words", webhook_place=11, actor="picked_by",
    mail=(_("Your project was picked: {title}"), _("The reviewers have picked your project {title}.")),
)
PROJECT_UNPICKED = Event(
    "project.unpicked", "Pick taken back", "{by} took the pick of {project} back.",
    webhook="Pick of a project taken back", webhook_place=12, actor="unpicked_by",
)
PROJECT_REPORTED = Event("project.reported", "Project reported", webhook="Project reported", webhook_place=9)
PROJECT_LINK_DEAD = Event(
    "project.link_dead", "Link dead", webhook="Link of a project dead", webhook_place=13,
    mail=(
        _("A link of {title} does not work"),
        _("This site has looked at a link of your project {title} several times, and it does not work:"),
    ),
)
PROJECT_FIRST_WEEK = Event(
    "project.first_week", "A week in the directory",
    mail=(
        _("The first week of {title}"), _("Your project {title} has been in the directory for a week."),
    ),
)
MESSAGE_ERASED = Event("message.erased", "Message erased", "{by} erased a message about {project}.")

# --- Users ------------------------------------------------------------------------------------------------------------

USER_ROLE_CHANGED = Event(
    "user.role_changed", "Role changed",
    {
        "admin": "{provider} made {user} an administrator.",
        "reviewer": "{provider} made {user} a reviewer.",
        "": "{provider} made {user} a member.",
    },
)
USER_CATEGORIES_CHANGED = Event(
    "user.categories_changed", "Categories to review changed", "{by} changed what {user} may review.",
)
USER_STATUS_CHANGED = Event(
    "user.status_changed", "Suspended or restored",
    {"suspended": "{by} suspended {user}.", "": "{by} restored {user}."},
)
USER_SIGNED_OUT = Event("user.signed_out", "Signed out everywhere", "{provider} signed {user} out everywhere.")
USER_DELETED = Event(
    "user.deleted", "Account deleted",
    {"own": "{by} deleted their account.", "": "{by} deleted the account of {user}."},
)
USER_RENAMED = Event("user.renamed", "Username chosen", "{by} chose their username.")
USER_IDENTITY_ADDED = Event("user.identity_added", "Provider joined", "{by} joined {to} to their account.")
USER_IDENTITY_REMOVED = Event(
    "user.identity_removed", "Provider removed", "{by} removed a provider from their account.",
)
USER_PASSKEY_ADDED = Event("user.passkey_added", "Passkey added", "{by} added a passkey to their account.")
USER_PASSKEY_REMOVED = Event("user.passkey_removed", "Passkey removed", "{by} removed a passkey from their account.")
USER_PASSKEYS_RESET = Event("user.passkeys_reset", "Passkeys reset", "{by} removed all passkeys of {user}.")
USER_REGISTERED = Event(
    "user.registered", "Account opened",
    {
        "own": "{by} opened their account.",
        "admin": "{by} opened the account of {user}, an administrator.",
        "": "{by} opened the account of {user}.",
    },
    judged=Judged.REGISTRATION,
)
USER_SIGNED_IN = Event("user.signed_in", "Administrator signed in", "{by} signed in.")
USER_SIGNED_IN_BY_LINK = Event(
    "user.signed_in_by_link", "Signed in by a link", "{by} signed in by a link of the operator.",
)
USER_ROLE_UNKNOWN = Event(
    "user.role_unknown", "Groups not named", "{by} kept the role, because {to} did not name the groups.",
)
USER_PASSWORD_CHANGED = Event(
    "user.password_changed", "Password changed",
    {"own": "{by} changed their password.", "": "{by} gave {user} a new password."},
)
USER_EMAIL_CHANGED = Event("user.email_changed", "E-mail address changed", "{by} changed their e-mail address.")
USER_TOKEN_CREATED = Event("user.token_created", "Access token created", "{by} created an access token.")
USER_TOKEN_REVOKED = Event("user.token_revoked", "Access token revoked", "{by} revoked an access token.")
USER_FEED_KEY_MADE = Event("user.feed_key_made", "Feed key made", "{by} made a key for their feed.")
USER_FEED_KEY_DELETED = Event("user.feed_key_deleted", "Feed key deleted", "{by} deleted the key of their feed.")
USERS_SIGNED_OUT = Event("users.signed_out", "Everybody signed out", "{by} signed everybody out.")
USERS_TOKENS_REVOKED = Event("users.tokens_revoked", "All access tokens revoked", "{by} revoked all access tokens.")

# --- The site ---------------------------------------------------------------------------------------------------------

CATEGORY_CREATED = Event("category.created", "Category created", "{by} created the category {slug.to}.")
CATEGORY_CHANGED = Event("category.changed", "Category changed", "{by} changed the category {slug.from}.")
CATEGORY_DELETED = Event("category.deleted", "Category deleted", "{by} deleted the category {slug.from}.")
WEBHOOK_REDELIVERED = Event(
    "webhook.redelivered", "Delivery sent again",
    {"several": "{by} sent {deliveries.to} deliveries again.", "": "{by} sent delivery {id.to} again."},
)
WEBHOOK_TESTED = Event("webhook.tested", "Endpoint tested", "{by} sent a test to {endpoint.to}.")
WEBHOOK_TEST = Event("webhook.test", "Test", webhook="Test of this webhook", webhook_place=10)
COUNTERS_REPAIRED = Event(
    "counters.repaired", "Counters repaired", "{by} repaired counters, or what is derived from projects.",
)
REPORT_SETTLED = Event(
    "report.settled", "Reports settled",
    {
        "acted": "{by} acted on the reports about {project}.",
        "": "{by} found no reason to act in the reports about {project}.",
    },
    mail=(
        _("Your report about {title} was acted on"),
        _("Your report about {title} was looked at and acted on. Thank you."),
    ),
    mail_if={
        "unfounded": (
            _("Your report about {title} was looked at"),
            _("Your report about {title} was looked at. The reviewers found no reason to act."),
        )
    },
)
RULE_CREATED = Event("rule.created", "Rule created", "{operator} created the rule “{name.to}”.")
RULE_CHANGED = Event("rule.changed", "Rule changed", "{operator} changed the rule “{name.from}”.")
RULE_DELETED = Event("rule.deleted", "Rule deleted", "{operator} deleted the rule “{name.from}”.")
REPLY_CREATED = Event("reply.created", "Reply saved", "{by} saved the reply {name.to}.")
REPLY_CHANGED = Event("reply.changed", "Saved reply changed", "{by} changed the saved reply {name.from}.")
REPLY_DELETED = Event("reply.deleted", "Saved reply deleted", "{by} deleted the saved reply {name.from}.")
FIELD_CREATED = Event("field.created", "Field created", "{operator} created the field {name.to}.")
FIELD_CHANGED = Event(
    "field.changed", "Field changed",
    {"order": "{operator} changed the order of the fields.", "": "{operator} changed the field {name.to}."},
)
FIELD_DELETED = Event("field.deleted", "Field deleted", "{operator} deleted the field {name.from}.")

# --- Mail to an account about itself ----------------------------------------------------------------------------------

ACCOUNT_PASSWORD_RESET = Event(
    "account.password_reset", "Link for a new password", purpose=LinkPurpose.RESET,
    mail=(
        _("Choose a new password for {site}"),
        _("someone, probably you, asked for a new password for your account. Choose one here:"),
        Message("{url}/reset?token={token}"),
        _(
            "The link works once, until {time}. If you did not ask for it, ignore this mail: your password stays as it "
            "is."
        ),
    ),
)
ACCOUNT_EMAIL_VERIFICATION = Event(
    "account.email_verification", "Link to confirm an address", purpose=LinkPurpose.VERIFY,
    mail=(
        _("Confirm your e-mail address for {site}"),
        _("please confirm that this is your e-mail address:"),
        Message("{url}/verify?token={token}{back}"),
        _("The link works once, until {time}. If you have no account here, ignore this mail."),
    ),
)
ACCOUNT_EMAIL_CHANGED = Event(
    "account.email_changed", "Notice of a new address", purpose=LinkPurpose.EMAIL_CHANGED,
    mail=(
        _("Your e-mail address for {site} was changed"),
        _("the e-mail address of your account was changed on {time}. This address no longer belongs to it."),
        _(
            "If you changed it, ignore this mail. If you did not, someone else uses your account. Sign in, choose a "
            "new password, which ends all other sessions, and revoke your access tokens: {url}/account"
        ),
        _("If you cannot sign in any more, contact the operators of {site}, and quote this mail."),
    ),
)
ACCOUNT_PASSWORD_CHANGED = Event(
    "account.password_changed", "Notice of a new password", purpose=LinkPurpose.PASSWORD_CHANGED,
    mail=(
        _("Your password for {site} was changed"),
        _("the password of your account was changed on {time}. Its other sessions are signed out."),
        _(
            "If you changed it, ignore this mail. If you did not, someone else uses your account. Have a link for a "
            "new password mailed to this address. The page of the link has a box that also revokes all access tokens: "
            "{url}/forgot"
        ),
    ),
)
ACCOUNT_PASSKEY_ADDED = Event(
    "account.passkey_added", "Notice of a new passkey", purpose=LinkPurpose.PASSKEY_ADDED,
    mail=(
        _("A passkey was added to your account at {site}"),
        _("your account has one more passkey since {time}. Whoever holds it can sign in."),
        _(
            "If you added it, you need do nothing. If you did not, someone else uses your account. Sign in, remove the "
            "passkey, choose a new password, and revoke your access tokens: {url}/account"
        ),
    ),
)
ACCOUNT_PASSKEY_REMOVED = Event(
    "account.passkey_removed", "Notice of a removed passkey", purpose=LinkPurpose.PASSKEY_REMOVED,
    mail=(
        _("A passkey was removed from your account at {site}"),
        _("a passkey was removed from your account on {time}. It can no longer sign in."),
        _(
            "If you removed it, or had the operators do so, you need do nothing. If not, someone else uses your "
            "account. Sign in, choose a new password, and revoke your access tokens: {url}/account"
        ),
    ),
)

# fmt: on

TABLE = tuple(event for event in globals().values() if isinstance(event, Event))
BY_NAME = {event.name: event for event in TABLE}
LOGGED = tuple(event for event in TABLE if event.sentence)
WEBHOOKS = tuple(sorted((event for event in TABLE if event.webhook), key=lambda event: event.webhook_place))
# What is sent: by webhooks, and by mail alone.
DELIVERED = (*WEBHOOKS, *(event for event in TABLE if event.mail and not event.webhook))
# The events of decisions about projects, by the decision, and those that settle an appeal, by its outcome.
DECIDED = {event.decision: event for event in TABLE if event.decision and not event.of_changes}
SETTLED = {event.appeal: event for event in TABLE if event.appeal}
