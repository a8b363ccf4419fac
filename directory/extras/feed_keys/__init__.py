"""Feed keys: the address by which a feed reader, which cannot sign in, reads the feed as a member."""

from directory.extras import Extra, Slot
from directory.extras.feed_keys import page, routes
from directory.http import feed

extra = Extra(
    blueprints=(routes.bp,),
    pages=(page.bp,),
    slots={"account_feed": Slot("account_feed.html", said=page.SAID)},
    init_app=lambda app: app.extensions.update(identify={feed.PATH: routes.identify}),
)
