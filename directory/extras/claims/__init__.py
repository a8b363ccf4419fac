"""Claims: a reviewer shows the others that they look at a project."""

from directory import events
from directory.api.schemas.review import QueueItem, QueueQuery, QueueSummary, ReviewDetail
from directory.extras import Extra, Members
from directory.extras.claims import claims, routes
from directory.extras.claims.schemas import Claimable, ClaimedQuery, ClaimsInSummary

_CLAIM = Members(Claimable(), routes.add_claims)

extra = Extra(
    blueprints=(routes.bp,),
    answers={
        QueueQuery: Members(ClaimedQuery(), routes.narrow),
        QueueItem: _CLAIM,
        ReviewDetail: _CLAIM,
        QueueSummary: Members(ClaimsInSummary(), routes.add_to_summary),
    },
    conditions=claims.CONDITIONS,
    on_event={events.PROJECT_APPROVAL_GIVEN: claims.end_each, events.PROJECT_EDITED: claims.carry},
)
