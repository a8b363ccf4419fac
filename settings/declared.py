"""The declaration of each setting, in the order of docs/settings.md."""

from settings import EVERY, HOME, NOTIFYING, Setting, colours, domains, extras, mail, site, values, webhooks


def _picture(value: str) -> site.Picture | None:
    return site.picture(value, HOME)


def _folder(value: str) -> str:
    return site.folder(value, HOME / "site")


SETTINGS = (
    Setting(
        "APP_ENV", values.choice("development", "production", "testing"), "development",
        "`development`, `production` or `testing`. Outside development browsers send the session cookie over HTTPS "
        "only.",
        needed_by=(EVERY,),
    ),
    Setting(
        "ENV_FILE", str, "",
        "The file to read instead of `.env`. SIGHUP applies all changes in the file, or none if one is invalid; the "
        "log names the invalid setting. `HOST`, `PORT` and `DATABASE_URL` need a restart.",
        becomes="the environment", default_shown="`.env` next to the README",
    ),
    Setting(
        "SECRET_KEY", str, "",
        "Signs cursors and the links in mail. In production it must be set: 32 random characters or more, the same for "
        "all processes. In production a placeholder, or one character repeated, stops the start; this holds for other "
        "secrets too.",
        needed_by=(EVERY,), is_secret=True, default_shown="generated once, kept under `instance/`",
    ),
    Setting(
        "SECRET_KEY_FALLBACKS", values.separated, "",
        "More keys whose signatures are accepted, separated by commas: "
        "[how to change the key](operations.md#change-a-secret).",
        needed_by=(EVERY,), is_secret=True,
    ),
    Setting(
        "DATABASE_URL", values.optional(values.database_url), "",
        "`sqlite:////path/to/file` or `postgresql+psycopg://user:password@host/name`; "
        "[several hosts](operations.md#failover).",
        needed_by=(EVERY,), becomes="SQLALCHEMY_DATABASE_URI", is_secret=True,
        default_shown="a SQLite file under `instance/`; in production none",
    ),
    Setting(
        "PREPARE_DATABASE", values.flag, "false",
        "Before it serves, gunicorn migrates the database and fills an empty one with demo projects (not in "
        "production).",
        default_shown="`false`; in `make run` `true`",
    ),
    Setting(
        "REDIS_URL", values.redis_url, "",
        "The Redis that counts rate limits: `redis://…`, `rediss://…`, `unix://…` or "
        "[`redis+sentinel://…`](operations.md#failover).",
        is_secret=True,
    ),
    Setting("HOST", values.host, "127.0.0.1", "The address to listen on."),
    Setting("PORT", values.whole(1, 65535), "8000", "The port to listen on."),
    Setting(
        "WEB_CONCURRENCY", values.optional(values.whole(1, 64)), "",
        "Number of server processes. More than one needs `REDIS_URL`, unless rate limits are off.",
        default_shown="`1`; with Redis 2",
    ),
    Setting(
        "SERVER_WORKER", values.choice("loop", "gthread"), "loop",
        "`loop` is our worker: an event loop reads requests and answers simple ones; `gthread` is gunicorn's own "
        "worker.",
    ),
    Setting("THREADS", values.whole(1, 256), "8", "Threads, and database connections, of each process."),
    Setting("RATELIMIT_ENABLED", values.flag, "true", "`false` switches all rate limits off."),
    Setting("RATELIMIT_VOTING", values.ratelimit, "30 per minute; 300 per hour", "Votes, per user."),
    Setting("RATELIMIT_SUBMISSION", values.ratelimit, "5 per hour; 20 per day", "Submissions, per user."),
    Setting(
        "RATELIMIT_AUTH", values.ratelimit, "10 per 5 minutes",
        "Registrations, and sign-ins with a wrong password, that one IP address may try; half as many for the same "
        "account. Requests with invalid fields (422) do not count. After 50 wrong passwords at one login within an "
        "hour, guesses from new addresses [take turns](threats.md), 0.25 to 4 s apart; one that finds no turn is "
        "refused with 429. IP addresses that have signed in to the account in the last 30 days need no turn.",
    ),
    Setting(
        "RATELIMIT_MESSAGES", values.ratelimit, "20 per hour",
        "Messages of owners to the reviewers and their appeals, per user; messages of a reviewer are limited to ten "
        "times as many.",
    ),
    Setting("RATELIMIT_WRITE", values.ratelimit, "60 per minute", "Every other write, per user or address."),
    Setting(
        "RATELIMIT_ADMIN", values.ratelimit, "600 per minute",
        "Writes under `/api/admin`, per administrator.",
    ),
    Setting(
        "RATELIMIT_PICTURES", values.ratelimit, "60 per hour",
        "Pictures and logos that are put or deleted, per user.",
    ),
    Setting("RATELIMIT_READ", values.ratelimit, "", "Reads, per user or address."),
    Setting(
        "CORS_ORIGINS", values.origins, "",
        "Other origins whose pages may call the API with cookies, such as `https://app.example.com`, separated by "
        "commas.",
    ),
    Setting(
        "TRUSTED_PROXIES", values.whole(0, 10), "0",
        "Number of proxies in front that are trusted for the caller's address, scheme and host.",
    ),
    Setting(
        "HSTS_SUBDOMAINS", values.flag, "true",
        "`false` leaves `includeSubDomains` out of `Strict-Transport-Security`. Use it if names below the site's own, "
        "such as those of a company whose apex has the directory, are reached without HTTPS.",
    ),
    Setting("REGISTRATION_OPEN", values.flag, "true", "`false` closes registration."),
    Setting(
        "SIGNUP_DOMAINS", domains.signup, "",
        "Mail domains whose people may open accounts, separated by commas: `example.org` is that domain, "
        "`*.example.org` all below it. A new account can do nothing before its address is confirmed; "
        "[more](sign-in.md#who-may-have-an-account). Needs `MAIL_URL` or a provider.",
        needed_by=("users list",),
    ),
    Setting(
        "PASSWORDS", values.choice("on", "off"), "on",
        "`off`: accounts are signed in to by a provider or a passkey alone, and registration, sign-in and reset by "
        "password are refused; [more](sign-in.md#without-passwords).",
    ),
    Setting(
        "SESSION_HOURS", values.optional(values.whole(1, 8760)), "",
        "The age, in hours, at which sessions that a provider opened end. Without it they end as others do, after 30 "
        "days or 14 days without use.",
    ),
    Setting(
        "ALLOW_INTERNAL_URLS", values.flag, "false",
        "`true`, for a directory inside a company: the links of projects may lead to private networks, such as "
        "`http://intranet/` or `http://10.0.0.5`.",
        needed_by=("import", "seed"),
    ),
    Setting(
        "READ_ONLY", values.flag, "false",
        "`true` refuses every write, signing in included, but no read; [when to use it](operations.md#read-only).",
        needed_by=(EVERY,),
    ),
    Setting(
        "CHANGES_DAYS", values.whole(0, 3650), "30",
        "The days after which a project or changes of it are rejected if the owner does not answer a request for "
        "changes, or that it was taken down; `0`: never.",
        needed_by=("tidy", "webhooks work"),
    ),
    Setting(
        "REVIEWER_NAMES", values.choice("hidden", "shown"), "hidden",
        'Whether the owner of a project sees in its thread who reviewed it: `hidden` or `shown`. Webhooks name who '
        'decided all the same, unless their endpoint has [`"names": false`](webhooks.md#for-operators).',
        needed_by=("users export",),
    ),
    Setting(
        "SELF_REVIEW", values.choice("allow", "refuse"), "allow",
        "`refuse`: people cannot decide about their own projects, and an administrator's edit of an own live project "
        "waits for review as a member's does.",
    ),
    Setting(
        "REVIEW_ON_EDIT", values.choice("material", "always", "never"), "material",
        "Which edits of a live project by its owner wait for review before they are shown: `material` (title, tagline, "
        "author, description, links, logo and pictures), `always` (all), `never` (none).",
    ),
    Setting(
        "APPROVALS_REQUIRED", values.whole(1, 3), "1",
        "How many people have to approve a submission or an edit before it is shown: 1 to 3. See "
        "[operations](operations.md#several-approvals).",
    ),
    Setting(
        "WEBHOOK_ENDPOINTS", values.optional(webhooks.endpoints), "",
        'Receivers, as a JSON list of `{"name", "url", "secret", "format", "events", "names"}`; with `"names": false` '
        'a receiver does not learn who decided.',
        needed_by=(NOTIFYING,), is_secret=True,
    ),
    Setting(
        "WEBHOOK_URL", str, "",
        "One receiver, where `WEBHOOK_ENDPOINTS` is not set.",
        needed_by=(NOTIFYING,), becomes="WEBHOOK", is_secret=True,
    ),
    Setting(
        "WEBHOOK_SECRET", str, "",
        "Its secret; several are separated by commas, the newest first.",
        needed_by=(NOTIFYING,), becomes="WEBHOOK", is_secret=True,
    ),
    Setting(
        "WEBHOOK_FORMAT", str, "standard",
        "Its format: `standard`, `discord` or `slack`.",
        needed_by=(NOTIFYING,), becomes="WEBHOOK",
    ),
    Setting(
        "WEBHOOK_WORKER", values.flag, "true",
        "Whether a deliverer is started with the server. Set it to `false` if `flask webhooks work` runs elsewhere.",
        needed_by=(NOTIFYING,),
    ),
    Setting(
        "MAIL_URL", mail.server, "",
        "The mail server: `smtp://user:password@host:587`, with STARTTLS unless it is on this machine, or `smtps://…`. "
        "Without it no mail is sent.",
        needed_by=(NOTIFYING,), becomes="MAIL", is_secret=True,
    ),
    Setting(
        "MAIL_FROM", mail.sender, "",
        "The sender of mail, such as `Project Directory <directory@example.org>`.",
        needed_by=(NOTIFYING,), becomes="MAIL",
    ),
    Setting(
        "REQUIRE_VERIFIED_EMAIL", values.choice("none", "submit", "vote"), "none",
        "Actions that need a confirmed e-mail address: `submit` for submissions, `vote` for submissions and votes, or "
        "`none`.",
        needed_by=(NOTIFYING,),
    ),
    Setting(
        "REQUIRE_PASSKEY", values.choice("none", "admins", "reviewers"), "none",
        "`admins`: administrators who sign in without a [passkey](sign-in.md#passkeys) have the rights of members; "
        "`reviewers`: reviewers too.",
    ),
    Setting(
        "RESPONSE_CACHE", values.flag, "true",
        "`false` keeps no public answers in memory: each is rebuilt, which is slower.",
    ),
    Setting(
        "PUBLIC_MAX_AGE", values.optional(values.whole(1, 86_400)), "",
        "Seconds, to 86400, for which a [CDN](operations.md#behind-a-cdn) may serve a public answer without asking. "
        "Its answers may then lack the latest writes ([ADR 9](adr/0009-cache-responses-validate-by-snapshot.md)). "
        "Browsers still ask each time; answers for members are not affected.",
    ),
    Setting(
        "READS", values.choice("public", "members"), "public",
        "Who may read: `public` everybody, `members` signed-in users alone, as [a private directory](private.md) does.",
    ),
    Setting(
        "OPEN_PAGES", site.page_names, "imprint,privacy,terms",
        "With `READS=members`: your own pages (`SITE_DIR`) that everybody may read all the same, by name; a name "
        "without a page is passed over.",
    ),
    Setting(
        "AUDIT_RETENTION", values.optional(values.whole(1, 36_500)), "",
        "Days after which entries of the audit log are deleted; without it they are kept for ever. The dashboard does "
        "not show deleted entries.",
        needed_by=("tidy", "webhooks work"),
    ),
    Setting(
        "MEMBER_BYTES_PER_DAY", values.whole(0, 999_999_999), "50000000",
        "The bytes of texts (with the earlier versions that the log keeps) and pictures that a member may store on a "
        "UTC day; a write that would store more is refused with 429. Administrators, and reviewers at their work, have "
        "no bound. `0`: nobody has one.",
    ),
    Setting(
        "RULE_FACTS_DAYS", values.whole(1, 3650), "365",
        "Days after which the facts by which rules judged something are deleted; a rule's preview reaches back as far "
        "([rules against spam](spam.md)).",
        needed_by=("tidy", "webhooks work"),
    ),
    Setting(
        "METRICS_ENABLED", values.flag, "false",
        "`true` serves Prometheus metrics at `/metrics`; [what they mean](observability.md).",
    ),
    Setting(
        "EXTRAS", extras.choice, "all",
        "The [optional features](../CONTRIBUTING.md#extras) that are on: `all`, `none`, or names separated by commas, "
        "as in `passkeys,previews`; with a minus before each name those that are off. What is off has no routes, "
        "pages, menu entries and commands, and keeps its data.",
        needed_by=(EVERY,),
    ),
    Setting(
        "WEB_ENABLED", values.flag, "true",
        "`false` serves only the API, without pages and sitemap; `/` is then a short page with links. The pages that "
        "mail links to (`/reset`, `/verify`, `/forgot`, `/mail-off`), and `/sign-in/link`, are still served, in plain "
        "HTML.",
    ),
    Setting(
        "SITE_NAME", values.site_name, "Project Directory",
        "The site's name, on its first page, in the feed and in link previews.",
        needed_by=(NOTIFYING,),
    ),
    Setting(
        "SITE_URL", values.site_url, "",
        "The public address, such as `https://projects.example.com`. With it links in the feed and in previews are "
        "absolute, and there is a sitemap. Needed in production, and for mail, providers and passkeys.",
        needed_by=(NOTIFYING,),
    ),
    Setting(
        "SITE_LANGUAGE", site.language, "en",
        "The language of the site, such as `de` or `pt-BR`: of its pages, mail and errors, feeds and previews. The "
        "console, the log and the commands are in English.",
        needed_by=(NOTIFYING,),
    ),
    Setting(
        "SITE_LANGUAGES", site.languages, "",
        "The languages among which readers choose, with commas between them. Pages are in the one that their address "
        "(`?lang=`), the switch at their end, or the browser names; [how to translate](translating.md).",
        needed_by=(NOTIFYING,), default_shown="that of the site",
    ),
    Setting(
        "SITE_TAGLINE", site.tagline, "",
        "The site's purpose in one line, shown on its first page, in search results and in the feed.",
    ),
    Setting(
        "SITE_HEADLINE", site.tagline, "", "The headline of the first page.",
        default_shown="the tagline, else how much there is",
    ),
    Setting(
        "SITE_ACCENT", colours.accent, "",
        "The colour of links and buttons, such as `#8a1f4b`; refused if white text on it would be hard to read. Dark "
        "mode uses a lighter shade.",
        default_shown="a green",
    ),
    Setting(
        "SITE_LOGO", _picture, "",
        "The file of the logo (SVG, PNG or WebP, up to 512 KiB), also used as the icon.",
    ),
    Setting("SITE_IMAGE", _picture, "", "The file of the picture in link previews, of the same kinds."),
    Setting(
        "SITE_LINKS", site.links, "",
        'Links at the end of each page, as a JSON list: `[{"label": "Chat", "url": "https://chat.example.org"}]`.',
    ),
    Setting(
        "SECURITY_CONTACT", site.security_contact, "",
        "Where weaknesses are reported, such as `mailto:security@example.org` or an `https:` or `tel:` address: shown "
        "in `/.well-known/security.txt`.",
    ),
    Setting(
        "SITE_DIR", _folder, "",
        "A folder with pages, templates and files of your own; [how](site.md).",
        default_shown="the folder `site`, if it exists",
    ),
    Setting(
        "LOG_LEVEL", values.choice("DEBUG", "INFO", "WARNING", "ERROR"), "INFO",
        "`DEBUG`, `INFO`, `WARNING` or `ERROR`. Logs are lines on standard error.",
    ),
    Setting(
        "LOG_FORMAT", values.choice("text", "json"), "",
        "`text` for people, `json` for programs.",
        default_shown="on a terminal `text`, else `json`",
    ),
    Setting("NO_COLOR", str, "", "Any value: logs on a terminal have no colours.", becomes="LOG_COLOURS"),
)  # fmt: skip
