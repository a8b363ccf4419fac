"""The tables, their constraints, and each index with the query that it serves."""

from directory.db.clock import now
from directory.models.accounts import (
    STORED_ROLES,
    DailyBytes,
    LastUse,
    MailLink,
    Session,
    Token,
    User,
    UserCount,
    UserSubmissions,
    role_of,
    stored_as,
)
from directory.models.base import LOCAL, NEVER, AccountStatus, DeliveryState, LinkPurpose, Role, Status
from directory.models.fields import (
    FIELDS_STAMP,
    Audience,
    FieldCount,
    FieldDefinition,
    FieldKind,
    FieldState,
    ProjectField,
)
from directory.models.identities import Identity, Passkey, PasskeyChallenge, SignInAttempt
from directory.models.ledger import DAY_COUNTS, AuditEntry, AuditRetention, Delivery, DeliveryAttempt, KnownTime
from directory.models.links import LinkCheck, LinkCount, LinkHost, LinkState
from directory.models.messages import Message, MessageKind, ReplyDecision, SavedReply, Sender
from directory.models.projects import (
    Category,
    CategorySlug,
    Logo,
    PictureUse,
    Project,
    ProjectTag,
    TagCount,
    Upvote,
    VoteDiscount,
    VoteRanking,
)
from directory.models.reports import Report, ReportKind, ReportOutcome
from directory.models.reviews import (
    REJECTIONS,
    Approval,
    Asked,
    Outcome,
    Review,
    ReviewClaim,
    Reviewed,
    Turn,
)
from directory.models.spam_rules import Effect, Judged, RuleAction, RuleDay, RuleFacts, RulePreview, RuleState, SpamRule
